//! Reads the entries of a trainee.

use chrono::{DateTime, NaiveDateTime, Utc};
use diesel::prelude::*;
use serde_json::{Map, Value as Json};

use super::rebuild::complete_creation;
use super::{DEGREES, PLACEMENTS};
use crate::connection::{DatabaseConnection, with_inner};
use crate::document::{JsonText, Parsed};
use crate::erasure;
use crate::erasure::Erasure;
use crate::error::StorageError;
use crate::schema::{changes, providers, tokens, trainees};
use crate::session::{ProviderSession, Session};

/// Everything that happened to a trainee, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct TraineeHistory {
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// The UKPRN of the provider.
    pub ukprn: String,
    /// One entry for each request that changed something. Of an erased trainee there is the one of the erasure, without
    /// fields.
    pub entries: Vec<Entry>,
    /// The erasure of the trainee, if there was one.
    pub erasure: Option<Erasure>,
}

/// What one request changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The number of the entry; later ones are higher.
    pub id: i64,
    /// When.
    pub changed_at: DateTime<Utc>,
    /// Number and name of the token with which it was requested; nothing where a command or the server did it.
    pub token: Option<(i64, String)>,
    /// Who ran the command; nothing where a token or the server did it, and where this was not recorded yet.
    pub by: Option<String>,
    /// The identifier of the request.
    pub request_id: Option<String>,
    /// The version of the API.
    pub version: Option<String>,
    /// The endpoint, or the command.
    pub operation: String,
    /// The fields that changed, in the order of the dictionary.
    pub fields: Vec<FieldEntry>,
}

/// A field that changed.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldEntry {
    /// The canonical name of the field; that of a placement or a degree stands behind its list and its identifier, as in
    /// `placements.<placement_id>.urn`.
    pub path: String,
    pub(super) before: Json,
    pub(super) after: Json,
}

impl FieldEntry {
    /// The value before, as JSON.
    #[must_use]
    pub fn before(&self) -> String {
        self.before.to_string()
    }

    /// The value after, as JSON.
    #[must_use]
    pub fn after(&self) -> String {
        self.after.to_string()
    }
}

type Row = (i64, NaiveDateTime, Option<(i64, String)>, Option<String>, Option<String>, Option<String>, String, String);

impl ProviderSession<'_> {
    /// The history of a trainee of the provider, also of one that no request shows any more; `None` when there is no such
    /// trainee.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or an entry is corrupt.
    pub fn history_of(&mut self, trainee_id: &str) -> Result<Option<TraineeHistory>, StorageError> {
        let history = history_of(self.connection, trainee_id)?;
        Ok(history.filter(|history| history.ukprn == self.provider().ukprn))
    }
}

impl Session<'_> {
    /// The history of a trainee of whatever provider, also of one that no request shows any more; `None` when there is no
    /// such trainee.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or an entry is corrupt.
    pub fn history_of(&mut self, trainee_id: &str) -> Result<Option<TraineeHistory>, StorageError> {
        history_of(self.connection, trainee_id)
    }
}

fn history_of(connection: &mut DatabaseConnection, trainee_id: &str) -> Result<Option<TraineeHistory>, StorageError> {
    let found = trainees::table.inner_join(providers::table).filter(trainees::trainee_id.eq(trainee_id)).select((
        trainees::id,
        providers::ukprn,
        trainees::record,
    ));
    let found = with_inner!(connection, |inner| found.get_result::<(i64, String, JsonText)>(inner)).optional()?;
    let erasure = erasure::of(connection, trainee_id)?;
    let Some((key, ukprn, record)) = found else {
        // A restored backup may be older than a trainee who was erased.
        let of_erased = |erasure: Erasure| TraineeHistory {
            trainee_id: trainee_id.to_owned(),
            ukprn: erasure.ukprn.clone(),
            entries: Vec::new(),
            erasure: Some(erasure),
        };
        return Ok(erasure.map(of_erased));
    };
    let rows = changes::table
        .left_join(tokens::table)
        .filter(changes::trainee_key.eq(key))
        // Each change of a trainee is later than the last one. Keys may be given out in blocks; they only distinguish
        // what older programs dated alike.
        .order((changes::changed_at, changes::id))
        .select((
            changes::id,
            changes::changed_at,
            (tokens::id, tokens::name).nullable(),
            changes::changed_by,
            changes::request_id,
            changes::version,
            changes::operation,
            changes::fields,
        ))
        .load::<Row>(connection)?;
    let mut entries: Vec<Entry> = rows.into_iter().map(entry).collect::<Result<_, _>>()?;
    if let Some((first, later)) = entries.split_first_mut()
        && first.fields.is_empty()
        && erasure.is_none()
    {
        let Parsed { trainee, .. } = record.parsed().ok_or(StorageError::CorruptRow { table: "trainees", id: key })?;
        let later: Vec<_> = later.iter().map(|entry| entry.fields.clone()).collect();
        complete_creation(&mut first.fields, &later, &trainee)
            .ok_or(StorageError::CorruptRow { table: "changes", id: first.id })?;
    }
    for entry in &mut entries {
        // The order of nested records is no field.
        entry.fields.retain(|field| field.path != PLACEMENTS && field.path != DEGREES);
    }
    Ok(Some(TraineeHistory { trainee_id: trainee_id.to_owned(), ukprn, entries, erasure }))
}

fn entry((id, changed_at, token, by, request_id, version, operation, fields): Row) -> Result<Entry, StorageError> {
    let fields = read_fields(&fields).ok_or(StorageError::CorruptRow { table: "changes", id })?;
    Ok(Entry { id, changed_at: changed_at.and_utc(), token, by, request_id, version, operation, fields })
}

/// The fields of an entry; nothing when it is not of the form in which entries are written.
pub(super) fn read_fields(text: &str) -> Option<Vec<FieldEntry>> {
    let fields: Map<String, Json> = serde_json::from_str(text).ok()?;
    fields
        .into_iter()
        .map(|(path, values)| {
            let [before, after] = <[Json; 2]>::try_from(serde_json::from_value::<Vec<Json>>(values).ok()?).ok()?;
            Some(FieldEntry { path, before, after })
        })
        .collect()
}
