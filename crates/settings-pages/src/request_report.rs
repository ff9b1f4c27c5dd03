//! What pages and commands show of recorded requests: filters, the words for runs and refused
//! records, and the file of refused records.

use std::io;
use std::ops::RangeInclusive;

use adapter_kit::{Endpoint, Label, UnknownVersion};
use chrono::{DateTime, TimeDelta, Utc};
use domain::Code;
use domain::values::iso_8601::timestamp as written;
use http_kit::paths;
use http_kit::requests::timestamps::timestamp;
use storage::error::StorageError;
use storage::observations::requests::refusals::Refusals;
use storage::observations::requests::runs::{Run, RunCounts};
use storage::observations::requests::{RecordResult, RecordedProblem, RecordedRequest};
use storage::session::ProviderSession;
use trainee_file::add_apostrophe;
use versions::REMOVED;

const REFUSED_DAYS: i64 = 7;
const HEADINGS: [&str; 8] = [
    "record",
    "field",
    "problem",
    "code",
    "status",
    "request_id",
    "answered_at",
    "is_check",
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFilter {
    #[error("a status is a number from 100 to 599, such as 422, or a class such as 4xx")]
    Statuses,
    #[error("a time is an ISO 8601 date, or a date and time such as 2026-10-05T09:00:00Z")]
    Time,
    #[error("an endpoint is a method and a path, such as POST /trainees")]
    Endpoint,
    /// The API never had such a version.
    #[error(transparent)]
    Version(#[from] UnknownVersion),
    #[error("no problem has this code: see the page of problems of a version, below /docs")]
    Code,
}

pub fn parse_statuses(text: &str) -> Result<RangeInclusive<u16>, InvalidFilter> {
    let parsed = match text.strip_suffix("xx") {
        Some(class) => class
            .parse()
            .ok()
            .filter(|class| (1..=5).contains(class))
            .map(|class: u16| class * 100..=class * 100 + 99),
        None => text
            .parse()
            .ok()
            .filter(|status| (100..=599).contains(status))
            .map(|status: u16| status..=status),
    };
    parsed.ok_or(InvalidFilter::Statuses)
}

pub fn parse_time(text: &str) -> Result<DateTime<Utc>, InvalidFilter> {
    timestamp(text).ok_or(InvalidFilter::Time)
}

/// Parses an endpoint. Returns its name in the record.
pub fn parse_endpoint(text: &str) -> Result<String, InvalidFilter> {
    let mut known = Endpoint::ALL.iter().map(ToString::to_string);
    known
        .find(|known| known == text)
        .ok_or(InvalidFilter::Endpoint)
}

/// Parses the label of a version that is or was served.
pub fn parse_version(text: &str) -> Result<String, InvalidFilter> {
    let mut removed = REMOVED.iter().map(|removed| removed.label.to_string());
    match removed.find(|label| label == text) {
        Some(label) => Ok(label),
        None => Ok(versions::all().named(text)?.label.clone()),
    }
}

pub fn parse_code(text: &str) -> Result<String, InvalidFilter> {
    let mut known = Code::ALL.iter().map(|code| code.name());
    let known = known.find(|known| *known == text);
    known.map(str::to_owned).ok_or(InvalidFilter::Code)
}

/// The most frequent refusals since a time.
pub struct FrequentRefusals {
    pub since: DateTime<Utc>,
    pub refusals: Refusals,
}

pub fn load_frequent_refusals(
    session: &mut ProviderSession<'_>,
) -> Result<FrequentRefusals, StorageError> {
    let since = session.now() - TimeDelta::days(REFUSED_DAYS);
    let refusals = session.refused_most(since)?;
    Ok(FrequentRefusals { since, refusals })
}

/// Finds the documentation of a problem by its code, or else by the status. Returns `None` if the
/// version is no longer served.
#[must_use]
pub fn find_help(version: &str, code: &str, status: u16) -> Option<String> {
    let label: Label = version.parse().ok()?;
    versions::all().find(label)?;
    // The reply has linked to the same page.
    let anchor = if code.is_empty() {
        paths::status_anchor(&status.to_string())
    } else {
        code.to_owned()
    };
    Some(paths::problem(label, &anchor))
}

/// Describes a problem by its code and its field, or else by its message.
#[must_use]
pub fn describe_problem(problem: &RecordedProblem) -> String {
    if problem.code.is_empty() && problem.field.is_empty() {
        return problem.message.clone();
    }
    let parts = [problem.code.as_str(), problem.field.as_str()];
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

pub(crate) fn describe_run_kind(run: &Run) -> &'static str {
    match run.batch {
        Some(_) => "batch",
        None => "single requests",
    }
}

/// Describes counts: `12 records: 1 registered, 8 refused`. Counts of zero are left out.
#[must_use]
pub(crate) fn describe_counts(counts: &RunCounts) -> String {
    let parts = [
        (counts.registered, "registered"),
        (counts.changed, "changed"),
        (counts.refused, "refused"),
        (counts.refused_checks, "refused in a check"),
        (counts.already_registered, "already registered"),
        (counts.checked, "checked only"),
        (counts.repeated, "sent again"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts: Vec<String> = parts
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    let total = counts.total();
    let records = if total == 1 { "record" } else { "records" };
    format!("{total} {records}: {}", parts.join(", "))
}

/// Names a refused record: the key of the provider, or else the number of the item in its batch or
/// upload from 1, or else the identifier of the request.
#[must_use]
pub(crate) fn name_record(request: &RecordedRequest) -> String {
    match (&request.record_key, request.item) {
        (Some(key), _) => key.clone(),
        (None, Some(position)) => format!("item {}", u64::from(position) + 1),
        (None, None) => format!("request {}", request.request_id),
    }
}

/// Lists the problems of a refused record, at least one.
#[must_use]
pub(crate) fn list_refused_problems(request: &RecordedRequest) -> Vec<RecordedProblem> {
    if request.problems.is_empty() {
        // The keys of the provider were removed, and the messages with them.
        return vec![RecordedProblem {
            code: String::new(),
            field: String::new(),
            message: format!("The request was refused with status {}.", request.status),
            without_value: None,
        }];
    }
    request.problems.clone()
}

/// Writes refused records as CSV, one row for each problem.
pub(crate) fn write_refused_csv(requests: &[RecordedRequest]) -> io::Result<String> {
    let mut file = csv::Writer::from_writer(Vec::new());
    file.write_record(HEADINGS)?;
    for request in requests {
        // Spreadsheets would run a text that begins like a formula.
        let record = add_apostrophe(name_record(request));
        let status = request.status.to_string();
        let answered_at = written(request.answered_at);
        let is_check = (request.result == RecordResult::RefusedCheck).to_string();
        for problem in list_refused_problems(request) {
            file.write_record([
                record.as_str(),
                &add_apostrophe(problem.field),
                &add_apostrophe(problem.message),
                &problem.code,
                &status,
                &request.request_id,
                &answered_at,
                &is_check,
            ])?;
        }
    }
    let bytes = file.into_inner().map_err(|error| error.into_error())?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_or_class_is_parsed_other_text_is_rejected() {
        assert_eq!(
            (parse_statuses("422"), parse_statuses("4xx")),
            (Ok(422..=422), Ok(400..=499))
        );
        for text in ["", "xx", "0xx", "6xx", "4x", "99", "600", "-1", "four"] {
            assert_eq!(parse_statuses(text), Err(InvalidFilter::Statuses), "{text}");
        }
    }

    #[test]
    fn counts_of_zero_are_left_out() {
        let counts = RunCounts {
            registered: 1,
            refused: 8,
            already_registered: 3,
            ..RunCounts::default()
        };
        assert_eq!(
            describe_counts(&counts),
            "12 records: 1 registered, 8 refused, 3 already registered"
        );
    }
}
