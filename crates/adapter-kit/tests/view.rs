//! What is written by hand against what `serde_json` writes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::borrow::Cow;

use adapter_kit::view::{View, write_list};
use adapter_kit::{ApiVersion, NestedShapes, Shape, Shapes, VersionField, shape};
use chrono::{DateTime, SecondsFormat};
use conformance::sample_version::SAMPLE_VERSION;
use domain::{Degree, Kind, Lists, Trainee, Value};
use fixtures::example;
use proptest::prelude::*;
use serde_json::{Value as Json, json};

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
        number in prop_oneof![any::<i64>(), -1_000..1_000_i64, Just(i64::MIN), Just(i64::MAX)],
        flag: bool,
        seconds in prop_oneof![-62_167_219_200..253_402_300_800_i64, -200_000_000_000..400_000_000_000_i64],
        nanoseconds in 0..1_000_000_000_u32,
        texts in prop::collection::vec(text(), 0..4),
    ) {
        let timestamp = DateTime::from_timestamp(seconds, nanoseconds).unwrap();
        let document = json!({ "text": text, "list": [number, null] }).to_string();
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
fn records_are_written_after_each_other() {
    let record = example::trainee();
    let view = || View::trainee(&SAMPLE_VERSION, &record, Lists::embedded());
    let mut out = b"before".to_vec();
    view().write(&mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let object = text.strip_prefix("before").unwrap();
    let parsed: Json = serde_json::from_str(object).unwrap();
    assert_eq!(serde_json::to_value(view()).unwrap(), parsed);
    let mut list = Vec::new();
    write_list([view(), view()], &mut list).unwrap();
    let expected = format!("[{object},{object}]");
    assert_eq!(String::from_utf8(list).unwrap(), expected);
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
