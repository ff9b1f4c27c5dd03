//! Parses filters of the log of requests.

use std::ops::RangeInclusive;

use adapter_kit::{Endpoint, UnknownVersion};
use chrono::{DateTime, Utc};
use domain::Code;

use http_kit::requests::timestamps::timestamp;
use versions::REMOVED;

/// The reasons why a filter is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFilter {
    /// The text is not a status.
    #[error("a status is a number from 100 to 599, such as 422, or a class such as 4xx")]
    Statuses,
    /// The text is not a time.
    #[error("a time is an ISO 8601 date, or a date and time such as 2026-10-05T09:00:00Z")]
    Time,
    /// The API has no such endpoint.
    #[error("an endpoint is a method and a path, such as POST /trainees")]
    Endpoint,
    /// The API never had such a version.
    #[error(transparent)]
    Version(#[from] UnknownVersion),
    /// No problem has the code.
    #[error("no problem has this code: see the page of problems of a version, below /docs")]
    Code,
}

/// Parses a status or a class of statuses.
///
/// # Errors
///
/// [`InvalidFilter::Statuses`]
pub fn statuses(text: &str) -> Result<RangeInclusive<u16>, InvalidFilter> {
    if let Some(class) = text.strip_suffix("xx") {
        let class = class
            .parse::<u16>()
            .ok()
            .filter(|class| (1..=5).contains(class));
        let first = class.ok_or(InvalidFilter::Statuses)? * 100;
        return Ok(first..=first + 99);
    }
    let status = text
        .parse()
        .ok()
        .filter(|status| (100..=599).contains(status));
    status
        .map(|status| status..=status)
        .ok_or(InvalidFilter::Statuses)
}

/// Parses a time.
///
/// # Errors
///
/// [`InvalidFilter::Time`]
pub fn time(text: &str) -> Result<DateTime<Utc>, InvalidFilter> {
    timestamp(text).ok_or(InvalidFilter::Time)
}

/// Parses an endpoint and returns its name in the log.
///
/// # Errors
///
/// [`InvalidFilter::Endpoint`]
pub fn endpoint(text: &str) -> Result<String, InvalidFilter> {
    let known = Endpoint::ALL
        .iter()
        .map(ToString::to_string)
        .find(|known| known == text);
    known.ok_or(InvalidFilter::Endpoint)
}

/// Parses the label of a version that is or was served.
///
/// # Errors
///
/// [`InvalidFilter::Version`]
pub fn version(text: &str) -> Result<String, InvalidFilter> {
    let mut removed = REMOVED.iter().map(|removed| removed.label.to_string());
    match removed.find(|label| label == text) {
        Some(label) => Ok(label),
        None => Ok(versions::all().named(text)?.label.clone()),
    }
}

/// Parses the code of a problem.
///
/// # Errors
///
/// [`InvalidFilter::Code`]
pub fn code(text: &str) -> Result<String, InvalidFilter> {
    let known = Code::ALL
        .iter()
        .map(|code| code.name())
        .find(|known| *known == text);
    known.map(str::to_owned).ok_or(InvalidFilter::Code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_or_class_is_parsed_other_text_is_rejected() {
        assert_eq!(
            (statuses("422"), statuses("4xx")),
            (Ok(422..=422), Ok(400..=499))
        );
        for text in ["", "xx", "0xx", "6xx", "4x", "99", "600", "-1", "four"] {
            assert_eq!(statuses(text), Err(InvalidFilter::Statuses), "{text}");
        }
    }
}
