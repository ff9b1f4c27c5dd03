//! All trainees of all providers, a batch at a time: for whoever looks after the data.
//!
//! Drafts and discarded trainees are among them. A row that cannot be read does not end the walk.

use std::collections::HashMap;

use diesel::prelude::*;
use diesel::result::Error as DieselError;
use domain::Trainee;
use domain::duplicate::Likeness;

use super::load::{Nested, Row, load};
use super::row;
use crate::error::StorageError;
use crate::history;
use crate::schema::{providers, trainees};
use crate::session::Session;

/// A trainee that was come across.
#[derive(Debug)]
pub struct Swept {
    /// The row's key, in whose order the walk goes.
    pub key: i64,
    /// The trainee's identifier.
    pub trainee_id: String,
    /// The record, or why its rows cannot be read.
    pub record: Result<Trainee, StorageError>,
    /// Whether lists and the duplicate rule find the record by what it says.
    pub is_findable: bool,
    /// Whether the record is what its history leads to; also where it has none that begins with its creation.
    pub follows_from_history: bool,
}

/// What of a row is read first, and can be read whatever else is wrong: key, identifier, provider, and what lists and the
/// duplicate rule look for.
type Head = (i64, String, i64, i32, (String, String, String));

impl Session<'_> {
    /// The trainees behind a key, in the order of their keys; not more than `limit`.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn sweep_trainees(&mut self, after: Option<i64>, limit: i64) -> Result<Vec<Swept>, StorageError> {
        let ukprns: HashMap<i64, String> =
            providers::table.select((providers::id, providers::ukprn)).load(self.connection)?.into_iter().collect();
        let heads = trainees::table
            .filter(trainees::id.gt(after.unwrap_or(i64::MIN)))
            .order(trainees::id)
            .limit(limit)
            .select((
                trainees::id,
                trainees::trainee_id,
                trainees::provider_id,
                trainees::academic_cycle,
                (trainees::last_name_folded, trainees::first_names_folded, trainees::email_folded),
            ))
            .load::<Head>(self.connection)?;
        let keys: Vec<i64> = heads.iter().map(|head| head.0).collect();
        let mut records = HashMap::with_capacity(keys.len());
        match self.load_whole(&keys) {
            Ok(found) => records.extend(found.into_iter().map(|(key, record)| (key, Ok(record)))),
            Err(error) if is_in_a_row(&error) => {
                for key in &keys {
                    match self.load_whole(&[*key]) {
                        Ok(found) => records.extend(found.into_iter().map(|(key, record)| (key, Ok(record)))),
                        Err(error) if is_in_a_row(&error) => drop(records.insert(*key, Err(error))),
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        for (key, _, provider, ..) in &heads {
            if let Some(Ok(record)) = records.get_mut(key) {
                record.ukprn = ukprns.get(provider).cloned();
            }
        }
        let read = records.iter().filter_map(|(key, record)| Some((*key, record.as_ref().ok()?))).collect();
        let agreements = history::agreements(self.connection, &read)?;
        let today = self.today();
        let swept = heads.into_iter().map(|(key, trainee_id, _, cycle, folded)| {
            let unread = Err(StorageError::CorruptRow { table: "trainees", id: key });
            let record = records.remove(&key).unwrap_or(unread);
            let mut is_findable = true;
            if let Ok(record) = &record {
                let likeness = Likeness::of(record, today);
                // A record without a start counts for the year in which it was written.
                is_findable = (record.start_date().is_none() || likeness.academic_cycle == cycle)
                    && (likeness.last_name, likeness.first_names, likeness.email) == folded;
            }
            let follows_from_history = agreements.get(&key).is_none_or(|agrees| *agrees);
            Swept { key, trainee_id, record, is_findable, follows_from_history }
        });
        Ok(swept.collect())
    }

    fn load_whole(&mut self, keys: &[i64]) -> Result<Vec<(i64, Trainee)>, StorageError> {
        let rows = trainees::table.filter(trainees::id.eq_any(keys)).select(row()).load::<Row>(self.connection)?;
        let found = load(self.connection, rows, "", Nested::With)?;
        Ok(found.into_iter().map(|stored| (stored.key, stored.record)).collect())
    }
}

/// Whether the error is in what a row holds, so that other rows can yet be read.
fn is_in_a_row(error: &StorageError) -> bool {
    matches!(error, StorageError::CorruptRow { .. } | StorageError::Query(DieselError::DeserializationError(_)))
}
