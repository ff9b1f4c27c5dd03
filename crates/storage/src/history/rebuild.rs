//! Goes back to the states of a trainee by its history.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, Utc};
use domain::{Degree, Kind, Placement, Record, RecordField as _, Trainee, Value};
use serde_json::Value as Json;

use super::entry::{FieldEntry, TraineeHistory};
use super::{DEGREES, PLACEMENTS};
use crate::error::StorageError;

impl TraineeHistory {
    /// The states of the trainee, one after each entry. Placements stand in the order in which they were made, degrees by
    /// their year; a placement in a known school has the name that the school had when the placement was written.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptRow`] when an entry holds what no field can hold.
    pub fn states(&self) -> Result<Vec<Trainee>, StorageError> {
        let mut state = Rebuilt::default();
        let states = self.entries.iter().map(|entry| {
            state.apply(&entry.fields).ok_or(StorageError::CorruptRow { table: "changes", id: entry.id })?;
            Ok(state.trainee())
        });
        states.collect()
    }
}

/// A trainee on its way through its history, the nested records by their identifiers.
#[derive(Default)]
pub(super) struct Rebuilt {
    trainee: Trainee,
    placements: Vec<(String, Placement)>,
    degrees: Vec<(String, Degree)>,
}

impl Rebuilt {
    /// Goes on by one entry; nothing when the entry holds what no field can hold.
    pub(super) fn apply(&mut self, fields: &[FieldEntry]) -> Option<()> {
        for FieldEntry { path, after, .. } in fields {
            let mut steps = path.splitn(3, '.');
            match (steps.next()?, steps.next(), steps.next()) {
                (name, None, None) => hold(&mut self.trainee, name, after)?,
                (PLACEMENTS, Some(id), Some(name)) => hold(of_id(&mut self.placements, id)?, name, after)?,
                (DEGREES, Some(id), Some(name)) => hold(of_id(&mut self.degrees, id)?, name, after)?,
                _ => return None,
            }
        }
        // What has lost its identifier was removed.
        self.placements.retain(|(_, placement)| placement.placement_id.is_some());
        self.degrees.retain(|(_, degree)| degree.degree_id.is_some());
        Some(())
    }

    /// The trainee as it was then.
    pub(super) fn trainee(&self) -> Trainee {
        let placements = self.placements.iter().map(|(_, placement)| placement.clone()).collect();
        let mut degrees: Vec<Degree> = self.degrees.iter().map(|(_, degree)| degree.clone()).collect();
        degrees.sort_by_key(|degree| (degree.graduation_year, degree.created_at));
        Trainee { placements, degrees, ..self.trainee.clone() }
    }
}

/// The nested record with the identifier, which is an empty one at first.
fn of_id<'a, R: Record>(records: &'a mut Vec<(String, R)>, id: &str) -> Option<&'a mut R> {
    if !records.iter().any(|(known, _)| known == id) {
        records.push((id.to_owned(), R::default()));
    }
    records.iter_mut().find(|(known, _)| known == id).map(|(_, record)| record)
}

/// Puts a value of an entry into the field of that name.
fn hold<R: Record>(record: &mut R, name: &str, json: &Json) -> Option<()> {
    let field = *R::Field::ALL.iter().find(|field| field.info().name == name)?;
    let texts: Vec<String>;
    let value = match (field.info().kind, json) {
        (_, Json::Null) => Value::Null,
        (Kind::Text, Json::String(text)) => Value::Text(Cow::Borrowed(text)),
        (Kind::Document, Json::String(text)) => Value::Document(text),
        (Kind::Integer | Kind::Year, Json::Number(number)) => Value::Integer(number.as_i64()?),
        (Kind::Flag, Json::Bool(flag)) => Value::Flag(*flag),
        (Kind::Date, Json::String(text)) => Value::Date(text.parse::<NaiveDate>().ok()?),
        (Kind::Moment, Json::String(text)) => Value::Moment(text.parse::<DateTime<Utc>>().ok()?),
        (Kind::Texts, Json::Array(items)) => {
            texts = items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<_>>()?;
            Value::Texts(&texts)
        }
        _ => return None,
    };
    record.hold(field, value).then_some(())
}
