//! Tells clients of a deprecated version or endpoint its end, in headers of every reply:
//! `Deprecation` (RFC 9745), `Sunset` (RFC 8594), and `Link` to the successor and to instructions.
//!
//! The dates follow from the versions ([`adapter_kit::lifecycle`]), independently of the clock.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use adapter_kit::lifecycle::DeprecationStatus;
use adapter_kit::{ApiVersion, Endpoint, Label, Versions};
use chrono::{NaiveDate, NaiveTime};

use http_kit::paths;
use http_kit::responses::links;
use version_tools::documents::contract;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// Writes the headers about the deprecation of one version and its endpoints.
#[derive(Debug, Clone, Copy)]
pub struct DeprecationHeaders {
    /// The version.
    pub version: &'static ApiVersion,
    /// The served versions.
    pub versions: &'static Versions,
}

impl DeprecationHeaders {
    /// The deprecation of an endpoint, or of the version as a whole for `None`.
    fn status(self, endpoint: Option<Endpoint>) -> DeprecationStatus {
        match endpoint {
            Some(endpoint) => {
                DeprecationStatus::from_endpoint(self.version, endpoint, self.versions)
            }
            None => DeprecationStatus::from_version(self.version, self.versions),
        }
    }

    /// Writes the deprecation of an endpoint into the headers of a reply, or that of the version as
    /// a whole for `None`. Writes nothing without a deprecation. `path` is that of the request.
    pub fn write(self, headers: &mut HeaderMap, endpoint: Option<Endpoint>, path: &str) {
        let status = self.status(endpoint);
        if !status.is_announced() {
            return;
        }
        if let Some(day) = status.deprecated_on {
            insert(
                headers,
                DEPRECATION,
                &format!("@{}", day.and_time(NaiveTime::MIN).and_utc().timestamp()),
            );
        }
        if let Some(day) = status.sunset_on {
            insert(headers, SUNSET, &http_date(day));
        }
        let label = self.version.label;
        let replacement = endpoint.zip(status.replaced_by).map(|(old, new)| {
            let [old, new] = [old, new].map(|endpoint| self.version.row(endpoint).path);
            replacement(label, old, new, path)
        });
        let successors = replacement
            .into_iter()
            .chain(status.successor.map(Label::base_path));
        let links = successors.map(|address| successor(&address));
        links::add_first(
            headers,
            &links
                .chain([self.advice(endpoint, status.replaced_by)])
                .collect::<Vec<_>>()
                .join(", "),
        );
    }

    /// A link to instructions: the guide to the newest version. In the newest version itself, the
    /// link leads to the endpoint to use instead, or if there is none, to the release notes.
    fn advice(self, endpoint: Option<Endpoint>, replaced_by: Option<Endpoint>) -> String {
        let label = self.version.label;
        match (self.versions.newest(), endpoint.and(replaced_by)) {
            (Some(newest), _) if newest.version.label != label => {
                guide(label, newest.version.label)
            }
            (_, Some(other)) => advice(&about_endpoint(label, other)),
            (_, None) => advice(&paths::release_notes(label)),
        }
    }

    /// Returns the first of the endpoints of a path if all of them are deprecated. The reply to a
    /// method that none of them has then announces its deprecation.
    #[must_use]
    pub fn only_deprecated(
        self,
        mut endpoints: impl Iterator<Item = Endpoint> + Clone,
    ) -> Option<Endpoint> {
        let first = endpoints.clone().next();
        first.filter(|_| {
            endpoints.all(|endpoint| self.version.endpoints.deprecation(endpoint).is_some())
        })
    }
}

/// The address of the documentation of an endpoint.
fn about_endpoint(label: Label, endpoint: Endpoint) -> String {
    let section = contract::section(endpoint);
    let chapter = format!(
        "{}/{}",
        paths::document(label, paths::CONTRACT),
        section.chapter
    );
    if section.anchor.is_empty() {
        chapter
    } else {
        format!("{chapter}#{}", section.anchor)
    }
}

/// A link to a successor (RFC 5829).
#[must_use]
pub fn successor(address: &str) -> String {
    format!("<{address}>; rel=\"successor-version\"")
}

/// A link to the migration guide from a deprecated or removed version (RFC 9745).
#[must_use]
pub fn guide(from: Label, to: Label) -> String {
    advice(&paths::migration_guide(from, to))
}

/// A link to instructions about a deprecation (RFC 9745).
fn advice(address: &str) -> String {
    format!("<{address}>; rel=\"deprecation\"; type=\"text/html\"")
}

/// The path of the endpoint to use instead, with the identifiers in `path`, which is a path of the
/// deprecated endpoint.
fn replacement(label: Label, old: &str, new: &str, path: &str) -> String {
    let base = label.base_path();
    // The base as sent may contain escapes; it still has the same number of segments.
    let sent = path.split('/').skip(base.split('/').count());
    let sent: Vec<(&str, &str)> = old.split('/').skip(1).zip(sent).collect();
    let parts: Vec<&str> = new
        .split('/')
        .map(|part| {
            let id = sent
                .iter()
                .find(|(name, _)| part.starts_with('{') && part == *name);
            id.map_or(part, |(_, id)| *id)
        })
        .collect();
    format!("{base}{}", parts.join("/"))
}

/// The beginning of a day in the date format of HTTP headers.
fn http_date(day: NaiveDate) -> String {
    day.format("%a, %d %b %Y 00:00:00 GMT").to_string()
}

/// Adds a header. The values used here (labels, dates, parts of a path) are always valid.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.append(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_replacement_has_the_same_identifiers() {
        let label = Label::release(1999, 1);
        let path = "/api/v1999.1/trainees/a%20b/recommend-for-qts";
        let replacement = replacement(
            label,
            Endpoint::RecommendForQts.path(),
            Endpoint::UpdateQtsOrEytsStatus.path(),
            path,
        );
        assert_eq!(
            replacement,
            "/api/v1999.1/trainees/a%20b/update-qts-or-eyts-status"
        );
    }

    #[test]
    fn a_day_is_written_as_http_writes_dates() {
        assert_eq!(
            http_date(adapter_kit::date(1994, 11, 6)),
            "Sun, 06 Nov 1994 00:00:00 GMT"
        );
    }
}
