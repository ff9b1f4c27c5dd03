//! Requests of tokens, counted by day, and checks whether their writes would be accepted in another
//! version.
//!
//! There is one row for each day, token, version, endpoint and name in use. Rows are kept for
//! [`KEPT_DAYS`], so the number of rows is bounded by the days and does not depend on the number of
//! requests. The first request in a total is therefore the first one of the kept days.
//!
//! Several servers add to the same rows, each in the order of the keys. They may wait for each
//! other but cannot deadlock.
//!
//! The module is independent of versions, endpoints and names. The caller must take them from a
//! bounded set.

use std::sync::Arc;

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use database::connection::execute_deferred;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Date, Text, Timestamp};

use crate::error::StorageError;
use crate::schema::{shadow_checks, shadow_problems, usage_by_day};
use crate::session::Session;

mod checks_by_day;
mod extent;
mod last_versions;
mod totals;

pub use checks_by_day::CheckDay;
pub use totals::{CheckTotal, MonthTotal, ProblemTotal, UsageTotal};

/// Counts are kept for this number of days: a year, and a month to look back at it.
pub const KEPT_DAYS: i64 = 400;

/// The time and the identifier of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// When the request was counted.
    pub at: DateTime<Utc>,
    /// The identifier of the request.
    pub request_id: Arc<str>,
}

/// Requests of one kind on one day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageCount {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The requests of the day.
    pub total: UsageTotal,
}

/// Writes in a version that were checked in another one, on one day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckCount {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of the token.
    pub token_id: i64,
    /// The label of the version.
    pub version: String,
    /// The label of the version that checked the writes.
    pub against: String,
    /// The number of checked writes.
    pub checked: i64,
    /// The number of writes that the other version would accept.
    pub valid: i64,
}

/// Writes that another version would reject, by problem, on one day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProblemCount {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of the token.
    pub token_id: i64,
    /// The label of the version.
    pub version: String,
    /// The label of the version that checked the writes.
    pub against: String,
    /// The name of the field in that version.
    pub field: String,
    /// The code of the problem.
    pub code: String,
    /// The number of writes with the problem.
    pub writes: i64,
}

/// Counts to add in one job.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageBatch {
    /// Requests.
    pub requests: Vec<UsageCount>,
    /// Writes that were checked in another version.
    pub checks: Vec<CheckCount>,
    /// Problems of these writes.
    pub problems: Vec<ProblemCount>,
}

/// Keeps the first and the last request by time, because servers add counts in any order.
const ADD_REQUESTS: &str = r#"
INSERT INTO "usage_by_day" (day, token_id, version, endpoint, name, requests,
                            first_at, first_request_id, last_at, last_request_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (day, token_id, version, endpoint, name) DO UPDATE SET
    requests = usage_by_day.requests + excluded.requests,
    first_request_id = CASE WHEN excluded.first_at < usage_by_day.first_at
                            THEN excluded.first_request_id ELSE usage_by_day.first_request_id END,
    first_at = CASE WHEN excluded.first_at < usage_by_day.first_at
                    THEN excluded.first_at ELSE usage_by_day.first_at END,
    last_request_id = CASE WHEN excluded.last_at >= usage_by_day.last_at
                           THEN excluded.last_request_id ELSE usage_by_day.last_request_id END,
    last_at = CASE WHEN excluded.last_at >= usage_by_day.last_at
                   THEN excluded.last_at ELSE usage_by_day.last_at END"#;

/// Adds to the checks of a day.
const ADD_CHECKS: &str = r#"
INSERT INTO "shadow_checks" (day, token_id, version, against, checked, valid)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (day, token_id, version, against) DO UPDATE SET
    checked = shadow_checks.checked + excluded.checked,
    valid = shadow_checks.valid + excluded.valid"#;

/// Adds to the problems of a day.
const ADD_PROBLEMS: &str = r#"
INSERT INTO "shadow_problems" (day, token_id, version, against, field, code, writes)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (day, token_id, version, against, field, code) DO UPDATE SET
    writes = shadow_problems.writes + excluded.writes"#;

impl UsageBatch {
    /// The number of counts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.requests.len() + self.checks.len() + self.problems.len()
    }

    /// Whether there is nothing to add.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Session<'_> {
    /// Adds counts to the stored ones. PostgreSQL receives all statements in one message at the end
    /// of the job: a job has hundreds of them, and would otherwise wait for each answer.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a token does not exist. PostgreSQL reports this at the
    /// end of the job.
    pub fn add_usage(&mut self, batch: &UsageBatch) -> Result<(), StorageError> {
        // The first fields of each count are its key, so this sorts by key.
        let UsageBatch {
            mut requests,
            mut checks,
            mut problems,
        } = batch.clone();
        requests.sort_unstable();
        checks.sort_unstable();
        problems.sort_unstable();
        for UsageCount { day, total } in requests {
            let add = diesel::sql_query(ADD_REQUESTS)
                .bind::<Date, _>(day)
                .bind::<BigInt, _>(total.token_id)
                .bind::<Text, _>(total.version)
                .bind::<Text, _>(total.endpoint)
                .bind::<Text, _>(total.name)
                .bind::<BigInt, _>(total.requests)
                .bind::<Timestamp, _>(total.first.at.naive_utc())
                .bind::<Text, _>(total.first.request_id.to_string())
                .bind::<Timestamp, _>(total.last.at.naive_utc())
                .bind::<Text, _>(total.last.request_id.to_string());
            execute_deferred!(self.connection, |inner| add.execute(inner))?;
        }
        for count in checks {
            let add = diesel::sql_query(ADD_CHECKS)
                .bind::<Date, _>(count.day)
                .bind::<BigInt, _>(count.token_id)
                .bind::<Text, _>(count.version)
                .bind::<Text, _>(count.against)
                .bind::<BigInt, _>(count.checked)
                .bind::<BigInt, _>(count.valid);
            execute_deferred!(self.connection, |inner| add.execute(inner))?;
        }
        for count in problems {
            let add = diesel::sql_query(ADD_PROBLEMS)
                .bind::<Date, _>(count.day)
                .bind::<BigInt, _>(count.token_id)
                .bind::<Text, _>(count.version)
                .bind::<Text, _>(count.against)
                .bind::<Text, _>(count.field)
                .bind::<Text, _>(count.code)
                .bind::<BigInt, _>(count.writes);
            execute_deferred!(self.connection, |inner| add.execute(inner))?;
        }
        Ok(())
    }

    /// Removes counts of expired days, up to `most` of each kind. Returns the largest number of
    /// removed counts of one kind. If it is `most`, more may be left.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_usage(&mut self, most: i64) -> Result<usize, StorageError> {
        let oldest = self.today() - TimeDelta::days(KEPT_DAYS);
        macro_rules! remove {
            ($table:ident) => {{
                let old = $table::table
                    .filter($table::day.lt(oldest))
                    .order($table::day)
                    .select($table::id);
                let old = old.limit(most).load::<i64>(self.connection)?;
                if old.is_empty() {
                    0
                } else {
                    diesel::delete($table::table.filter($table::id.eq_any(old)))
                        .execute(self.connection)?
                }
            }};
        }
        Ok(remove!(usage_by_day)
            .max(remove!(shadow_checks))
            .max(remove!(shadow_problems)))
    }
}

#[cfg(test)]
mod tests;
