//! Usage since a day: by provider, token, version and endpoint, with deprecated endpoints and names
//! of other versions. Deprecations are not stored; they come from the versions.

use std::collections::BTreeSet;

use adapter_kit::{Deprecation, Label, Versions};
use chrono::{NaiveDate, TimeDelta};
use domain::values::iso_8601::timestamp;
use serde::{Serialize, Serializer};
use storage::accounts::tokens::TokenRecord;
use storage::error::StorageError;
use storage::observations::totals::Seen;
use storage::session::{ProviderSession, Session};

use crate::counts::{Counts, Usage, UsageKey};

/// A usage report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The first day of the report.
    #[serde(serialize_with = "day")]
    pub since: NaiveDate,
    /// The lines, sorted by provider, token, version, endpoint and name.
    pub lines: Vec<Line>,
    /// The sums.
    pub total: Total,
}

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// UKPRN of the provider.
    pub provider: String,
    /// The number of the token.
    pub token: i64,
    /// What the token is for.
    pub token_name: String,
    /// The label of the version.
    pub version: String,
    /// The endpoint.
    pub endpoint: String,
    /// The kind of the line.
    pub kind: Kind,
    /// The name of another version, for [`Kind::ForeignName`].
    pub name: Option<String>,
    /// The number of requests.
    pub requests: i64,
    /// The first request.
    #[serde(flatten, serialize_with = "first")]
    pub first: Seen,
    /// The last request.
    #[serde(flatten, serialize_with = "last")]
    pub last: Seen,
}

/// The kind of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// All requests to an endpoint.
    Request,
    /// All requests to an endpoint that is deprecated.
    DeprecatedEndpoint,
    /// The requests with a name that only other versions have.
    ForeignName,
}

impl Kind {
    /// The name of the kind in reports.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::DeprecatedEndpoint => "deprecated_endpoint",
            Self::ForeignName => "foreign_name",
        }
    }
}

/// The sums of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Total {
    /// All requests.
    pub requests: i64,
    /// Requests to deprecated endpoints.
    pub to_deprecated_endpoints: i64,
    /// The number of providers with requests.
    pub providers: usize,
    /// The number of tokens with requests.
    pub tokens: usize,
}

impl Report {
    /// Loads the usage since a day, of one provider or of all.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn load(
        session: &mut Session<'_>,
        since: NaiveDate,
        provider: Option<&str>,
        versions: &Versions,
    ) -> Result<Self, StorageError> {
        let counts = Counts::load(session, since, since, provider)?;
        Ok(Self::new(counts, since, versions))
    }

    /// Loads the usage of the session's provider since a day.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn load_own(
        session: &mut ProviderSession<'_>,
        since: NaiveDate,
        versions: &Versions,
    ) -> Result<Self, StorageError> {
        let counts = Counts::load_own(session, since, since)?;
        Ok(Self::new(counts, since, versions))
    }

    fn new(counts: Counts, since: NaiveDate, versions: &Versions) -> Self {
        let Counts { tokens, usage, .. } = counts;
        let line = |(key, usage): (UsageKey, Usage)| {
            let token = tokens.get(&key.token)?;
            Some(Line::new(token, key, usage, versions))
        };
        let mut lines: Vec<Line> = usage.into_iter().filter_map(line).collect();
        lines.sort_by(|one, other| one.sort_key().cmp(&other.sort_key()));
        Self {
            since,
            total: Total::from_lines(&lines),
            lines,
        }
    }
}

impl Line {
    /// The line of a count.
    fn new(token: &TokenRecord, key: UsageKey, usage: Usage, versions: &Versions) -> Self {
        let UsageKey {
            version,
            endpoint,
            name,
            ..
        } = key;
        let kind = if name.is_some() {
            Kind::ForeignName
        } else if deprecation(versions, &version, &endpoint).is_some() {
            Kind::DeprecatedEndpoint
        } else {
            Kind::Request
        };
        Self {
            provider: token.provider_ukprn.clone(),
            token: token.id,
            token_name: token.name.clone(),
            version,
            endpoint,
            kind,
            name,
            requests: usage.requests,
            first: usage.first,
            last: usage.last,
        }
    }

    /// The sort key of a line. Versions are sorted by age, not by their text.
    fn sort_key(&self) -> (&str, &str, i64, Option<Label>, &str, &str, Option<&str>) {
        let label = self.version.parse().ok();
        (
            &self.provider,
            &self.token_name,
            self.token,
            label,
            &self.version,
            &self.endpoint,
            self.name.as_deref(),
        )
    }
}

impl Total {
    /// The sums of the lines of a report.
    fn from_lines(lines: &[Line]) -> Self {
        // Lines about names repeat requests that other lines count.
        let whole = || lines.iter().filter(|line| line.kind != Kind::ForeignName);
        let ending = whole().filter(|line| line.kind == Kind::DeprecatedEndpoint);
        Self {
            requests: whole().map(|line| line.requests).sum(),
            to_deprecated_endpoints: ending.map(|line| line.requests).sum(),
            providers: lines
                .iter()
                .map(|line| &line.provider)
                .collect::<BTreeSet<_>>()
                .len(),
            tokens: lines
                .iter()
                .map(|line| line.token)
                .collect::<BTreeSet<_>>()
                .len(),
        }
    }
}

/// The first day of a range of `days` days that ends today.
#[must_use]
pub fn first_day(today: NaiveDate, days: u16) -> NaiveDate {
    today - TimeDelta::days(i64::from(days.max(1)) - 1)
}

/// The deprecation of an endpoint of a version, or `None` if the version is not served.
fn deprecation(versions: &Versions, version: &str, endpoint: &str) -> Option<&'static Deprecation> {
    let served = versions.find(version.parse().ok()?)?;
    served
        .version
        .endpoints
        .deprecated
        .iter()
        .find(|gone| served.version.row(gone.endpoint).name() == endpoint)
}

/// Serialises a day, such as `2026-11-28`.
pub(super) fn day<S: Serializer>(day: &NaiveDate, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(day)
}

#[derive(Serialize)]
struct First<'a> {
    first_seen: String,
    first_request_id: &'a str,
}

#[derive(Serialize)]
struct Last<'a> {
    last_seen: String,
    last_request_id: &'a str,
}

/// Serialises the first request.
fn first<S: Serializer>(seen: &Seen, serializer: S) -> Result<S::Ok, S::Error> {
    First {
        first_seen: timestamp(seen.at),
        first_request_id: &seen.request_id,
    }
    .serialize(serializer)
}

/// Serialises the last request.
pub(super) fn last<S: Serializer>(seen: &Seen, serializer: S) -> Result<S::Ok, S::Error> {
    Last {
        last_seen: timestamp(seen.at),
        last_request_id: &seen.request_id,
    }
    .serialize(serializer)
}
