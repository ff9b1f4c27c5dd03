//! All visible trainees of a provider, of every academic cycle, for changing them together.

use database::connection::with_inner;
use diesel::prelude::*;

use super::{StoredTrainee, stored, visible};
use crate::base::trainee_row::{TRAINEE_ROW, TraineeRow};
use crate::error::StorageError;
use crate::schema::trainees;
use crate::session::ProviderSession;

/// No academic cycle is before this year. A condition with it matches every cycle, and lets the
/// queries use the index in the order of lists.
const FIRST_YEAR: i32 = 0;

/// The visible trainees of a provider, up to a limit.
#[derive(Debug)]
pub struct VisibleTrainees {
    /// The trainees, for changing.
    pub trainees: Vec<StoredTrainee>,
    /// The number of visible trainees beyond the limit.
    pub others: i64,
}

impl ProviderSession<'_> {
    /// Up to `limit` visible trainees of the provider, the oldest first: by cycle, then by their
    /// last change. A job that may write locks the provider until it has ended. Call
    /// [`ProviderSession::come_after_change`] before changing each of them.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn visible_trainees(&mut self, limit: i64) -> Result<VisibleTrainees, StorageError> {
        self.lock_records()?;
        let all = trainees::table
            .filter(visible(self.provider().id))
            .filter(trainees::academic_cycle.ge(FIRST_YEAR));
        let total: i64 = all.count().get_result(self.connection)?;
        let found = all
            .order((trainees::academic_cycle, trainees::updated_at, trainees::id))
            .limit(limit)
            .select(TRAINEE_ROW);
        let rows = with_inner!(self.connection, |inner| found.load::<TraineeRow>(inner))?;
        let trainees = rows
            .into_iter()
            .map(stored)
            .collect::<Result<Vec<_>, _>>()?;
        let others = total - i64::try_from(trainees.len()).unwrap_or(total);
        Ok(VisibleTrainees {
            trainees,
            others: others.max(0),
        })
    }

    /// Sets [`ProviderSession::change_date`] to a time after the last change of the trainee. Call
    /// before changing the trainee.
    pub fn come_after_change(&mut self, trainee: &StoredTrainee) {
        self.come_after(trainee.record.updated_at);
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use domain::{State, Trainee};

    use super::*;
    use crate::base::cause::Cause;
    use crate::session::Session;
    use crate::testing::{Register, UKPRN};

    const OTHER: &str = "10000002";

    fn add(
        session: &mut Session<'_>,
        ukprn: &str,
        id: &str,
        year: i32,
        state: State,
    ) -> Result<(), StorageError> {
        let now = session.now();
        let trainee = Trainee {
            trainee_id: Some(id.to_owned()),
            state: Some(state),
            trainee_start_date: format!("{year}-09-01").parse().ok(),
            created_at: Some(now),
            updated_at: Some(now),
            discarded_at: (id == "discarded").then_some(now - TimeDelta::days(1)),
            ..Trainee::default()
        };
        session
            .open_provider(ukprn, Cause::new("test"))?
            .unwrap()
            .insert_trainee(&trainee)
    }

    #[test]
    fn visible_trainees_are_found_up_to_limit_and_others_counted() {
        let register = Register::with_provider();
        register
            .write(|session| session.add_provider(OTHER, "Brackwater College"))
            .unwrap();
        for (ukprn, id, year, state) in [
            (UKPRN, "one", 2024, State::Awarded),
            (UKPRN, "two", 2025, State::SubmittedForTrn),
            (UKPRN, "discarded", 2025, State::TrnReceived),
            (UKPRN, "draft", 2025, State::Draft),
            (UKPRN, "three", 2025, State::Withdrawn),
            (OTHER, "theirs", 2025, State::TrnReceived),
        ] {
            register
                .write(move |session| add(session, ukprn, id, year, state))
                .unwrap();
        }
        let found = |limit| {
            let read = move |session: &mut Session<'_>| {
                let found = session
                    .open_provider(UKPRN, Cause::new("test"))?
                    .unwrap()
                    .visible_trainees(limit)?;
                let ids = found
                    .trainees
                    .into_iter()
                    .filter_map(|trainee| trainee.record.trainee_id)
                    .collect::<Vec<_>>();
                Ok((ids.join(" "), found.others))
            };
            let locked = register.write(read).unwrap();
            assert_eq!(register.read(read).unwrap(), locked);
            locked
        };
        assert_eq!(found(10), ("one two three".to_owned(), 0));
        assert_eq!(found(2), ("one two".to_owned(), 1));
        assert_eq!(found(1), ("one".to_owned(), 2));
    }
}
