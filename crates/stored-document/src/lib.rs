//! Writes and reads the record of a trainee as one JSON document.
//!
//! A document has the stored fields under their canonical names, in the order of the dictionary and
//! without nulls, then unknown keys, withdrawals and nested records. Dates and timestamps have the
//! form of the API. A new field of the dictionary is stored without changes in this crate or in the
//! schema of the database.
//!
//! `scan.rs` reads documents in the exact form of `write.rs`, in one pass and without copying.
//! `read.rs` reads all other documents with `serde_json`, such as documents edited by hand.
//!
//! The crate has no tables and no queries.
//!
//! # How to add a stored field, or a kind of value
//!
//! 1. A stored field: add it to the dictionary (recipe in `domain`), raise [`SCHEMA`] and run
//!    `make snapshots`, which writes `snapshots/storage/stored_fields_N.snap` (test
//!    `schema_number_is_raised_with_stored_fields`).
//! 2. A kind of value (`domain::Kind`): write it in `StoredJson` and read it in `set`, both in
//!    `values.rs`, and read it in `scan.rs` and `scan/values.rs`. The compiler requires all of them
//!    except `set`.
//! 3. Generate values of the kind in `tests.rs`, which compares the results of both readers.

use chrono::{DateTime, Utc};
use diesel::QueryResult;
use diesel::result::Error as DieselError;
use domain::records::record::StoredJson;
use domain::records::trainee::Borrowed;
use domain::values::iso_8601;
use domain::{NestedRecords, RecordField as _, State, Stored, Trainee, TraineeField, Value};
use serde::{Deserialize, Serialize};

mod read;
mod scan;
pub mod sql;
pub mod sql_dates;
#[cfg(test)]
mod tests;
pub mod values;
mod write;

pub use self::read::{Parsed, parse};
use self::scan::ScannedTrainee;
pub use self::scan::calendar_day;
pub use self::sql::JsonText;

/// The number of the set of stored fields. Raise it when you add, remove or rename a stored field.
/// A program with a lower number refuses to open the register, because it would show and check
/// records without the field.
pub const SCHEMA: i64 = 1;

/// The JSON key of the list of withdrawals.
const WITHDRAWALS: &str = "withdrawals";

/// The fields of a withdrawal. They are stored in the trainee until the withdrawal is undone.
const WITHDRAWAL_FIELDS: [TraineeField; 6] = [
    TraineeField::withdrawal_date,
    TraineeField::withdrawal_trigger,
    TraineeField::withdrawal_future_interest,
    TraineeField::withdrawal_reasons,
    TraineeField::withdrawal_another_reason,
    TraineeField::withdrawal_safeguarding_concern_reasons,
];

/// An unknown key and its value.
type UnknownKey = (String, serde_json::Value);

/// The contents of a document except the record.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The withdrawals, oldest first.
    pub withdrawals: Vec<Withdrawal>,
    /// Unknown keys of the trainee.
    trainee: Vec<UnknownKey>,
    /// Unknown keys of nested records, by the identifier of the record.
    nested: Vec<(String, Vec<UnknownKey>)>,
}

/// A withdrawal in the document of a trainee.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// The state of the trainee before the withdrawal.
    pub previous_state: String,
    /// The time of the withdrawal.
    created_at: String,
    /// The time when the withdrawal was undone; `None` if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_at: Option<String>,
    /// The fields of an undone withdrawal, and unknown keys.
    #[serde(flatten)]
    fields: serde_json::Map<String, serde_json::Value>,
}

impl Withdrawal {
    /// Whether the withdrawal was undone.
    pub fn is_undone(&self) -> bool {
        self.undone_at.is_some()
    }
}

impl Extra {
    /// Returns the contents after a change of the trainee. Adds a withdrawal if the change
    /// withdraws the trainee. Marks the last withdrawal as undone if the change undoes it.
    pub fn after(&self, before: &Trainee, after: &Trainee, now: DateTime<Utc>) -> Self {
        let mut extra = self.clone();
        let was_withdrawn = before.state == Some(State::Withdrawn);
        let is_withdrawn = after.state == Some(State::Withdrawn);
        if is_withdrawn && !was_withdrawn {
            extra.withdrawals.push(Withdrawal {
                previous_state: before.state.unwrap_or(State::Draft).name().to_owned(),
                created_at: iso_8601::timestamp(now),
                undone_at: None,
                fields: serde_json::Map::new(),
            });
        } else if was_withdrawn
            && !is_withdrawn
            && let Some(last) = extra.withdrawals.last_mut()
            && !last.is_undone()
        {
            last.undone_at = Some(iso_8601::timestamp(now));
            for field in WITHDRAWAL_FIELDS {
                let value = before.stored(field);
                if value != Value::Null {
                    last.fields
                        .insert(field.info().name.to_owned(), values::to_json(&value));
                }
            }
        }
        extra
    }

    /// The unknown keys of the nested record with an identifier.
    fn nested_keys(&self, id: Option<&str>) -> &[UnknownKey] {
        self.nested
            .iter()
            .find(|(record_id, _)| Some(record_id.as_str()) == id)
            .map_or(&[], |(_, keys)| keys.as_slice())
    }
}

/// Whether to read the nested records of a trainee.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nested {
    /// Read nested records.
    With,
    /// Skip nested records.
    Without,
}

/// A trainee whose fields are borrowed from its document.
#[derive(Debug)]
pub struct ReadTrainee<'a>(Fields<'a>);

/// The fields of a trainee, from one of the two readers of documents.
#[derive(Debug)]
enum Fields<'a> {
    /// The document is in the exact form of this program.
    Scanned(ScannedTrainee<'a>),
    /// The document is not in the exact form of this program.
    Parsed(Box<Trainee>),
}

impl Stored<Trainee> for ReadTrainee<'_> {
    fn stored(&self, field: TraineeField) -> Value<'_> {
        match &self.0 {
            Fields::Scanned(fields) => fields.stored(field),
            Fields::Parsed(trainee) => trainee.stored(field),
        }
    }

    fn json(&self, field: TraineeField) -> StoredJson<'_> {
        match &self.0 {
            Fields::Scanned(fields) => fields.json(field),
            Fields::Parsed(trainee) => trainee.json(field),
        }
    }

    fn nested(&self) -> NestedRecords<Borrowed<'_>> {
        match &self.0 {
            Fields::Scanned(fields) => fields.nested(),
            Fields::Parsed(trainee) => trainee.nested(),
        }
    }
}

impl JsonText {
    /// Returns the document of a trainee.
    ///
    /// # Errors
    ///
    /// [`DieselError::SerializationError`] if the record cannot be written as JSON.
    pub fn from_trainee(trainee: &Trainee, extra: &Extra) -> QueryResult<Self> {
        write::document(trainee, extra)
            .map(Self)
            .map_err(DieselError::SerializationError)
    }

    /// Returns the trainee with fields borrowed from the document. Returns `None` if the text is
    /// not the document of a trainee.
    pub fn fields(&self, nested: Nested) -> Option<ReadTrainee<'_>> {
        match scan::scan(&self.0, nested) {
            Some(scanned) => Some(ReadTrainee(Fields::Scanned(scanned))),
            None => {
                parse(&self.0).map(|parsed| ReadTrainee(Fields::Parsed(Box::new(parsed.trainee))))
            }
        }
    }

    /// Returns the trainee as a struct, and the other contents of the document. Returns `None` if
    /// the text is not the document of a trainee.
    pub fn parsed(&self) -> Option<Parsed> {
        scan::scan(&self.0, Nested::With)
            .and_then(|scanned| scanned.to_parsed())
            .or_else(|| parse(&self.0))
    }
}
