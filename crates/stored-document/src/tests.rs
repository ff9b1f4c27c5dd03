//! Tests that both readers read written documents, and refuse other texts.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate};
use domain::records::record::Record;
use domain::{Degree, Kind, Placement};
use fixtures::example;
use proptest::prelude::*;

use domain::commands::sort_nested;

use super::*;

/// Compares a text with a snapshot in `snapshots/storage`.
fn matches(name: &str, text: &str) {
    insta::with_settings!({
        snapshot_path => concat!(env!("CARGO_MANIFEST_DIR"), "/../../snapshots/storage"),
        prepend_module_to_snapshot => false,
        omit_expression => true,
    }, {
        insta::assert_snapshot!(name, text);
    });
}

/// Generates values of a kind, including null.
fn value(kind: Kind) -> BoxedStrategy<Value<'static>> {
    let value = match kind {
        Kind::Text | Kind::Document => any::<String>()
            .prop_map(|text| Value::Text(Cow::Owned(text)))
            .boxed(),
        Kind::Integer | Kind::Year => any::<i64>().prop_map(Value::Integer).boxed(),
        Kind::Boolean => any::<bool>().prop_map(Value::Boolean).boxed(),
        Kind::Date => (0..3_652_059_i32)
            .prop_filter_map("no day", |day| {
                NaiveDate::from_num_days_from_ce_opt(day).map(Value::Date)
            })
            .boxed(),
        Kind::Timestamp => (-62_135_596_800_000..253_402_300_799_999_i64)
            .prop_filter_map("no time", |time| {
                DateTime::from_timestamp_millis(time).map(Value::Timestamp)
            })
            .boxed(),
        Kind::TextList => prop::collection::vec(any::<String>(), 0..3)
            .prop_map(|texts| Value::TextList(texts.into_iter().map(Cow::Owned).collect()))
            .boxed(),
        Kind::Uuid | Kind::Records => Just(Value::Null).boxed(),
    };
    prop_oneof![1 => Just(Value::Null), 2 => value].boxed()
}

/// Generates records with any values.
fn record<R: Record>() -> BoxedStrategy<R> {
    let values: Vec<_> = R::Field::ALL
        .iter()
        .map(|field| value(field.info().kind))
        .collect();
    let record = |values: Vec<Value<'static>>| {
        let mut record = R::default();
        for (field, value) in R::Field::ALL.iter().zip(values) {
            let value = match (field.info().kind, value) {
                (Kind::Document, Value::Text(text)) => Value::Document(text),
                (_, value) => value,
            };
            // Fails for the state, which accepts only the names of states.
            let _ = record.set_stored(*field, value);
        }
        record
    };
    values.prop_map(record).boxed()
}

fn trainee() -> impl Strategy<Value = Trainee> {
    let placements = prop::collection::vec(record::<Placement>(), 0..3);
    let degrees = prop::collection::vec(record::<Degree>(), 0..3);
    (
        record::<Trainee>(),
        placements,
        degrees,
        prop::sample::select(State::ALL),
    )
        .prop_map(|(trainee, placements, degrees, state)| {
            let mut trainee = Trainee {
                placements,
                degrees,
                state: Some(state),
                ..trainee
            };
            sort_nested(&mut trainee);
            trainee
        })
}

/// Asserts that the JSON of each field is equal to the JSON of its stored value in replies.
fn assert_json_matches_values<R: Record>(record: &dyn Stored<R>) {
    for field in R::Field::ALL {
        let value = record.stored(*field);
        match record.json(*field) {
            StoredJson::Text(json) => {
                assert_eq!(
                    json,
                    serde_json::to_string(&values::StoredJson(&value)).unwrap(),
                    "{field:?}"
                );
            }
            StoredJson::Null => assert_eq!(value, Value::Null, "{field:?}"),
            StoredJson::Unavailable => {}
        }
    }
}

fn text_of(trainee: &Trainee) -> String {
    JsonText::from_trainee(trainee, &Extra::default())
        .unwrap()
        .0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn both_readers_read_written_document(trainee in trainee()) {
        let text = text_of(&trainee);
        let parsed = parse(&text).unwrap().trainee;
        prop_assert_eq!(&parsed, &trainee, "{}", &text);
        let scanned = scan::scan(&text, Nested::With).unwrap();
        assert_json_matches_values::<Trainee>(&scanned);
        let scanned = scanned.to_parsed().unwrap().trainee;
        prop_assert_eq!(&scanned, &trainee, "{}", &text);
        prop_assert_eq!(text_of(&scanned), text);
    }

    #[test]
    fn scan_without_nested_records_has_same_fields(trainee in trainee()) {
        let text = text_of(&trainee);
        let scanned = scan::scan(&text, Nested::Without).unwrap();
        let record: &dyn Stored<Trainee> = &scanned;
        let expected = Trainee { placements: Vec::new(), degrees: Vec::new(), ..trainee };
        let expected: &dyn Stored<Trainee> = &expected;
        prop_assert!(record == expected, "{text}");
    }

    #[test]
    fn truncated_or_changed_document_is_read_like_serde_json(
        trainee in trainee(), at in any::<prop::sample::Index>(), byte in prop::sample::select(&b"\"\\,:{}[]0aZ-. "[..]),
    ) {
        let text = text_of(&trainee);
        let place = at.index(text.len());
        if text.is_char_boundary(place) {
            let cut = text.get(..place).unwrap();
            prop_assert!(scan::scan(cut, Nested::With).is_none(), "{cut}");
        }
        let mut changed = text.into_bytes();
        if changed[place].is_ascii() {
            changed[place] = byte;
            let text = String::from_utf8(changed).unwrap();
            let scanned = scan::scan(&text, Nested::With);
            if let Some(scanned) = &scanned {
                assert_json_matches_values::<Trainee>(scanned);
                let nested = scanned.nested();
                nested.placements.into_iter().for_each(assert_json_matches_values);
                nested.degrees.into_iter().for_each(assert_json_matches_values);
            }
            if let Some(scanned) = scanned.and_then(|scanned| scanned.to_parsed()) {
                let parsed = parse(&text);
                prop_assert_eq!(Some(scanned.trainee), parsed.map(|parsed| parsed.trainee), "{}", text);
            }
        }
    }
}

#[test]
fn unusual_escapes_are_read() {
    let scanned = scan::scan(
        "{\"last_name\":\"\\u0041\\/\",\"sex\":\"10\"}",
        Nested::With,
    )
    .unwrap();
    let [escaped, plain] = [TraineeField::last_name, TraineeField::sex];
    assert_eq!(
        (scanned.json(escaped), scanned.stored(escaped)),
        (StoredJson::Unavailable, Value::text("A/"))
    );
    assert_eq!(
        (scanned.json(plain), scanned.stored(plain)),
        (StoredJson::Text("\"10\""), Value::text("10"))
    );
}

#[test]
fn example_is_stored_like_the_snapshot() {
    let mut lines = text_of(&example::trainee()).replace(",\"", ",\n\"");
    lines.push('\n');
    matches("document", &lines);
}

/// Documents edited by hand can have another order and unknown keys.
#[test]
fn documents_in_another_order_have_all_fields() {
    let trainee = example::trainee();
    let text = text_of(&trainee);
    let (first, rest) = text.strip_prefix('{').unwrap().split_once(',').unwrap();
    let last_first = format!("{{{},{first}}}", rest.strip_suffix('}').unwrap());
    let unknown_first = format!("{{\"shoe_size\":41,{first},{rest}");
    for text in [last_first, unknown_first] {
        assert!(
            scan::scan(&text, Nested::With).is_none()
                && scan::scan(&text, Nested::Without).is_none(),
            "{text}"
        );
        for nested in [Nested::With, Nested::Without] {
            let document = JsonText(text.clone());
            let shown = document.fields(nested).unwrap();
            for field in TraineeField::ALL {
                assert_eq!(
                    shown.stored(*field),
                    trainee.stored(*field),
                    "{field:?} of {text}"
                );
            }
        }
    }
}

#[test]
fn malformed_numbers_and_strings_are_refused() {
    for value in [
        "\"course_min_age\":011",
        "\"course_min_age\":-0",
        "\"course_min_age\":+1",
        "\"last_name\":\"a\u{1}\"",
    ] {
        let text = format!("{{{value}}}");
        assert!(scan::scan(&text, Nested::With).is_none(), "{text}");
        assert!(parse(&text).is_none(), "{text}");
    }
}

#[test]
fn unknown_keys_are_kept_when_record_changes() {
    let trainee = example::trainee();
    let text = text_of(&trainee);
    let id = trainee.degrees[0].degree_id.clone().unwrap();
    let text = text.replacen('{', "{\"shoe_size\":{\"eu\":[41.5,null]},", 1);
    let text = text.replace(
        &format!("\"degree_id\":\"{id}\""),
        &format!("\"seal\":true,\"degree_id\":\"{id}\""),
    );
    let document = JsonText(text);
    let Parsed {
        trainee: mut read,
        extra,
    } = document.parsed().unwrap();
    assert_eq!(read, trainee);
    let shown = document.fields(Nested::With).unwrap();
    assert!((&shown as &dyn Stored<Trainee>) == (&trainee as &dyn Stored<Trainee>));
    read.email = None;
    let written = JsonText::from_trainee(&read, &extra).unwrap().0;
    assert!(
        written.contains("\"shoe_size\":{\"eu\":[41.5,null]}") && written.contains("\"seal\":true"),
        "{written}"
    );
    assert_eq!(parse(&written).unwrap().trainee, read);
}

#[test]
fn text_that_is_not_a_trainee_is_refused() {
    for text in [
        "",
        "[]",
        "{\"trn\":7}",
        "{\"date_of_birth\":\"2026-02-30\"}",
        "{\"placements\":{}}",
        "{\"course_level\":\"x\"}",
    ] {
        assert!(JsonText(text.to_owned()).parsed().is_none(), "{text}");
        assert!(
            JsonText(text.to_owned()).fields(Nested::With).is_none(),
            "{text}"
        );
    }
    assert_eq!(
        JsonText("{}".to_owned()).parsed().unwrap().trainee,
        Trainee::default()
    );
}

/// Fails if the stored fields change without a new number of the schema.
#[test]
fn schema_number_is_raised_with_stored_fields() {
    fn names<R: Record>() -> Vec<&'static str> {
        R::Field::ALL
            .iter()
            .filter(|field| field.is_stored())
            .map(|field| field.info().name)
            .collect()
    }
    let records =
        [names::<Trainee>(), names::<Placement>(), names::<Degree>()].map(|names| names.join("\n"));
    matches(&format!("stored_fields_{SCHEMA}"), &records.join("\n\n"));
}
