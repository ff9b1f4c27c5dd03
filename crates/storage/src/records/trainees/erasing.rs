//! Erases a trainee. A tombstone with the identifier, one entry without values in the history, and
//! the record of the erasure remain.
//!
//! Callers must check whether a trainee may be erased. [`crate::store::Store::reclaim_space`]
//! removes the remains of deleted rows from a database file.

use std::collections::BTreeSet;

use chrono::NaiveDate;
use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use domain::commands::erasure::tombstone;
use domain::{NestedRecord, RecordField as _, Trainee, TraineeField, for_each_nested};
use serde_json::{Map, Value as Json};
use stored_document::Extra;

use super::StoredTrainee;
use crate::error::StorageError;
use crate::records::erasure::{Erasure, ErasureOrder};
use crate::schema::{changes, placement_schools, providers, trainees};
use crate::session::{ProviderSession, Session};

/// A record that may belong to the same person as another one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RelatedRecord {
    /// The UKPRN of the provider.
    pub ukprn: String,
    /// The identifier of the trainee.
    pub trainee_id: String,
}

impl ProviderSession<'_> {
    /// Erases a trainee in any state and records the erasure. Also stops the provider's
    /// uploads, which may contain the trainee. `stored` must come from
    /// [`ProviderSession::find_hidden_trainee`] in the same job.
    ///
    /// # Errors
    ///
    /// When the trainee has changed since it was found, or the database does not answer.
    pub fn erase_trainee(
        &mut self,
        trainee_id: &str,
        stored: &StoredTrainee,
        order: &ErasureOrder,
    ) -> Result<Erasure, StorageError> {
        let erased = tombstone(trainee_id, &self.provider().ukprn, self.change_date());
        if let DatabaseConnection::Sqlite(inner) = &mut *self.connection {
            // Overwrite deleted content, for as long as the connection is open.
            inner.batch_execute("PRAGMA secure_delete = ON")?;
        }
        let ids = self.all_ids(trainee_id, stored)?;
        let record_keys = self.all_record_keys(trainee_id, stored)?;
        self.replace_record(stored, &erased, &Extra::default())?;
        self.erase_from_uploads(&record_keys)?;
        let links = placement_schools::table.filter(placement_schools::trainee_key.eq(stored.key));
        diesel::delete(links).execute(self.connection)?;
        let entries = diesel::delete(changes::table.filter(changes::trainee_key.eq(stored.key)))
            .execute(self.connection)?;
        self.add_entry_without_fields(stored.key)?;
        self.blank_replies(&ids)?;
        self.remove_requests_of(&record_keys)?;
        self.record_erasure(
            trainee_id,
            order,
            i64::try_from(entries).unwrap_or(i64::MAX),
        )
    }

    /// The identifiers of the trainee and of all its present and former nested records. Every reply
    /// about the trainee contains one of them.
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

    /// The present and all former keys of the trainee in the record of requests.
    fn all_record_keys(
        &mut self,
        trainee_id: &str,
        stored: &StoredTrainee,
    ) -> Result<BTreeSet<String>, StorageError> {
        let mut keys = BTreeSet::from([trainee_id.to_owned()]);
        keys.extend(stored.record.provider_trainee_id.clone());
        let entries = changes::table
            .filter(changes::trainee_key.eq(stored.key))
            .select(changes::fields);
        for fields in entries.load::<String>(self.connection)? {
            keys.extend(former_record_keys(&fields));
        }
        Ok(keys)
    }
}

/// The keys of the record before and after an entry of the history.
fn former_record_keys(fields: &str) -> Vec<String> {
    let mut fields: Map<String, Json> = serde_json::from_str(fields).unwrap_or_default();
    let name = TraineeField::provider_trainee_id.info().name;
    let Some(Json::Array(values)) = fields.remove(name) else {
        return Vec::new();
    };
    let texts = values.iter().filter_map(Json::as_str);
    texts.map(str::to_owned).collect()
}

/// The identifiers of the nested records of a kind.
fn ids_of_kind<R: NestedRecord>(trainee: &Trainee) -> Vec<String> {
    R::records(trainee)
        .iter()
        .filter_map(R::id)
        .map(str::to_owned)
        .collect()
}

/// The identifiers of nested records in an entry of the history.
fn nested_ids(fields: &str) -> BTreeSet<String> {
    let fields: Map<String, Json> = serde_json::from_str(fields).unwrap_or_default();
    let mut ids = BTreeSet::new();
    for path in fields.keys() {
        // The path of a nested field is `list.id.name`.
        let mut steps = path.splitn(3, '.');
        if let (Some(_), Some(id), Some(_)) = (steps.next(), steps.next(), steps.next()) {
            ids.insert(id.to_owned());
        }
    }
    ids
}

/// The values of a trainee that records of the same person may share.
#[derive(Queryable)]
struct Person {
    trn: Option<String>,
    date_of_birth: Option<NaiveDate>,
    last_name: String,
    first_names: String,
    email: String,
}

/// Selects the UKPRN and identifier of all trainees except one.
#[diesel::dsl::auto_type(no_type_alias)]
fn select_others<'a>(trainee_id: &'a str) -> _ {
    trainees::table
        .inner_join(providers::table)
        .filter(trainees::trainee_id.ne(trainee_id))
        .select((providers::ukprn, trainees::trainee_id))
}

impl Session<'_> {
    /// Other records, of any provider, that may belong to the same person as a trainee:
    ///
    /// - records with the same TRN,
    /// - records with the same date of birth and the same last name, first names or e-mail address.
    ///
    /// Leaves out erased trainees, which have none of these values.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn records_of_person(
        &mut self,
        trainee_id: &str,
    ) -> Result<Vec<RelatedRecord>, StorageError> {
        let person = trainees::table
            .filter(trainees::trainee_id.eq(trainee_id))
            .select((
                trainees::trn,
                trainees::date_of_birth,
                trainees::last_name_folded,
                trainees::first_names_folded,
                trainees::email_folded,
            ));
        let Some(person) = person.first::<Person>(self.connection).optional()? else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        if let Some(trn) = &person.trn {
            let same_trn = select_others(trainee_id).filter(trainees::trn.eq(trn));
            found.extend(same_trn.load::<(String, String)>(self.connection)?);
        }
        if let Some(date_of_birth) = person.date_of_birth {
            // The index of dates of birth starts with the provider: name all providers.
            let all_providers = providers::table
                .select(providers::id)
                .load::<i64>(self.connection)?;
            let same_last_name = trainees::last_name_folded
                .ne("")
                .and(trainees::last_name_folded.eq(person.last_name));
            let same_first_names = trainees::first_names_folded
                .ne("")
                .and(trainees::first_names_folded.eq(person.first_names));
            let same_email = trainees::email_folded
                .ne("")
                .and(trainees::email_folded.eq(person.email));
            let same_person = select_others(trainee_id)
                .filter(trainees::provider_id.eq_any(all_providers))
                .filter(trainees::date_of_birth.eq(date_of_birth))
                .filter(same_last_name.or(same_first_names).or(same_email));
            found.extend(same_person.load::<(String, String)>(self.connection)?);
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
