//! Erases a trainee: what is left is a tombstone with the identifier, one entry in the history
//! without values, and the record of the erasure.
//!
//! Whether a trainee is to be erased is not asked here. What a database file still holds of rows
//! that are gone is for [`crate::store::Store::reclaim_space`].

use std::collections::BTreeSet;

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use domain::commands::erasure::tombstone;
use domain::{NestedRecord, Trainee, for_each_nested};
use serde_json::{Map, Value as Json};
use stored_document::Extra;

use super::StoredTrainee;
use crate::error::StorageError;
use crate::records::erasure::{Erasure, ErasureOrder};
use crate::schema::{changes, placement_schools, providers, trainees};
use crate::session::{ProviderSession, Session};

/// A record that may be one of the same person.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelatedRecord {
    /// The UKPRN of its provider.
    pub ukprn: String,
    /// The identifier of the trainee.
    pub trainee_id: String,
}

impl ProviderSession<'_> {
    /// Erases a trainee that was found in this job, whatever the state, and records that it was
    /// done.
    ///
    /// # Errors
    ///
    /// [`StorageError::Stale`] when the trainee has changed since it was found; [`DatabaseError::DateNotDue`]; otherwise
    /// when the database does not answer.
    pub fn erase_trainee(
        &mut self,
        trainee_id: &str,
        stored: &StoredTrainee,
        order: &ErasureOrder,
    ) -> Result<Erasure, StorageError> {
        let erased = tombstone(trainee_id, &self.provider().ukprn, self.change_date());
        self.take_date(erased.updated_at)?;
        if let DatabaseConnection::Sqlite(inner) = &mut *self.connection {
            // What is deleted is overwritten, from now on and as long as the connection is open.
            inner.batch_execute("PRAGMA secure_delete = ON")?;
        }
        let ids = self.all_ids(trainee_id, stored)?;
        self.replace_record(stored, &erased, &Extra::default())?;
        let links = placement_schools::table.filter(placement_schools::trainee_key.eq(stored.key));
        diesel::delete(links).execute(self.connection)?;
        let entries = diesel::delete(changes::table.filter(changes::trainee_key.eq(stored.key)))
            .execute(self.connection)?;
        // On SQLite the key of this entry is the position of the change.
        self.add_entry_without_fields(stored.key)?;
        self.blank_replies(&ids)?;
        self.record_erasure(
            trainee_id,
            order,
            i64::try_from(entries).unwrap_or(i64::MAX),
        )
    }

    /// The identifiers of the trainee, and of all nested records that it has or had: a reply about
    /// the trainee has one of them.
    fn all_ids(
        &mut self,
        trainee_id: &str,
        stored: &StoredTrainee,
    ) -> Result<BTreeSet<String>, StorageError> {
        let mut ids: BTreeSet<_> = for_each_nested!(ids_of_kind(&stored.record))
            .concat()
            .into_iter()
            .collect();
        ids.insert(trainee_id.to_owned());
        let entries = changes::table
            .filter(changes::trainee_key.eq(stored.key))
            .select(changes::fields);
        for fields in entries.load::<String>(self.connection)? {
            ids.extend(nested_ids(&fields));
        }
        Ok(ids)
    }
}

fn ids_of_kind<R: NestedRecord>(trainee: &Trainee) -> Vec<String> {
    R::records(trainee)
        .iter()
        .filter_map(R::id)
        .map(str::to_owned)
        .collect()
}

/// The identifiers of nested records that an entry of the history names.
fn nested_ids(fields: &str) -> BTreeSet<String> {
    let fields: Map<String, Json> = serde_json::from_str(fields).unwrap_or_default();
    let mut ids = BTreeSet::new();
    for path in fields.keys() {
        let mut steps = path.splitn(3, '.');
        if let (Some(_), Some(id), Some(_)) = (steps.next(), steps.next(), steps.next()) {
            ids.insert(id.to_owned());
        }
    }
    ids
}

impl Session<'_> {
    /// Other records that may be of the same person, of whatever provider: those with the same TRN;
    /// and those of somebody born on the same day who has the same last name, first names or e-mail
    /// address. Erased ones are not among them.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn records_of_person(
        &mut self,
        trainee_id: &str,
    ) -> Result<Vec<RelatedRecord>, StorageError> {
        type Person = (
            Option<String>,
            Option<chrono::NaiveDate>,
            String,
            String,
            String,
        );
        let person = trainees::table
            .filter(trainees::trainee_id.eq(trainee_id))
            .select((
                trainees::trn,
                trainees::date_of_birth,
                trainees::last_name_folded,
                trainees::first_names_folded,
                trainees::email_folded,
            ));
        let Some((trn, born, last_name, first_names, email)) =
            person.first::<Person>(self.connection).optional()?
        else {
            return Ok(Vec::new());
        };
        let others = trainees::table
            .inner_join(providers::table)
            .filter(trainees::trainee_id.ne(trainee_id))
            .select((providers::ukprn, trainees::trainee_id));
        let mut found = Vec::new();
        if let Some(trn) = trn {
            found.extend(
                others
                    .filter(trainees::trn.eq(trn))
                    .load::<(String, String)>(self.connection)?,
            );
        }
        if let Some(born) = born {
            // An index has the days of birth of each provider.
            let all = providers::table
                .select(providers::id)
                .load::<i64>(self.connection)?;
            let same_name = trainees::last_name_folded
                .ne("")
                .and(trainees::last_name_folded.eq(last_name));
            let same_first = trainees::first_names_folded
                .ne("")
                .and(trainees::first_names_folded.eq(first_names));
            let same_email = trainees::email_folded
                .ne("")
                .and(trainees::email_folded.eq(email));
            let born_then = others
                .filter(trainees::provider_id.eq_any(all))
                .filter(trainees::date_of_birth.eq(born));
            let same = born_then.filter(same_name.or(same_first).or(same_email));
            found.extend(same.load::<(String, String)>(self.connection)?);
        }
        let mut related: Vec<_> = found
            .into_iter()
            .map(|(ukprn, trainee_id)| RelatedRecord { ukprn, trainee_id })
            .collect();
        related.sort_unstable();
        related.dedup();
        Ok(related)
    }
}

#[cfg(test)]
mod tests;
