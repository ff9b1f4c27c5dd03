//! The failure of a command.

use std::fmt::Display;

/// The reasons that a command failed, one line each, for standard error.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Vec<String>);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(vec![error.to_string()])
    }
}

/// Creates the result of a check: `passed` for standard output, or the breaches if there are any.
pub(crate) fn conclude(breaches: Vec<String>, passed: &str) -> Result<String, Failure> {
    if breaches.is_empty() {
        Ok(passed.to_owned())
    } else {
        Err(Failure(breaches))
    }
}
