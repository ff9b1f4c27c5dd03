//! Deprecation and removal of versions and of their endpoints: the dates, and what to use instead.
//!
//! Headers, links and pages are not known here, and neither is the current date: a deprecation in
//! the future is reported like one that has begun.

use chrono::NaiveDate;

use crate::endpoint::Endpoint;
use crate::label::Label;
use crate::version::ApiVersion;
use crate::versions::Versions;

/// A version that is no longer served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// Its label.
    pub label: Label,
    /// The day on which it appeared.
    pub since: NaiveDate,
}

/// The end of a version, or of one endpoint in it. Without dates none is announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeprecationStatus {
    /// The day from which it should no longer be used.
    pub deprecated_on: Option<NaiveDate>,
    /// The day on which it is removed.
    pub sunset_on: Option<NaiveDate>,
    /// The endpoint of the same version to use instead.
    pub replaced_by: Option<Endpoint>,
    /// The version to use instead.
    pub successor: Option<Label>,
}

impl DeprecationStatus {
    /// The end of a version.
    #[must_use]
    pub fn from_version(version: &ApiVersion, versions: &Versions) -> Self {
        let publication = version.publication;
        let ends = publication.deprecated_on.is_some() || publication.sunset_on.is_some();
        Self {
            deprecated_on: publication.deprecated_on,
            sunset_on: publication.sunset_on,
            replaced_by: None,
            successor: versions.successor(version.label).filter(|_| ends),
        }
    }

    /// The end of an endpoint of a version: the earlier one of the two. Only a new version removes
    /// an endpoint, so it has no day of removal except that of its version.
    #[must_use]
    pub fn from_endpoint(version: &ApiVersion, endpoint: Endpoint, versions: &Versions) -> Self {
        let end = Self::from_version(version, versions);
        match version.endpoints.deprecation(endpoint) {
            Some(deprecation) => Self {
                deprecated_on: Some(
                    end.deprecated_on
                        .map_or(deprecation.since, |day| day.min(deprecation.since)),
                ),
                replaced_by: version.endpoints.replacement(endpoint),
                ..end
            },
            None => end,
        }
    }

    /// Whether there is a date.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        self.deprecated_on.is_some() || self.sunset_on.is_some()
    }
}
