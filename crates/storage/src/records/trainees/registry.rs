//! Queries of the registry: trainees who wait for a TRN or an award, holders of a TRN, and the last
//! withdrawal of a trainee.
//!
//! Partial indexes contain only the waiting trainees. Callers decide about the trainees.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use domain::commands::registry::LastWithdrawal;
use domain::lifecycle::{Action, State, next_state};
use domain::values::trn::{Holder, Trn};

use super::StoredTrainee;
use crate::base::provider_lock::lock_service;
use crate::error::{Refusal, StorageError};
use crate::schema::trainees;
use crate::session::{ProviderSession, Session};

mod queue;

pub use self::queue::{Awaited, QueueEntry, QueuePosition, UnreadableQueuePosition};

/// The number of attempts to draw a free TRN.
const DRAWS: usize = 64;

/// A trainee who waits for a TRN or an award.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Identifier of the record.
    pub trainee_id: String,
    /// The time when the trainee started to wait.
    pub since: DateTime<Utc>,
    key: i64,
}

/// The names of the states that permit an action on a trainee with or without a TRN.
fn states(action: Action, has_trn: bool) -> impl Iterator<Item = &'static str> {
    State::ALL
        .iter()
        .copied()
        .filter(move |state| next_state(*state, action, has_trn).is_ok())
        .map(State::name)
}

/// Converts rows of identifier, time and key. Leaves out rows without a time.
fn waiting(rows: Vec<(String, Option<NaiveDateTime>, i64)>) -> Vec<Waiting> {
    rows.into_iter()
        .filter_map(|(trainee_id, since, key)| {
            Some(Waiting {
                trainee_id,
                since: since?.and_utc(),
                key,
            })
        })
        .collect()
}

/// Selects trainees who have waited since the time in the column `$since`, and whose column
/// `$awaited` is null, longest first. `$position` is the time and key of the last trainee of the
/// page before. A macro, because the types of the columns differ.
macro_rules! longest_waiting {
    ($since:ident, without $awaited:ident, $until:expr, $position:expr, $limit:expr) => {{
        let (time, key) = $position;
        trainees::table
            .filter(
                trainees::$awaited
                    .is_null()
                    .and(trainees::discarded_at.is_null()),
            )
            .filter(trainees::$since.le($until.naive_utc()))
            .filter(trainees::$since.ge(time))
            .filter(trainees::$since.gt(time).or(trainees::id.gt(key)))
            .order((trainees::$since, trainees::id))
            .limit($limit)
            .select((trainees::trainee_id, trainees::$since, trainees::id))
    }};
}
use longest_waiting;

impl Session<'_> {
    /// Up to `limit` trainees, of all providers, who were submitted for a TRN before or at `until`
    /// and have none, longest first. Starts after the trainee `after`, or with the first one.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn awaiting_trn(
        &mut self,
        until: DateTime<Utc>,
        after: Option<&Waiting>,
        limit: i64,
    ) -> Result<Vec<Waiting>, StorageError> {
        let query =
            longest_waiting!(submitted_for_trn_at, without trn, until, position(after), limit);
        let states = states(Action::IssueTrn, false);
        Ok(waiting(
            query
                .filter(trainees::state.eq_any(states))
                .load(self.connection)?,
        ))
    }

    /// Up to `limit` trainees, of all providers, who were recommended for the award before or at
    /// `until` and have no award, longest first. Starts after the trainee `after`, or with the
    /// first one.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn awaiting_award(
        &mut self,
        until: DateTime<Utc>,
        after: Option<&Waiting>,
        limit: i64,
    ) -> Result<Vec<Waiting>, StorageError> {
        let query = longest_waiting!(
            recommended_for_award_at,
            without awarded_at,
            until,
            position(after),
            limit
        );
        // The query uses the partial index only if it repeats the condition of the index.
        let query = query.filter(trainees::recommended_for_award_at.is_not_null());
        let states = states(Action::Award, true);
        Ok(waiting(
            query
                .filter(trainees::state.eq_any(states))
                .load(self.connection)?,
        ))
    }
}

impl ProviderSession<'_> {
    /// Prevents other jobs from issuing TRNs until this job has ended. Does nothing in a job that
    /// only reads.
    fn lock_trns(&mut self) -> Result<(), StorageError> {
        self.lock_records()?;
        if self.may_write() {
            lock_service(self.connection)?;
        }
        Ok(())
    }

    /// The trainees of all providers with this TRN, except discarded ones and the trainee with the
    /// identifier `except`. In a job that may write, no other job can issue a TRN until this job has
    /// ended.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn holders_of(&mut self, trn: &Trn, except: &str) -> Result<Vec<Holder>, StorageError> {
        self.lock_trns()?;
        let rows = trainees::table
            .filter(trainees::trn.eq(trn.as_str()))
            .filter(
                trainees::trainee_id
                    .ne(except)
                    .and(trainees::discarded_at.is_null()),
            )
            .order(trainees::id)
            .select((
                trainees::trainee_id,
                trainees::date_of_birth,
                trainees::last_name_folded,
                trainees::first_names_folded,
            ))
            .load(self.connection)?;
        Ok(rows
            .into_iter()
            .map(
                |(trainee_id, date_of_birth, last_name, first_names)| Holder {
                    trainee_id,
                    date_of_birth,
                    last_name,
                    first_names,
                },
            )
            .collect())
    }

    /// Draws an invented TRN that no trainee has or had. In a job that may write, no other job can
    /// issue a TRN until this job has ended.
    ///
    /// # Errors
    ///
    /// - [`StorageError::NoRandomness`].
    /// - [`Refusal::NoFreeTrn`] when none of the drawn TRNs was free.
    /// - Otherwise when the database does not answer.
    pub fn draw_trn(&mut self) -> Result<Trn, StorageError> {
        self.lock_trns()?;
        for _ in 0..DRAWS {
            let mut bytes = [0; 4];
            getrandom::fill(&mut bytes).map_err(StorageError::NoRandomness)?;
            let numbers = Trn::GENERATED;
            let number = numbers.start + u32::from_be_bytes(bytes) % (numbers.end - numbers.start);
            let Ok(trn) = number.to_string().parse::<Trn>() else {
                continue;
            };
            let holder = trainees::table
                .filter(trainees::trn.eq(trn.as_str()))
                .select(trainees::id)
                .first::<i64>(self.connection);
            if holder.optional()?.is_none() {
                return Ok(trn);
            }
        }
        Err(Refusal::NoFreeTrn.into())
    }
}

/// The time and key to start after; the earliest ones for the beginning.
fn position(after: Option<&Waiting>) -> (NaiveDateTime, i64) {
    after.map_or_else(Default::default, |waiting| {
        (waiting.since.naive_utc(), waiting.key)
    })
}

impl StoredTrainee {
    /// The last withdrawal, including one that was undone; `None` when there was none.
    ///
    /// # Errors
    ///
    /// When the row is corrupt.
    pub fn last_withdrawal(&self) -> Result<Option<LastWithdrawal>, StorageError> {
        let Some(last) = self.extra.withdrawals.last() else {
            return Ok(None);
        };
        let previous = last
            .previous_state
            .parse()
            .map_err(|_| super::corrupt(self.key))?;
        Ok(Some(LastWithdrawal {
            previous,
            undone: last.is_undone(),
        }))
    }
}

#[cfg(test)]
mod tests;
