//! How the database answers each query of a request: by an index, never by going through a table.
//! And how many different statements there are.
//!
//! The queries are those that are really sent while every endpoint is asked, so that a new one is
//! tried without being named here. They are heard in the whole process, therefore these tests are a
//! separate program.

#[cfg(test)]
#[path = "api"]
mod api {
    // The formatter looks for it beside these tests; it is formatted with those of the API.
    #[expect(dead_code, unused_imports, reason = "most of what the tests of the API work with is not needed here")]
    #[rustfmt::skip]
    pub(crate) mod support;
}

#[cfg(test)]
mod plans {
    mod asking;
    mod explaining;
    mod hearing;
    mod indexes;
    mod statements;
}
