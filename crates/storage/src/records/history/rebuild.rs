//! Rebuilds the earlier states of a trainee from its history.

use std::collections::HashMap;

use database::connection::DatabaseConnection;
use diesel::prelude::*;
use domain::records::history;
use domain::records::trainee::NestedForm;
use domain::{
    Kind, NestedRecord, NestedRecords, Record, RecordField as _, Trainee, TraineeField,
    for_each_nested, for_nested_list,
};
use serde_json::Value as Json;
use stored_document::values;

use super::Changed;
use super::entry::{FieldEntry, TraineeHistory, read_fields};
use crate::error::StorageError;
use crate::schema::changes;

impl TraineeHistory {
    /// The state of the trainee after each entry. Placements are in the order of their creation,
    /// degrees are ordered by year. A placement in a known school has the name that the school had
    /// when the placement was written.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptRow`] when an entry holds an invalid value.
    pub fn states(&self) -> Result<Vec<Trainee>, StorageError> {
        let mut state = Rebuilt::from_record(&self.base);
        let states = self.entries.iter().map(|entry| {
            state.apply(&entry.fields).ok_or(StorageError::CorruptRow {
                table: "changes",
                id: entry.id,
            })?;
            Ok(state.trainee())
        });
        states.collect()
    }
}

/// Whether each of these records equals the state that its history leads to. The result leaves out
/// trainees without entries.
///
/// A history may start after the creation, when its first months were removed or the trainee is
/// older than the history. It is then compared from its first entry on.
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
        let Some(record) = records.get(&key) else {
            continue;
        };
        // `None` when an entry is unreadable: the record then does not follow from its history.
        let fields = entries.into_iter().collect::<Option<Vec<_>>>();
        agreements.insert(
            key,
            fields
                .and_then(|fields| agrees(fields, record))
                .unwrap_or(false),
        );
    }
    Ok(agreements)
}

/// Whether the entries lead to the record; `None` when an entry holds an invalid value.
fn agrees(mut fields: Vec<Vec<FieldEntry>>, record: &Trainee) -> Option<bool> {
    let (first, later) = fields.split_first_mut()?;
    let base = if first.is_empty() {
        complete_creation(first, later, record)?;
        Trainee::default()
    } else {
        state_before(&fields, record)?
    };
    let mut state = Rebuilt::from_record(&base);
    fields.iter().try_for_each(|fields| state.apply(fields))?;
    Some(state.leads_to(record))
}

/// The state of the record before the first of the entries; `None` when an entry holds an invalid
/// value. `fields` are the fields of each entry.
pub(super) fn state_before(fields: &[Vec<FieldEntry>], record: &Trainee) -> Option<Trainee> {
    if fields.first().is_some_and(|first| is_creation(first)) {
        return Some(Trainee::default());
    }
    let mut state = Rebuilt::from_record(record);
    fields
        .iter()
        .rev()
        .try_for_each(|fields| state.undo(fields))?;
    Some(state.trainee())
}

/// Whether an older program wrote these fields for a creation: the trainee had no identifier
/// before.
fn is_creation(fields: &[FieldEntry]) -> bool {
    let name = TraineeField::trainee_id.info().name;
    fields
        .iter()
        .any(|field| field.path == name && field.before.is_null())
}

/// Fills the empty entry of a creation with the created fields: the state of the record before the
/// later entries. Returns `None` when an entry holds an invalid value.
pub(super) fn complete_creation(
    first: &mut Vec<FieldEntry>,
    later: &[Vec<FieldEntry>],
    record: &Trainee,
) -> Option<()> {
    if !first.is_empty() {
        return Some(());
    }
    let mut state = Rebuilt::from_record(record);
    later
        .iter()
        .rev()
        .try_for_each(|fields| state.undo(fields))?;
    let created = state.trainee();
    // Without any field, the record was not created by this program.
    *first = match Changed::between(&Trainee::default(), &created)
        .to_json()
        .ok()?
    {
        Some(text) => read_fields(&text)?,
        None => Vec::new(),
    };
    Some(())
}

/// A state of a trainee between two entries of its history.
#[derive(Default)]
pub(super) struct Rebuilt {
    /// The trainee without nested records.
    trainee: Trainee,
    nested: NestedRecords<WithIds>,
    /// The index of the nested record that was changed last. An entry lists the fields record by
    /// record, in the order of the list, so the next field usually belongs to this record or the
    /// next one.
    last_index: usize,
}

/// Nested records with their identifiers, in the order of the list.
struct WithIds;

impl NestedForm for WithIds {
    type Of<R: Record> = (String, R);
}

impl Rebuilt {
    /// The state of a record.
    fn from_record(record: &Trainee) -> Self {
        let mut rebuilt = Self {
            trainee: record.clone(),
            ..Self::default()
        };
        for_each_nested!(take_records(&mut rebuilt));
        rebuilt
    }

    /// Applies one entry; `None` when the entry holds an invalid value.
    fn apply(&mut self, fields: &[FieldEntry]) -> Option<()> {
        self.set_all(
            fields
                .iter()
                .map(|field| (field.path.as_str(), &field.after)),
        )
    }

    /// Undoes one entry; `None` when the entry holds an invalid value.
    fn undo(&mut self, fields: &[FieldEntry]) -> Option<()> {
        self.set_all(
            fields
                .iter()
                .map(|field| (field.path.as_str(), &field.before)),
        )
    }

    /// Sets each value by its path, then removes nested records whose identifier was cleared.
    /// `None` for an unknown path or an invalid value.
    fn set_all<'a>(&mut self, values: impl Iterator<Item = (&'a str, &'a Json)>) -> Option<()> {
        for (path, value) in values {
            let mut steps = path.splitn(3, '.');
            let (first, id, name) = (steps.next()?, steps.next(), steps.next());
            let list = TraineeField::ALL
                .iter()
                .find(|field| field.info().name == first);
            let list = list.filter(|field| field.info().kind == Kind::Records);
            match (list, id, name) {
                // A field of the trainee.
                (None, None, None) => values::set(&mut self.trainee, first, value)?,
                // The order of a list.
                (Some(list), None, None) => for_nested_list!(*list, put_in_order(self, value))??,
                // A field of a nested record.
                (Some(list), Some(id), Some(name)) => {
                    for_nested_list!(*list, set_nested(self, id, name, value))??;
                }
                _ => return None,
            }
        }
        for_each_nested!(remove_without_id(self));
        Some(())
    }

    /// Whether this state equals the record, apart from mirrored fields.
    fn leads_to(&self, record: &Trainee) -> bool {
        history::changes(&self.trainee, record).next().is_none()
            && for_each_nested!(is_same_list(self, record))
                .into_iter()
                .all(|is_same| is_same)
    }

    /// The trainee in this state, with its nested records.
    fn trainee(&self) -> Trainee {
        let mut trainee = self.trainee.clone();
        for_each_nested!(copy_records(self, &mut trainee));
        trainee
    }
}

/// Moves the nested records of a kind out of the trainee.
fn take_records<R: NestedRecord>(rebuilt: &mut Rebuilt) {
    let records = std::mem::take(R::records_mut(&mut rebuilt.trainee)).into_iter();
    *R::in_nested_mut(&mut rebuilt.nested) = records
        .map(|record| (record.id().unwrap_or_default().to_owned(), record))
        .collect();
}

/// Copies the nested records of a kind into the trainee, in the order of the API.
fn copy_records<R: NestedRecord>(rebuilt: &Rebuilt, trainee: &mut Trainee) {
    let records = R::in_nested(&rebuilt.nested).iter();
    *R::records_mut(trainee) = records.map(|(_, record)| record.clone()).collect();
    R::records_mut(trainee).sort_by(R::compare);
}

/// Whether the record has the same nested records of a kind as the rebuilt state. Ignores fields
/// that mirror another record: a placement in a known school has the present name of the school.
fn is_same_list<R: NestedRecord>(rebuilt: &Rebuilt, record: &Trainee) -> bool {
    let stored: HashMap<_, _> = R::records(record)
        .iter()
        .map(|nested| (nested.id(), nested))
        .collect();
    let is_same = |(id, rebuilt): &(String, R)| {
        stored.get(&Some(id.as_str())).is_some_and(|stored| {
            let mirrored = stored.mirrored_fields();
            history::changes(rebuilt, *stored).all(|change| mirrored.contains(&change.field))
        })
    };
    let rebuilt = R::in_nested(&rebuilt.nested);
    rebuilt.len() == R::records(record).len() && rebuilt.iter().all(is_same)
}

/// Puts nested records into the order of their identifiers in an entry.
fn put_in_order<R: NestedRecord>(rebuilt: &mut Rebuilt, ids: &Json) -> Option<()> {
    let ids = ids.as_array()?;
    let positions: HashMap<_, _> = ids
        .iter()
        .enumerate()
        .map(|(position, id)| (id.as_str(), position))
        .collect();
    R::in_nested_mut(&mut rebuilt.nested).sort_by_cached_key(|(id, _)| {
        let position = positions.get(&Some(id.as_str()));
        position.copied().unwrap_or(ids.len())
    });
    Some(())
}

/// Sets a field of the nested record with the identifier. Adds an empty record when none has it.
fn set_nested<R: NestedRecord>(
    rebuilt: &mut Rebuilt,
    id: &str,
    name: &str,
    value: &Json,
) -> Option<()> {
    let records = R::in_nested_mut(&mut rebuilt.nested);
    let likely = [rebuilt.last_index, rebuilt.last_index + 1];
    let found = likely
        .into_iter()
        .find(|index| records.get(*index).is_some_and(|(known, _)| known == id))
        .or_else(|| records.iter().position(|(known, _)| known == id));
    rebuilt.last_index = found.unwrap_or(records.len());
    if found.is_none() {
        records.push((id.to_owned(), R::default()));
    }
    let (_, record) = records.get_mut(rebuilt.last_index)?;
    values::set(record, name, value)
}

/// Removes the nested records of a kind whose identifier an entry has cleared.
fn remove_without_id<R: NestedRecord>(rebuilt: &mut Rebuilt) {
    R::in_nested_mut(&mut rebuilt.nested).retain(|(_, record)| record.id().is_some());
}
