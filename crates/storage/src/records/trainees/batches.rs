//! All trainees of all providers, a batch at a time: for whoever looks after the data.
//!
//! Drafts and discarded trainees are among them. A row that cannot be read does not end the walk.

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

/// A trainee that was come across.
#[derive(Debug)]
pub struct BatchEntry {
    /// The row's key, in whose order the walk goes.
    pub key: i64,
    /// The trainee's identifier.
    pub trainee_id: String,
    /// The record, or why its rows cannot be read.
    pub record: Result<Trainee, StorageError>,
    /// Whether the columns and the schools of placements are those that follow from the record, so
    /// that lists, the duplicate rule and an import of schools find it.
    pub is_findable: bool,
    /// Whether the record is what its history leads to; also where it has none.
    pub follows_from_history: bool,
    /// Whether an erasure of the trainee is recorded.
    pub is_erased: bool,
    /// Whether nothing is left but a tombstone, in the document and in the history.
    pub is_blank: bool,
}

/// What is read of a row: key, identifier, provider, document and the columns that follow from it.
type Row = (i64, String, i64, JsonText, Derived);

impl Session<'_> {
    /// The greatest key of a trainee.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn last_trainee_key(&mut self) -> Result<Option<i64>, StorageError> {
        Ok(trainees::table
            .select(max(trainees::id))
            .first(self.connection)?)
    }

    /// How many trainees there are from one key to another.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn count_trainees(&mut self, first: i64, last: i64) -> Result<i64, StorageError> {
        let of_range = trainees::table.filter(trainees::id.between(first, last));
        Ok(of_range.select(count_star()).first(self.connection)?)
    }

    /// The trainees behind a key, in the order of their keys; not more than `limit`.
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
        let mut entries = match self.rows_behind(after, limit) {
            Ok(rows) => rows
                .into_iter()
                .map(|row| self.entry(row, &ukprns))
                .collect(),
            Err(error) if is_in_a_row(&error) => self.one_by_one(after, limit, &ukprns)?,
            Err(error) => return Err(error),
        };
        let read = entries
            .iter()
            .filter_map(|one: &BatchEntry| Some((one.key, one.record.as_ref().ok()?)))
            .collect();
        let agreements = history::agreements(self.connection, &read)?;
        let keys: Vec<i64> = entries.iter().map(|one| one.key).collect();
        let linked = linked_schools(self.connection, &keys)?;
        for one in &mut entries {
            if let Ok(record) = &one.record {
                one.is_findable &=
                    schools_of(record) == linked.get(&one.key).cloned().unwrap_or_default();
            }
            one.follows_from_history = agreements.get(&one.key).is_none_or(|agrees| *agrees);
        }
        self.compare_with_erasures(&mut entries)?;
        Ok(entries)
    }

    /// Finds out which of the trainees were erased, and whether their histories hold values.
    fn compare_with_erasures(&mut self, entries: &mut [BatchEntry]) -> Result<(), StorageError> {
        let ids: Vec<&str> = entries.iter().map(|one| one.trainee_id.as_str()).collect();
        let erased = erasure::among(self.connection, &ids)?;
        entries
            .iter_mut()
            .for_each(|one| one.is_erased = erased.contains(&one.trainee_id));
        let keys: Vec<i64> = entries
            .iter()
            .filter(|one| one.is_erased)
            .map(|one| one.key)
            .collect();
        if keys.is_empty() {
            return Ok(());
        }
        let with_values = changes::table
            .filter(changes::trainee_key.eq_any(keys))
            .filter(changes::fields.ne(NO_FIELDS))
            .select(changes::trainee_key)
            .load::<i64>(self.connection)?;
        entries
            .iter_mut()
            .for_each(|one| one.is_blank &= !with_values.contains(&one.key));
        Ok(())
    }

    fn rows_behind(&mut self, after: i64, limit: i64) -> Result<Vec<Row>, StorageError> {
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

    /// The same, row by row, where the database cannot read one of them.
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
            match self.rows_behind(key - 1, 1) {
                Ok(rows) => entries.extend(rows.into_iter().map(|row| self.entry(row, ukprns))),
                Err(error) if is_in_a_row(&error) => entries.push(BatchEntry {
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

    fn entry(&self, row: Row, ukprns: &HashMap<i64, String>) -> BatchEntry {
        let (key, trainee_id, provider, document, derived) = row;
        let record = document
            .parsed()
            .map(|parsed| parsed.trainee)
            .ok_or(corrupt(key));
        let is_findable = record.as_ref().is_ok_and(|record| {
            derived.agree_with(record, self.today())
                && record.trainee_id.as_ref() == Some(&trainee_id)
                && record.ukprn.as_ref() == ukprns.get(&provider)
        });
        let is_findable = is_findable || record.is_err();
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

/// Whether the error is in what a row holds, so that other rows can yet be read.
fn is_in_a_row(error: &StorageError) -> bool {
    matches!(
        error,
        StorageError::Database(DatabaseError::Query(DieselError::DeserializationError(_)))
    )
}
