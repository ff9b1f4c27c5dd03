//! Writes changed fields as the JSON of an entry: `{field: [before, after]}`.
//!
//! A field of a nested record has the list and the identifier as a prefix, as in
//! `placements.<placement_id>.urn`.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use diesel::QueryResult;
use diesel::result::Error as DieselError;
use domain::records::history;
use domain::{
    NestedRecord, Record, RecordField as _, Trainee, Value, for_each_nested, nested_kinds,
};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use stored_document::values::StoredJson;

/// The fields that one request changes in a trainee and its nested records.
#[derive(Debug, Default)]
pub(crate) struct Changed<'a> {
    fields: Vec<(Cow<'static, str>, Value<'a>, Value<'a>)>,
}

impl<'a> Changed<'a> {
    /// The differences between two states of a trainee. Matches nested records by identifier.
    pub(crate) fn between(before: &'a Trainee, after: &'a Trainee) -> Self {
        let mut changed = Self::default();
        changed.record("", before, after);
        for_each_nested!(add_list(&mut changed, before, after));
        changed
    }

    /// Adds the differences between two lists of nested records. An added or removed record is
    /// compared with an empty one. When a record is removed from a list of several, the name of the
    /// list gets the identifiers before and after, so that an undo can restore the order.
    fn list<R: EmptyRecord>(
        &mut self,
        before: &'a [R],
        after: &'a [R],
        id: impl Fn(&R) -> Option<&str>,
    ) {
        let name = R::LIST.info().name;
        // Lists may have thousands of records: look up identifiers in hash tables.
        let kept: HashSet<_> = after.iter().map(&id).collect();
        for removed in before.iter().filter(|record| !kept.contains(&id(record))) {
            self.record(
                &format!("{name}.{}.", id(removed).unwrap_or_default()),
                removed,
                R::empty(),
            );
        }
        let earlier: HashMap<_, _> = before.iter().map(|record| (id(record), record)).collect();
        for later in after {
            self.record(
                &format!("{name}.{}.", id(later).unwrap_or_default()),
                earlier.get(&id(later)).copied().unwrap_or(R::empty()),
                later,
            );
        }
        if after.len() < before.len() && before.len() > 1 {
            let ids = |records: &'a [R]| {
                let ids = records
                    .iter()
                    .map(|record| Cow::Owned(id(record).unwrap_or_default().to_owned()));
                Value::TextList(ids.collect())
            };
            self.fields
                .push((Cow::Borrowed(name), ids(before), ids(after)));
        }
    }

    /// Adds the differences between two records. `prefix` comes before the name of each field.
    fn record<R: Record>(&mut self, prefix: &str, before: &'a R, after: &'a R) {
        self.fields
            .extend(history::changes(before, after).map(|change| {
                let name = change.field.info().name;
                let path = if prefix.is_empty() {
                    Cow::Borrowed(name)
                } else {
                    Cow::Owned(format!("{prefix}{name}"))
                };
                (path, change.before, change.after)
            }));
    }

    /// The JSON of the entry; `None` when no field changed.
    pub(super) fn to_json(&self) -> QueryResult<Option<String>> {
        if self.fields.is_empty() {
            return Ok(None);
        }
        serde_json::to_string(self)
            .map(Some)
            .map_err(|error| DieselError::SerializationError(Box::new(error)))
    }
}

impl Serialize for Changed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (path, before, after) in &self.fields {
            map.serialize_entry(path, &[StoredJson(before), StoredJson(after)])?;
        }
        map.end()
    }
}

/// Adds the changes in the nested records of a kind.
fn add_list<'a, R: EmptyRecord>(
    changed: &mut Changed<'a>,
    before: &'a Trainee,
    after: &'a Trainee,
) {
    changed.list(R::records(before), R::records(after), R::id);
}

/// A static empty record of each kind of nested records.
trait EmptyRecord: NestedRecord {
    fn empty() -> &'static Self;
}

macro_rules! empty_records {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {$(
        impl EmptyRecord for domain::$record {
            fn empty() -> &'static Self {
                static EMPTY: LazyLock<domain::$record> = LazyLock::new(domain::$record::default);
                &EMPTY
            }
        }
    )+};
}
nested_kinds!([empty_records]);

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use domain::Placement;

    use super::*;

    #[test]
    fn many_nested_changes_take_linear_time() {
        let before = placements(0..1_000);
        let mut after = placements(1..1_001);
        after[500].name = Some("Elmfield School".to_owned());
        let mut changed = Changed::default();
        let id_calls = Cell::new(0);
        changed.list(&before, &after, |placement| {
            id_calls.set(id_calls.get() + 1);
            placement.placement_id.as_deref()
        });
        let paths: Vec<&str> = changed.fields.iter().map(|(path, ..)| &**path).collect();
        assert_eq!(
            paths,
            [
                "placements.0.placement_id",
                "placements.501.name",
                "placements.1000.placement_id"
            ],
        );
        assert!(id_calls.get() < 10_000, "{}", id_calls.get());
    }

    fn placements(numbers: std::ops::Range<usize>) -> Vec<Placement> {
        numbers
            .map(|number| Placement {
                placement_id: Some(number.to_string()),
                ..Placement::default()
            })
            .collect()
    }
}
