//! Reads any document of a trainee, whatever the order of its keys, by serde_json.

use domain::records::record::Record;
use domain::{NestedRecord, RecordField as _, Trainee, for_each_nested};
use serde_json::{Map, Value as Json};

use super::{Extra, UnknownKey, WITHDRAWALS, values};

/// A trainee to be changed, with what else its document holds.
#[derive(Debug)]
pub struct Parsed {
    /// The record.
    pub trainee: Trainee,
    /// What the document holds besides.
    pub extra: Extra,
}

/// Reads a document; `None` when it is not JSON, or a field holds what it cannot hold.
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

/// Reads the nested records of a kind; `None` when a field holds what it cannot hold.
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
        if let Some(id) = record.id().filter(|_| !keys.is_empty()) {
            unknown.push((id.to_owned(), keys));
        }
        R::records_mut(trainee).push(record);
    }
    Some(())
}

/// Sets the record's fields, and returns the keys that are no field.
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
