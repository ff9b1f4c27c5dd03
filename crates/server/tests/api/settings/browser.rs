//! A browser as far as the settings need one: it keeps the cookie of its session, and sends the forms of pages.

use std::cell::RefCell;

use form_urlencoded::Serializer;
use storage::store::Store;
use storage::users::{Actor, NewInvitation, UserRole};

use crate::api::support::{Page, Register, Request};

/// The media type of forms.
pub(crate) const FORM: &str = "application/x-www-form-urlencoded";

/// A form as it is sent.
pub(crate) fn encode(fields: &[(&str, &str)]) -> String {
    Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// A link that a command makes, as its secret.
pub(crate) fn link(store: &Store, ukprn: Option<&'static str>, email: &'static str, role: UserRole) -> String {
    let request = NewInvitation { provider_ukprn: ukprn, email, role };
    let invited = store
        .write_blocking::<_, storage::error::StorageError>(move |session| {
            session.invite_user(Actor::operator("operator"), request)
        })
        .unwrap();
    invited.secret.reveal().to_owned()
}

/// The cookie that a reply sets, without its attributes.
pub(crate) fn cookie_of(page: &Page) -> Option<String> {
    let cookie = page.header("set-cookie")?;
    Some(cookie.split(';').next().unwrap().to_owned())
}

/// The text of an attribute or an element behind a beginning, unescaped as far as is needed.
#[track_caller]
pub(crate) fn text_after<'a>(page: &'a str, beginning: &str, end: &str) -> &'a str {
    let at = page.find(beginning).unwrap_or_else(|| panic!("{beginning} is not in {page}")) + beginning.len();
    &page[at..at + page[at..].find(end).unwrap()]
}

/// Somebody with a browser.
pub(crate) struct Browser<'a> {
    register: &'a Register,
    cookie: RefCell<Option<String>>,
}

impl<'a> Browser<'a> {
    /// Nobody yet.
    pub(crate) fn new(register: &'a Register) -> Self {
        Self { register, cookie: RefCell::new(None) }
    }

    /// Somebody who has just signed in.
    pub(crate) fn signed_in(
        register: &'a Register,
        ukprn: Option<&'static str>,
        email: &'static str,
        role: UserRole,
    ) -> Self {
        let browser = Self::new(register);
        let link = link(&register.store(), ukprn, email, role);
        browser.sign_in(&link).is(303);
        assert!(browser.cookie().is_some());
        browser
    }

    /// Uses a link.
    pub(crate) fn sign_in(&self, link: &str) -> Page {
        self.send_form("/settings/sign-in", &[("secret", link)])
    }

    /// The cookie of the session.
    pub(crate) fn cookie(&self) -> Option<String> {
        self.cookie.borrow().clone()
    }

    /// The same browser with another cookie.
    pub(crate) fn set_cookie(&self, cookie: Option<String>) {
        *self.cookie.borrow_mut() = cookie;
    }

    /// A request with the cookie.
    pub(crate) fn request(&self, method: &str, path: &str) -> Request<'a> {
        let request = self.register.request(method, path);
        match self.cookie() {
            Some(cookie) => request.header("Cookie", &cookie),
            None => request,
        }
    }

    /// Opens a page.
    pub(crate) fn open(&self, path: &str) -> Page {
        self.request("GET", path).page()
    }

    /// Sends a form as it is, and keeps the cookie of the reply.
    pub(crate) fn send_form(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let page = self.request("POST", path).bytes(encode(fields)).header("Content-Type", FORM).page();
        if let Some(cookie) = cookie_of(&page) {
            self.set_cookie(Some(cookie).filter(|cookie| !cookie.ends_with('=')));
        }
        page
    }

    /// Sends a form with what the pages of the session hold.
    pub(crate) fn send(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let token = self.form_token();
        self.send_form(path, &[&[("form_token", token.as_str())], fields].concat())
    }

    /// What each form of the session holds.
    pub(crate) fn form_token(&self) -> String {
        let page = self.open("/settings").is(200);
        text_after(&page.text, "name=\"form_token\" value=\"", "\"").to_owned()
    }
}
