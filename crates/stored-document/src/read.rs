//! Reads any document of a trainee with `serde_json`. The keys can have any order.

use domain::records::record::Record;
use domain::{NestedRecord, RecordField as _, Trainee, for_each_nested};
use serde_json::{Map, Value as Json};

use super::{Extra, UnknownKey, WITHDRAWALS, values};

/// The contents of a document.
#[derive(Debug)]
pub struct Parsed {
    /// The record.
    pub trainee: Trainee,
    /// The other contents.
    pub extra: Extra,
}

/// Reads a document. Returns `None` if the text is not JSON or a value does not have the type of
/// its field.
pub fn parse(text: &str) -> Option<Parsed> {
    let mut document: Map<String, Json> = serde_json::from_str(text).ok()?;
    let mut extra = Extra::default();
    let mut trainee = Trainee::default();
    if let Some(withdrawals) = document.shift_remove(WITHDRAWALS) {
        extra.withdrawals = serde_json::from_value(withdrawals).ok()?;
    }
    for list in for_each_nested!(list(&mut document, &mut trainee, &mut extra.nested)) {
        list?;
    }
    extra.trainee = fields(&mut trainee, document)?;
    Some(Parsed { trainee, extra })
}

/// Reads the nested records of a kind. Returns `None` if a value does not have the type of its
/// field.
fn list<R: NestedRecord>(
    document: &mut Map<String, Json>,
    trainee: &mut Trainee,
    unknown: &mut Vec<(String, Vec<UnknownKey>)>,
) -> Option<()> {
    let Some(items) = document.shift_remove(R::LIST.info().name) else {
        return Some(());
    };
    let items: Vec<Map<String, Json>> = serde_json::from_value(items).ok()?;
    for item in items {
        let mut record = R::default();
        let keys = fields(&mut record, item)?;
        if let Some(id) = record.id()
            && !keys.is_empty()
        {
            unknown.push((id.to_owned(), keys));
        }
        R::records_mut(trainee).push(record);
    }
    Some(())
}

/// Sets the fields of a record, and returns unknown keys. Returns `None` if a value does not have
/// the type of its field.
fn fields<R: Record>(record: &mut R, object: Map<String, Json>) -> Option<Vec<UnknownKey>> {
    let mut unknown = Vec::new();
    for (name, value) in object {
        if R::Field::ALL.iter().any(|field| field.info().name == name) {
            values::set(record, &name, &value)?;
        } else {
            unknown.push((name, value));
        }
    }
    Some(unknown)
}
