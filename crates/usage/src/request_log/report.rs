//! The report on the log of requests of a provider: pages of the log, and the most frequent
//! refusals of a week with links to the documentation. The session of the provider limits the
//! report to its own log.

use adapter_kit::Label;
use chrono::{DateTime, TimeDelta, Utc};
use storage::error::StorageError;
use storage::observations::request_log::{LoggedProblem, Refusal, Refusals};
use storage::session::ProviderSession;

use http_kit::paths;

/// The number of days of counted refusals.
const DAYS: i64 = 7;

/// The most frequent refusals of recent days.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedMost {
    /// The start of counting.
    pub since: DateTime<Utc>,
    /// The kinds of refusals, most frequent first.
    pub lines: Vec<RefusalLine>,
    /// The number of counted requests.
    pub counted: usize,
    /// Whether all refused requests since `since` were counted; otherwise only the newest.
    pub is_complete: bool,
}

/// Requests that were refused for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalLine {
    /// The common properties of the requests.
    pub refusal: Refusal,
    /// The path of the documentation of the problem, or `None` if the version is no longer served.
    pub help: Option<String>,
}

impl RefusedMost {
    /// Loads the most frequent refusals of the session's provider in the last seven days.
    ///
    /// # Errors
    ///
    /// When the database fails.
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

/// The path of the documentation of a problem of a version, by its code or else by the status. The
/// reply has linked to the same page. Returns `None` if the version is no longer served.
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

/// The code and the field of a problem, separated by a space.
#[must_use]
pub fn problem_text(LoggedProblem { code, field }: &LoggedProblem) -> String {
    [code.as_str(), field.as_str()]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}
