//! Writes a document.

use domain::fields::value::Year;
use domain::records::record::Record;
use domain::{Degree, Kind, RecordField as _, Trainee, Value};
use serde::Serialize;

use super::values::StoredJson;
use super::{Extra, UnknownKey, WITHDRAWALS};

/// Bytes of an ordinary document.
const USUAL_LENGTH: usize = 3_072;

/// Why a document was not written.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The document of a trainee. Degrees are in the order in which they are shown: by year, those without one first.
pub(crate) fn document(trainee: &Trainee, extra: &Extra) -> Result<String, Failure> {
    let mut object = Object { text: Vec::with_capacity(USUAL_LENGTH), is_empty: true };
    object.text.push(b'{');
    object.fields(trainee, &extra.trainee)?;
    if !extra.withdrawals.is_empty() {
        object.entry(WITHDRAWALS, &extra.withdrawals)?;
    }
    if !trainee.placements.is_empty() {
        object.list("placements", trainee.placements.iter(), |placement| {
            extra.of_nested(placement.placement_id.as_deref())
        })?;
    }
    if !trainee.degrees.is_empty() {
        let mut degrees: Vec<&Degree> = trainee.degrees.iter().collect();
        degrees.sort_by_key(|degree| (degree.graduation_year.map(|Year(year)| year), degree.created_at));
        object.list("degrees", degrees.into_iter(), |degree| extra.of_nested(degree.degree_id.as_deref()))?;
    }
    object.text.push(b'}');
    Ok(String::from_utf8(object.text)?)
}

/// An object that is being written.
struct Object {
    text: Vec<u8>,
    is_empty: bool,
}

impl Object {
    fn separate(&mut self) {
        if !self.is_empty {
            self.text.push(b',');
        }
        self.is_empty = false;
    }

    /// A key of ours, in which nothing needs an escape.
    fn key(&mut self, name: &'static str) {
        self.separate();
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    fn entry(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) -> Result<(), Failure> {
        self.key(name);
        Ok(serde_json::to_writer(&mut self.text, value)?)
    }

    fn unknown_entry(&mut self, (name, value): &UnknownKey) -> Result<(), Failure> {
        self.separate();
        serde_json::to_writer(&mut self.text, name)?;
        self.text.push(b':');
        Ok(serde_json::to_writer(&mut self.text, value)?)
    }

    fn fields<R: Record>(&mut self, record: &R, unknown: &[UnknownKey]) -> Result<(), Failure> {
        for field in R::Field::ALL {
            let info = field.info();
            if info.kind == Kind::Records {
                continue;
            }
            let value = record.stored(*field);
            if value != Value::Null {
                self.entry(info.name, &StoredJson(&value))?;
            }
        }
        unknown.iter().try_for_each(|entry| self.unknown_entry(entry))
    }

    fn list<'a, 'b, R: Record>(
        &mut self,
        name: &'static str,
        records: impl Iterator<Item = &'a R>,
        unknown: impl Fn(&R) -> &'b [UnknownKey],
    ) -> Result<(), Failure> {
        self.key(name);
        self.text.push(b'[');
        for (at, record) in records.enumerate() {
            if at > 0 {
                self.text.push(b',');
            }
            self.text.push(b'{');
            self.is_empty = true;
            self.fields(record, unknown(record))?;
            self.text.push(b'}');
        }
        self.text.push(b']');
        self.is_empty = false;
        Ok(())
    }
}
