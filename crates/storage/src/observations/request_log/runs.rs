//! Runs of requests: a batch, the rows of an upload, or the single requests of one token without a
//! pause of ten minutes.
//!
//! A run counts records by result. Accepted requests that only read are in no run. Runs are removed
//! together with the log of their requests.

use std::ops::AddAssign;

use chrono::{DateTime, NaiveDateTime, TimeDelta, Utc};
use diesel::prelude::*;

use super::entry::{KEPT_DAYS, LoggedRequest};
use super::listing::{LogPosition, RequestPage, Row, columns};
use crate::base::sender::Sender;
use crate::error::StorageError;
use crate::schema::{request_log, request_runs, users};
use crate::session::{ProviderSession, Session};

/// The most runs, or requests of a run, on a page.
pub const PAGE: usize = 20;
/// A longer pause ends a run of single requests.
const PAUSE: TimeDelta = TimeDelta::minutes(10);

/// Identifies the run of a request.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    /// The number of the provider.
    pub provider_id: i64,
    /// The token, or the user of an upload.
    pub sender: Sender,
    /// The label of the version.
    pub version: String,
    /// The identifier of the request with a batch, or of an upload; `None` for single requests.
    pub batch: Option<String>,
}

/// The numbers of records of a run, by result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Queryable, Insertable)]
#[diesel(table_name = request_runs, treat_none_as_default_value = false)]
pub struct RunCounts {
    /// New trainees.
    pub registered: i64,
    /// Accepted changes of records.
    pub changed: i64,
    /// Refused as duplicates.
    pub already_registered: i64,
    /// Refused for other reasons.
    pub refused: i64,
    /// Accepted with `validate-only`: nothing was stored.
    pub checked: i64,
    /// Answered with the reply to an earlier request with the same idempotency key.
    pub repeated: i64,
}

impl RunCounts {
    /// The number of all records.
    #[must_use]
    pub const fn total(&self) -> i64 {
        self.registered
            + self.changed
            + self.already_registered
            + self.refused
            + self.checked
            + self.repeated
    }

    /// The number of records with an error.
    #[must_use]
    pub const fn errors(&self) -> i64 {
        self.already_registered + self.refused
    }
}

impl AddAssign for RunCounts {
    fn add_assign(&mut self, other: Self) {
        self.registered += other.registered;
        self.changed += other.changed;
        self.already_registered += other.already_registered;
        self.refused += other.refused;
        self.checked += other.checked;
        self.repeated += other.repeated;
    }
}

/// Counts to add to a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRun {
    /// The run.
    pub key: RunKey,
    /// When the first of the counted requests was answered.
    pub started_at: DateTime<Utc>,
    /// When the last of the counted requests was answered.
    pub ended_at: DateTime<Utc>,
    /// The counts.
    pub counts: RunCounts,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// The number of the run.
    pub id: i64,
    /// The token, or the user of an upload.
    pub sender: Sender,
    /// The e-mail address of the user: empty for an erased user, `None` for a token.
    pub user_email: Option<String>,
    /// The label of the version.
    pub version: String,
    /// The identifier of the request with the batch, or of the upload; `None` for single requests.
    pub batch: Option<String>,
    /// When the first request was answered.
    pub started_at: DateTime<Utc>,
    /// When the last request was answered.
    pub ended_at: DateTime<Utc>,
    /// The numbers of records.
    pub counts: RunCounts,
}

impl Run {
    fn position(&self) -> LogPosition {
        LogPosition {
            answered_at: self.ended_at,
            id: self.id,
        }
    }
}

/// A page of runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPage {
    /// The runs, the last one to end first.
    pub runs: Vec<Run>,
    /// The position before the next page; `None` on the last page.
    pub next: Option<LogPosition>,
}

/// The stored form of [`RunKey::batch`]: empty for single requests.
fn stored_batch(batch: &Option<String>) -> &str {
    batch.as_deref().unwrap_or_default()
}

/// Number, sender, version, batch, start, end and counts. A sender is the number of a token, or the
/// number and the e-mail address of a user.
type StoredRun = (
    i64,
    (Option<i64>, Option<i64>, Option<String>),
    String,
    String,
    NaiveDateTime,
    NaiveDateTime,
    RunCounts,
);

/// Converts a stored run.
fn run((id, sender, version, batch, started_at, ended_at, counts): StoredRun) -> Run {
    let (token_id, user_id, user_email) = sender;
    Run {
        id,
        sender: Sender::from_columns(token_id, user_id),
        user_email,
        version,
        batch: Some(batch).filter(|batch| !batch.is_empty()),
        started_at: started_at.and_utc(),
        ended_at: ended_at.and_utc(),
        counts,
    }
}

/// The columns of a [`StoredRun`].
#[diesel::dsl::auto_type(no_type_alias)]
fn run_columns() -> _ {
    (
        request_runs::id,
        (
            request_runs::token_id,
            request_runs::user_id,
            users::email.nullable(),
        ),
        request_runs::version,
        request_runs::batch,
        request_runs::started_at,
        request_runs::ended_at,
        count_columns(),
    )
}

/// The columns of [`RunCounts`].
#[diesel::dsl::auto_type]
fn count_columns() -> _ {
    (
        request_runs::registered,
        request_runs::changed,
        request_runs::already_registered,
        request_runs::refused,
        request_runs::checked,
        request_runs::repeated,
    )
}

/// Matches the runs of a sender. Numbers begin at 1, so 0 matches none.
#[diesel::dsl::auto_type(no_type_alias)]
fn is_sent_by(sender: Sender) -> _ {
    let token_id: i64 = sender.token_id().unwrap_or_default();
    let user_id: i64 = sender.user_id().unwrap_or_default();
    request_runs::token_id
        .eq(token_id)
        .or(request_runs::user_id.eq(user_id))
}

impl Session<'_> {
    /// Adds counts to a run, and starts the run if there is none. The log of the provider must be
    /// locked. Returns the number of the run.
    pub(super) fn add_to_run(&mut self, new: &NewRun) -> Result<i64, StorageError> {
        let Some(id) = self.find_run(new)? else {
            return self.start_run(new);
        };
        let counts = &new.counts;
        diesel::update(request_runs::table.find(id))
            .set((
                request_runs::registered.eq(request_runs::registered + counts.registered),
                request_runs::changed.eq(request_runs::changed + counts.changed),
                request_runs::already_registered
                    .eq(request_runs::already_registered + counts.already_registered),
                request_runs::refused.eq(request_runs::refused + counts.refused),
                request_runs::checked.eq(request_runs::checked + counts.checked),
                request_runs::repeated.eq(request_runs::repeated + counts.repeated),
            ))
            .execute(self.connection)?;
        // Servers add the counts of one run in any order.
        let (started_at, ended_at) = (new.started_at.naive_utc(), new.ended_at.naive_utc());
        diesel::update(
            request_runs::table
                .find(id)
                .filter(request_runs::started_at.gt(started_at)),
        )
        .set(request_runs::started_at.eq(started_at))
        .execute(self.connection)?;
        diesel::update(
            request_runs::table
                .find(id)
                .filter(request_runs::ended_at.lt(ended_at)),
        )
        .set(request_runs::ended_at.eq(ended_at))
        .execute(self.connection)?;
        Ok(id)
    }

    /// The number of the run that the counts belong to; `None` if the run is new.
    fn find_run(&mut self, new: &NewRun) -> Result<Option<i64>, StorageError> {
        let RunKey {
            provider_id,
            sender,
            version,
            batch,
        } = &new.key;
        let near = request_runs::table
            .filter(request_runs::provider_id.eq(provider_id))
            .filter(request_runs::ended_at.ge((new.started_at - PAUSE).naive_utc()))
            .filter(request_runs::started_at.le((new.ended_at + PAUSE).naive_utc()))
            .filter(is_sent_by(*sender))
            .filter(request_runs::version.eq(version))
            .filter(request_runs::batch.eq(stored_batch(batch)))
            .order((request_runs::ended_at.desc(), request_runs::id.desc()))
            .select(request_runs::id);
        Ok(near.first::<i64>(self.connection).optional()?)
    }

    /// Inserts a run with the first counts. Returns the number of the run.
    fn start_run(&mut self, new: &NewRun) -> Result<i64, StorageError> {
        let id = diesel::insert_into(request_runs::table)
            .values((
                request_runs::provider_id.eq(new.key.provider_id),
                request_runs::token_id.eq(new.key.sender.token_id()),
                request_runs::user_id.eq(new.key.sender.user_id()),
                request_runs::version.eq(&new.key.version),
                request_runs::batch.eq(stored_batch(&new.key.batch)),
                request_runs::started_at.eq(new.started_at.naive_utc()),
                request_runs::ended_at.eq(new.ended_at.naive_utc()),
                new.counts,
            ))
            .returning(request_runs::id)
            .get_result::<i64>(self.connection)?;
        Ok(id)
    }

    /// Removes up to `most` expired runs. Returns the number of removed ones.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn remove_old_runs(&mut self, most: i64) -> Result<usize, StorageError> {
        let oldest = (self.now() - TimeDelta::days(KEPT_DAYS)).naive_utc();
        let old = request_runs::table
            .filter(request_runs::ended_at.lt(oldest))
            .select(request_runs::id)
            .limit(most);
        let old = old.load::<i64>(self.connection)?;
        if old.is_empty() {
            return Ok(0);
        }
        let old = request_runs::table.filter(request_runs::id.eq_any(old));
        Ok(diesel::delete(old).execute(self.connection)?)
    }
}

impl ProviderSession<'_> {
    /// A page of the provider's runs, the last one to end first, after a position; `None` for the
    /// first page.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn runs(&mut self, after: Option<LogPosition>) -> Result<RunPage, StorageError> {
        // No run ends later than this.
        let start = (self.now() + TimeDelta::days(1)).naive_utc();
        let (at, id) = after.map_or((start, i64::MAX), |position| {
            (position.answered_at.naive_utc(), position.id)
        });
        let rows = request_runs::table
            .left_join(users::table)
            .filter(request_runs::provider_id.eq(self.provider().id))
            .filter(request_runs::ended_at.le(at))
            .filter(request_runs::ended_at.lt(at).or(request_runs::id.lt(id)))
            .order((request_runs::ended_at.desc(), request_runs::id.desc()))
            .limit(i64::try_from(PAGE + 1).unwrap_or(i64::MAX))
            .select(run_columns());
        let rows = rows.load::<StoredRun>(self.connection)?;
        let mut runs: Vec<Run> = rows.into_iter().map(run).collect();
        let is_last = runs.len() <= PAGE;
        runs.truncate(PAGE);
        let next = runs.last().filter(|_| !is_last).map(Run::position);
        Ok(RunPage { runs, next })
    }

    /// A run of the provider; `None` if there is none with this number.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn run(&mut self, id: i64) -> Result<Option<Run>, StorageError> {
        let found = request_runs::table
            .left_join(users::table)
            .filter(request_runs::id.eq(id))
            .filter(request_runs::provider_id.eq(self.provider().id))
            .select(run_columns())
            .first::<StoredRun>(self.connection)
            .optional()?;
        Ok(found.map(run))
    }

    /// Up to `most` refused requests of a run, oldest first, after a position; `None` for the first
    /// ones. Requests beyond the limits of the log are missing.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn refused_in_run(
        &mut self,
        run: &Run,
        after: Option<LogPosition>,
        most: usize,
    ) -> Result<RequestPage, StorageError> {
        let (at, id) = after.map_or((run.started_at.naive_utc(), 0), |position| {
            (position.answered_at.naive_utc(), position.id)
        });
        let rows = request_log::table
            .filter(request_log::provider_id.eq(self.provider().id))
            .filter(request_log::accepted.eq(false))
            .filter(request_log::answered_at.ge(at))
            .filter(request_log::answered_at.le(run.ended_at.naive_utc()))
            .filter(request_log::answered_at.gt(at).or(request_log::id.gt(id)))
            .filter(request_log::run_id.eq(run.id))
            .order((request_log::answered_at, request_log::id))
            .limit(i64::try_from(most.saturating_add(1)).unwrap_or(i64::MAX))
            .select(columns());
        let mut rows = rows.load::<Row>(self.connection)?;
        let is_last = rows.len() <= most;
        rows.truncate(most);
        let next = rows.last().filter(|_| !is_last).map(Row::position);
        Ok(RequestPage {
            requests: rows.into_iter().map(LoggedRequest::from).collect(),
            next,
        })
    }
}
