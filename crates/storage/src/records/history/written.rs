//! Writes what changed as the JSON of an entry: `{field: [before, after]}`.
//!
//! A field of a nested record stands behind its list and its identifier, as in
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

/// What one request changes in a trainee and its nested records.
#[derive(Debug, Default)]
pub(crate) struct Changed<'a> {
    fields: Vec<(Cow<'static, str>, Value<'a>, Value<'a>)>,
}

impl<'a> Changed<'a> {
    /// What changes between two states of a trainee. Nested records are distinguished by their
    /// identifiers.
    pub(crate) fn between(before: &'a Trainee, after: &'a Trainee) -> Self {
        let mut changed = Self::default();
        changed.record("", before, after);
        for_each_nested!(add_list(&mut changed, before, after));
        changed
    }

    /// A record that is only there before or after is compared with an empty one. Where one is
    /// removed from among others, the identifiers before and after are an entry too, under the name
    /// of the list: by them it gets its place back.
    fn list<R: EmptyRecord>(
        &mut self,
        before: &'a [R],
        after: &'a [R],
        id: impl Fn(&R) -> Option<&str>,
    ) {
        let name = R::LIST.info().name;
        // There may be thousands of them.
        let kept: HashSet<_> = after.iter().map(&id).collect();
        for one in before.iter().filter(|one| !kept.contains(&id(one))) {
            self.record(
                &format!("{name}.{}.", id(one).unwrap_or_default()),
                one,
                R::empty(),
            );
        }
        let earlier: HashMap<_, _> = before.iter().map(|one| (id(one), one)).collect();
        for one in after {
            let then = earlier.get(&id(one)).copied().unwrap_or(R::empty());
            self.record(
                &format!("{name}.{}.", id(one).unwrap_or_default()),
                then,
                one,
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

    /// The JSON of the entry; nothing when nothing changed.
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

/// Adds what changes in the nested records of a kind.
fn add_list<'a, R: EmptyRecord>(
    changed: &mut Changed<'a>,
    before: &'a Trainee,
    after: &'a Trainee,
) {
    changed.list(R::records(before), R::records(after), R::id);
}

/// A record that holds nothing, for as long as the program runs.
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
    fn what_changes_among_many_nested_records_is_found_in_one_walk() {
        let records = |numbers: std::ops::Range<usize>| -> Vec<Placement> {
            let one = |number| Placement {
                placement_id: Some(format!("{number}")),
                ..Placement::default()
            };
            numbers.map(one).collect()
        };
        let (before, mut after) = (records(0..1_000), records(1..1_001));
        after[500].name = Some("Elmfield School".to_owned());
        let (mut changed, looks) = (Changed::default(), Cell::new(0));
        changed.list(&before, &after, |one| {
            looks.set(looks.get() + 1);
            one.placement_id.as_deref()
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
        assert!(looks.get() < 10_000, "{}", looks.get());
    }
}
