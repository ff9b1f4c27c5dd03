//! Goes back to the states of a trainee by its history.

use std::collections::HashMap;

use database::connection::DatabaseConnection;
use diesel::prelude::*;
use domain::records::history;
use domain::{Degree, Placement, PlacementField, Record, RecordField as _, Trainee, TraineeField};
use indexmap::IndexMap;
use serde_json::Value as Json;
use stored_document::values;

use super::entry::{FieldEntry, TraineeHistory, read_fields};
use super::{Changed, DEGREES, PLACEMENTS};
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
        let mut state = Rebuilt::of(&self.base);
        let states = self.entries.iter().map(|entry| {
            state.apply(&entry.fields).ok_or(StorageError::CorruptRow { table: "changes", id: entry.id })?;
            Ok(state.trainee())
        });
        states.collect()
    }
}

/// Whether each of these trainees is what its history leads to; those without entries are left out.
///
/// A history that does not begin with the creation is older than the first entry: its first months are removed, or the trainee
/// is older than the history. It is compared from its first entry on.
pub(crate) fn agreements(
    connection: &mut DatabaseConnection,
    records: &HashMap<i64, &Trainee>,
) -> Result<HashMap<i64, bool>, StorageError> {
    let keys: Vec<i64> = records.keys().copied().collect();
    let rows = changes::table
        .filter(changes::trainee_key.eq_any(keys))
        .order((changes::trainee_key, changes::changed_at, changes::id))
        .select((changes::trainee_key, changes::fields))
        .load::<(i64, String)>(connection)?;
    let mut histories = HashMap::<i64, Vec<_>>::new();
    for (key, text) in rows {
        histories.entry(key).or_default().push(read_fields(&text));
    }
    let mut agreements = HashMap::new();
    for (key, entries) in histories {
        let Some(record) = records.get(&key) else { continue };
        let fields = entries.into_iter().collect::<Option<Vec<_>>>();
        agreements.insert(key, fields.and_then(|fields| agrees(fields, record)).unwrap_or(false));
    }
    Ok(agreements)
}

/// Whether the entries lead to the record; nothing when one holds what no field can hold.
fn agrees(mut fields: Vec<Vec<FieldEntry>>, record: &Trainee) -> Option<bool> {
    let (first, later) = fields.split_first_mut()?;
    let base = if first.is_empty() {
        complete_creation(first, later, record)?;
        Trainee::default()
    } else {
        state_before(&fields, record)?
    };
    let mut state = Rebuilt::of(&base);
    fields.iter().try_for_each(|fields| state.apply(fields))?;
    Some(state.leads_to(record))
}

/// What the record was before the first of the entries, whose fields are given; nothing when one holds what no field can hold.
pub(super) fn state_before(fields: &[Vec<FieldEntry>], record: &Trainee) -> Option<Trainee> {
    if fields.first().is_some_and(|first| is_creation(first)) {
        return Some(Trainee::default());
    }
    let mut state = Rebuilt::of(record);
    fields.iter().rev().try_for_each(|fields| state.undo(fields))?;
    Some(state.trainee())
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
    placements: IndexMap<String, Placement>,
    degrees: IndexMap<String, Degree>,
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
                (PLACEMENTS, Some(id), Some(name)) => values::set(of_id(&mut self.placements, id), name, value)?,
                (DEGREES, Some(id), Some(name)) => values::set(of_id(&mut self.degrees, id), name, value)?,
                _ => return None,
            }
        }
        // What has lost its identifier was removed.
        self.placements.retain(|_, placement| placement.placement_id.is_some());
        self.degrees.retain(|_, degree| degree.degree_id.is_some());
        Some(())
    }

    /// Whether the record holds what the history says. A placement in a known school shows what the school is called
    /// today, so its name and its postcode are left out.
    fn leads_to(&self, record: &Trainee) -> bool {
        let placements: HashMap<_, _> = record.placements.iter().map(|now| (now.placement_id.as_ref(), now)).collect();
        let degrees: HashMap<_, _> = record.degrees.iter().map(|now| (now.degree_id.as_ref(), now)).collect();
        let same_placement = |(id, then): (&String, &Placement)| {
            placements.get(&Some(id)).is_some_and(|now| {
                history::changes(then, *now).all(|change| {
                    now.school_id.is_some() && [PlacementField::name, PlacementField::postcode].contains(&change.field)
                })
            })
        };
        let same_degree = |(id, then): (&String, &Degree)| {
            degrees.get(&Some(id)).is_some_and(|now| history::changes(then, *now).next().is_none())
        };
        history::changes(&self.trainee, record).next().is_none()
            && (self.placements.len(), self.degrees.len()) == (record.placements.len(), record.degrees.len())
            && self.placements.iter().all(same_placement)
            && self.degrees.iter().all(same_degree)
    }

    /// The trainee as it was then.
    fn trainee(&self) -> Trainee {
        let placements = self.placements.values().cloned().collect();
        let mut degrees: Vec<Degree> = self.degrees.values().cloned().collect();
        degrees.sort_by_key(|degree| (degree.graduation_year, degree.created_at));
        Trainee { placements, degrees, ..self.trainee.clone() }
    }
}

/// Puts nested records into the order of their identifiers in an entry.
fn put_in_order<R>(records: &mut IndexMap<String, R>, ids: &Json) -> Option<()> {
    let ids = ids.as_array()?;
    let places: HashMap<_, _> = ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
    records.sort_by_cached_key(|id, _| places.get(&Some(id.as_str())).copied().unwrap_or(ids.len()));
    Some(())
}

/// The nested record with the identifier, which is an empty one at first.
fn of_id<'a, R: Record>(records: &'a mut IndexMap<String, R>, id: &str) -> &'a mut R {
    records.entry(id.to_owned()).or_default()
}
