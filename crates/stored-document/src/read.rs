//! Reads any document of a trainee, whatever the order of its keys, by serde_json.

use domain::records::record::Record;
use domain::{Degree, Placement, RecordField as _, Trainee};
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
    trainee.placements =
        list(&mut document, "placements", &mut extra.nested, |placement: &Placement| &placement.placement_id)?;
    trainee.degrees = list(&mut document, "degrees", &mut extra.nested, |degree: &Degree| &degree.degree_id)?;
    extra.trainee = fields(&mut trainee, document)?;
    Some(Parsed { trainee, extra })
}

fn list<R: Record>(
    document: &mut Map<String, Json>,
    name: &str,
    unknown: &mut Vec<(String, Vec<UnknownKey>)>,
    id: impl Fn(&R) -> &Option<String>,
) -> Option<Vec<R>> {
    let items: Vec<Map<String, Json>> = match document.shift_remove(name) {
        Some(items) => serde_json::from_value(items).ok()?,
        None => Vec::new(),
    };
    items
        .into_iter()
        .map(|item| {
            let mut record = R::default();
            let keys = fields(&mut record, item)?;
            if let Some(id) = id(&record).as_ref().filter(|_| !keys.is_empty()) {
                unknown.push((id.clone(), keys));
            }
            Some(record)
        })
        .collect()
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
