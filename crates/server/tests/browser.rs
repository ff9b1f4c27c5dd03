//! The pages as people meet them: in a browser, with a keyboard, on a desk and on a phone.
//!
//! They need Debian's `chromium` and `chromium-driver`, and some of them `nodejs` and `npm`.

#![expect(
    clippy::disallowed_methods,
    reason = "tests read how they are run, and wait on threads of their own"
)]

#[cfg(test)]
mod browser {
    mod axe;
    mod documents;
    mod driver;
    mod explorer;
    mod look;
    mod mailing;
    mod moving;
    mod openid;
    mod operators;
    mod pictures;
    mod reports;
    mod resources;
    mod served;
    mod settings;
}
