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
