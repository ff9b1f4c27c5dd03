//! The history of a trainee and its entries, as values.

use chrono::{DateTime, NaiveDate, Utc};
use domain::commands::erasure::{IDENTIFYING_FIELDS, identifying_parts, identifying_values};
use domain::{RecordField as _, Trainee};
use serde_json::{Map, Value as Json};

use crate::records::erasure::Erasure;

/// Everything that happened to a trainee, oldest first.
#[derive(Debug, Clone, PartialEq)]
pub struct TraineeHistory {
    /// The identifier of the trainee.
    pub trainee_id: String,
    /// The UKPRN of the provider.
    pub ukprn: String,
    /// One entry for each request that changed something. Of an erased trainee there is the one of
    /// the erasure, without fields.
    pub entries: Vec<Entry>,
    /// How many older entries the database has, where only the latest were asked for.
    pub left_out: i64,
    /// The erasure of the trainee, if there was one.
    pub erasure: Option<Erasure>,
    /// The day before which entries were removed; `None` when the trainee is registered since that
    /// day, or was erased.
    pub removed_before: Option<NaiveDate>,
    /// What the trainee was before the first of the entries.
    pub(super) base: Trainee,
    /// What the trainee is.
    pub(super) record: Trainee,
    /// The entries as they are stored.
    pub(super) stored: Vec<Entry>,
}

/// What one request changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// The number of the entry; later ones are higher.
    pub id: i64,
    /// When.
    pub changed_at: DateTime<Utc>,
    /// Number and name of the token with which it was requested; nothing where a command or the
    /// server did it.
    pub token: Option<(i64, String)>,
    /// Who ran the command; nothing where a token or the server did it, and where this was not
    /// recorded yet.
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
    /// The canonical name of the field; that of a placement or a degree stands behind its list and
    /// its identifier, as in `placements.<placement_id>.urn`.
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

impl TraineeHistory {
    /// The values that may identify the person: those of the record, and former ones of the entries
    /// that the database has. In lower case; of names, each part.
    #[must_use]
    pub fn identifying_values(&self) -> Vec<String> {
        let fields = self.stored.iter().flat_map(|entry| &entry.fields);
        let former = fields.filter(|field| {
            IDENTIFYING_FIELDS
                .iter()
                .any(|one| one.info().name == field.path)
        });
        let texts = former
            .flat_map(|field| [&field.before, &field.after])
            .filter_map(Json::as_str);
        identifying_values(&self.record)
            .into_iter()
            .chain(texts.flat_map(identifying_parts))
            .collect()
    }
}

/// The fields of an entry; nothing when it is not of the form in which entries are written.
pub(super) fn read_fields(text: &str) -> Option<Vec<FieldEntry>> {
    let fields: Map<String, Json> = serde_json::from_str(text).ok()?;
    fields
        .into_iter()
        .map(|(path, values)| {
            let [before, after] =
                <[Json; 2]>::try_from(serde_json::from_value::<Vec<Json>>(values).ok()?).ok()?;
            Some(FieldEntry {
                path,
                before,
                after,
            })
        })
        .collect()
}
