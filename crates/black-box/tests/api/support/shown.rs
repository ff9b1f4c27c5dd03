//! A trainee as a version shows it.

use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::wire::WireNested;
use adapter_kit::{ApiVersion, Endpoint, Entry};
use domain::{
    NestedRecord, RecordField as _, Trainee, TraineeField, for_each_nested, for_nested_list,
};
use serde_json::{Map, Value};

use super::{Body, wire_values};

/// A trainee as a version shows it. Its fields are asked for by their canonical name.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    version: &'static ApiVersion,
    /// What stands in `data`.
    pub(crate) data: Value,
    /// The values of fields, with codes instead of words.
    values: BTreeMap<TraineeField, Value>,
}

impl Shown {
    pub(crate) fn new(version: &'static ApiVersion, data: Value) -> Self {
        let value = |field: &TraineeField| {
            let value =
                wire_values::canonical::<Trainee>(version, &version.shapes.trainee, *field, &data)?;
            Some((*field, value))
        };
        let values = TraineeField::ALL.iter().filter_map(value).collect();
        Self {
            version,
            data,
            values,
        }
    }

    /// The value of a field that the version shows, with codes instead of words.
    #[track_caller]
    pub(crate) fn value(&self, field: TraineeField) -> &Value {
        self.values
            .get(&field)
            .unwrap_or_else(|| panic!("there is no {field:?} in {:#}", self.data))
    }

    /// Checks values of fields.
    #[track_caller]
    pub(crate) fn has(&self, expected: &[(TraineeField, Value)]) {
        for (field, value) in expected {
            assert_eq!(self.value(*field), value, "{field:?}");
        }
    }

    /// The identifier of the record.
    pub(crate) fn id(&self) -> &str {
        self.value(TraineeField::trainee_id).as_str().unwrap()
    }

    /// The path of the record.
    pub(crate) fn path(&self) -> String {
        format!("/trainees/{}", self.id())
    }

    /// The keys of the record, in order.
    pub(crate) fn keys(&self) -> Vec<&str> {
        self.data
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect()
    }

    /// The record as a body to be sent back whole.
    pub(crate) fn body(&self) -> Body {
        let fields = self.data.as_object().unwrap();
        fields
            .iter()
            .fold(Body::new(self.version), |body, (key, value)| {
                body.with_key(key, value.clone())
            })
    }

    /// Every field of the dictionary that the record shows, under its canonical name.
    pub(crate) fn fields(&self) -> BTreeMap<TraineeField, Value> {
        let nested =
            |field: TraineeField, value: &Value| for_nested_list!(field, each(self.version, value));
        let canonical = |(field, value): (&TraineeField, &Value)| {
            (
                *field,
                nested(*field, value).unwrap_or_else(|| value.clone()),
            )
        };
        self.values.iter().map(canonical).collect()
    }

    /// The fields that another record, perhaps in another version, shows with another value; a
    /// field that only one of them shows does not count.
    pub(crate) fn differences(&self, other: &Self) -> BTreeSet<TraineeField> {
        let others = other.fields();
        let differ = |(field, value): (TraineeField, Value)| {
            others
                .get(&field)
                .is_some_and(|other| *other != value)
                .then_some(field)
        };
        self.fields().into_iter().filter_map(differ).collect()
    }
}

/// Nested records under their canonical names.
fn each<R: WireNested>(version: &ApiVersion, records: &Value) -> Value {
    let shape = &R::shapes(version).in_trainee;
    let canonical = |record: &Value| -> Map<String, Value> {
        let value = |entry: &Entry<R>| match entry.field() {
            Some(field) => {
                let value = wire_values::canonical(version, shape, field, record);
                (
                    field.info().name.to_owned(),
                    value.unwrap_or_else(|| panic!("no {} in {record:#}", entry.name)),
                )
            }
            None => (entry.name.to_owned(), record[entry.name].clone()),
        };
        shape.entries.iter().map(value).collect()
    };
    records
        .as_array()
        .unwrap()
        .iter()
        .map(|record| Value::Object(canonical(record)))
        .collect()
}

/// The names of identifiers in paths, with their values in a trainee that is shown: its own, and
/// that of the first record in each list; no value where there is none.
pub(crate) fn identifiers(trainee: &Value) -> Vec<(&'static str, Option<String>)> {
    fn first<R: NestedRecord>(trainee: &Value) -> (&'static str, Value) {
        let (list, id) = (R::LIST.info().name, R::ID.info().name);
        (id, trainee[list][0][id].clone())
    }
    let own = TraineeField::trainee_id.info().name;
    let all = [(own, trainee[own].clone())]
        .into_iter()
        .chain(for_each_nested!(first(trainee)));
    all.map(|(name, value)| (name, value.as_str().map(str::to_owned)))
        .collect()
}

/// Whether a field has an identifier that the service makes.
pub(crate) fn is_identifier(name: &str) -> bool {
    identifiers(&Value::Null)
        .iter()
        .any(|(known, _)| *known == name)
}

/// The path of an endpoint for a trainee that is shown, and for the first record in its list.
pub(crate) fn path_of(endpoint: Endpoint, trainee: &Value) -> String {
    let identifiers = identifiers(trainee).into_iter();
    identifiers.fold(endpoint.path().to_owned(), |path, (name, value)| {
        put_identifier(path, name, value)
    })
}

/// A path with an identifier, which has a value if the path has its place.
#[track_caller]
pub(crate) fn put_identifier(path: String, name: &str, value: Option<String>) -> String {
    let place = format!("{{{name}}}");
    if path.contains(&place) {
        path.replace(&place, &value.unwrap())
    } else {
        path
    }
}
