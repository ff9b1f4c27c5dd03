//! Goes back to the states of a trainee by its history.

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
    /// The states of the trainee, one after each entry. Placements stand in the order in which they
    /// were made, degrees by their year; a placement in a known school has the name that the school
    /// had when the placement was written.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptRow`] when an entry holds what no field can hold.
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

/// Whether each of these trainees is what its history leads to; those without entries are left out.
///
/// A history that does not begin with the creation is older than the first entry: its first months
/// are removed, or the trainee is older than the history. It is compared from its first entry on.
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

/// Whether the entries lead to the record; nothing when one holds what no field can hold.
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

/// What the record was before the first of the entries, whose fields are given; nothing when one
/// holds what no field can hold.
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

fn is_creation(fields: &[FieldEntry]) -> bool {
    let name = TraineeField::trainee_id.info().name;
    fields
        .iter()
        .any(|field| field.path == name && field.before.is_null())
}

/// Fills the entry of a creation, which holds nothing, with what was created: what the record was
/// before the later entries. Nothing when an entry holds what no field can hold.
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
    // One that holds nothing was not created by this program.
    *first = match Changed::between(&Trainee::default(), &created)
        .to_json()
        .ok()?
    {
        Some(text) => read_fields(&text)?,
        None => Vec::new(),
    };
    Some(())
}

/// A trainee on its way through its history, the nested records by their identifiers.
#[derive(Default)]
pub(super) struct Rebuilt {
    /// Without its nested records.
    trainee: Trainee,
    nested: NestedRecords<WithIds>,
    /// Where the nested record stands whose field was set last. The fields of a record stand
    /// together in an entry, and the records in their order, so that a search from there finds most
    /// of them at once.
    place: usize,
}

/// Nested records with their identifiers, in their order.
struct WithIds;

impl NestedForm for WithIds {
    type Of<R: Record> = (String, R);
}

impl Rebuilt {
    fn from_record(record: &Trainee) -> Self {
        let mut rebuilt = Self {
            trainee: record.clone(),
            ..Self::default()
        };
        for_each_nested!(take_records(&mut rebuilt));
        rebuilt
    }

    /// Goes on by one entry; nothing when the entry holds what no field can hold.
    fn apply(&mut self, fields: &[FieldEntry]) -> Option<()> {
        self.set_all(
            fields
                .iter()
                .map(|field| (field.path.as_str(), &field.after)),
        )
    }

    /// Goes back by one entry; nothing when the entry holds what no field can hold.
    fn undo(&mut self, fields: &[FieldEntry]) -> Option<()> {
        self.set_all(
            fields
                .iter()
                .map(|field| (field.path.as_str(), &field.before)),
        )
    }

    fn set_all<'a>(&mut self, values: impl Iterator<Item = (&'a str, &'a Json)>) -> Option<()> {
        for (path, value) in values {
            let mut steps = path.splitn(3, '.');
            let (first, id, name) = (steps.next()?, steps.next(), steps.next());
            let list = TraineeField::ALL
                .iter()
                .find(|field| field.info().name == first);
            let list = list.filter(|field| field.info().kind == Kind::Records);
            match (list, id, name) {
                (None, None, None) => values::set(&mut self.trainee, first, value)?,
                (Some(list), None, None) => for_nested_list!(*list, put_in_order(self, value))??,
                (Some(list), Some(id), Some(name)) => {
                    for_nested_list!(*list, set_nested(self, id, name, value))??
                }
                _ => return None,
            }
        }
        for_each_nested!(remove_without_id(self));
        Some(())
    }

    /// Whether the record holds what the history says.
    fn leads_to(&self, record: &Trainee) -> bool {
        history::changes(&self.trainee, record).next().is_none()
            && for_each_nested!(is_same_list(self, record))
                .into_iter()
                .all(|is_same| is_same)
    }

    /// The trainee as it was then.
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

/// Copies the nested records of a kind into the trainee, in the order in which they are shown.
fn copy_records<R: NestedRecord>(rebuilt: &Rebuilt, trainee: &mut Trainee) {
    let records = R::in_nested(&rebuilt.nested).iter();
    *R::records_mut(trainee) = records.map(|(_, record)| record.clone()).collect();
    R::records_mut(trainee).sort_by(R::compare);
}

/// Whether the record has the nested records of a kind that the history says. Fields that mirror
/// another record are left out: a placement in a known school shows what the school is called
/// today.
fn is_same_list<R: NestedRecord>(rebuilt: &Rebuilt, record: &Trainee) -> bool {
    let stored: HashMap<_, _> = R::records(record)
        .iter()
        .map(|now| (now.id(), now))
        .collect();
    let then = R::in_nested(&rebuilt.nested);
    let is_same = |(id, then): &(String, R)| {
        stored.get(&Some(id.as_str())).is_some_and(|now| {
            history::changes(then, *now).all(|change| now.mirrored_fields().contains(&change.field))
        })
    };
    then.len() == R::records(record).len() && then.iter().all(is_same)
}

/// Puts nested records into the order of their identifiers in an entry.
fn put_in_order<R: NestedRecord>(rebuilt: &mut Rebuilt, ids: &Json) -> Option<()> {
    let ids = ids.as_array()?;
    let places: HashMap<_, _> = ids
        .iter()
        .enumerate()
        .map(|(place, id)| (id.as_str(), place))
        .collect();
    let place =
        |(id, _): &(String, R)| places.get(&Some(id.as_str())).copied().unwrap_or(ids.len());
    R::in_nested_mut(&mut rebuilt.nested).sort_by_cached_key(place);
    Some(())
}

/// Sets a field of the nested record with the identifier, which is an empty one at first.
fn set_nested<R: NestedRecord>(
    rebuilt: &mut Rebuilt,
    id: &str,
    name: &str,
    value: &Json,
) -> Option<()> {
    let records = R::in_nested_mut(&mut rebuilt.nested);
    let has_id = |at: &usize| records.get(*at).is_some_and(|(known, _)| known == id);
    let found = [rebuilt.place, rebuilt.place + 1].into_iter().find(has_id);
    let found = found.or_else(|| records.iter().position(|(known, _)| known == id));
    rebuilt.place = found.unwrap_or(records.len());
    if found.is_none() {
        records.push((id.to_owned(), R::default()));
    }
    let (_, record) = records.get_mut(rebuilt.place)?;
    values::set(record, name, value)
}

/// Removes the nested records of a kind that have lost their identifier.
fn remove_without_id<R: NestedRecord>(rebuilt: &mut Rebuilt) {
    R::in_nested_mut(&mut rebuilt.nested).retain(|(_, record)| record.id().is_some());
}
