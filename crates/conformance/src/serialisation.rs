//! Checks that every version can write every record.

use std::collections::BTreeSet;
use std::fmt;

use adapter_kit::EndpointRow;
use adapter_kit::read::IDEMPOTENCY_KEY;
use adapter_kit::shape::{Entry, Inputs, Shape};
use adapter_kit::version::{ApiVersion, NestedVisibility};
use adapter_kit::versions::Versions;
use adapter_kit::view::View;
use adapter_kit::wire::WireNested;
use domain::{
    FieldSet, Kind, Lists, Record, RecordField as _, Trainee, Value, for_each_nested,
    for_nested_list,
};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::case::{Case, CheckFailure};
use crate::forms::{check_forms, check_values};
use crate::sample::Sample;

const CHECK: &str = "every_record_serialises";

/// Checks that every version writes every record with exactly the fields of its shape, in order.
/// Checks also that each field has the same name in requests and in responses, so that a client can
/// send back a response.
///
/// # Errors
///
/// Returns the first case that fails.
pub fn every_record_serialises(versions: &Versions, sample: &Sample) -> Result<(), CheckFailure> {
    for served in versions.iter() {
        let case = Case::new(CHECK, served, sample);
        check_names_agree(case)?;
        check_words(case)?;
        check_keys(case)?;
        check_rows(case)?;
        check_forms(case)?;
        for (case, trainee) in case.each(&sample.stored).chain(case.each(&sample.untidy)) {
            check_written(case, trainee)?;
            check_written_in_list(case, trainee)?;
            for written in for_each_nested!(check_written_alone(case, trainee)) {
                written?;
            }
        }
    }
    Ok(())
}

/// Checks that in each list written in words each code has a word, and that all words differ.
fn check_words(case: Case<'_>) -> Result<(), CheckFailure> {
    for (list, words) in case.version().wire.words {
        let listed = BTreeSet::from_iter(Lists::embedded().codes(*list));
        let coded = BTreeSet::from_iter(words.iter().map(|(code, _)| *code));
        if let Some(code) = listed.symmetric_difference(&coded).next() {
            let fault = if listed.contains(code) {
                "has no word"
            } else {
                "has a word but is not in the list"
            };
            return case.fail(list.name(), format!("{fault}: {code}"));
        }
        let different = BTreeSet::from_iter(words.iter().map(|(_, word)| *word));
        if different.len() != words.len() {
            return case.fail(list.name(), "has one word for two codes");
        }
    }
    Ok(())
}

/// The keys that replies have next to a record, also in the results of a batch.
const KEYS_NEXT_TO_RECORDS: [&str; 8] = [
    "error",
    "errors",
    IDEMPOTENCY_KEY,
    "links",
    "problem",
    "replayed",
    "status",
    "warnings",
];

/// Checks that the keys around records are names, which are written without escapes, and that keys
/// of one object differ.
fn check_keys(case: Case<'_>) -> Result<(), CheckFailure> {
    let envelope = &case.version().wire.envelope;
    let (page, members) = envelope.page;
    let mut of_list = vec![envelope.list];
    if page.is_empty() {
        of_list.extend(members.iter().map(|(name, _)| *name));
    } else {
        of_list.push(page);
    }
    let of_record = [&KEYS_NEXT_TO_RECORDS[..], &[envelope.record]].concat();
    let of_request = vec![IDEMPOTENCY_KEY, envelope.request];
    for keys in [of_list, of_record, of_request] {
        let mut known = BTreeSet::new();
        for key in keys {
            let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
            if key.is_empty() || !key.chars().all(is_name) {
                return case.fail(key, "is not a name of lowercase letters");
            }
            if !known.insert(key) {
                return case.fail(key, "is the key of two members");
            }
        }
    }
    Ok(())
}

/// Checks that rows of the version's own change only what a version can change. All other
/// properties are those of the endpoint in all versions.
fn check_rows(case: Case<'_>) -> Result<(), CheckFailure> {
    fn placeholders(path: &str) -> Vec<&str> {
        path.split('/')
            .filter(|part| part.starts_with('{'))
            .collect()
    }
    for (endpoint, row) in case.version().wire.endpoints {
        let [own, common] = [row.path, endpoint.path()].map(placeholders);
        let changed = EndpointRow {
            path: row.path,
            method: row.method,
            tag: row.tag,
            status: row.status,
            description: row.description,
            note: row.note,
            ..*endpoint.row()
        };
        if changed != *row {
            let fault = "changes more than its path, method, tag, status, description and note";
            return case.fail(endpoint.to_string(), fault);
        }
        if own != common {
            let fault = format!("has other placeholders in its path: {}", row.path);
            return case.fail(endpoint.to_string(), fault);
        }
    }
    Ok(())
}

/// Checks that each field of a request has the same name in a response.
fn check_names_agree(case: Case<'_>) -> Result<(), CheckFailure> {
    let ApiVersion { inputs, shapes, .. } = case.version();
    names_agree(case, &inputs.trainee, &shapes.trainee)?;
    for_each_nested!(nested_names_agree(case))
        .into_iter()
        .collect()
}

/// Checks that each field of a nested record has the same name in a request and in both forms of a
/// response.
fn nested_names_agree<R: WireNested>(case: Case<'_>) -> Result<(), CheckFailure> {
    let inputs = R::inputs(case.version());
    let shapes = R::shapes(case.version());
    names_agree(case, inputs, &shapes.alone)?;
    names_agree(case, inputs, &shapes.in_trainee)
}

/// Checks the nested records of a kind as separate responses.
fn check_written_alone<R: WireNested>(
    case: Case<'_>,
    trainee: &Trainee,
) -> Result<(), CheckFailure> {
    for record in R::records(trainee) {
        let view = View::new(case.version(), record, Lists::embedded());
        let shape = &R::shapes(case.version()).alone;
        has_keys(
            case,
            shape,
            record,
            NestedVisibility::Shown,
            &json(case, &view)?,
        )?;
    }
    Ok(())
}

/// Checks that each input is shown in responses, under the same name.
fn names_agree<R: Record>(
    case: Case<'_>,
    inputs: &Inputs<R>,
    shape: &Shape<R>,
) -> Result<(), CheckFailure> {
    for input in inputs.entries {
        let shown = shape.entries.iter();
        let mut shown = shown.filter(|entry| entry.field() == Some(input.field));
        let Some(first) = shown.next() else {
            return case.fail(input.name, "can be set but is not shown");
        };
        // A split field has several names.
        let shown = shown
            .find(|entry| entry.name == input.name)
            .unwrap_or(first)
            .name;
        // A nested list may have another name in a request.
        if shown != input.name && input.field.info().kind != Kind::Records {
            return case.fail(input.name, format!("is shown as {shown}"));
        }
    }
    Ok(())
}

/// Checks that the trainee is written with exactly the fields of the shape, in order.
pub(super) fn check_written(case: Case<'_>, trainee: &Trainee) -> Result<(), CheckFailure> {
    let view = View::trainee(case.version(), trainee, Lists::embedded());
    has_view_keys(case, trainee, &view, NestedVisibility::Shown)
}

/// Checks the trainee as an entry of a list, with nested records if the version shows them there.
fn check_written_in_list(case: Case<'_>, trainee: &Trainee) -> Result<(), CheckFailure> {
    let version = case.version();
    let view = View::in_list(version, trainee, Lists::embedded(), FieldSet::new());
    has_view_keys(case, trainee, &view, version.shapes.nested_in_lists)
}

/// Checks that a view of the trainee and of its nested records is written with exactly the fields
/// of the shapes. `nested` tells whether the view shows nested records.
fn has_view_keys(
    case: Case<'_>,
    trainee: &Trainee,
    view: &View<'_, Trainee>,
    nested: NestedVisibility,
) -> Result<(), CheckFailure> {
    let version = case.version();
    let json = json(case, view)?;
    has_keys(case, &version.shapes.trainee, trainee, nested, &json)?;
    for (key, records) in parsed::<Pairs<'_>>(case, &json)?.0 {
        let list = version
            .shapes
            .trainee
            .nested_lists()
            .find(|(name, _)| *name == key);
        if let Some((_, list)) = list {
            for_nested_list!(list, each_has_keys(case, trainee, records.get()))
                .unwrap_or(Ok(()))?;
        }
    }
    Ok(())
}

/// Checks a written list of nested records: the number of records, and the fields of each record.
fn each_has_keys<R: WireNested>(
    case: Case<'_>,
    trainee: &Trainee,
    json: &str,
) -> Result<(), CheckFailure> {
    let shape = &R::shapes(case.version()).in_trainee;
    let records = R::records(trainee);
    let written = parsed::<Vec<&RawValue>>(case, json)?;
    if written.len() != records.len() {
        return case.fail(
            R::NAME,
            format!(
                "is written {} times instead of {}",
                written.len(),
                records.len()
            ),
        );
    }
    records.iter().zip(written).try_for_each(|(record, json)| {
        has_keys(case, shape, record, NestedVisibility::Shown, json.get())
    })
}

/// Checks that the keys are the names of the shape, in order. Unset fields that are shown only when
/// set must be absent.
fn has_keys<R: Record>(
    case: Case<'_>,
    shape: &Shape<R>,
    record: &R,
    nested: NestedVisibility,
    json: &str,
) -> Result<(), CheckFailure> {
    check_values(case, shape, record)?;
    let lists = Lists::embedded();
    let shown = |entry: &&Entry<R>| {
        let is_left_out = entry.when_set && entry.value(record, lists) == Value::Null;
        entry.is_first_part() && nested.shows(entry.kind()) && !is_left_out
    };
    let expected: Vec<&str> = shape
        .entries
        .iter()
        .filter(shown)
        .map(|entry| entry.name)
        .collect();
    let keys = paths_of(case, shape, json)?;
    let differs = expected
        .iter()
        .zip(&keys)
        .find(|(expected, key)| **expected != key.as_str());
    match differs {
        Some((expected, key)) => case.fail(*expected, format!("is written as {key}")),
        None if keys.len() != expected.len() => case.fail(
            R::NAME,
            format!("has {} fields instead of {}", keys.len(), expected.len()),
        ),
        None => Ok(()),
    }
}

/// Returns the paths to the fields of a written record. A group that is null counts as having all
/// its fields.
fn paths_of<R: Record>(
    case: Case<'_>,
    shape: &Shape<R>,
    json: &str,
) -> Result<Vec<String>, CheckFailure> {
    let mut paths = Vec::new();
    for (key, value) in parsed::<Pairs<'_>>(case, json)?.0 {
        let Some(group) = shape.group(&key) else {
            paths.push(key);
            continue;
        };
        if value.get() == "null" {
            let members = shape
                .entries
                .iter()
                .filter(|entry| entry.group == Some(group) && entry.is_first_part());
            paths.extend(members.map(|entry| entry.name.to_owned()));
            continue;
        }
        let members = parsed::<Pairs<'_>>(case, value.get())?.0;
        if members.iter().all(|(_, value)| value.get() == "null") {
            return case.fail(key, "is an object without values instead of null");
        }
        paths.extend(members.into_iter().map(|(name, _)| format!("{key}.{name}")));
    }
    Ok(paths)
}

fn json<R: Record>(case: Case<'_>, view: &View<'_, R>) -> Result<String, CheckFailure> {
    serde_json::to_string(view)
        .or_else(|error| case.fail(R::NAME, format!("cannot be written: {error}")))
}

fn parsed<'a, T: Deserialize<'a>>(case: Case<'_>, json: &'a str) -> Result<T, CheckFailure> {
    serde_json::from_str(json)
        .or_else(|error| case.fail("a response", format!("cannot be parsed: {error}")))
}

/// The keys and values of an object, in order and including duplicate keys.
pub(super) struct Pairs<'a>(pub(super) Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Pairs<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Pairs<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = object.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use adapter_kit::shape;
    use adapter_kit::version::Shapes;

    use adapter_kit::wire_form::Words;
    use adapter_kit::{Endpoint, Envelope, Wire};
    use domain::{List, TraineeField};

    use super::*;
    use crate::sample_version::{SAMPLE_VERSION, check_version};

    #[test]
    fn missing_or_duplicate_words_fail_the_check() {
        const MISSING: &[(&str, &str)] = &[("10", "a"), ("11", "b"), ("12", "c"), ("96", "d")];
        const UNKNOWN: &[(&str, &str)] = &[
            ("10", "a"),
            ("11", "b"),
            ("12", "c"),
            ("96", "d"),
            ("99", "e"),
            ("1", "f"),
        ];
        const SAME: &[(&str, &str)] = &[
            ("10", "a"),
            ("11", "b"),
            ("12", "c"),
            ("96", "d"),
            ("99", "a"),
        ];
        const CASES: [(&[(List, Words)], &str); 3] = [
            (&[(List::Sex, MISSING)], "has no word: 99"),
            (
                &[(List::Sex, UNKNOWN)],
                "has a word but is not in the list: 1",
            ),
            (&[(List::Sex, SAME)], "has one word for two codes"),
        ];
        for (words, fault) in CASES {
            let version = ApiVersion {
                wire: Wire {
                    words,
                    ..Wire::COMMON
                },
                ..SAMPLE_VERSION
            };
            let failure = check_version(every_record_serialises, version).unwrap_err();
            assert_eq!(
                (failure.field.as_str(), failure.fault.as_str()),
                ("sex", fault)
            );
        }
    }

    #[test]
    fn missing_or_repeated_key_around_records_fails_the_check() {
        const COMMON: Envelope = Envelope::COMMON;
        let cases = [
            (
                Envelope {
                    record: "",
                    ..COMMON
                },
                "is not a name of lowercase letters",
            ),
            (
                Envelope {
                    request: "a\"b",
                    ..COMMON
                },
                "is not a name of lowercase letters",
            ),
            (
                Envelope {
                    record: "links",
                    ..COMMON
                },
                "is the key of two members",
            ),
            (
                Envelope {
                    request: IDEMPOTENCY_KEY,
                    ..COMMON
                },
                "is the key of two members",
            ),
            (
                Envelope {
                    list: "meta",
                    ..COMMON
                },
                "is the key of two members",
            ),
        ];
        for (envelope, fault) in cases {
            let version = ApiVersion {
                wire: Wire {
                    envelope,
                    ..Wire::COMMON
                },
                ..SAMPLE_VERSION
            };
            let failure = check_version(every_record_serialises, version).unwrap_err();
            assert_eq!(failure.fault, fault);
        }
    }

    #[test]
    fn row_with_other_placeholders_or_parameters_fails_the_check() {
        const LIST: EndpointRow = EndpointRow {
            query_parameters: &["page"],
            ..*Endpoint::ListTrainees.row()
        };
        const SHOW: EndpointRow = EndpointRow {
            path: "/people/{person_id}",
            ..*Endpoint::ShowTrainee.row()
        };
        const CASES: [(&[(Endpoint, EndpointRow)], &str); 2] = [
            (
                &[(Endpoint::ListTrainees, LIST)],
                "changes more than its path, method, tag, status, description and note",
            ),
            (
                &[(Endpoint::ShowTrainee, SHOW)],
                "has other placeholders in its path: /people/{person_id}",
            ),
        ];
        for (endpoints, fault) in CASES {
            let version = ApiVersion {
                wire: Wire {
                    endpoints,
                    ..Wire::COMMON
                },
                ..SAMPLE_VERSION
            };
            let failure = check_version(every_record_serialises, version).unwrap_err();
            assert_eq!(failure.fault, fault);
        }
    }

    #[test]
    fn shape_without_an_input_field_fails_the_check() {
        const SHORT: Shape<Trainee> = shape! { Trainee, TraineeField: trainee_id, given_names = first_names, email, placements, degrees };
        let failure = check_version(
            every_record_serialises,
            ApiVersion {
                shapes: Shapes {
                    trainee: SHORT,
                    ..SAMPLE_VERSION.shapes
                },
                ..SAMPLE_VERSION
            },
        )
        .unwrap_err();
        assert_eq!(
            (failure.check, failure.field.as_str()),
            ("every_record_serialises", "last_name")
        );
    }
}
