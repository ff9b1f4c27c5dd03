//! Readiness to migrate: which providers still use a version, what they must change, and how many
//! of their writes the newest version would accept. Operators read these reports before they
//! deprecate or remove a version.
//!
//! Reports are calculated from the totals of recent days. Statements about writes are based on the
//! checked ones and include their number.

use adapter_kit::{Label, Served, Versions};
use chrono::{NaiveDate, TimeDelta};
use serde::{Serialize, Serializer};
use storage::error::StorageError;
use storage::observations::totals::{KEPT_DAYS, Seen};
use storage::session::{ProviderSession, Session};

use self::calculation::Known;
use super::report::{day, first_day, last};
use crate::counts::{Counts, monday};

mod calculation;

/// The default number of days in a report.
pub const DEFAULT_DAYS: u16 = 30;
/// The maximum number of days in a report. Counts are kept for this long.
pub const MAX_DAYS: u16 = 400;
/// The number of weeks in a report, including the current one.
pub const WEEKS: u8 = 12;

/// A share of fewer writes is marked as unreliable.
pub const FEW: i64 = 50;

/// The users of a version, and the reasons that keep them there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VersionReadiness {
    /// The version.
    pub version: Label,
    /// The newest version.
    pub newest: Label,
    /// The UKPRN of the only provider in the report, or `None` for all providers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The first day of the report.
    #[serde(serialize_with = "day")]
    pub since: NaiveDate,
    /// The last day of the report.
    #[serde(serialize_with = "day")]
    pub until: NaiveDate,
    /// The first day with a kept count of any version, or `None` without counts.
    #[serde(serialize_with = "optional_date")]
    pub counted_since: Option<NaiveDate>,
    /// The last request of any provider, also before the first day of the report.
    pub last_use: Option<LastUse>,
    /// The checked writes of all providers.
    pub writes: Writes,
    /// The checked writes of recent weeks, oldest first. Weeks without a checked write are left
    /// out.
    pub weeks: Vec<ReadinessWeek>,
    /// The providers that use the version, sorted by UKPRN.
    pub providers: Vec<ProviderUse>,
}

/// Serialises a date, or null.
fn optional_date<S: Serializer>(
    date: &Option<NaiveDate>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match date {
        Some(date) => day(date, serializer),
        None => serializer.serialize_none(),
    }
}

/// The accepted writes of one week that were checked against the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReadinessWeek {
    /// The Monday of the week, in UTC.
    #[serde(serialize_with = "day")]
    pub monday: NaiveDate,
    /// The checked writes.
    #[serde(flatten)]
    pub writes: Writes,
}

/// The last request to a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LastUse {
    /// UKPRN of the provider.
    pub provider: String,
    /// The request.
    #[serde(flatten, serialize_with = "last")]
    pub seen: Seen,
}

/// Accepted writes that were checked against the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Writes {
    /// The number of checked writes.
    pub checked: i64,
    /// The number of writes that the newest version would accept.
    pub valid: i64,
    /// The accepted share in percent, or `None` if no write was checked.
    pub percent: Option<f64>,
    /// Whether there are too few writes for a reliable share.
    pub few: bool,
}

/// How a provider uses a version.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProviderUse {
    /// UKPRN of the provider.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// Requests to the version.
    pub requests: i64,
    /// The last request.
    #[serde(flatten, serialize_with = "last")]
    pub last: Seen,
    /// The tokens of the requests.
    pub tokens: Vec<TokenUse>,
    /// Used endpoints that are deprecated, or missing in the newest version.
    pub endpoints: Vec<EndpointUse>,
    /// Names of other versions in its requests.
    pub names: Vec<NameUse>,
    /// Its writes that were checked against the newest version.
    pub writes: Writes,
    /// The reasons why the newest version would reject writes, most frequent first.
    pub problems: Vec<Obstacle>,
    /// Fields of these writes with another name in the newest version, most frequent first.
    #[serde(skip)]
    pub renamed: Vec<RenamedField>,
    /// Its requests to newer versions.
    pub newer: Vec<NewerUse>,
}

/// The use of a version with one token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenUse {
    /// The number of the token.
    pub token: i64,
    /// The name of the token.
    pub name: String,
    /// The number of requests.
    pub requests: i64,
    /// The last request.
    #[serde(flatten, serialize_with = "last")]
    pub last: Seen,
}

/// The use of a deprecated or removed endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointUse {
    /// The endpoint.
    pub endpoint: String,
    /// The endpoint to use instead.
    pub replaced_by: Option<String>,
    /// The version that removes the endpoint.
    pub removed_in: Option<Label>,
    /// The number of requests.
    pub requests: i64,
}

/// The use of a name of other versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NameUse {
    /// The name.
    pub name: String,
    /// The number of requests with the name.
    pub requests: i64,
}

/// A reason why the newest version would reject writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// The name of the field in the newest version.
    pub field: String,
    /// The code of the problem.
    pub code: String,
    /// The meaning of the code.
    pub meaning: &'static str,
    /// The rules for the field that are new in the newest version.
    pub rules: Vec<&'static str>,
    /// The number of writes with the problem.
    pub writes: i64,
}

/// A sent field that has another name in the newest version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedField {
    /// The name in the request. Fields of nested records have the name of their list before them.
    pub before: String,
    /// Its name in the newest version.
    pub after: Option<&'static str>,
    /// The number of writes with the field.
    pub writes: i64,
}

/// The use of a newer version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewerUse {
    /// The version.
    pub version: Label,
    /// The number of requests.
    pub requests: i64,
}

/// The answer to the question whether a version can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// The newest version; all others migrate to it.
    Newest,
    /// Not known, because the report covers only one provider.
    NotLookedAt,
    /// A provider used the version on the days of the report.
    InUse,
    /// Not known, because counts begin after the first day of the report.
    CountedTooShortly,
    /// No provider used the version.
    Possible,
}

impl Removal {
    /// The verdict as a text that follows the version's label, or `None` for the newest version.
    #[must_use]
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Self::Newest | Self::NotLookedAt => None,
            Self::InUse => Some("is still used"),
            Self::CountedTooShortly => {
                Some("was not used, but counts are too recent for a verdict")
            }
            Self::Possible => Some("can be removed: no provider used it"),
        }
    }
}

/// The first day with kept counts.
fn first_kept(today: NaiveDate) -> NaiveDate {
    today - TimeDelta::days(KEPT_DAYS)
}

/// The Monday of the first week of a report that ends today.
fn first_monday(today: NaiveDate) -> NaiveDate {
    monday(today) - TimeDelta::weeks(i64::from(WEEKS) - 1)
}

impl VersionReadiness {
    /// Loads the use of these versions in the last `days` including today, by all providers or by
    /// one.
    ///
    /// # Errors
    ///
    /// When the database fails;
    /// [`Refusal::UnknownProvider`](storage::error::Refusal::UnknownProvider).
    pub fn load<'v>(
        session: &mut Session<'_>,
        served: impl IntoIterator<Item = &'v Served>,
        days: u16,
        provider: Option<&str>,
        versions: &Versions,
    ) -> Result<Vec<Self>, StorageError> {
        let until = session.today();
        let since = first_day(until, days);
        let counts = Counts::load(session, since, first_monday(until), provider)?;
        let chosen: Option<Vec<i64>> = provider.map(|_| counts.tokens.keys().copied().collect());
        let counted_since = session.first_counted_day(first_kept(until), chosen.as_deref())?;
        let known = Known {
            counts,
            counted_since,
            days: since..=until,
        };
        let mut reports = Vec::new();
        for served in served {
            let mut report = known.readiness(served, versions.newest().unwrap_or(served));
            report.provider = provider.map(str::to_owned);
            let label = report.version.to_string();
            let last = session.last_use(first_kept(until), &label, chosen.as_deref())?;
            report.last_use = last.and_then(|(token, seen)| known.last_use(token, seen));
            reports.push(report);
        }
        Ok(reports)
    }

    /// Loads the use of these versions by the session's provider in the last `days` including today,
    /// without the last use before these days.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn load_own<'v>(
        session: &mut ProviderSession<'_>,
        served: impl IntoIterator<Item = &'v Served>,
        days: u16,
        versions: &Versions,
    ) -> Result<Vec<Self>, StorageError> {
        let until = session.today();
        let since = first_day(until, days);
        let known = Known {
            counts: Counts::load_own(session, since, first_monday(until))?,
            counted_since: session.own_first_counted_day(first_kept(until))?,
            days: since..=until,
        };
        let served = served.into_iter();
        Ok(served
            .map(|served| known.readiness(served, versions.newest().unwrap_or(served)))
            .collect())
    }

    /// Whether the version can be removed.
    #[must_use]
    pub fn removal(&self) -> Removal {
        if self.version == self.newest {
            Removal::Newest
        } else if self.provider.is_some() {
            Removal::NotLookedAt
        } else if !self.providers.is_empty() {
            Removal::InUse
        } else if self
            .counted_since
            .is_none_or(|counted| counted > self.since)
        {
            Removal::CountedTooShortly
        } else {
            Removal::Possible
        }
    }

    /// The providers sorted by readiness to migrate: by the share of writes that would be accepted,
    /// then by requests to newer versions. Providers without a checked write come last.
    #[must_use]
    pub fn by_progress(&self) -> Vec<&ProviderUse> {
        let mut providers: Vec<_> = self.providers.iter().collect();
        providers.sort_by(|one, other| other.progress().total_cmp(&one.progress()));
        providers
    }
}

impl ProviderUse {
    /// The number of requests to newer versions.
    #[must_use]
    pub fn newer_requests(&self) -> i64 {
        self.newer.iter().map(|newer| newer.requests).sum()
    }

    /// The sort key of the progress: the percentage of accepted writes, or -1 if no write was
    /// checked. Equal percentages are sorted by the share of requests to newer versions.
    fn progress(&self) -> f64 {
        let newer = self.newer_requests() as f64;
        let newer_share = newer / (newer + self.requests as f64 + 1.0);
        // Percentages differ by at least 0.1, so a hundredth of the share only sorts equal ones.
        self.writes.percent.unwrap_or(-1.0) + newer_share / 100.0
    }
}
