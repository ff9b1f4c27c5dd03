//! Writes a record as the body of a request, in the names of a version: the way back from reading.

use std::borrow::Cow;

use domain::values::iso_8601;
use domain::{Kind, Lists, Record, RecordField as _, Stored, TraineeField, Value};
use serde::ser::{Serialize, SerializeMap as _, Serializer};

use crate::version::ApiVersion;
use crate::wire::WireRecord;

/// A record as a request that would make it. Fields without a value, and fields that this version
/// cannot set, are left out.
#[derive(Debug)]
pub struct Request<'a, R: Record> {
    /// The version.
    pub version: &'a ApiVersion,
    /// The record.
    pub record: &'a dyn Stored<R>,
    /// The code lists.
    pub lists: &'a Lists,
}

/// The body `{"data": ...}` around something.
#[derive(Debug, serde::Serialize)]
pub struct Data<T> {
    /// The value of `data`.
    pub data: T,
}

impl<R: WireRecord> Request<'_, R> {
    /// The body of the request.
    ///
    /// # Errors
    ///
    /// Never for a record of the dictionary; a value that JSON does not have would be one.
    pub fn body(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Data { data: self })
    }

    fn nested<'b, N: Record>(&'b self, records: &[&'b dyn Stored<N>]) -> Vec<Request<'b, N>> {
        records.iter().map(|record| Request { version: self.version, record: *record, lists: self.lists }).collect()
    }
}

impl<R: WireRecord> Serialize for Request<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        let nested = R::as_trainee(self.record).map(|trainee| trainee.nested());
        for input in R::inputs(self.version).entries {
            if let (Kind::Records, Some(nested)) = (input.field.info().kind, &nested) {
                if input.field.info().name == TraineeField::placements.info().name {
                    object.serialize_entry(input.name, &self.nested(&nested.placements))?;
                } else {
                    object.serialize_entry(input.name, &self.nested(&nested.degrees))?;
                }
                continue;
            }
            let text = match R::shown(self.record, input.field, self.lists) {
                Value::TextList(texts) => {
                    object.serialize_entry(input.name, &texts)?;
                    continue;
                }
                // A request carries a year as text (contract, section 4.8).
                Value::Integer(number) if input.field.info().kind != Kind::Year => {
                    object.serialize_entry(input.name, &number)?;
                    continue;
                }
                Value::Boolean(flag) => {
                    object.serialize_entry(input.name, &flag)?;
                    continue;
                }
                Value::Integer(year) => Cow::Owned(year.to_string()),
                Value::Text(text) => text,
                Value::Date(date) => Cow::Owned(date.to_string()),
                Value::Timestamp(timestamp) => Cow::Owned(iso_8601::timestamp(timestamp)),
                Value::Uuid(uuid) => Cow::Owned(uuid.to_string()),
                Value::Null | Value::Codes(_) | Value::Document(_) => continue,
            };
            object.serialize_entry(input.name, &text)?;
        }
        object.end()
    }
}
