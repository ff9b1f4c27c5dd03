//! A trainee as a version shows it.

use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::{ApiVersion, Shape, Source};
use domain::{Record, RecordField as _, TraineeField};
use serde_json::{Map, Value};

use super::Body;

/// A trainee as a version shows it. Its fields are asked for by their canonical name.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    version: &'static ApiVersion,
    /// What stands in `data`.
    pub(crate) data: Value,
}

impl Shown {
    pub(crate) fn new(version: &'static ApiVersion, data: Value) -> Self {
        Self { version, data }
    }

    /// The value of a field that the version shows.
    #[track_caller]
    pub(crate) fn value(&self, field: TraineeField) -> &Value {
        let shape = &self.version.shapes.trainee;
        let name = shape.name_of(field).unwrap_or_else(|| panic!("{} does not show {field:?}", self.version.label));
        self.data.get(name).unwrap_or_else(|| panic!("there is no {name} in {:#}", self.data))
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
        self.data.as_object().unwrap().keys().map(String::as_str).collect()
    }

    /// The record as a body to be sent back whole.
    pub(crate) fn body(&self) -> Body {
        let fields = self.data.as_object().unwrap();
        fields.iter().fold(Body::new(self.version), |body, (key, value)| body.with_key(key, value.clone()))
    }

    /// Every field of the dictionary that the record shows, under its canonical name.
    pub(crate) fn fields(&self) -> BTreeMap<TraineeField, Value> {
        let shapes = &self.version.shapes;
        let canonical = |field: TraineeField, name: &str| {
            let value = self.data.get(name)?;
            if field == TraineeField::placements {
                Some(each(&shapes.placement_nested, value))
            } else if field == TraineeField::degrees {
                Some(each(&shapes.degree, value))
            } else {
                Some(value.clone())
            }
        };
        let entries = shapes.trainee.entries.iter();
        entries
            .filter_map(|entry| match entry.source {
                Source::Field(field) => Some((field, canonical(field, entry.name)?)),
                Source::Own(_) => None,
            })
            .collect()
    }

    /// The fields that another record, perhaps in another version, shows with another value; a field that only one of
    /// them shows does not count.
    pub(crate) fn differences(&self, other: &Self) -> BTreeSet<TraineeField> {
        let others = other.fields();
        let differ = |(field, value): (TraineeField, Value)| {
            others.get(&field).is_some_and(|other| *other != value).then_some(field)
        };
        self.fields().into_iter().filter_map(differ).collect()
    }
}

/// Nested records under their canonical names.
fn each<R: Record>(shape: &Shape<R>, records: &Value) -> Value {
    let canonical = |record: &Value| -> Map<String, Value> {
        let record = record.as_object().unwrap();
        assert_eq!(record.len(), shape.entries.len(), "{record:?}");
        let entries = shape.entries.iter();
        entries
            .map(|entry| match entry.source {
                Source::Field(field) => (field.info().name.to_owned(), record[entry.name].clone()),
                Source::Own(_) => (entry.name.to_owned(), record[entry.name].clone()),
            })
            .collect()
    };
    records.as_array().unwrap().iter().map(|record| Value::Object(canonical(record))).collect()
}
