//! What a provider is shown of its log of requests: pages of it, and what was refused most in a
//! week, with the page about each problem. The command line prints it; the session of the provider
//! leads to no other one.

use adapter_kit::Label;
use chrono::{DateTime, TimeDelta, Utc};
use storage::error::StorageError;
use storage::observations::request_log::{LoggedProblem, Refusal, Refusals};
use storage::session::ProviderSession;

use http_kit::paths;

/// The days that are looked at for what was refused most.
const DAYS: i64 = 7;

/// What was refused most lately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedMost {
    /// The time from which on requests are counted.
    pub since: DateTime<Utc>,
    /// The kinds of refusals, first the one with most requests.
    pub lines: Vec<RefusalLine>,
    /// How many refused requests were counted.
    pub counted: usize,
    /// Whether these are all of them since that time; otherwise they are the newest.
    pub is_complete: bool,
}

/// Requests that were refused alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalLine {
    /// What they have in common.
    pub refusal: Refusal,
    /// The path of the page about the problem; nothing where the version is no longer served.
    pub help: Option<String>,
}

impl RefusedMost {
    /// What the provider of the session was refused most in the last seven days.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn load(session: &mut ProviderSession<'_>) -> Result<Self, StorageError> {
        let since = session.now() - TimeDelta::days(DAYS);
        let Refusals {
            kinds,
            counted,
            is_complete,
        } = session.refused_most(since)?;
        let line = |refusal: Refusal| {
            let help = help(&refusal.version, &refusal.code, refusal.status);
            RefusalLine { refusal, help }
        };
        Ok(Self {
            since,
            lines: kinds.into_iter().map(line).collect(),
            counted,
            is_complete,
        })
    }
}

/// The path of the page about a problem of a version, by its code or, where there is none, by the
/// status: the page to which the reply has linked. Nothing where the version is no longer served.
#[must_use]
pub fn help(version: &str, code: &str, status: u16) -> Option<String> {
    let label: Label = version.parse().ok()?;
    versions::all().find(label)?;
    let anchor = if code.is_empty() {
        paths::status_anchor(&status.to_string())
    } else {
        code.to_owned()
    };
    Some(paths::problem(label, &anchor))
}

/// A problem in one word for the code, and the field.
#[must_use]
pub fn problem_text(LoggedProblem { code, field }: &LoggedProblem) -> String {
    [code.as_str(), field.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
