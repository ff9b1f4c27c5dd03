//! The record of requests: one row for each write, each refused request, and each item of a batch
//! or row of a file. Rows are kept for [`KEPT_DAYS`] days.
//!
//! [`listing`] reads single requests, [`runs`] groups them into imports, and [`refusals`] counts the
//! most frequent problems. A row has the key of its record, unless the provider has switched that
//! off ([`keys`]), and repeats values of the body only together with that key, so that an erasure
//! finds them. All other texts must come from a bounded set.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use database::connection::DatabaseConnection;
use diesel::prelude::*;
use diesel::result::Error as DieselError;
use diesel::sql_types::Text;
use serde::{Serialize, Serializer};

use crate::base::sender::Sender;
use crate::error::StorageError;
use crate::observations::totals::RequestTotal;
use crate::records::erasure;
use crate::schema::{providers, requests};
use crate::session::Session;

mod keys;
pub mod listing;
pub mod refusals;
pub mod runs;

/// Rows are kept for this number of days.
pub const KEPT_DAYS: i64 = 30;

/// The most rows in one statement on PostgreSQL.
const ROWS_PER_STATEMENT: usize = 1_000;

/// The result of a request for its record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordResult {
    /// A trainee was registered.
    Registered,
    /// A record was changed.
    Changed,
    /// The request was refused because the trainee is registered already.
    AlreadyRegistered,
    /// The request was refused for another reason.
    Refused,
    /// The request was refused, and would have stored nothing: it had `validate-only`.
    RefusedCheck,
    /// The request was accepted with `validate-only`.
    Checked,
    /// The reply repeats that to an earlier request with the same idempotency key.
    Repeated,
}

impl RecordResult {
    const ALL: [Self; 7] = [
        Self::Registered,
        Self::Changed,
        Self::AlreadyRegistered,
        Self::Refused,
        Self::RefusedCheck,
        Self::Checked,
        Self::Repeated,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Registered => "registered",
            Self::Changed => "changed",
            Self::AlreadyRegistered => "already_registered",
            Self::Refused => "refused",
            Self::RefusedCheck => "refused_check",
            Self::Checked => "checked",
            Self::Repeated => "repeated",
        }
    }

    /// Whether the request was refused.
    #[must_use]
    pub const fn is_refused(self) -> bool {
        matches!(
            self,
            Self::AlreadyRegistered | Self::Refused | Self::RefusedCheck
        )
    }

    /// The result with this name. A name of a later release counts as a change.
    fn named(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|result| result.name() == name);
        found.unwrap_or(Self::Changed)
    }
}

/// A problem of a refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedProblem {
    /// The code; empty if there is none, as for a query parameter.
    pub code: String,
    /// The name of the field in the version of the request; empty if there is none.
    pub field: String,
    /// The message of the reply, without the field.
    pub message: String,
    /// The message for rows without a record key, if the message repeats a value.
    pub without_value: Option<String>,
}

/// A request, or an item of a batch or upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedRequest {
    /// When the request was answered.
    pub answered_at: DateTime<Utc>,
    /// The token, or the user of an uploaded file.
    pub sender: Sender,
    /// The label of the version.
    pub version: String,
    /// The endpoint.
    pub endpoint: String,
    /// The status of the reply.
    pub status: u16,
    /// The result for the record.
    pub result: RecordResult,
    /// The identifier of the request, or of the batch or upload.
    pub request_id: String,
    /// Whether the request is a batch, an item of a batch or a row of an upload.
    pub in_batch: bool,
    /// The position of the item in its batch or upload, from 0; `None` for a whole request.
    pub item: Option<u32>,
    /// The provider's key of the record: its `provider_trainee_id`, or else its identifier. `None`
    /// if the request has none, or the provider has switched off storing keys.
    pub record_key: Option<String>,
    /// The names of other versions in the request.
    pub names: Vec<String>,
    /// The first problems.
    pub problems: Vec<RecordedProblem>,
    /// The number of further problems.
    pub problems_left_out: u32,
    /// The codes and fields of the problems that the newest version would report for an accepted
    /// write of an older version. `None` if it was not asked.
    pub newest_problems: Option<Vec<(String, String)>>,
}

/// A request to record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    /// The number of the provider.
    pub provider_id: i64,
    /// The request.
    pub request: RecordedRequest,
    /// The identifier of the trainee with the key. Requests of erased trainees are not stored. The
    /// identifier is not stored itself.
    pub trainee_id: Option<String>,
}

/// Inserts rows on PostgreSQL, from an array of objects. With a statement for each row, registrations
/// had 0.93 of their rate.
const ADD_ROWS: &str = r#"
INSERT INTO "requests" (provider_id, answered_at, token_id, user_id, version, endpoint, status, result,
                        refused, request_id, in_batch, item, record_key, names, problems,
                        problems_left_out, newest_problems)
SELECT provider_id, answered_at, token_id, user_id, version, endpoint, status, result,
       refused, request_id, in_batch, item, record_key, names, problems,
       problems_left_out, newest_problems
FROM json_populate_recordset(NULL::requests, $1::json)"#;

/// A row of the table. Its fields have the names of the columns.
#[derive(Insertable, Serialize)]
#[diesel(table_name = requests, treat_none_as_default_value = false)]
struct NewRequestRow<'a> {
    provider_id: i64,
    #[serde(serialize_with = "as_text")]
    answered_at: NaiveDateTime,
    token_id: Option<i64>,
    user_id: Option<i64>,
    version: &'a str,
    endpoint: &'a str,
    status: i32,
    result: &'static str,
    refused: bool,
    request_id: &'a str,
    in_batch: bool,
    item: Option<i32>,
    record_key: Option<&'a str>,
    names: Option<String>,
    problems: Option<String>,
    problems_left_out: i32,
    newest_problems: Option<String>,
}

impl<'a> NewRequestRow<'a> {
    /// The row of a request. `stores_key` decides whether the row has the key of the record.
    fn new(provider_id: i64, request: &'a RecordedRequest, stores_key: bool) -> Self {
        let count = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let record_key = request.record_key.as_deref().filter(|_| stores_key);
        let names = &request.names;
        let newest_problems = request.newest_problems.as_ref();
        Self {
            provider_id,
            answered_at: request.answered_at.naive_utc(),
            token_id: request.sender.token_id(),
            user_id: request.sender.user_id(),
            version: &request.version,
            endpoint: &request.endpoint,
            status: i32::from(request.status),
            result: request.result.name(),
            refused: request.result.is_refused(),
            request_id: &request.request_id,
            in_batch: request.in_batch,
            item: request.item.map(count),
            record_key,
            names: (!names.is_empty()).then(|| serde_json::json!(names).to_string()),
            problems: stored_problems(&request.problems, record_key.is_some()),
            problems_left_out: count(request.problems_left_out),
            newest_problems: newest_problems.map(|found| serde_json::json!(found).to_string()),
        }
    }
}

/// Serialises a time, such as `2026-11-28 12:00:00.250`.
fn as_text<S: Serializer>(at: &NaiveDateTime, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(at)
}

/// The stored form of problems: an array of `[code, field, message]`. `has_key` says whether the
/// row has the key of the record.
fn stored_problems(problems: &[RecordedProblem], has_key: bool) -> Option<String> {
    let stored: Vec<[&str; 3]> = problems
        .iter()
        .map(|problem| {
            let general = problem.without_value.as_deref().filter(|_| !has_key);
            let message = general.unwrap_or(&problem.message);
            [problem.code.as_str(), problem.field.as_str(), message]
        })
        .collect();
    (!stored.is_empty()).then(|| serde_json::json!(stored).to_string())
}

impl Session<'_> {
    /// Records requests, and adds to the totals. Leaves out requests of erased trainees, and the keys
    /// of providers that have switched off storing keys.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a provider or a token does not exist.
    pub fn record_requests(
        &mut self,
        new: &[NewRequest],
        totals: &[RequestTotal],
    ) -> Result<(), StorageError> {
        let stores_keys = self.lock_record_keys(new)?;
        let erased = self.erased_meanwhile(new)?;
        let mut rows = Vec::with_capacity(new.len());
        for new in new {
            let is_erased = new
                .trainee_id
                .as_ref()
                .is_some_and(|id| erased.contains(id));
            if let (Some(stores_key), false) = (stores_keys.get(&new.provider_id), is_erased) {
                rows.push(NewRequestRow::new(
                    new.provider_id,
                    &new.request,
                    *stores_key,
                ));
            }
        }
        self.insert_requests(&rows)?;
        self.add_totals(totals)
    }

    fn insert_requests(&mut self, rows: &[NewRequestRow<'_>]) -> Result<(), StorageError> {
        match self.connection {
            DatabaseConnection::Postgres(inner) => {
                for rows in rows.chunks(ROWS_PER_STATEMENT) {
                    let rows = serde_json::to_string(rows);
                    let rows =
                        rows.map_err(|error| DieselError::SerializationError(Box::new(error)))?;
                    let add = diesel::sql_query(ADD_ROWS).bind::<Text, _>(rows);
                    add.execute(inner)?;
                }
            }
            DatabaseConnection::Sqlite(inner) => {
                for row in rows {
                    let add = diesel::insert_into(requests::table).values(row);
                    add.execute(inner)?;
                }
            }
        }
        Ok(())
    }

    /// Locks the settings of the providers until the transaction ends. Returns for each provider
    /// whether keys are stored.
    fn lock_record_keys(
        &mut self,
        new: &[NewRequest],
    ) -> Result<BTreeMap<i64, bool>, StorageError> {
        let ids: BTreeSet<i64> = new.iter().map(|new| new.provider_id).collect();
        if ids.is_empty() {
            return Ok(BTreeMap::new());
        }
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

    /// The trainees that were erased while the requests waited.
    fn erased_meanwhile(&mut self, new: &[NewRequest]) -> Result<HashSet<String>, StorageError> {
        let with_trainee = new.iter().filter(|new| new.trainee_id.is_some());
        let Some(first) = with_trainee.map(|new| new.request.answered_at).min() else {
            return Ok(HashSet::new());
        };
        // The clocks of the servers and of the database differ by less than this.
        erasure::since(self.connection, first - TimeDelta::days(1))
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
        let old = requests::table
            .filter(requests::provider_id.eq_any(providers))
            .filter(requests::answered_at.lt(oldest))
            .select(requests::id)
            .limit(most);
        let old = old.load::<i64>(self.connection)?;
        if old.is_empty() {
            return Ok(0);
        }
        let old = requests::table.filter(requests::id.eq_any(old));
        Ok(diesel::delete(old).execute(self.connection)?)
    }
}

#[cfg(test)]
pub(crate) mod tests;
