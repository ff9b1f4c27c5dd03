//! Who still uses a version, what they would have to change, and how many of their writes the
//! newest version would accept: what a maintainer looks at before a version is deprecated or
//! removed.
//!
//! It is put together from the counts of the last days. What it says of writes rests on those that
//! were tried ([`crate::shadow_checks`]), and is reported with their number.

use adapter_kit::{Label, Served, Versions};
use chrono::{NaiveDate, TimeDelta};
use serde::{Serialize, Serializer};
use storage::error::StorageError;
use storage::observations::usage::{KEPT_DAYS, Seen};
use storage::session::{ProviderSession, Session};

pub use self::weeks::{ReadinessWeek, WEEKS};
use super::report::{by_number, day, first_day, last};
use crate::readiness::calculation::Known;

mod calculation;
mod text;
mod weeks;

/// The days that are looked at where nothing else is requested.
pub const DEFAULT_DAYS: u16 = 30;
/// The most days that can be looked at: as many as are kept.
pub const MAX_DAYS: u16 = 400;

/// A share of fewer writes says little.
pub const FEW: i64 = 50;

/// Who uses a version, and what keeps them there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VersionReadiness {
    /// The version.
    pub version: Label,
    /// The newest version.
    pub newest: Label,
    /// The UKPRN of the only provider that is looked at; nothing when all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    /// The first day that is looked at.
    #[serde(serialize_with = "day")]
    pub since: NaiveDate,
    /// The last one.
    #[serde(serialize_with = "day")]
    pub until: NaiveDate,
    /// The day on which the oldest count begins that is kept, of any version; nothing when nothing
    /// was counted.
    #[serde(serialize_with = "optional_date")]
    pub counted_since: Option<NaiveDate>,
    /// The last request of anybody, also before the days that are looked at.
    pub last_use: Option<LastUse>,
    /// Writes of all together that were tried in the newest version.
    pub writes: Writes,
    /// The same of each of the last weeks with one, oldest first.
    pub weeks: Vec<ReadinessWeek>,
    /// Those who use it, in the order of their UKPRNs.
    pub providers: Vec<ProviderUse>,
}

fn optional_date<S: Serializer>(
    date: &Option<NaiveDate>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match date {
        Some(date) => day(date, serializer),
        None => serializer.serialize_none(),
    }
}

/// How one provider uses a version, and what keeps it there.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnReadiness {
    /// The version.
    pub version: Label,
    /// The newest version.
    pub newest: Label,
    /// The first day that is looked at.
    #[serde(serialize_with = "day")]
    pub since: NaiveDate,
    /// The last one.
    #[serde(serialize_with = "day")]
    pub until: NaiveDate,
    /// The day on which the oldest count of the provider begins that is kept, of any version;
    /// nothing when nothing was counted.
    #[serde(serialize_with = "optional_date")]
    pub counted_since: Option<NaiveDate>,
    /// How it uses the version; nothing when it did not in those days.
    pub usage: Option<ProviderUse>,
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

/// Accepted writes that were tried in the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Writes {
    /// How many there were.
    pub checked: i64,
    /// How many of them would be accepted there.
    pub valid: i64,
    /// The same in percent; nothing when none was tried.
    pub percent: Option<f64>,
    /// Whether there are too few for the share to say much.
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
    /// The last of them.
    #[serde(flatten, serialize_with = "last")]
    pub last: Seen,
    /// The tokens with which they were sent.
    pub tokens: Vec<TokenUse>,
    /// Endpoints that it uses and that end, or that the newest version does not have.
    pub endpoints: Vec<EndpointUse>,
    /// Names of other versions that it sends.
    pub names: Vec<NameUse>,
    /// Its writes that were tried in the newest version.
    pub writes: Writes,
    /// What stands against those that would not be accepted, most frequent first.
    pub problems: Vec<Obstacle>,
    /// Fields in those writes that have another name in the newest version, most frequent first.
    #[serde(skip)]
    pub renamed: Vec<RenamedField>,
    /// What it sends to newer versions already.
    pub newer: Vec<NewerUse>,
}

/// How a token is used for a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TokenUse {
    /// The number of the token.
    pub token: i64,
    /// What it is for.
    pub name: String,
    /// Requests.
    pub requests: i64,
    /// The last of them.
    #[serde(flatten, serialize_with = "last")]
    pub last: Seen,
}

/// How an endpoint is used that ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndpointUse {
    /// The endpoint.
    pub endpoint: String,
    /// What to use instead.
    pub replaced_by: Option<String>,
    /// The version in which it is gone.
    pub removed_in: Option<Label>,
    /// Requests.
    pub requests: i64,
}

/// How often a name of other versions is sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NameUse {
    /// The name.
    pub name: String,
    /// Requests with it.
    pub requests: i64,
}

/// What stands against writes in the newest version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Obstacle {
    /// The field, as the newest version calls it.
    pub field: String,
    /// The code of the problem.
    pub code: String,
    /// What the code means.
    pub meaning: &'static str,
    /// What the rules demand of the field that the version does not have.
    pub rules: Vec<&'static str>,
    /// Writes that have the problem.
    pub writes: i64,
}

/// A field that is sent and has another name in the newest version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenamedField {
    /// The name by which it is sent; after that of the list where it is a field of a nested record.
    pub before: String,
    /// Its name in the newest version.
    pub after: Option<&'static str>,
    /// Writes that have it.
    pub writes: i64,
}

/// What is sent to a newer version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NewerUse {
    /// The version.
    pub version: Label,
    /// Requests.
    pub requests: i64,
}

/// Whether a version can be removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It is the newest one, to which the others move.
    Newest,
    /// Not all providers were looked at.
    NotLookedAt,
    /// Somebody used it in the days that are looked at.
    InUse,
    /// Counts do not go back as far as the days that are looked at.
    CountedTooShortly,
    /// Nobody used it.
    Possible,
}

impl Removal {
    /// The verdict, to stand behind the version's label; nothing for the newest one.
    #[must_use]
    pub const fn words(self) -> Option<&'static str> {
        match self {
            Self::Newest | Self::NotLookedAt => None,
            Self::InUse => Some("is still used"),
            Self::CountedTooShortly => {
                Some("was not used, but was not counted for long enough either")
            }
            Self::Possible => Some("can be removed: nobody used it"),
        }
    }
}

/// The first of the days whose counts are kept, of which this one is the last.
fn first_kept(today: NaiveDate) -> NaiveDate {
    today - TimeDelta::days(KEPT_DAYS)
}

impl VersionReadiness {
    /// Who used the version in the last days, the present one among them: all, or one provider.
    ///
    /// # Errors
    ///
    /// When the database does not answer;
    /// [`Refusal::UnknownProvider`](storage::error::Refusal::UnknownProvider).
    pub fn load(
        session: &mut Session<'_>,
        served: &Served,
        days: u16,
        provider: Option<&str>,
        versions: &Versions,
    ) -> Result<Self, StorageError> {
        let (since, until) = (first_day(session.today(), days), session.today());
        let mut known = Known::load(session, since, provider)?;
        known.look_into(
            session,
            served,
            versions.newest().unwrap_or(served),
            since,
            until,
        )
    }

    /// The same of each version, oldest first.
    ///
    /// # Errors
    ///
    /// As for [`VersionReadiness::load`].
    pub fn load_all(
        session: &mut Session<'_>,
        days: u16,
        provider: Option<&str>,
        versions: &Versions,
    ) -> Result<Vec<Self>, StorageError> {
        let (since, until) = (first_day(session.today(), days), session.today());
        let Some(newest) = versions.newest() else {
            return Ok(Vec::new());
        };
        let mut known = Known::load(session, since, provider)?;
        versions
            .iter()
            .map(|served| known.look_into(session, served, newest, since, until))
            .collect()
    }

    /// Whether it can be removed.
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

    /// Those who use it, the ones first who could move first: by the share of writes that would be
    /// accepted, then by what they send to newer versions already. Those of whom no write was tried
    /// are the last.
    #[must_use]
    pub fn by_progress(&self) -> Vec<&ProviderUse> {
        let mut providers: Vec<_> = self.providers.iter().collect();
        providers.sort_by(|one, other| other.progress().total_cmp(&one.progress()));
        providers
    }
}

impl ProviderUse {
    /// The requests that it sends to newer versions.
    #[must_use]
    pub fn newer_requests(&self) -> i64 {
        self.newer.iter().map(|newer| newer.requests).sum()
    }

    /// How far it is, to be compared with that of others: the share decides, and of equal ones what
    /// goes to newer versions.
    fn progress(&self) -> f64 {
        let newer = self.newer_requests() as f64;
        self.writes.percent.unwrap_or(-1.0) + newer / (newer + self.requests as f64 + 1.0) / 100.0
    }
}

impl OwnReadiness {
    /// How the provider of the session used the version in the last days, the present one among
    /// them.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn load(
        session: &mut ProviderSession<'_>,
        served: &Served,
        days: u16,
        versions: &Versions,
    ) -> Result<Self, StorageError> {
        let (since, until) = (first_day(session.today(), days), session.today());
        let newest = versions.newest().unwrap_or(served);
        let (label, against) = (
            served.version.label.to_string(),
            newest.version.label.to_string(),
        );
        let known = Known {
            provider: None,
            tokens: by_number(session.own_tokens()?),
            recent: session.own_usage_since(since)?,
            counted_since: session.own_first_counted_day(first_kept(until))?,
            checks: session.own_checks_since(since, &label, &against)?,
            problems: session.own_problems_since(since, &label, &against)?,
        };
        Ok(known.readiness(served, newest, since, until).into())
    }

    /// The same of each version before the newest one that the provider used in those days, oldest
    /// first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn load_older(
        session: &mut ProviderSession<'_>,
        days: u16,
        versions: &Versions,
    ) -> Result<Vec<Self>, StorageError> {
        let (since, until) = (first_day(session.today(), days), session.today());
        let Some(newest) = versions.newest() else {
            return Ok(Vec::new());
        };
        let against = newest.version.label.to_string();
        let mut known = Known {
            provider: None,
            tokens: by_number(session.own_tokens()?),
            recent: session.own_usage_since(since)?,
            counted_since: session.own_first_counted_day(first_kept(until))?,
            checks: Vec::new(),
            problems: Vec::new(),
        };
        let mut found = Vec::new();
        for served in versions
            .iter()
            .filter(|served| served.version.label != newest.version.label)
        {
            let label = served.version.label.to_string();
            if known.recent.iter().any(|total| total.version == label) {
                known.checks = session.own_checks_since(since, &label, &against)?;
                known.problems = session.own_problems_since(since, &label, &against)?;
                found.push(known.readiness(served, newest, since, until).into());
            }
        }
        Ok(found)
    }
}

impl From<VersionReadiness> for OwnReadiness {
    /// What was found of one provider alone.
    fn from(found: VersionReadiness) -> Self {
        let VersionReadiness {
            version,
            newest,
            since,
            until,
            counted_since,
            providers,
            ..
        } = found;
        Self {
            version,
            newest,
            since,
            until,
            counted_since,
            usage: providers.into_iter().next(),
        }
    }
}
