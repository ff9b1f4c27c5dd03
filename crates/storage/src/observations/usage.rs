//! What tokens ask for, counted by day, and how many of their writes another version would have
//! accepted.
//!
//! Rows are by day so that the last days can be distinguished from the year before. There are as
//! many of them as tokens, versions, endpoints and names that were really used on a day, and they
//! are kept for [`KEPT_DAYS`]: the tables are bounded by the days, and no day by the number of
//! requests. What is first seen is therefore the first of those days.
//!
//! Several servers add to the same rows. Each adds its own in the order of the keys, so they wait
//! for each other and never in a circle.
//!
//! This module does not know versions, endpoints and names. The caller must take them from a
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

/// For how many days counts are kept: a year, and a month to look back on it.
pub const KEPT_DAYS: i64 = 400;

/// A request that was seen.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Seen {
    /// When.
    pub at: DateTime<Utc>,
    /// Its identifier.
    pub request_id: Arc<str>,
}

/// Requests of one kind on one day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct UsageCount {
    /// The day in UTC.
    pub day: NaiveDate,
    /// How many there were on it.
    pub total: UsageTotal,
}

/// Writes of a version that were tried in another one on one day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CheckCount {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of the token.
    pub token_id: i64,
    /// The label of the version.
    pub version: String,
    /// The label of the version that they were tried in.
    pub against: String,
    /// How many there were.
    pub checked: i64,
    /// How many of them would be accepted there.
    pub valid: i64,
}

/// Writes that would not be accepted in another version, by what stands against them, on one day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProblemCount {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of the token.
    pub token_id: i64,
    /// The label of the version.
    pub version: String,
    /// The label of the version that they were tried in.
    pub against: String,
    /// The field, as that version calls it.
    pub field: String,
    /// The code of the problem.
    pub code: String,
    /// How many writes have it.
    pub writes: i64,
}

/// Counts that are added together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsageBatch {
    /// Requests.
    pub requests: Vec<UsageCount>,
    /// Writes that were tried in another version.
    pub checks: Vec<CheckCount>,
    /// What stood against them.
    pub problems: Vec<ProblemCount>,
}

/// The later of two requests wins, and of the earlier ones the first: servers add in any order.
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

const ADD_CHECKS: &str = r#"
INSERT INTO "shadow_checks" (day, token_id, version, against, checked, valid)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (day, token_id, version, against) DO UPDATE SET
    checked = shadow_checks.checked + excluded.checked,
    valid = shadow_checks.valid + excluded.valid"#;

const ADD_PROBLEMS: &str = r#"
INSERT INTO "shadow_problems" (day, token_id, version, against, field, code, writes)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (day, token_id, version, against, field, code) DO UPDATE SET
    writes = shadow_problems.writes + excluded.writes"#;

impl UsageBatch {
    /// How many counts there are.
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
    /// Adds counts to those that are there. On PostgreSQL they are sent together with the end of
    /// the job, in one message: a job has hundreds of them, and would spend its time waiting for
    /// the answers.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or there is no such token; on PostgreSQL at the end of
    /// the job.
    pub fn add_usage(&mut self, batch: &UsageBatch) -> Result<(), StorageError> {
        // The fields of a key stand first in each count, so this is the order of the keys.
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
    /// removed ones of a kind.
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
