//! Writes a record as JSON, in the shape of a version, in one streaming pass.

use std::fmt;

use chrono::{DateTime, Datelike as _, Timelike as _, Utc};
use domain::{Degree, Kind, Lists, Placement, Record, Stored, Trainee, Value};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::value::RawValue;

use crate::shape::{Shape, Source};
use crate::version::ApiVersion;

/// A record as a version shows it.
#[derive(Debug)]
pub struct View<'a, R: Record> {
    version: &'a ApiVersion,
    shape: &'a Shape<R>,
    record: &'a dyn Stored<R>,
    lists: &'a Lists,
    nested: bool,
}

impl<'a> View<'a, Placement> {
    /// The placement as an endpoint of its own shows it.
    #[must_use]
    pub fn placement(version: &'a ApiVersion, record: &'a dyn Stored<Placement>, lists: &'a Lists) -> Self {
        Self { version, shape: &version.shapes.placement, record, lists, nested: true }
    }
}

impl<'a> View<'a, Degree> {
    /// The degree.
    #[must_use]
    pub fn degree(version: &'a ApiVersion, record: &'a dyn Stored<Degree>, lists: &'a Lists) -> Self {
        Self { version, shape: &version.shapes.degree, record, lists, nested: true }
    }
}

impl<'a> View<'a, Trainee> {
    /// The trainee with placements and degrees.
    #[must_use]
    pub fn trainee(version: &'a ApiVersion, record: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Self {
        Self { version, shape: &version.shapes.trainee, record, lists, nested: true }
    }

    /// The trainee in a list, without nested records.
    #[must_use]
    pub fn in_list(version: &'a ApiVersion, record: &'a dyn Stored<Trainee>, lists: &'a Lists) -> Self {
        Self { nested: false, ..Self::trainee(version, record, lists) }
    }
}

impl<R: Record> Serialize for View<'_, R> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(None)?;
        for entry in self.shape.entries {
            if !self.nested && entry.kind() == Kind::Records {
                continue;
            }
            let value = match &entry.source {
                Source::Field(field) => R::shown(self.record, *field, self.lists),
                Source::Own(own) => (own.value)(self.record, self.lists),
            };
            if entry.when_set && value == Value::Null {
                continue;
            }
            object.serialize_entry(entry.name, &Shown { value, version: self.version, lists: self.lists })?;
        }
        object.end()
    }
}

/// A value of a field, as JSON.
struct Shown<'a> {
    value: Value<'a>,
    version: &'a ApiVersion,
    lists: &'a Lists,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.value {
            Value::Null => serializer.serialize_unit(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Integer(number) => serializer.serialize_i64(*number),
            Value::Flag(flag) => serializer.serialize_bool(*flag),
            Value::Date(day) => serializer.collect_str(day),
            Value::Moment(moment) => serializer.collect_str(&Milliseconds(*moment)),
            Value::Uuid(uuid) => serializer.collect_str(uuid),
            Value::Texts(texts) => texts.serialize(serializer),
            Value::Codes(codes) => {
                let mut object = serializer.serialize_map(Some(codes.len()))?;
                for (name, code) in codes {
                    object.serialize_entry(name, code)?;
                }
                object.end()
            }
            Value::Document(json) => match serde_json::from_str::<&RawValue>(json) {
                Ok(document) => document.serialize(serializer),
                Err(error) => Err(serde::ser::Error::custom(error)),
            },
            Value::Placements(placements) => {
                let mut array = serializer.serialize_seq(Some(placements.len()))?;
                for &record in placements {
                    array.serialize_element(&self.nested(record, &self.version.shapes.placement_nested))?;
                }
                array.end()
            }
            Value::Degrees(degrees) => {
                let mut array = serializer.serialize_seq(Some(degrees.len()))?;
                for &record in degrees {
                    array.serialize_element(&self.nested(record, &self.version.shapes.degree))?;
                }
                array.end()
            }
        }
    }
}

impl<'a> Shown<'a> {
    fn nested<R: Record>(&'a self, record: &'a dyn Stored<R>, shape: &'a Shape<R>) -> View<'a, R> {
        View { version: self.version, shape, record, lists: self.lists, nested: true }
    }
}

/// A moment in UTC with milliseconds, such as `2026-09-01T08:30:00.000Z`.
#[derive(Debug, Clone, Copy)]
pub struct Milliseconds(pub DateTime<Utc>);

impl fmt::Display for Milliseconds {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (day, time) = (self.0.date_naive(), self.0.time());
        write!(
            formatter,
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            day.year(),
            day.month(),
            day.day(),
            time.hour(),
            time.minute(),
            time.second(),
            time.nanosecond() / 1_000_000 % 1_000
        )
    }
}
