//! Why a command fails: what was found, a line each.

use std::fmt::Display;

/// Why a command failed, as lines for standard error.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) Vec<String>);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(vec![error.to_string()])
    }
}

/// What a check returns: the text for standard output, or its breaches.
pub(crate) fn conclude(breaches: Vec<String>, passed: &str) -> Result<String, Failure> {
    if breaches.is_empty() {
        Ok(passed.to_owned())
    } else {
        Err(Failure(breaches))
    }
}
