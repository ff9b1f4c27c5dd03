//! Alternative JSON spellings of the same value: a date as a date-time, a year as a number or a
//! full date, digits as a number.

use adapter_kit::shape::InputName;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireNested, WireRecord};
use domain::{Kind, RecordField as _, Trainee, for_each_nested};
use fixtures::random::Random;
use serde_json::{Map, Value};

use crate::paths;

/// Replaces randomly selected values of a request for a trainee by other spellings.
pub(super) fn vary(object: &mut Map<String, Value>, version: &ApiVersion, random: &Random) {
    vary_object::<Trainee>(object, version, random);
    for_each_nested!(vary_nested(object, version, random));
}

/// Varies the nested records of one kind.
fn vary_nested<R: WireNested>(
    object: &mut Map<String, Value>,
    version: &ApiVersion,
    random: &Random,
) {
    let Some(list) = Trainee::inputs(version).name_of(R::LIST) else {
        return;
    };
    for record in object
        .get_mut(list)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
    {
        let Some(object) = record.as_object_mut() else {
            continue;
        };
        vary_object::<R>(object, version, random);
    }
}

/// Varies about half of the values of a record. Values that the version accepts in only one
/// spelling stay unchanged.
fn vary_object<R: WireRecord>(
    object: &mut Map<String, Value>,
    version: &ApiVersion,
    random: &Random,
) {
    let inputs = R::inputs(version).entries.iter();
    let has_one_spelling = |input: &&InputName<R::Field>| {
        input.accepts.is_some() || input.part.is_some() || input.form.is_some()
    };
    let varied = inputs.filter(|input| !has_one_spelling(input));
    for input in varied.filter(|input| version.wire.words_of(input.field.info().codes).is_none()) {
        let Some(value) = paths::get_mut(object, input.name) else {
            continue;
        };
        let Some(text) = value.as_str() else { continue };
        if !random.chance(50) {
            continue;
        }
        let number = || {
            text.parse::<u64>()
                .ok()
                .filter(|number| number.to_string() == text)
                .map(Value::from)
        };
        let other = match input.field.info().kind {
            Kind::Date => Some(Value::from(format!(
                "{text}{}",
                random.one_of(["T00:00:00Z", "T23:59:59.999+02:00"])
            ))),
            Kind::Year if random.chance(50) => Some(Value::from(format!("{text}-07-01"))),
            Kind::Year => number(),
            Kind::Text => number(),
            Kind::Integer
            | Kind::Boolean
            | Kind::Timestamp
            | Kind::TextList
            | Kind::Document
            | Kind::Uuid
            | Kind::Records => None,
        };
        if let Some(other) = other {
            *value = other;
        }
    }
}
