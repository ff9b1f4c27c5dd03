//! The table of trainees with a placement in a school. An import uses it to update the placements
//! of a school with a new name or postcode.

use std::collections::{BTreeSet, HashMap};

use database::connection::{DatabaseConnection, execute_deferred, static_query};
use diesel::prelude::*;
use domain::Trainee;

use crate::base::cause::Cause;
use crate::error::StorageError;
use crate::schema::{placement_schools, providers, schools, trainees};
use crate::session::{ProviderSession, Session};

/// The number of trainees that one transaction changes.
const BATCH: i64 = 50;

impl Session<'_> {
    /// The keys of all providers.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub(crate) fn provider_keys(&mut self) -> Result<Vec<i64>, StorageError> {
        let keys = providers::table.order(providers::id).select(providers::id);
        Ok(keys.load(self.connection)?)
    }

    /// Copies the names and postcodes of these schools to the placements of a provider's next
    /// [`BATCH`] trainees after the key `after`. Each changed trainee gets an entry in its history.
    /// Returns the last key of the batch, or `None` after the last batch.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub(crate) fn update_placements_of_schools(
        &mut self,
        schools: &[i64],
        provider: i64,
        after: Option<i64>,
        cause: Cause<'_>,
    ) -> Result<Option<i64>, StorageError> {
        let ukprn = providers::table.find(provider).select(providers::ukprn);
        let ukprn: String = ukprn.first(self.connection)?;
        let Some(mut provider) = self.open_provider(&ukprn, cause)? else {
            return Ok(None);
        };
        provider.lock_records()?;
        let found = placement_schools::table
            .inner_join(trainees::table)
            .filter(placement_schools::school_id.eq_any(schools))
            .filter(placement_schools::trainee_key.gt(after.unwrap_or(i64::MIN)))
            .filter(trainees::provider_id.eq(provider.provider().id))
            .order(placement_schools::trainee_key)
            .limit(BATCH)
            .select((placement_schools::trainee_key, trainees::trainee_id))
            .distinct()
            .load::<(i64, String)>(provider.connection)?;
        if found.is_empty() {
            return Ok(None);
        }
        let schools = schools::table
            .filter(schools::id.eq_any(schools))
            .select((schools::id, (schools::name, schools::postcode)))
            .load::<(i64, (String, Option<String>))>(provider.connection)?;
        let schools: HashMap<i64, (String, Option<String>)> = schools.into_iter().collect();
        for (_, trainee_id) in &found {
            let Some(stored) = provider.find_hidden_trainee(trainee_id)? else {
                continue;
            };
            let now = Some(provider.change_date());
            let mut changed = stored.record.clone();
            for placement in &mut changed.placements {
                let school = placement.school_id.and_then(|id| schools.get(&id));
                let Some((name, postcode)) = school else {
                    continue;
                };
                if placement.name.as_ref() != Some(name) || placement.postcode != *postcode {
                    placement.name = Some(name.clone());
                    placement.postcode.clone_from(postcode);
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

impl ProviderSession<'_> {
    /// Updates the table of schools for a trainee whose placements change from `before` to `after`.
    pub(super) fn link_schools(
        &mut self,
        key: i64,
        before: &Trainee,
        after: &Trainee,
    ) -> Result<(), StorageError> {
        let before = schools_of(before);
        let after = schools_of(after);
        for school in after.difference(&before) {
            let row = (
                placement_schools::trainee_key.eq(key),
                placement_schools::school_id.eq(*school),
            );
            let query = static_query(diesel::insert_into(placement_schools::table).values(row));
            execute_deferred!(self.connection, |inner| query.execute(inner))?;
        }
        for school in before.difference(&after) {
            let query = diesel::delete(placement_schools::table.find((*school, key)));
            execute_deferred!(self.connection, |inner| query.execute(inner))?;
        }
        Ok(())
    }
}

/// The keys of the schools of a trainee's placements.
pub(super) fn schools_of(trainee: &Trainee) -> BTreeSet<i64> {
    trainee
        .placements
        .iter()
        .filter_map(|placement| placement.school_id)
        .collect()
}

/// The keys of the schools in `placement_schools`, by the keys of these trainees. Leaves out
/// trainees without schools.
pub(super) fn linked_schools(
    connection: &mut DatabaseConnection,
    trainee_keys: &[i64],
) -> Result<HashMap<i64, BTreeSet<i64>>, StorageError> {
    let links = placement_schools::table
        .filter(placement_schools::trainee_key.eq_any(trainee_keys))
        .select((placement_schools::trainee_key, placement_schools::school_id))
        .load::<(i64, i64)>(connection)?;
    let mut schools: HashMap<i64, BTreeSet<i64>> = HashMap::new();
    for (trainee, school) in links {
        schools.entry(trainee).or_default().insert(school);
    }
    Ok(schools)
}
