//! What the registry asks for: who waits for it, who has a number, and trainees whom no request
//! shows any more.
//!
//! Who waits is found by indexes that hold nobody else. What becomes of them is not decided here.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use domain::commands::registry::LastWithdrawal;
use domain::lifecycle::{Action, State, next_state};
use domain::values::trn::{Holder, Trn};

use super::StoredTrainee;
use crate::error::{Refusal, StorageError};
use crate::locks;
use crate::schema::trainees;
use crate::session::{ProviderSession, Session};

mod queue;

pub use self::queue::{Awaited, QueueEntry, QueuePosition, UnreadableQueuePosition};

/// How often a number is drawn that somebody has, before the search is given up.
const DRAWS: usize = 64;

/// A trainee who waits for the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Identifier of the record.
    pub trainee_id: String,
    /// Since when.
    pub since: DateTime<Utc>,
    key: i64,
}

/// The states in which an action can be done.
fn states(action: Action, has_trn: bool) -> impl Iterator<Item = &'static str> {
    State::ALL
        .iter()
        .copied()
        .filter(move |state| next_state(*state, action, has_trn).is_ok())
        .map(State::name)
}

fn waiting(rows: Vec<(String, Option<NaiveDateTime>, i64)>) -> Vec<Waiting> {
    let one = |(trainee_id, since, key): (String, Option<NaiveDateTime>, i64)| {
        since.map(|since| Waiting {
            trainee_id,
            since: since.and_utc(),
            key,
        })
    };
    rows.into_iter().filter_map(one).collect()
}

/// The query for those who have waited since the time in one column for what another one will hold.
/// The two columns differ in their types, so this is no function.
macro_rules! longest_waiting {
    ($since:ident, without $awaited:ident, $until:expr, $place:expr, $most:expr) => {{
        let (time, key) = $place;
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
            .limit($most)
            .select((trainees::trainee_id, trainees::$since, trainees::id))
    }};
}
use longest_waiting;

impl Session<'_> {
    /// The trainees of all providers who were submitted for a number by that time and have none,
    /// longest first, so many at most; those behind the one that is given.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn awaiting_trn(
        &mut self,
        until: DateTime<Utc>,
        behind: Option<&Waiting>,
        most: i64,
    ) -> Result<Vec<Waiting>, StorageError> {
        let query = longest_waiting!(submitted_for_trn_at, without trn, until, place(behind), most);
        let states = states(Action::IssueTrn, false);
        Ok(waiting(
            query
                .filter(trainees::state.eq_any(states))
                .load(self.connection)?,
        ))
    }

    /// The trainees of all providers who were recommended by that time and have no award, longest
    /// first, so many at most; those behind the one that is given.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn awaiting_award(
        &mut self,
        until: DateTime<Utc>,
        behind: Option<&Waiting>,
        most: i64,
    ) -> Result<Vec<Waiting>, StorageError> {
        // The index holds nobody who was never recommended, and is used where the query says so.
        let query = longest_waiting!(recommended_for_award_at, without awarded_at, until, place(behind), most);
        let query = query.filter(trainees::recommended_for_award_at.is_not_null());
        let states = states(Action::Award, true);
        Ok(waiting(
            query
                .filter(trainees::state.eq_any(states))
                .load(self.connection)?,
        ))
    }

    /// The trainees of all providers who have a number, without discarded ones and without the one
    /// whose identifier is `except`. In a job that may write, nobody else gets the number until the
    /// job has ended.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn holders_of(&mut self, trn: &Trn, except: &str) -> Result<Vec<Holder>, StorageError> {
        if self.writes() {
            locks::lock_trn(self.connection, trn)?;
        }
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
        let holder = |(trainee_id, date_of_birth, last_name, first_names)| Holder {
            trainee_id,
            date_of_birth,
            last_name,
            first_names,
        };
        Ok(rows.into_iter().map(holder).collect())
    }
}

impl ProviderSession<'_> {
    /// An invented number that nobody has or had. In a job that may write, nobody else gets it
    /// until the job has ended.
    ///
    /// # Errors
    ///
    /// [`StorageError::NoRandomness`], [`Refusal::NoFreeTrn`], or when the database does not answer.
    pub fn draw_trn(&mut self) -> Result<Trn, StorageError> {
        for _ in 0..DRAWS {
            let mut bytes = [0; 4];
            getrandom::fill(&mut bytes).map_err(StorageError::NoRandomness)?;
            let numbers = Trn::GENERATED;
            let number = numbers.start + u32::from_be_bytes(bytes) % (numbers.end - numbers.start);
            let Ok(trn) = number.to_string().parse::<Trn>() else {
                continue;
            };
            if self.writes() && !locks::try_lock_trn(self.connection, &trn)? {
                continue;
            }
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

/// Behind which time and key to go on.
fn place(behind: Option<&Waiting>) -> (NaiveDateTime, i64) {
    behind.map_or_else(Default::default, |waiting| {
        (waiting.since.naive_utc(), waiting.key)
    })
}

impl StoredTrainee {
    /// The last withdrawal, also one that was undone.
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
