//! What is written by hand against what `serde_json` writes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::borrow::Cow;

use adapter_kit::view::{View, write_list};
use adapter_kit::wire::WireNested;
use adapter_kit::{
    ApiVersion, NestedShapes, Shape, Shapes, Source, VersionField, WireRecord, shape,
};
use chrono::{DateTime, SecondsFormat};
use conformance::sample_version::SAMPLE_VERSION;
use domain::records::trainee::Borrowed;
use domain::{
    Degree, Kind, Lists, NestedRecords, Placement, Stored, Trainee, Value, for_nested_list,
};
use fixtures::example;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

/// The value as `serde_json` has it.
fn expected(value: &Value<'_>) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Text(text) => json!(text),
        Value::Integer(number) => json!(number),
        Value::Boolean(flag) => json!(flag),
        Value::Date(date) => json!(date.to_string()),
        Value::Timestamp(timestamp) => {
            json!(timestamp.to_rfc3339_opts(SecondsFormat::Millis, true))
        }
        Value::Uuid(uuid) => json!(uuid.to_string()),
        Value::TextList(texts) => json!(texts),
        Value::Codes(codes) => codes
            .iter()
            .map(|(name, code)| ((*name).to_owned(), json!(code)))
            .collect(),
        Value::Document(text) => serde_json::from_str(text).unwrap(),
    }
}

fn object<R: WireRecord>(shape: &Shape<R>, record: &dyn Stored<R>, lists: &Lists) -> Json {
    let mut members = Map::new();
    for entry in shape.entries {
        if let (Kind::Records, Some(trainee)) = (entry.kind(), R::as_trainee(record)) {
            let list = Trainee::field_of(entry.field().unwrap().into()).unwrap();
            let records = for_nested_list!(list, objects(&trainee.nested(), lists)).unwrap();
            members.insert(entry.name.to_owned(), records);
            continue;
        }
        let value = match &entry.source {
            Source::Field(field) => R::shown(record, *field, lists),
            Source::Own(own) => (own.value)(record, lists),
        };
        if !entry.when_set || value != Value::Null {
            members.insert(entry.name.to_owned(), expected(&value));
        }
    }
    Json::Object(members)
}

fn objects<R: WireNested>(nested: &NestedRecords<Borrowed<'_>>, lists: &Lists) -> Json {
    let shape = &R::shapes(&SAMPLE_VERSION).in_trainee;
    R::in_nested(nested)
        .iter()
        .map(|record| object(shape, *record, lists))
        .collect()
}

fn written(value: &Value<'_>) -> String {
    let mut out = Vec::new();
    View::trainee(&SAMPLE_VERSION, &Trainee::default(), Lists::embedded())
        .write_value(value, &mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

fn text() -> impl Strategy<Value = String> {
    let special = prop_oneof![
        Just('"'),
        Just('\\'),
        Just('\u{7f}'),
        Just('\u{2028}'),
        Just('\u{2029}'),
        (0_u8..0x20).prop_map(char::from),
        any::<char>(),
    ];
    prop_oneof![
        "[ -~]{0,40}",
        prop::collection::vec(special, 0..40).prop_map(String::from_iter)
    ]
}

proptest! {
    #[test]
    fn values_are_written_as_serde_json_writes_them(
        text in text(),
        number in prop_oneof![any::<i64>(), -1_000..1_000_i64],
        flag: bool,
        seconds in prop_oneof![-62_167_219_200..253_402_300_800_i64, -200_000_000_000..400_000_000_000_i64],
        nanoseconds in 0..1_000_000_000_u32,
        texts in prop::collection::vec(text(), 0..4),
    ) {
        let timestamp = DateTime::from_timestamp(seconds, nanoseconds).unwrap();
        let document = json!({ "text": text, "list": [number, null] }).to_string();
        let placements = [Placement { name: Some(text.clone()), ..Placement::default() }, Placement::default()];
        let degrees = [Degree { subject: Some(text.clone()), created_at: Some(timestamp), ..Degree::default() }];
        for value in [
            Value::Null,
            Value::text(&text),
            Value::Integer(number),
            Value::Boolean(flag),
            Value::Date(timestamp.date_naive()),
            Value::Timestamp(timestamp),
            Value::Uuid(Lists::other_uk_institution()),
            Value::TextList(texts.iter().map(|text| Cow::Borrowed(text.as_str())).collect()),
            Value::Codes(vec![("one", text.as_str().into()), ("other", "2".into())]),
            Value::Codes(Vec::new()),
            Value::Document(Cow::Borrowed(&document)),
        ] {
            prop_assert_eq!(written(&value), expected(&value).to_string());
        }
        let lists = Lists::embedded();
        let trainee = Trainee { placements: placements.into(), degrees: degrees.into(), ..Trainee::default() };
        let mut out = Vec::new();
        View::trainee(&SAMPLE_VERSION, &trainee, lists).write(&mut out).unwrap();
        prop_assert_eq!(
            String::from_utf8(out).unwrap(),
            object(&SAMPLE_VERSION.shapes.trainee, &trainee, lists).to_string()
        );
    }
}

#[test]
fn integers_of_every_length_are_written() {
    for number in [0, 9, 10, i64::MAX, i64::MIN] {
        assert_eq!(written(&Value::Integer(number)), number.to_string());
    }
}

#[test]
fn leap_second_is_written_as_the_second_before_it() {
    let timestamp = DateTime::from_timestamp(1_483_228_799, 1_500_000_000).unwrap();
    assert_eq!(
        written(&Value::Timestamp(timestamp)),
        "\"2016-12-31T23:59:59.500Z\""
    );
}

#[test]
fn whole_record_is_written_as_serde_json_writes_its_object() {
    let (record, lists) = (example::trainee(), Lists::embedded());
    let view = View::trainee(&SAMPLE_VERSION, &record, lists);
    let mut out = b"before".to_vec();
    view.write(&mut out).unwrap();
    let object = object(&SAMPLE_VERSION.shapes.trainee, &record, lists);
    assert_eq!(String::from_utf8(out).unwrap(), format!("before{object}"));
    assert_eq!(serde_json::to_value(&view).unwrap(), object);
    let mut list = Vec::new();
    write_list(
        [
            View::trainee(&SAMPLE_VERSION, &record, lists),
            View::trainee(&SAMPLE_VERSION, &record, lists),
        ],
        &mut list,
    )
    .unwrap();
    assert_eq!(
        String::from_utf8(list).unwrap(),
        format!("[{object},{object}]")
    );
}

#[test]
fn record_without_a_shown_field_is_an_empty_object() {
    const NOTHING: VersionField<Degree> =
        VersionField::new("Nothing.", Kind::Text, |_, _| Value::Null);
    const SHAPE: Shape<Degree> = shape! { Degree, DegreeField: nothing => NOTHING when_set };
    let record = Degree::default();
    let version = ApiVersion {
        shapes: Shapes {
            degree: NestedShapes::from_shape(SHAPE),
            ..SAMPLE_VERSION.shapes
        },
        ..SAMPLE_VERSION
    };
    let view = View::new(&version, &record, Lists::embedded());
    let mut out = Vec::new();
    view.write(&mut out).unwrap();
    assert_eq!(out, b"{}");
}
