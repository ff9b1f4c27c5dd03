//! The types of the history of a trainee.

use chrono::{DateTime, NaiveDate, Utc};
use domain::commands::erasure::{IDENTIFYING_FIELDS, identifying_parts, identifying_values};
use domain::{RecordField as _, Trainee};
use serde_json::{Map, Value as Json};

use crate::records::erasure::Erasure;

/// The history of a trainee.
#[derive(Debug, Clone, PartialEq)]
pub struct TraineeHistory {
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// The UKPRN of the provider.
    pub ukprn: String,
    /// One entry for each request that changed the trainee, oldest first. An erased trainee has
    /// only the entry of the erasure, without fields.
    pub entries: Vec<Entry>,
    /// The number of older entries in the database that are missing in `entries`, when the caller
    /// limited the number of entries.
    pub left_out: i64,
    /// The erasure of the trainee; `None` when the trainee was not erased.
    pub erasure: Option<Erasure>,
    /// Entries from before this day were removed. `None` when no entry of this trainee can be
    /// missing, or the trainee was erased.
    pub removed_before: Option<NaiveDate>,
    /// The state of the trainee before the first of the entries.
    pub(super) base: Trainee,
    /// The present state of the trainee.
    pub(super) record: Trainee,
    /// The entries as stored. Unlike in `entries`, the entry of a creation has no fields.
    pub(super) stored: Vec<Entry>,
}

/// The change of a trainee by one request or command.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The number of the entry. Later entries have higher numbers.
    pub id: i64,
    /// The time of the change.
    pub changed_at: DateTime<Utc>,
    /// Number and name of the token that sent the request; `None` for a change by a command or the
    /// server.
    pub token: Option<(i64, String)>,
    /// The user who ran the command. `None` for a change by a token or the server, and in entries
    /// of old programs.
    pub by: Option<String>,
    /// The identifier of the request; `None` for a command.
    pub request_id: Option<String>,
    /// The version of the API that the request used; `None` for a command.
    pub version: Option<String>,
    /// The endpoint, or the command.
    pub operation: String,
    /// The changed fields, in the order of the dictionary.
    pub fields: Vec<FieldEntry>,
}

/// A changed field.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldEntry {
    /// The canonical name of the field. Fields of placements and degrees have the list and the
    /// identifier as a prefix, as in `placements.<placement_id>.urn`.
    pub path: String,
    pub(super) before: Json,
    pub(super) after: Json,
}

impl FieldEntry {
    /// The value before.
    #[must_use]
    pub const fn before(&self) -> &Json {
        &self.before
    }

    /// The value after.
    #[must_use]
    pub const fn after(&self) -> &Json {
        &self.after
    }
}

impl TraineeHistory {
    /// The present record. Empty if the trainee was erased.
    #[must_use]
    pub const fn record(&self) -> &Trainee {
        &self.record
    }

    /// The values that may identify the person, from the record and from the stored entries. In
    /// lower case, with names split into their parts.
    #[must_use]
    pub fn identifying_values(&self) -> Vec<String> {
        let fields = self.stored.iter().flat_map(|entry| &entry.fields);
        let identifying = fields.filter(|field| {
            IDENTIFYING_FIELDS
                .iter()
                .any(|known| known.info().name == field.path)
        });
        let texts = identifying
            .flat_map(|field| [&field.before, &field.after])
            .filter_map(Json::as_str);
        identifying_values(&self.record)
            .into_iter()
            .chain(texts.flat_map(identifying_parts))
            .collect()
    }
}

/// Parses the fields of an entry; `None` when the text is invalid.
pub(super) fn read_fields(text: &str) -> Option<Vec<FieldEntry>> {
    let fields: Map<String, Json> = serde_json::from_str(text).ok()?;
    fields
        .into_iter()
        .map(|(path, values)| {
            let values: Vec<Json> = serde_json::from_value(values).ok()?;
            let [before, after]: [Json; 2] = values.try_into().ok()?;
            Some(FieldEntry {
                path,
                before,
                after,
            })
        })
        .collect()
}
