//! What was used since a day: by provider, token, version and endpoint, with what of it ends and
//! which names belong to other versions.
//!
//! That an endpoint ends is not stored: the version says it.

use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::{Deprecation, Label, Versions};
use chrono::{NaiveDate, TimeDelta};
use domain::values::iso_8601::timestamp;
use serde::{Serialize, Serializer};
use storage::accounts::tokens::TokenRecord;
use storage::error::StorageError;
use storage::observations::usage::{Seen, UsageTotal};
use storage::session::{ProviderSession, Session};

use crate::counts::NO_NAME;

/// What was used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The first day that is looked at.
    #[serde(serialize_with = "day")]
    pub since: NaiveDate,
    /// What was used, in the order of the providers, the tokens, the versions, the endpoints and
    /// the names.
    pub lines: Vec<Line>,
    /// What it comes to.
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
    /// What of it is counted.
    pub kind: Kind,
    /// The name of other versions that was sent.
    pub name: Option<String>,
    /// How many requests there were.
    pub requests: i64,
    /// The first of them.
    #[serde(flatten, serialize_with = "first")]
    pub first: Seen,
    /// The last of them.
    #[serde(flatten, serialize_with = "last")]
    pub last: Seen,
}

/// What is counted of the requests for an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// All of them.
    Request,
    /// All of them, and the endpoint should no longer be used.
    DeprecatedEndpoint,
    /// Those in which a name stands that only other versions know.
    ForeignName,
}

impl Kind {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::DeprecatedEndpoint => "deprecated_endpoint",
            Self::ForeignName => "foreign_name",
        }
    }
}

/// What requests come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Total {
    /// All requests.
    pub requests: i64,
    /// Those to endpoints that should no longer be used.
    pub to_deprecated_endpoints: i64,
    /// Providers that sent any.
    pub providers: usize,
    /// Tokens with which they were sent.
    pub tokens: usize,
}

impl Report {
    /// What was used since a day, by one provider or by all.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn load(
        session: &mut Session<'_>,
        since: NaiveDate,
        provider: Option<&str>,
        versions: &Versions,
    ) -> Result<Self, StorageError> {
        let tokens = tokens(session, provider)?;
        Ok(Self::new(
            since,
            &tokens,
            session.usage_since(since)?,
            versions,
        ))
    }

    /// What the provider of the session used since a day.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn load_own(
        session: &mut ProviderSession<'_>,
        since: NaiveDate,
        versions: &Versions,
    ) -> Result<Self, StorageError> {
        let tokens = by_number(session.own_tokens()?);
        Ok(Self::new(
            since,
            &tokens,
            session.own_usage_since(since)?,
            versions,
        ))
    }

    /// The report of these totals, as far as they are of these tokens.
    fn new(
        since: NaiveDate,
        tokens: &BTreeMap<i64, TokenRecord>,
        totals: Vec<UsageTotal>,
        versions: &Versions,
    ) -> Self {
        let mut lines: Vec<Line> = totals
            .into_iter()
            .filter_map(|total| Some(Line::new(tokens.get(&total.token_id)?, total, versions)))
            .collect();
        lines.sort_by(|one, other| one.place().cmp(&other.place()));
        Self {
            since,
            total: Total::from_lines(&lines),
            lines,
        }
    }
}

impl Line {
    fn new(token: &TokenRecord, total: UsageTotal, versions: &Versions) -> Self {
        let UsageTotal {
            version,
            endpoint,
            name,
            requests,
            first,
            last,
            ..
        } = total;
        let kind = if name != NO_NAME {
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
            name: Some(name).filter(|name| name != NO_NAME),
            requests,
            first,
            last,
        }
    }

    /// Where it stands among the others: versions go by age, not by their letters.
    fn place(&self) -> (&str, &str, i64, Option<Label>, &str, &str, Option<&str>) {
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
    fn from_lines(lines: &[Line]) -> Self {
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

/// The tokens of a provider, or of all, by their numbers.
pub(super) fn tokens(
    session: &mut Session<'_>,
    provider: Option<&str>,
) -> Result<BTreeMap<i64, TokenRecord>, StorageError> {
    Ok(by_number(session.list_tokens(provider)?))
}

/// The same tokens by their numbers.
pub(super) fn by_number(tokens: Vec<TokenRecord>) -> BTreeMap<i64, TokenRecord> {
    tokens.into_iter().map(|token| (token.id, token)).collect()
}

/// The first of so many days, of which this one is the last.
#[must_use]
pub fn first_day(today: NaiveDate, days: u16) -> NaiveDate {
    today - TimeDelta::days(i64::from(days.max(1)) - 1)
}

/// Why an endpoint of a version should no longer be used, as far as the version is served.
fn deprecation(versions: &Versions, version: &str, endpoint: &str) -> Option<&'static Deprecation> {
    let served = versions.find(version.parse().ok()?)?;
    served
        .version
        .endpoints
        .deprecated
        .iter()
        .find(|gone| gone.endpoint.to_string() == endpoint)
}

/// A day, as JSON has it.
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

fn first<S: Serializer>(seen: &Seen, serializer: S) -> Result<S::Ok, S::Error> {
    First {
        first_seen: timestamp(seen.at),
        first_request_id: &seen.request_id,
    }
    .serialize(serializer)
}

/// The last request of its kind.
pub(super) fn last<S: Serializer>(seen: &Seen, serializer: S) -> Result<S::Ok, S::Error> {
    Last {
        last_seen: timestamp(seen.at),
        last_request_id: &seen.request_id,
    }
    .serialize(serializer)
}
