//! The totals of requests, added up over the days of a report.

use std::collections::BTreeMap;
use std::ops::AddAssign;

use chrono::{Datelike as _, NaiveDate, TimeDelta};
use storage::accounts::tokens::TokenRecord;
use storage::error::StorageError;
use storage::observations::totals::{RequestTotal, Seen, TotalKind};
use storage::session::{ProviderSession, Session};

/// What counted requests have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UsageKey {
    pub(crate) token: i64,
    pub(crate) version: String,
    pub(crate) endpoint: String,
    /// A name of another version in the requests; `None` in the count of all requests.
    pub(crate) name: Option<String>,
}

/// A number of requests, with the first and the last one.
#[derive(Debug, Clone)]
pub(crate) struct Usage {
    pub(crate) requests: i64,
    pub(crate) first: Seen,
    pub(crate) last: Seen,
}

/// Writes of a version that were checked against another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CheckKey {
    pub(crate) token: i64,
    pub(crate) version: String,
    pub(crate) against: String,
}

/// The numbers of checked writes, and of those that the other version would accept.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Checked {
    pub(crate) checked: i64,
    pub(crate) valid: i64,
}

impl AddAssign for Checked {
    fn add_assign(&mut self, other: Self) {
        self.checked += other.checked;
        self.valid += other.valid;
    }
}

/// The totals of the tokens of a report.
#[derive(Debug)]
pub(crate) struct Counts {
    since: NaiveDate,
    pub(crate) tokens: BTreeMap<i64, TokenRecord>,
    pub(crate) usage: BTreeMap<UsageKey, Usage>,
    pub(crate) checks: BTreeMap<CheckKey, Checked>,
    /// The numbers of checked writes with a problem, by code and field.
    pub(crate) problems: BTreeMap<(CheckKey, String, String), i64>,
    /// The checked writes of each week by its Monday, also before the first day of the report.
    pub(crate) weeks: BTreeMap<(CheckKey, NaiveDate), Checked>,
}

impl Counts {
    /// Loads the totals of all providers, or of one. The report begins on `since`, its weeks on
    /// `first_week`.
    pub(crate) fn load(
        session: &mut Session<'_>,
        since: NaiveDate,
        first_week: NaiveDate,
        provider: Option<&str>,
    ) -> Result<Self, StorageError> {
        let mut counts = Self::new(since, session.list_tokens(provider)?);
        session.totals_since(since.min(first_week), |total| counts.add(total))?;
        Ok(counts)
    }

    /// Like [`Counts::load`], for the session's provider.
    pub(crate) fn load_own(
        session: &mut ProviderSession<'_>,
        since: NaiveDate,
        first_week: NaiveDate,
    ) -> Result<Self, StorageError> {
        let mut counts = Self::new(since, session.own_tokens()?);
        session.own_totals_since(since.min(first_week), |total| counts.add(total))?;
        Ok(counts)
    }

    fn new(since: NaiveDate, tokens: Vec<TokenRecord>) -> Self {
        Self {
            since,
            tokens: tokens.into_iter().map(|token| (token.id, token)).collect(),
            usage: BTreeMap::new(),
            checks: BTreeMap::new(),
            problems: BTreeMap::new(),
            weeks: BTreeMap::new(),
        }
    }

    /// Adds a total. Totals must be added in the order of the days.
    fn add(&mut self, total: RequestTotal) {
        if !self.tokens.contains_key(&total.token_id) {
            return;
        }
        let is_reported = total.day >= self.since;
        let (token, version) = (total.token_id, total.version);
        let check_key = |against: &str| CheckKey {
            token,
            version: version.clone(),
            against: against.to_owned(),
        };
        match total.kind {
            TotalKind::Request | TotalKind::Name if is_reported => {
                let key = UsageKey {
                    token,
                    version,
                    endpoint: total.endpoint,
                    name: (total.kind == TotalKind::Name).then_some(total.detail),
                };
                self.add_usage(key, total.requests, total.first, total.last);
            }
            TotalKind::Check => {
                let valid = if total.status == 200 {
                    total.requests
                } else {
                    0
                };
                let checked = Checked {
                    checked: total.requests,
                    valid,
                };
                let key = check_key(&total.detail);
                let week = (key.clone(), monday(total.day));
                *self.weeks.entry(week).or_default() += checked;
                if is_reported {
                    *self.checks.entry(key).or_default() += checked;
                }
            }
            TotalKind::Problem if is_reported => {
                let mut parts = total.detail.splitn(3, ' ').map(str::to_owned);
                let mut part = || parts.next().unwrap_or_default();
                let (against, code, field) = (part(), part(), part());
                let key = (check_key(&against), code, field);
                *self.problems.entry(key).or_default() += total.requests;
            }
            TotalKind::Request | TotalKind::Name | TotalKind::Problem => {}
        }
    }

    fn add_usage(&mut self, key: UsageKey, requests: i64, first: Seen, last: Seen) {
        let added = Usage {
            requests,
            first,
            last,
        };
        match self.usage.get_mut(&key) {
            Some(known) => {
                known.requests += added.requests;
                known.first = known.first.clone().min(added.first);
                known.last = known.last.clone().max(added.last);
            }
            None => drop(self.usage.insert(key, added)),
        }
    }
}

/// The Monday of the week that contains the day.
pub(crate) fn monday(day: NaiveDate) -> NaiveDate {
    day - TimeDelta::days(i64::from(day.weekday().num_days_from_monday()))
}
