//! An entry of the request log: what is known of a request.

use chrono::{DateTime, Utc};

use crate::base::sender::Sender;

/// Requests are kept for this number of days.
pub const KEPT_DAYS: i64 = 30;

/// The outcome of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Answered with an error.
    Refused,
    /// Answered as requested.
    Accepted,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 2] = [Self::Refused, Self::Accepted];

    /// The outcome for an HTTP status.
    #[must_use]
    pub const fn from_status(status: u16) -> Self {
        if status < 400 {
            Self::Accepted
        } else {
            Self::Refused
        }
    }

    pub(super) fn is_accepted(self) -> bool {
        self == Self::Accepted
    }
}

/// A problem of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LoggedProblem {
    /// The code; empty if there is none, as for a query parameter.
    pub code: String,
    /// The name of the field in the version of the request.
    pub field: String,
}

/// A logged request, or a logged item of a batch or upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRequest {
    /// When the request was answered.
    pub answered_at: DateTime<Utc>,
    /// The token, or the user of an uploaded file.
    pub sender: Sender,
    /// The label of the version.
    pub version: String,
    /// The endpoint.
    pub endpoint: String,
    /// The HTTP method.
    pub method: String,
    /// The status of the reply.
    pub status: u16,
    /// The position of the item in its batch or upload, from 0; `None` for a whole request.
    pub item: Option<u32>,
    /// The identifier of the request.
    pub request_id: String,
    /// The first problems.
    pub problems: Vec<LoggedProblem>,
    /// The number of further problems.
    pub problems_left_out: u32,
    /// The provider's key of the record: its `provider_trainee_id`, or else its identifier. `None`
    /// if the request has none, or the provider has switched off storing keys.
    pub record_key: Option<String>,
}

impl LoggedRequest {
    /// The outcome of the request.
    #[must_use]
    pub const fn outcome(&self) -> Outcome {
        Outcome::from_status(self.status)
    }
}

/// The stored form of problems: an array of `[code, field]`.
pub(super) fn stored_problems(problems: &[LoggedProblem]) -> String {
    let pairs: Vec<_> = problems
        .iter()
        .map(|problem| [&problem.code, &problem.field])
        .collect();
    serde_json::json!(pairs).to_string()
}

/// Reads the stored form of problems. Returns none for a text of another form.
pub(super) fn read_problems(stored: &str) -> Vec<LoggedProblem> {
    let pairs: Vec<(String, String)> = serde_json::from_str(stored).unwrap_or_default();
    pairs
        .into_iter()
        .map(|(code, field)| LoggedProblem { code, field })
        .collect()
}
