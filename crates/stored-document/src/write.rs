//! Writes a document.

use domain::records::record::Record;
use domain::{Kind, NestedRecord, RecordField as _, Trainee, Value, for_each_nested};
use serde::Serialize;

use super::values::StoredJson;
use super::{Extra, UnknownKey, WITHDRAWALS};

/// The usual length of a document, in bytes.
const USUAL_LENGTH: usize = 3_072;

/// The error of writing a document.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Writes the document of a trainee. Sorts nested records for display.
pub(crate) fn document(trainee: &Trainee, extra: &Extra) -> Result<String, Failure> {
    let mut object = Object {
        text: Vec::with_capacity(USUAL_LENGTH),
        is_empty: true,
    };
    object.text.push(b'{');
    object.fields(trainee, &extra.trainee)?;
    if !extra.withdrawals.is_empty() {
        object.entry(WITHDRAWALS, &extra.withdrawals)?;
    }
    for list in for_each_nested!(nested_list(&mut object, trainee, extra)) {
        list?;
    }
    object.text.push(b'}');
    Ok(String::from_utf8(object.text)?)
}

/// Writes the nested records of a kind. Writes nothing without records.
fn nested_list<R: NestedRecord>(
    object: &mut Object,
    trainee: &Trainee,
    extra: &Extra,
) -> Result<(), Failure> {
    if R::records(trainee).is_empty() {
        return Ok(());
    }
    let mut records: Vec<&R> = R::records(trainee).iter().collect();
    records.sort_by(|one, other| one.compare(other));
    object.list(R::LIST.info().name, records.into_iter(), |record| {
        extra.nested_keys(record.id())
    })
}

/// A JSON object during writing.
struct Object {
    text: Vec<u8>,
    is_empty: bool,
}

impl Object {
    /// Writes a comma unless the object is empty.
    fn separate(&mut self) {
        if !self.is_empty {
            self.text.push(b',');
        }
        self.is_empty = false;
    }

    /// Writes a known key. Known keys need no escapes.
    fn key(&mut self, name: &'static str) {
        self.separate();
        self.text.push(b'"');
        self.text.extend_from_slice(name.as_bytes());
        self.text.extend_from_slice(b"\":");
    }

    /// Writes a known key and its value.
    fn entry(
        &mut self,
        name: &'static str,
        value: &(impl Serialize + ?Sized),
    ) -> Result<(), Failure> {
        self.key(name);
        Ok(serde_json::to_writer(&mut self.text, value)?)
    }

    /// Writes an unknown key, which may need escapes, and its value.
    fn unknown_entry(&mut self, (name, value): &UnknownKey) -> Result<(), Failure> {
        self.separate();
        serde_json::to_writer(&mut self.text, name)?;
        self.text.push(b':');
        Ok(serde_json::to_writer(&mut self.text, value)?)
    }

    /// Writes the fields of a record that have a value, then its unknown keys.
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
        unknown
            .iter()
            .try_for_each(|entry| self.unknown_entry(entry))
    }

    /// Writes a list of records. `unknown` returns the unknown keys of a record.
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
