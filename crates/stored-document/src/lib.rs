//! The record of a trainee as one JSON document: how it is written and read.
//!
//! A document holds each stored field under its canonical name, in the order of the dictionary and
//! without nulls; then the keys that this program does not know, the withdrawals, and the nested
//! records. Dates and timestamps are as the API shows them. So a new field of the dictionary is
//! stored without a change of the code here or of the database's schema.
//!
//! `scan.rs` reads what `write.rs` writes, in one pass and without copying. Any other document,
//! such as one that was edited by hand, is read by serde_json (`read.rs`).
//!
//! The crate knows no tables and no queries.
//!
//! # How to add a stored field, or a kind of value
//!
//! 1. A stored field: add it to the dictionary (recipe in `domain`), raise [`SCHEMA`] and run
//!    `make snapshots`, which writes `snapshots/storage/stored_fields_N.snap` (test
//!    `the_number_of_the_schema_is_raised_with_the_fields`).
//! 2. A kind of value (`domain::Kind`): write it in `StoredJson` and read it in `set`, both in
//!    `values.rs`, and read it in `scan.rs` and `scan/values.rs`. The compiler asks for all but
//!    `set`.
//! 3. Generate values of the kind in `tests.rs`, which compares what both readers read.

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

/// The number of the set of fields that documents hold. A program that adds, removes or renames a
/// stored field raises it, and a program with a lower one refuses the register: it would show and
/// check records without the field.
pub const SCHEMA: i64 = 1;

/// The key of the list of withdrawals.
const WITHDRAWALS: &str = "withdrawals";

/// The stored fields of a withdrawal that stands.
const WITHDRAWAL_FIELDS: [TraineeField; 6] = [
    TraineeField::withdrawal_date,
    TraineeField::withdrawal_trigger,
    TraineeField::withdrawal_future_interest,
    TraineeField::withdrawal_reasons,
    TraineeField::withdrawal_another_reason,
    TraineeField::withdrawal_safeguarding_concern_reasons,
];

/// A key that the program does not know, with its value.
type UnknownKey = (String, serde_json::Value);

/// What a document holds besides the record.
#[derive(Debug, Clone, Default)]
pub struct Extra {
    /// The withdrawals, oldest first.
    pub withdrawals: Vec<Withdrawal>,
    /// Unknown keys of the trainee.
    trainee: Vec<UnknownKey>,
    /// Unknown keys of nested records, by identifier.
    nested: Vec<(String, Vec<UnknownKey>)>,
}

/// A withdrawal: the state before it, and its fields once it was undone. Until then the trainee has
/// them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Withdrawal {
    /// The state that the trainee was in.
    pub previous_state: String,
    /// When the withdrawal was recorded.
    created_at: String,
    /// When it was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    undone_at: Option<String>,
    /// The fields of one that was undone, and unknown keys.
    #[serde(flatten)]
    fields: serde_json::Map<String, serde_json::Value>,
}

impl Withdrawal {
    /// Whether the withdrawal was taken back.
    pub fn is_undone(&self) -> bool {
        self.undone_at.is_some()
    }
}

impl Extra {
    /// The same after a change of the trainee: a withdrawal more when the change is one; the last
    /// one marked as undone when the change undoes it.
    pub fn after(&self, before: &Trainee, after: &Trainee, now: DateTime<Utc>) -> Self {
        let mut extra = self.clone();
        let withdrawn = |trainee: &Trainee| trainee.state == Some(State::Withdrawn);
        match (withdrawn(before), withdrawn(after)) {
            (false, true) => extra.withdrawals.push(Withdrawal {
                previous_state: before.state.unwrap_or(State::Draft).name().to_owned(),
                created_at: iso_8601::timestamp(now),
                undone_at: None,
                fields: serde_json::Map::new(),
            }),
            (true, false) => {
                if let Some(last) = extra
                    .withdrawals
                    .last_mut()
                    .filter(|last| !last.is_undone())
                {
                    last.undone_at = Some(iso_8601::timestamp(now));
                    let fields =
                        WITHDRAWAL_FIELDS.map(|field| (field.info().name, before.stored(field)));
                    let set = fields
                        .into_iter()
                        .filter(|(_, value)| *value != Value::Null);
                    last.fields.extend(
                        set.map(|(name, value)| (name.to_owned(), values::to_json(&value))),
                    );
                }
            }
            (true, true) | (false, false) => {}
        }
        extra
    }

    fn nested_keys(&self, id: Option<&str>) -> &[UnknownKey] {
        let found = self.nested.iter().find(|(of, _)| Some(of.as_str()) == id);
        found.map_or(&[], |(_, keys)| keys.as_slice())
    }
}

/// Whether the nested records of a trainee are read too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nested {
    /// They are read.
    With,
    /// They are left out.
    Without,
}

/// A trainee whose fields are borrowed from its document.
#[derive(Debug)]
pub struct ReadTrainee<'a>(Fields<'a>);

#[derive(Debug)]
enum Fields<'a> {
    Scanned(ScannedTrainee<'a>),
    /// The document is not written as this program writes one.
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
    /// The document of a trainee.
    pub fn from_trainee(trainee: &Trainee, extra: &Extra) -> QueryResult<Self> {
        write::document(trainee, extra)
            .map(Self)
            .map_err(DieselError::SerializationError)
    }

    /// The fields of the trainee; `None` when the document is not that of a trainee.
    pub fn fields(&self, nested: Nested) -> Option<ReadTrainee<'_>> {
        match scan::scan(&self.0, nested) {
            Some(scanned) => Some(ReadTrainee(Fields::Scanned(scanned))),
            None => {
                parse(&self.0).map(|parsed| ReadTrainee(Fields::Parsed(Box::new(parsed.trainee))))
            }
        }
    }

    /// The trainee to be changed, with what else the document holds; `None` when it is not that of
    /// a trainee.
    pub fn parsed(&self) -> Option<Parsed> {
        scan::scan(&self.0, Nested::With)
            .and_then(|scanned| scanned.to_parsed())
            .or_else(|| parse(&self.0))
    }
}
