//! Tells clients the end of what they use, in the headers of every reply: `Deprecation` (RFC 9745),
//! `Sunset` (RFC 8594), and `Link` to what comes after and to what to do.
//!
//! What ends, and when, follows from the versions ([`adapter_kit::lifecycle`]); the clock is not
//! asked.

use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use adapter_kit::lifecycle::DeprecationStatus;
use adapter_kit::{ApiVersion, Endpoint, Label, Versions};
use chrono::{NaiveDate, NaiveTime};

use http_kit::paths;
use http_kit::responses::links;
use version_tools::documents::contract;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// The life of one version among those that are served.
#[derive(Debug, Clone, Copy)]
pub struct DeprecationHeaders {
    /// The version.
    pub version: &'static ApiVersion,
    /// The served versions.
    pub versions: &'static Versions,
}

impl DeprecationHeaders {
    fn end(self, endpoint: Option<Endpoint>) -> DeprecationStatus {
        match endpoint {
            Some(endpoint) => {
                DeprecationStatus::from_endpoint(self.version, endpoint, self.versions)
            }
            None => DeprecationStatus::from_version(self.version, self.versions),
        }
    }

    /// Writes what ends into the headers of a reply: the endpoint of a path, or the version as a
    /// whole.
    pub fn write(self, headers: &mut HeaderMap, endpoint: Option<Endpoint>, path: &str) {
        let end = self.end(endpoint);
        if !end.is_announced() {
            return;
        }
        if let Some(day) = end.deprecated_on {
            insert(
                headers,
                DEPRECATION,
                &format!("@{}", day.and_time(NaiveTime::MIN).and_utc().timestamp()),
            );
        }
        if let Some(day) = end.sunset_on {
            insert(headers, SUNSET, &http_date(day));
        }
        let label = self.version.label;
        let replacement = endpoint
            .zip(end.replaced_by)
            .map(|(old, new)| replacement(label, old, new, path));
        let successors = replacement
            .into_iter()
            .chain(end.successor.map(Label::base_path));
        let links = successors.map(|address| successor(&address));
        links::add_first(
            headers,
            &links
                .chain([self.advice(endpoint, end.replaced_by)])
                .collect::<Vec<_>>()
                .join(", "),
        );
    }

    /// A link to what to do: the guide to the newest version. Who is there already needs the
    /// endpoint to use instead, and where there is none, what is written about the version.
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

    /// The endpoint that ends, for a method that none of the endpoints of a path has: the first,
    /// when all of them end.
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

/// Where an endpoint of a version is described.
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

/// A link to what comes after (RFC 5829).
#[must_use]
pub fn successor(address: &str) -> String {
    format!("<{address}>; rel=\"successor-version\"")
}

/// A link to the guide from a version that ends or has ended (RFC 9745).
#[must_use]
pub fn guide(from: Label, to: Label) -> String {
    advice(&paths::migration_guide(from, to))
}

fn advice(address: &str) -> String {
    format!("<{address}>; rel=\"deprecation\"; type=\"text/html\"")
}

/// The path of the endpoint to use instead, with the identifiers of a path of the one that ends.
fn replacement(label: Label, old: Endpoint, new: Endpoint, path: &str) -> String {
    let base = label.base_path();
    // The base as sent may contain escapes; it still has the same number of segments.
    let sent = path.split('/').skip(base.split('/').count());
    let sent: Vec<(&str, &str)> = old.path().split('/').skip(1).zip(sent).collect();
    let part = |part: &'static str| {
        let id = sent
            .iter()
            .find(|(name, _)| part.starts_with('{') && part == *name);
        id.map_or(part, |(_, id)| *id)
    };
    let parts: Vec<&str> = new.path().split('/').map(part).collect();
    format!("{base}{}", parts.join("/"))
}

/// The beginning of a day, as HTTP writes it.
fn http_date(day: NaiveDate) -> String {
    day.format("%a, %d %b %Y 00:00:00 GMT").to_string()
}

/// Labels, dates and parts of a path are always the value of a header.
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
            Endpoint::RecommendForQts,
            Endpoint::UpdateQtsOrEytsStatus,
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
