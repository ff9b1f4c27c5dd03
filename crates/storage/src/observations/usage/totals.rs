//! Totals of counts over several days.

use std::collections::BTreeMap;

use chrono::{Datelike as _, NaiveDate, NaiveDateTime};
use diesel::prelude::*;

use super::Seen;
use crate::error::StorageError;
use crate::schema::{shadow_checks, shadow_problems, tokens, usage_by_day};
use crate::session::{ProviderSession, Session};

/// Requests of one kind.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageTotal {
    /// The number of the token.
    pub token_id: i64,
    /// The label of the version.
    pub version: String,
    /// The endpoint.
    pub endpoint: String,
    /// The name that another version uses and the request contained; empty in the count of all
    /// requests.
    pub name: String,
    /// The number of requests.
    pub requests: i64,
    /// The first of these requests.
    pub first: Seen,
    /// The last of these requests.
    pub last: Seen,
}

/// The writes of a token that were checked in another version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckTotal {
    /// The number of the token.
    pub token_id: i64,
    /// The number of requests.
    pub checked: i64,
    /// The number of writes that the other version would accept.
    pub valid: i64,
}

/// Writes that another version would reject, by problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProblemTotal {
    /// The number of the token.
    pub token_id: i64,
    /// The name of the field in that version.
    pub field: String,
    /// The code of the problem.
    pub code: String,
    /// The number of writes with the problem.
    pub writes: i64,
}

/// Requests of one month.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MonthTotal {
    /// The first day of the month.
    pub month: NaiveDate,
    /// The label of the version.
    pub version: String,
    /// The endpoint.
    pub endpoint: String,
    /// The number of requests.
    pub requests: i64,
}

/// Token number, version, endpoint, name, number of requests, and the time and identifier of the
/// first and of the last request.
type UsageRow = (
    i64,
    String,
    String,
    String,
    i64,
    NaiveDateTime,
    String,
    NaiveDateTime,
    String,
);

/// The name of the rows that count all requests.
pub(super) const ALL_REQUESTS: &str = "";
/// The number of days read at a time for one provider.
const DAYS: usize = 50;

/// The columns of a [`UsageRow`].
macro_rules! usage_row {
    () => {
        (
            usage_by_day::token_id,
            usage_by_day::version,
            usage_by_day::endpoint,
            usage_by_day::name,
            usage_by_day::requests,
            usage_by_day::first_at,
            usage_by_day::first_request_id,
            usage_by_day::last_at,
            usage_by_day::last_request_id,
        )
    };
}

/// Token, version, endpoint and name.
type UsageKey = (i64, String, String, String);

/// Adds up the rows of days: the requests, and the first and the last of them. Rows must be added
/// in the order of the days.
#[derive(Default)]
struct UsageSums(BTreeMap<UsageKey, (i64, Seen, Seen)>);

impl UsageSums {
    /// Adds the rows of a later day, or of several later days in their order.
    fn add(&mut self, rows: Vec<UsageRow>) {
        for (token_id, version, endpoint, name, requests, first_at, first_id, last_at, last_id) in
            rows
        {
            let first = Seen {
                at: first_at.and_utc(),
                request_id: first_id.into(),
            };
            let last = Seen {
                at: last_at.and_utc(),
                request_id: last_id.into(),
            };
            self.0
                .entry((token_id, version, endpoint, name))
                // Days are in order, so the first request stays and the last one is replaced.
                .and_modify(|(sum, _, latest)| {
                    *sum += requests;
                    *latest = last.clone();
                })
                .or_insert((requests, first, last));
        }
    }

    fn totals(self) -> Vec<UsageTotal> {
        let total = |((token_id, version, endpoint, name), (requests, first, last))| UsageTotal {
            token_id,
            version,
            endpoint,
            name,
            requests,
            first,
            last,
        };
        self.0.into_iter().map(total).collect()
    }
}

/// Adds up the checked and the valid writes by token. Sorted by token number.
fn check_totals(rows: Vec<(i64, i64, i64)>) -> Vec<CheckTotal> {
    let mut totals: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for (token_id, checked, valid) in rows {
        let total = totals.entry(token_id).or_default();
        *total = (total.0 + checked, total.1 + valid);
    }
    totals
        .into_iter()
        .map(|(token_id, (checked, valid))| CheckTotal {
            token_id,
            checked,
            valid,
        })
        .collect()
}

/// Adds up the writes by token, field and code. Sorted by these.
fn problem_totals(rows: Vec<(i64, String, String, i64)>) -> Vec<ProblemTotal> {
    let mut totals: BTreeMap<_, i64> = BTreeMap::new();
    for (token_id, field, code, writes) in rows {
        *totals.entry((token_id, field, code)).or_default() += writes;
    }
    let total = |((token_id, field, code), writes)| ProblemTotal {
        token_id,
        field,
        code,
        writes,
    };
    totals.into_iter().map(total).collect()
}

impl Session<'_> {
    /// The requests of all tokens since a day, sorted by token number, version, endpoint and name.
    ///
    /// Reads one day at a time, so that only the result is kept in memory.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn usage_since(&mut self, day: NaiveDate) -> Result<Vec<UsageTotal>, StorageError> {
        let days = usage_by_day::table
            .filter(usage_by_day::day.ge(day))
            .select(usage_by_day::day)
            .distinct();
        let days = days
            .order(usage_by_day::day)
            .load::<NaiveDate>(self.connection)?;
        let mut sums = UsageSums::default();
        for day in days {
            let rows = usage_by_day::table
                .filter(usage_by_day::day.eq(day))
                .select(usage_row!());
            sums.add(rows.load::<UsageRow>(self.connection)?);
        }
        Ok(sums.totals())
    }

    /// The checks of a version's writes in another version since a day, sorted by token number.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn checks_since(
        &mut self,
        day: NaiveDate,
        version: &str,
        against: &str,
    ) -> Result<Vec<CheckTotal>, StorageError> {
        let rows = shadow_checks::table
            .filter(shadow_checks::day.ge(day))
            .filter(shadow_checks::version.eq(version))
            .filter(shadow_checks::against.eq(against))
            .select((
                shadow_checks::token_id,
                shadow_checks::checked,
                shadow_checks::valid,
            ))
            .load::<(i64, i64, i64)>(self.connection)?;
        Ok(check_totals(rows))
    }

    /// The problems of a version's writes in another version since a day, sorted by token number
    /// and field.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn problems_since(
        &mut self,
        day: NaiveDate,
        version: &str,
        against: &str,
    ) -> Result<Vec<ProblemTotal>, StorageError> {
        let rows = shadow_problems::table
            .filter(shadow_problems::day.ge(day))
            .filter(shadow_problems::version.eq(version))
            .filter(shadow_problems::against.eq(against))
            .select((
                shadow_problems::token_id,
                shadow_problems::field,
                shadow_problems::code,
                shadow_problems::writes,
            ))
            .load::<(i64, String, String, i64)>(self.connection)?;
        Ok(problem_totals(rows))
    }
}

/// Queries of a provider about its own tokens. They list days and tokens, because the unique
/// indexes begin with both and thus lead only to the rows of the provider.
impl ProviderSession<'_> {
    /// Like [`Session::usage_since`], for the provider's tokens only.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_usage_since(&mut self, day: NaiveDate) -> Result<Vec<UsageTotal>, StorageError> {
        let tokens = self.own_token_ids()?;
        let mut sums = UsageSums::default();
        for days in days(day, self.today()).chunks(DAYS) {
            let rows = usage_by_day::table
                .filter(usage_by_day::day.eq_any(days))
                .filter(usage_by_day::token_id.eq_any(&tokens))
                .order(usage_by_day::day)
                .select(usage_row!());
            sums.add(rows.load::<UsageRow>(self.connection)?);
        }
        Ok(sums.totals())
    }

    /// The requests of the provider's tokens since a day, sorted by month, version and endpoint.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_usage_by_month(&mut self, day: NaiveDate) -> Result<Vec<MonthTotal>, StorageError> {
        let rows = usage_by_day::table
            .filter(usage_by_day::day.eq_any(days(day, self.today())))
            .filter(usage_by_day::token_id.eq_any(self.own_token_ids()?))
            .filter(usage_by_day::name.eq(ALL_REQUESTS))
            .select((
                usage_by_day::day,
                usage_by_day::version,
                usage_by_day::endpoint,
                usage_by_day::requests,
            ))
            .load::<(NaiveDate, String, String, i64)>(self.connection)?;
        let mut totals: BTreeMap<_, i64> = BTreeMap::new();
        for (day, version, endpoint, requests) in rows {
            *totals
                .entry((day.with_day(1).unwrap_or(day), version, endpoint))
                .or_default() += requests;
        }
        let total = |((month, version, endpoint), requests)| MonthTotal {
            month,
            version,
            endpoint,
            requests,
        };
        Ok(totals.into_iter().map(total).collect())
    }

    /// Like [`Session::checks_since`], for the provider's tokens only.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_checks_since(
        &mut self,
        day: NaiveDate,
        version: &str,
        against: &str,
    ) -> Result<Vec<CheckTotal>, StorageError> {
        let tokens = self.own_token_ids()?;
        let rows = shadow_checks::table
            .filter(shadow_checks::day.eq_any(days(day, self.today())))
            .filter(shadow_checks::token_id.eq_any(tokens))
            .filter(shadow_checks::version.eq(version))
            .filter(shadow_checks::against.eq(against))
            .select((
                shadow_checks::token_id,
                shadow_checks::checked,
                shadow_checks::valid,
            ))
            .load::<(i64, i64, i64)>(self.connection)?;
        Ok(check_totals(rows))
    }

    /// Like [`Session::problems_since`], for the provider's tokens only.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn own_problems_since(
        &mut self,
        day: NaiveDate,
        version: &str,
        against: &str,
    ) -> Result<Vec<ProblemTotal>, StorageError> {
        let tokens = self.own_token_ids()?;
        let rows = shadow_problems::table
            .filter(shadow_problems::day.eq_any(days(day, self.today())))
            .filter(shadow_problems::token_id.eq_any(tokens))
            .filter(shadow_problems::version.eq(version))
            .filter(shadow_problems::against.eq(against))
            .select((
                shadow_problems::token_id,
                shadow_problems::field,
                shadow_problems::code,
                shadow_problems::writes,
            ))
            .load::<(i64, String, String, i64)>(self.connection)?;
        Ok(problem_totals(rows))
    }

    /// The numbers of all tokens of the provider, in any order.
    pub(super) fn own_token_ids(&mut self) -> Result<Vec<i64>, StorageError> {
        let own = tokens::table
            .filter(tokens::provider_id.eq(self.provider().id))
            .select(tokens::id);
        Ok(own.load(self.connection)?)
    }
}

/// All days from the first to the last.
pub(super) fn days(first: NaiveDate, last: NaiveDate) -> Vec<NaiveDate> {
    first.iter_days().take_while(|day| *day <= last).collect()
}
