//! Reads all trainees of all providers in batches, for checks of the data.
//!
//! Batches include drafts and discarded trainees. An unreadable row does not end the walk.

use std::collections::HashMap;

use database::connection::with_inner;
use diesel::dsl::{count_star, max};
use diesel::prelude::*;
use diesel::result::Error as DieselError;
use domain::Trainee;
use domain::commands::erasure::is_tombstone;
use stored_document::{Extra, JsonText};

use super::columns::{Derived, derived};
use super::corrupt;
use super::schools::{linked_schools, schools_of};
use crate::error::{DatabaseError, StorageError};
use crate::records::erasure;
use crate::records::history::{self, NO_FIELDS};
use crate::schema::{changes, providers, trainees};
use crate::session::Session;

/// A trainee in a batch.
#[derive(Debug)]
pub struct BatchEntry {
    /// The row's key. Batches are in the order of keys.
    pub key: i64,
    /// The trainee's identifier.
    pub trainee_id: String,
    /// The record, or the error of reading its row.
    pub record: Result<Trainee, StorageError>,
    /// Whether the derived columns and the schools of placements match the record. If they do not,
    /// lists, the duplicate rule or an import of schools may miss the trainee. True when the record
    /// is unreadable.
    pub is_findable: bool,
    /// Whether the record equals the state that its history leads to. True when the trainee has no
    /// history or the record is unreadable.
    pub follows_from_history: bool,
    /// Whether an erasure of the trainee is recorded.
    pub is_erased: bool,
    /// Whether the document is a tombstone. For an erased trainee also whether its history has no
    /// values.
    pub is_blank: bool,
}

/// Key, identifier, provider, document and derived columns of a trainee.
type Row = (i64, String, i64, JsonText, Derived);

impl Session<'_> {
    /// The greatest key of a trainee; `None` when there are no trainees.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn last_trainee_key(&mut self) -> Result<Option<i64>, StorageError> {
        Ok(trainees::table
            .select(max(trainees::id))
            .first(self.connection)?)
    }

    /// The number of trainees with keys from `first` to `last`.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn count_trainees(&mut self, first: i64, last: i64) -> Result<i64, StorageError> {
        let in_range = trainees::table.filter(trainees::id.between(first, last));
        Ok(in_range.select(count_star()).first(self.connection)?)
    }

    /// The next trainees after a key, up to `limit`, in the order of their keys.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn trainees_after(
        &mut self,
        after: Option<i64>,
        limit: i64,
    ) -> Result<Vec<BatchEntry>, StorageError> {
        let ukprns: HashMap<i64, String> = providers::table
            .select((providers::id, providers::ukprn))
            .load(self.connection)?
            .into_iter()
            .collect();
        let after = after.unwrap_or(i64::MIN);
        let mut entries = match self.rows_after(after, limit) {
            Ok(rows) => rows
                .into_iter()
                .map(|row| self.entry(row, &ukprns))
                .collect(),
            Err(error) if is_unreadable_row(&error) => self.one_by_one(after, limit, &ukprns)?,
            Err(error) => return Err(error),
        };
        let records = entries
            .iter()
            .filter_map(|entry: &BatchEntry| Some((entry.key, entry.record.as_ref().ok()?)))
            .collect();
        let agreements = history::agreements(self.connection, &records)?;
        let keys: Vec<i64> = entries.iter().map(|entry| entry.key).collect();
        let linked = linked_schools(self.connection, &keys)?;
        for entry in &mut entries {
            if let Ok(record) = &entry.record {
                entry.is_findable &=
                    schools_of(record) == linked.get(&entry.key).cloned().unwrap_or_default();
            }
            entry.follows_from_history = agreements.get(&entry.key).is_none_or(|agrees| *agrees);
        }
        self.compare_with_erasures(&mut entries)?;
        Ok(entries)
    }

    /// Sets `is_erased`, and clears `is_blank` for erased trainees with values in the history.
    fn compare_with_erasures(&mut self, entries: &mut [BatchEntry]) -> Result<(), StorageError> {
        let ids: Vec<&str> = entries
            .iter()
            .map(|entry| entry.trainee_id.as_str())
            .collect();
        let erased = erasure::among(self.connection, &ids)?;
        for entry in entries.iter_mut() {
            entry.is_erased = erased.contains(&entry.trainee_id);
        }
        let keys: Vec<i64> = entries
            .iter()
            .filter(|entry| entry.is_erased)
            .map(|entry| entry.key)
            .collect();
        if keys.is_empty() {
            return Ok(());
        }
        let with_values = changes::table
            .filter(changes::trainee_key.eq_any(keys))
            .filter(changes::fields.ne(NO_FIELDS))
            .select(changes::trainee_key)
            .load::<i64>(self.connection)?;
        for entry in entries.iter_mut() {
            entry.is_blank &= !with_values.contains(&entry.key);
        }
        Ok(())
    }

    /// The next rows after a key, in the order of the keys. `Err` if the database cannot read one.
    fn rows_after(&mut self, after: i64, limit: i64) -> Result<Vec<Row>, StorageError> {
        let query = trainees::table
            .filter(trainees::id.gt(after))
            .order(trainees::id)
            .limit(limit)
            .select((
                trainees::id,
                trainees::trainee_id,
                trainees::provider_id,
                trainees::record,
                derived(),
            ));
        Ok(with_inner!(self.connection, |inner| query.load::<Row>(inner))?)
    }

    /// Reads a batch row by row, when the database cannot read one of its rows.
    fn one_by_one(
        &mut self,
        after: i64,
        limit: i64,
        ukprns: &HashMap<i64, String>,
    ) -> Result<Vec<BatchEntry>, StorageError> {
        let heads = trainees::table
            .filter(trainees::id.gt(after))
            .order(trainees::id)
            .limit(limit)
            .select((trainees::id, trainees::trainee_id))
            .load::<(i64, String)>(self.connection)?;
        let mut entries = Vec::with_capacity(heads.len());
        for (key, trainee_id) in heads {
            match self.rows_after(key - 1, 1) {
                Ok(rows) => entries.extend(rows.into_iter().map(|row| self.entry(row, ukprns))),
                Err(error) if is_unreadable_row(&error) => entries.push(BatchEntry {
                    key,
                    trainee_id,
                    record: Err(error),
                    is_findable: true,
                    follows_from_history: true,
                    is_erased: false,
                    is_blank: false,
                }),
                Err(error) => return Err(error),
            }
        }
        Ok(entries)
    }

    /// Checks a row on its own. The schools, the history and the erasure are compared later.
    fn entry(&self, row: Row, ukprns: &HashMap<i64, String>) -> BatchEntry {
        let (key, trainee_id, provider, document, derived) = row;
        let record = document
            .parsed()
            .map(|parsed| parsed.trainee)
            .ok_or(corrupt(key));
        let is_findable = record.as_ref().map_or(true, |record| {
            derived.agree_with(record, self.today())
                && record.trainee_id.as_ref() == Some(&trainee_id)
                && record.ukprn.as_ref() == ukprns.get(&provider)
        });
        let is_blank = record.as_ref().is_ok_and(|record| {
            is_tombstone(record)
                && JsonText::from_trainee(record, &Extra::default())
                    .is_ok_and(|blank| blank == document)
        });
        BatchEntry {
            key,
            trainee_id,
            record,
            is_findable,
            follows_from_history: true,
            is_erased: false,
            is_blank,
        }
    }
}

/// Whether the error comes from the content of a row. Other rows may still be readable.
fn is_unreadable_row(error: &StorageError) -> bool {
    matches!(
        error,
        StorageError::Database(DatabaseError::Query(DieselError::DeserializationError(_)))
    )
}
