//! Through what a job came about.

/// Through what a job came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause<'a> {
    /// The endpoint or the command.
    pub operation: &'a str,
    /// The version of the API through which it was asked.
    pub version: Option<&'a str>,
    /// The identifier of the request.
    pub request_id: Option<&'a str>,
    /// Who ran the command.
    pub by: Option<&'a str>,
}

impl<'a> Cause<'a> {
    /// An operation that no request of the API asked for.
    #[must_use]
    pub fn new(operation: &'a str) -> Self {
        Self {
            operation,
            version: None,
            request_id: None,
            by: None,
        }
    }

    /// The same, for a command that somebody runs.
    #[must_use]
    pub fn by(self, by: &'a str) -> Self {
        Self {
            by: Some(by),
            ..self
        }
    }
}
