//! The request log: for each provider, the refused requests of the last [`KEPT_DAYS`] days and the
//! latest accepted ones, with endpoint and status, and the codes and fields of problems. Of a body,
//! only the key of the record is stored, unless the provider has switched that off
//! ([`Session::set_record_key_logging`]). [`runs`] groups the requests.
//!
//! The log is bounded: callers remove entries over [`LogLimits`] after adding, and the maintenance
//! of the servers removes old ones. Statements find rows by provider and time through the index and
//! never scan the table.
//!
//! The module is independent of versions, endpoints and fields. The caller must take their names
//! from a bounded set, without any part of a body except the key.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use chrono::{NaiveDateTime, TimeDelta};
use database::connection::DatabaseConnection;
use diesel::prelude::*;

use self::entry::stored_problems;
use self::runs::{NewRun, RunKey};
use crate::error::StorageError;
use crate::records::erasure;
use crate::schema::{providers, request_log};
use crate::session::Session;

mod entry;
mod listing;
mod record_keys;
mod refusals;
pub mod runs;

pub use entry::{KEPT_DAYS, LoggedProblem, LoggedRequest, Outcome};
pub use listing::{LogPosition, PAGE, RequestFilter, RequestPage, UnreadablePosition};
pub use refusals::{MAX_COUNTED, MAX_REFUSALS, Refusal, Refusals};

/// The most requests kept for each provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogLimits {
    /// The most refused requests.
    pub refused: u32,
    /// The most accepted requests.
    pub accepted: u32,
}

impl LogLimits {
    /// The most requests with this outcome.
    #[must_use]
    pub const fn limit(self, outcome: Outcome) -> u32 {
        match outcome {
            Outcome::Refused => self.refused,
            Outcome::Accepted => self.accepted,
        }
    }
}

impl Default for LogLimits {
    fn default() -> Self {
        Self {
            refused: 100_000,
            accepted: 1_000,
        }
    }
}

/// A request to log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewLoggedRequest {
    /// The number of the provider.
    pub provider_id: i64,
    /// The request.
    pub request: LoggedRequest,
    /// The run of the request, which must be among the runs that are added with it. `None` for an
    /// accepted request that only reads.
    pub run: Option<RunKey>,
    /// The identifier of the trainee with the key. It is compared with the erased trainees, so that
    /// no key of an erased trainee is stored. It is not stored itself.
    pub trainee_id: Option<String>,
}

/// Requests to log, and their runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewLogEntries {
    /// The runs, each once.
    pub runs: Vec<NewRun>,
    /// The requests.
    pub requests: Vec<NewLoggedRequest>,
}

#[derive(Insertable)]
#[diesel(table_name = request_log, treat_none_as_default_value = false)]
struct NewRow {
    provider_id: i64,
    accepted: bool,
    answered_at: NaiveDateTime,
    token_id: Option<i64>,
    user_id: Option<i64>,
    version: String,
    endpoint: String,
    method: String,
    status: i32,
    item: Option<i32>,
    request_id: String,
    problems: String,
    problems_left_out: i32,
    run_id: Option<i64>,
    record_key: Option<String>,
}

impl NewRow {
    /// The row of a request. `stores_key` decides whether the row has the key of the record.
    fn new(new: &NewLoggedRequest, run_id: Option<i64>, stores_key: bool) -> Self {
        let request = &new.request;
        let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        Self {
            provider_id: new.provider_id,
            accepted: request.outcome().is_accepted(),
            answered_at: request.answered_at.naive_utc(),
            token_id: request.sender.token_id(),
            user_id: request.sender.user_id(),
            version: request.version.clone(),
            endpoint: request.endpoint.clone(),
            method: request.method.clone(),
            status: i32::from(request.status),
            item: request.item.map(count),
            request_id: request.request_id.clone(),
            problems: stored_problems(&request.problems),
            problems_left_out: count(request.problems_left_out),
            run_id,
            record_key: request.record_key.clone().filter(|_| stores_key),
        }
    }
}

impl Session<'_> {
    /// Adds requests and their runs. Leaves out the keys of erased trainees, and of providers that
    /// have switched off storing keys.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a provider or a token does not exist.
    pub fn add_requests(&mut self, entries: &NewLogEntries) -> Result<(), StorageError> {
        let stores_keys = self.lock_logs(entries)?;
        let erased = self.erased_trainees(&entries.requests)?;
        let mut run_ids = HashMap::new();
        for run in &entries.runs {
            run_ids.insert(&run.key, self.add_to_run(run)?);
        }
        let mut rows = Vec::with_capacity(entries.requests.len());
        for request in &entries.requests {
            let run_id = request.run.as_ref().and_then(|run| run_ids.get(run));
            let is_erased = request
                .trainee_id
                .as_ref()
                .is_some_and(|id| erased.contains(id));
            let stores_key = !is_erased && stores_keys.get(&request.provider_id) == Some(&true);
            rows.push(NewRow::new(request, run_id.copied(), stores_key));
        }
        self.insert_requests(&rows)
    }

    /// Locks the logs of the providers until the transaction ends. Returns for each provider
    /// whether keys are stored.
    fn lock_logs(&mut self, entries: &NewLogEntries) -> Result<BTreeMap<i64, bool>, StorageError> {
        let of_runs = entries.runs.iter().map(|run| run.key.provider_id);
        let of_requests = entries.requests.iter().map(|request| request.provider_id);
        let ids: BTreeSet<i64> = of_runs.chain(of_requests).collect();
        let settings = providers::table
            .filter(providers::id.eq_any(ids))
            // The same order in all transactions prevents deadlocks.
            .order(providers::id)
            .select((providers::id, providers::logs_record_keys));
        let settings = match self.connection {
            DatabaseConnection::Postgres(inner) => {
                settings.for_no_key_update().load::<(i64, bool)>(inner)?
            }
            DatabaseConnection::Sqlite(inner) => settings.load::<(i64, bool)>(inner)?,
        };
        Ok(settings.into_iter().collect())
    }

    /// The identifiers of erased trainees, among the trainees of the requests with a key.
    fn erased_trainees(
        &mut self,
        requests: &[NewLoggedRequest],
    ) -> Result<HashSet<String>, StorageError> {
        let with_key = requests
            .iter()
            .filter(|new| new.request.record_key.is_some());
        let ids: Vec<&str> = with_key
            .filter_map(|new| new.trainee_id.as_deref())
            .collect();
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        erasure::among(self.connection, &ids)
    }

    /// Inserts the rows. Uses one statement on PostgreSQL; on SQLite, one for each row takes no
    /// round trip.
    fn insert_requests(&mut self, rows: &[NewRow]) -> Result<(), StorageError> {
        match self.connection {
            DatabaseConnection::Postgres(inner) => {
                diesel::insert_into(request_log::table)
                    .values(rows)
                    .execute(inner)?;
            }
            DatabaseConnection::Sqlite(inner) => {
                for row in rows {
                    diesel::insert_into(request_log::table)
                        .values(row)
                        .execute(inner)?;
                }
            }
        }
        Ok(())
    }

    /// The newest request over the limit, for a provider and an outcome; `None` if there is none.
    /// Reads as many entries of the index as the limit.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn newest_surplus_request(
        &mut self,
        provider_id: i64,
        outcome: Outcome,
        limit: u32,
    ) -> Result<Option<LogPosition>, StorageError> {
        let newest = request_log::table
            .filter(request_log::provider_id.eq(provider_id))
            .filter(request_log::accepted.eq(outcome.is_accepted()))
            .order((request_log::answered_at.desc(), request_log::id.desc()))
            .offset(i64::from(limit))
            .select((request_log::answered_at, request_log::id));
        let newest = newest
            .first::<(NaiveDateTime, i64)>(self.connection)
            .optional()?;
        Ok(newest.map(|(at, id)| LogPosition {
            answered_at: at.and_utc(),
            id,
        }))
    }

    /// Removes up to `most` of the oldest requests of a provider with this outcome, up to
    /// [`Session::newest_surplus_request`]. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_surplus_requests(
        &mut self,
        provider_id: i64,
        outcome: Outcome,
        newest: LogPosition,
        most: i64,
    ) -> Result<usize, StorageError> {
        let accepted = outcome.is_accepted();
        let at = newest.answered_at.naive_utc();
        let oldest = request_log::table
            .filter(request_log::provider_id.eq(provider_id))
            .filter(request_log::accepted.eq(accepted))
            .filter(request_log::answered_at.le(at))
            .filter(
                request_log::answered_at
                    .lt(at)
                    .or(request_log::id.le(newest.id)),
            )
            .order((request_log::answered_at, request_log::id))
            .select((request_log::answered_at, request_log::id))
            .limit(most);
        let oldest = oldest.load::<(NaiveDateTime, i64)>(self.connection)?;
        let Some((last, _)) = oldest.last() else {
            return Ok(0);
        };
        let ids: Vec<i64> = oldest.iter().map(|(_, id)| *id).collect();
        // Restricted again, so that the index finds the rows.
        let surplus = request_log::table
            .filter(request_log::provider_id.eq(provider_id))
            .filter(request_log::accepted.eq(accepted))
            .filter(request_log::answered_at.le(last))
            .filter(request_log::id.eq_any(ids));
        Ok(diesel::delete(surplus).execute(self.connection)?)
    }

    /// Removes up to `most` expired requests. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_requests(&mut self, most: i64) -> Result<usize, StorageError> {
        let oldest = (self.now() - TimeDelta::days(KEPT_DAYS)).naive_utc();
        // The index begins with the provider, so the query lists the providers.
        let providers = providers::table
            .select(providers::id)
            .load::<i64>(self.connection)?;
        let old = request_log::table
            .filter(request_log::provider_id.eq_any(providers))
            .filter(request_log::accepted.eq_any([false, true]))
            .filter(request_log::answered_at.lt(oldest))
            .select((
                request_log::provider_id,
                request_log::answered_at,
                request_log::id,
            ))
            .limit(most);
        let old = old.load::<(i64, NaiveDateTime, i64)>(self.connection)?;
        let Some(last) = old.iter().map(|(_, at, _)| *at).max() else {
            return Ok(0);
        };
        let providers: BTreeSet<i64> = old.iter().map(|(provider, ..)| *provider).collect();
        let ids: Vec<i64> = old.iter().map(|(.., id)| *id).collect();
        // Restricted again, so that the index finds the rows without scanning all old requests.
        let old = request_log::table
            .filter(request_log::provider_id.eq_any(providers))
            .filter(request_log::accepted.eq_any([false, true]))
            .filter(request_log::answered_at.le(last))
            .filter(request_log::id.eq_any(ids));
        Ok(diesel::delete(old).execute(self.connection)?)
    }
}

#[cfg(test)]
mod tests;
