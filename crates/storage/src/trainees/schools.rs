//! Placements in a school that has another name or postcode now: they are changed too.

use diesel::prelude::*;

use crate::error::StorageError;
use crate::history::Cause;
use crate::schema::{placement_schools, trainees};
use crate::session::Session;

/// Trainees that are changed in one transaction.
const BATCH: i64 = 50;

impl Session<'_> {
    /// Gives the name and the postcode of a school to its placements: those of the next trainees behind a key. Each of them is
    /// changed now, with an entry in its history. Returns the last key while there may be more.
    ///
    /// # Errors
    ///
    /// [`StorageError::DateNotDue`]; otherwise when the database does not answer, or a row is corrupt.
    pub(crate) fn update_placements_of_school(
        &mut self,
        (school_id, name, postcode): (i64, &str, Option<&str>),
        after: Option<i64>,
        cause: Cause<'_>,
    ) -> Result<Option<i64>, StorageError> {
        let found = placement_schools::table
            .inner_join(trainees::table)
            .filter(placement_schools::school_id.eq(school_id))
            .filter(placement_schools::trainee_key.gt(after.unwrap_or(i64::MIN)))
            .order(placement_schools::trainee_key)
            .limit(BATCH)
            .select((placement_schools::trainee_key, trainees::trainee_id))
            .load::<(i64, String)>(self.connection)?;
        for (_, trainee_id) in &found {
            let Some(mut provider) = self.open_trainee(trainee_id, cause)? else { continue };
            let Some(stored) = provider.find_hidden_trainee(trainee_id)? else { continue };
            let now = Some(provider.now());
            let mut changed = stored.record.clone();
            let of_school = changed.placements.iter_mut().filter(|placement| placement.school_id == Some(school_id));
            for placement in of_school {
                if placement.name.as_deref() != Some(name) || placement.postcode.as_deref() != postcode {
                    placement.name = Some(name.to_owned());
                    placement.postcode = postcode.map(str::to_owned);
                    placement.updated_at = now;
                    changed.updated_at = now;
                }
            }
            if changed != stored.record {
                provider.update_trainee(&stored, &changed)?;
            }
        }
        Ok(found.last().map(|(key, _)| *key))
    }
}
