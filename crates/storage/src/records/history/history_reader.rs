//! Reads the history of a trainee from its entries.

use chrono::NaiveDateTime;
use database::connection::{DatabaseConnection, with_inner};
use diesel::prelude::*;
use domain::Trainee;
use stored_document::{JsonText, Parsed};

use super::entry::{Entry, TraineeHistory, read_fields};
use super::is_nested_list;
use super::rebuild::{complete_creation, state_before};
use super::removal::removed_before;
use crate::error::StorageError;
use crate::identifiers::can_be_identifier;
use crate::records::erasure::{self, Erasure};
use crate::schema::{changes, providers, tokens, trainees};
use crate::session::{ProviderSession, Session};

/// Number, time, token, user, request identifier, version, operation and fields of an entry.
type Row = (
    i64,
    NaiveDateTime,
    Option<(i64, String)>,
    Option<String>,
    Option<String>,
    Option<String>,
    String,
    String,
);

impl ProviderSession<'_> {
    /// The history of a trainee of the provider, including discarded and erased trainees; `None`
    /// when no trainee of the provider has this identifier.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or an entry is corrupt.
    pub fn history_of(&mut self, trainee_id: &str) -> Result<Option<TraineeHistory>, StorageError> {
        let history = history_of(self.connection, trainee_id, None)?;
        Ok(history.filter(|history| history.ukprn == self.provider().ukprn))
    }
}

impl Session<'_> {
    /// The history of a trainee of any provider, including discarded and erased trainees; `None`
    /// when no trainee has this identifier.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or an entry is corrupt.
    pub fn history_of(&mut self, trainee_id: &str) -> Result<Option<TraineeHistory>, StorageError> {
        history_of(self.connection, trainee_id, None)
    }

    /// Like [`Session::history_of`], but with only the latest `limit` entries.
    ///
    /// # Errors
    ///
    /// Like [`Session::history_of`].
    pub(crate) fn latest_history_of(
        &mut self,
        trainee_id: &str,
        limit: i64,
    ) -> Result<Option<TraineeHistory>, StorageError> {
        history_of(self.connection, trainee_id, Some(limit))
    }
}

/// The history of a trainee with all entries, or with the latest `limit` ones. `None` when there
/// is neither a trainee nor an erasure with this identifier.
fn history_of(
    connection: &mut DatabaseConnection,
    trainee_id: &str,
    limit: Option<i64>,
) -> Result<Option<TraineeHistory>, StorageError> {
    if !can_be_identifier(trainee_id) {
        return Ok(None);
    }
    let found = trainees::table
        .inner_join(providers::table)
        .filter(trainees::trainee_id.eq(trainee_id))
        .select((trainees::id, providers::ukprn, trainees::record));
    let found = with_inner!(connection, |inner| found
        .get_result::<(i64, String, JsonText)>(inner))
    .optional()?;
    let erasure = erasure::find(connection, trainee_id)?;
    let Some((key, ukprn, record)) = found else {
        // An erased trainee may be missing: a restored backup may be older than the trainee.
        return Ok(erasure.map(|erasure| TraineeHistory::from_erasure(erasure, Vec::new())));
    };
    let mut left_out = 0;
    if let Some(limit) = limit {
        let all = changes::table.filter(changes::trainee_key.eq(key)).count();
        left_out = (with_inner!(connection, |inner| all.get_result::<i64>(inner))? - limit).max(0);
    }
    let Parsed { trainee, .. } = record.parsed().ok_or(StorageError::CorruptRow {
        table: "trainees",
        id: key,
    })?;
    let stored = load_entries(connection, key, limit)?;
    let history = if let Some(erasure) = erasure {
        TraineeHistory::from_erasure(erasure, stored)
    } else {
        // Only a trainee from before that day may have lost entries.
        let removed_before = removed_before(connection)?.filter(|day| {
            trainee
                .created_at
                .is_none_or(|created_at| created_at.date_naive() < *day)
        });
        TraineeHistory {
            removed_before,
            ..TraineeHistory::from_entries(trainee_id.to_owned(), ukprn, trainee, stored)?
        }
    };
    Ok(Some(TraineeHistory {
        left_out,
        ..history
    }))
}

/// Loads the entries of a trainee, or the latest `limit` of them, oldest first.
fn load_entries(
    connection: &mut DatabaseConnection,
    key: i64,
    limit: Option<i64>,
) -> Result<Vec<Entry>, StorageError> {
    let entries = changes::table
        .left_join(tokens::table)
        .filter(changes::trainee_key.eq(key))
        // Each change of a trainee is later than the one before. Keys may be allocated in blocks;
        // they only order entries with equal dates, written by older programs.
        .order((changes::changed_at.desc(), changes::id.desc()))
        .select((
            changes::id,
            changes::changed_at,
            (tokens::id, tokens::name).nullable(),
            changes::changed_by,
            changes::request_id,
            changes::version,
            changes::operation,
            changes::fields,
        ));
    let latest_first = match limit {
        // With a limit, databases keep only that number of rows while they sort.
        Some(limit) => entries.limit(limit).load::<Row>(connection)?,
        None => entries.load::<Row>(connection)?,
    };
    latest_first.into_iter().rev().map(entry).collect()
}

impl TraineeHistory {
    /// The history of an erased trainee, with its remaining entries.
    fn from_erasure(erasure: Erasure, entries: Vec<Entry>) -> Self {
        Self {
            trainee_id: erasure.trainee_id.clone(),
            ukprn: erasure.ukprn.clone(),
            entries,
            left_out: 0,
            erasure: Some(erasure),
            removed_before: None,
            base: Trainee::default(),
            record: Trainee::default(),
            stored: Vec::new(),
        }
    }

    /// The history of a record with these entries, oldest first.
    fn from_entries(
        trainee_id: String,
        ukprn: String,
        record: Trainee,
        stored: Vec<Entry>,
    ) -> Result<Self, StorageError> {
        let mut entries = stored.clone();
        let fields: Vec<_> = stored.iter().map(|entry| entry.fields.clone()).collect();
        let mut base = record.clone();
        if let Some((first, later)) = entries.split_first_mut() {
            let corrupt = StorageError::CorruptRow {
                table: "changes",
                id: first.id,
            };
            // An entry without fields is that of the creation.
            if first.fields.is_empty() {
                let later: Vec<_> = later.iter().map(|entry| entry.fields.clone()).collect();
                complete_creation(&mut first.fields, &later, &record).ok_or(corrupt)?;
                base = Trainee::default();
            } else {
                base = state_before(&fields, &record).ok_or(corrupt)?;
            }
        }
        for entry in &mut entries {
            // The order of nested records is not a field.
            entry.fields.retain(|field| !is_nested_list(&field.path));
        }
        Ok(Self {
            trainee_id,
            ukprn,
            entries,
            left_out: 0,
            erasure: None,
            removed_before: None,
            base,
            record,
            stored,
        })
    }
}

/// Converts a row. `Err` if the fields are unreadable.
fn entry(
    (id, changed_at, token, by, request_id, version, operation, fields): Row,
) -> Result<Entry, StorageError> {
    let fields = read_fields(&fields).ok_or(StorageError::CorruptRow {
        table: "changes",
        id,
    })?;
    Ok(Entry {
        id,
        changed_at: changed_at.and_utc(),
        token,
        by,
        request_id,
        version,
        operation,
        fields,
    })
}
