//! The request or command that runs a job.

/// The request or command that runs a job. The history records it with each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cause<'a> {
    /// The endpoint or the command.
    pub operation: &'a str,
    /// The version of the API that the request used; `None` for a command.
    pub version: Option<&'a str>,
    /// The identifier of the request; `None` for a command.
    pub request_id: Option<&'a str>,
    /// The user who ran the command, if known.
    pub by: Option<&'a str>,
}

impl<'a> Cause<'a> {
    /// An operation outside the API, without a user.
    #[must_use]
    pub fn new(operation: &'a str) -> Self {
        Self {
            operation,
            version: None,
            request_id: None,
            by: None,
        }
    }

    /// Sets the user who runs the command.
    #[must_use]
    pub fn by(self, by: &'a str) -> Self {
        Self {
            by: Some(by),
            ..self
        }
    }
}
