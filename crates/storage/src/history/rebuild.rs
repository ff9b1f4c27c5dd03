//! Goes back to the states of a trainee by its history.

use std::collections::HashMap;

use diesel::prelude::*;
use domain::{Degree, Placement, PlacementField, Record, RecordField as _, Trainee, TraineeField, history};
use serde_json::Value as Json;

use super::entry::{FieldEntry, TraineeHistory, read_fields};
use super::{Changed, DEGREES, PLACEMENTS};
use crate::connection::DatabaseConnection;
use crate::document::values;
use crate::error::StorageError;
use crate::schema::changes;

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

/// Whether each of these trainees is what its history leads to; those whose history does not begin with their creation
/// are left out, since they are older than it.
pub(crate) fn agreements(
    connection: &mut DatabaseConnection,
    records: &HashMap<i64, &Trainee>,
) -> Result<HashMap<i64, bool>, StorageError> {
    let keys: Vec<i64> = records.keys().copied().collect();
    let entries = changes::table
        .filter(changes::trainee_key.eq_any(keys))
        .order((changes::trainee_key, changes::changed_at, changes::id))
        .select((changes::trainee_key, changes::fields))
        .load::<(i64, String)>(connection)?;
    let mut agreements = HashMap::new();
    for of_one in entries.chunk_by(|(one, _), (next, _)| one == next) {
        let Some((key, _)) = of_one.first() else { continue };
        let Some(record) = records.get(key) else { continue };
        let fields = of_one.iter().map(|(_, text)| read_fields(text)).collect::<Option<Vec<_>>>();
        let fields = fields.and_then(|mut fields| {
            let (first, later) = fields.split_first_mut()?;
            complete_creation(first, later, record)?;
            Some(fields)
        });
        let Some(fields) = fields else {
            agreements.insert(*key, false);
            continue;
        };
        let mut state = Rebuilt::default();
        let is_whole = fields.iter().try_for_each(|fields| state.apply(fields)).is_some();
        if !is_whole || fields.first().is_some_and(|first| is_creation(first)) {
            agreements.insert(*key, is_whole && state.leads_to(record));
        }
    }
    Ok(agreements)
}

fn is_creation(fields: &[FieldEntry]) -> bool {
    let name = TraineeField::trainee_id.info().name;
    fields.iter().any(|field| field.path == name && field.before.is_null())
}

/// Fills the entry of a creation, which holds nothing, with what was created: what the record was before the later entries.
/// Nothing when an entry holds what no field can hold.
pub(super) fn complete_creation(
    first: &mut Vec<FieldEntry>,
    later: &[Vec<FieldEntry>],
    record: &Trainee,
) -> Option<()> {
    if !first.is_empty() {
        return Some(());
    }
    let mut state = Rebuilt::of(record);
    later.iter().rev().try_for_each(|fields| state.undo(fields))?;
    let created = state.trainee();
    // One that holds nothing was not created by this program.
    *first = match Changed::between(&Trainee::default(), &created).to_json().ok()? {
        Some(text) => read_fields(&text)?,
        None => Vec::new(),
    };
    Some(())
}

/// A trainee on its way through its history, the nested records by their identifiers.
#[derive(Default)]
pub(super) struct Rebuilt {
    trainee: Trainee,
    placements: Vec<(String, Placement)>,
    degrees: Vec<(String, Degree)>,
}

impl Rebuilt {
    fn of(record: &Trainee) -> Self {
        let id = |id: &Option<String>| id.clone().unwrap_or_default();
        let placements = record.placements.iter().map(|one| (id(&one.placement_id), one.clone())).collect();
        let degrees = record.degrees.iter().map(|one| (id(&one.degree_id), one.clone())).collect();
        let trainee = Trainee { placements: Vec::new(), degrees: Vec::new(), ..record.clone() };
        Self { trainee, placements, degrees }
    }

    /// Goes on by one entry; nothing when the entry holds what no field can hold.
    fn apply(&mut self, fields: &[FieldEntry]) -> Option<()> {
        self.set_all(fields.iter().map(|field| (field.path.as_str(), &field.after)))
    }

    /// Goes back by one entry; nothing when the entry holds what no field can hold.
    fn undo(&mut self, fields: &[FieldEntry]) -> Option<()> {
        self.set_all(fields.iter().map(|field| (field.path.as_str(), &field.before)))
    }

    fn set_all<'a>(&mut self, values: impl Iterator<Item = (&'a str, &'a Json)>) -> Option<()> {
        for (path, value) in values {
            let mut steps = path.splitn(3, '.');
            match (steps.next()?, steps.next(), steps.next()) {
                (PLACEMENTS, None, None) => put_in_order(&mut self.placements, value)?,
                (DEGREES, None, None) => put_in_order(&mut self.degrees, value)?,
                (name, None, None) => values::set(&mut self.trainee, name, value)?,
                (PLACEMENTS, Some(id), Some(name)) => values::set(of_id(&mut self.placements, id)?, name, value)?,
                (DEGREES, Some(id), Some(name)) => values::set(of_id(&mut self.degrees, id)?, name, value)?,
                _ => return None,
            }
        }
        // What has lost its identifier was removed.
        self.placements.retain(|(_, placement)| placement.placement_id.is_some());
        self.degrees.retain(|(_, degree)| degree.degree_id.is_some());
        Some(())
    }

    /// Whether the record holds what the history says. A placement in a known school shows what the school is called
    /// today, so its name and its postcode are left out.
    fn leads_to(&self, record: &Trainee) -> bool {
        let same_placement = |(id, then): &(String, Placement)| {
            let now = record.placements.iter().find(|now| now.placement_id.as_ref() == Some(id));
            now.is_some_and(|now| {
                history::changes(then, now).all(|change| {
                    now.school_id.is_some() && [PlacementField::name, PlacementField::postcode].contains(&change.field)
                })
            })
        };
        let same_degree = |(id, then): &(String, Degree)| {
            let now = record.degrees.iter().find(|now| now.degree_id.as_ref() == Some(id));
            now.is_some_and(|now| history::changes(then, now).next().is_none())
        };
        history::changes(&self.trainee, record).next().is_none()
            && (self.placements.len(), self.degrees.len()) == (record.placements.len(), record.degrees.len())
            && self.placements.iter().all(same_placement)
            && self.degrees.iter().all(same_degree)
    }

    /// The trainee as it was then.
    fn trainee(&self) -> Trainee {
        let placements = self.placements.iter().map(|(_, placement)| placement.clone()).collect();
        let mut degrees: Vec<Degree> = self.degrees.iter().map(|(_, degree)| degree.clone()).collect();
        degrees.sort_by_key(|degree| (degree.graduation_year, degree.created_at));
        Trainee { placements, degrees, ..self.trainee.clone() }
    }
}

/// Puts nested records into the order of their identifiers in an entry.
fn put_in_order<R>(records: &mut [(String, R)], ids: &Json) -> Option<()> {
    let ids = ids.as_array()?;
    records.sort_by_key(|(id, _)| ids.iter().position(|one| one.as_str() == Some(id)).unwrap_or(ids.len()));
    Some(())
}

/// The nested record with the identifier, which is an empty one at first.
fn of_id<'a, R: Record>(records: &'a mut Vec<(String, R)>, id: &str) -> Option<&'a mut R> {
    if !records.iter().any(|(known, _)| known == id) {
        records.push((id.to_owned(), R::default()));
    }
    records.iter_mut().find(|(known, _)| known == id).map(|(_, record)| record)
}
