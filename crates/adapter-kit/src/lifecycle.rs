//! Deprecation and removal of versions and of their endpoints: dates and replacements.
//!
//! The functions do not read the current date: a deprecation in the future is returned like one
//! that has begun.

use chrono::NaiveDate;

use crate::endpoint::Endpoint;
use crate::label::Label;
use crate::version::ApiVersion;
use crate::versions::Versions;

/// A version that is no longer served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removed {
    /// The label.
    pub label: Label,
    /// The day of publication.
    pub since: NaiveDate,
}

/// The announced deprecation and removal of a version or of one of its endpoints. Both dates are
/// `None` if nothing is announced.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeprecationStatus {
    /// The first day of the deprecation.
    pub deprecated_on: Option<NaiveDate>,
    /// The day of the removal.
    pub sunset_on: Option<NaiveDate>,
    /// The endpoint of the same version to use instead.
    pub replaced_by: Option<Endpoint>,
    /// The version to use instead.
    pub successor: Option<Label>,
}

impl DeprecationStatus {
    /// Returns the deprecation status of a version.
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

    /// Returns the deprecation status of an endpoint. An endpoint is deprecated from the earlier of
    /// its own date and the date of its version. Only a new version removes an endpoint, so the
    /// removal date is always the date of the version.
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

    /// Whether a deprecation or a removal is announced.
    #[must_use]
    pub fn is_announced(&self) -> bool {
        self.deprecated_on.is_some() || self.sunset_on.is_some()
    }
}
