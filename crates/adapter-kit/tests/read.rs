//! How deep the body of a request may be nested, and what any bytes are as a batch.

use adapter_kit::Versions;
use adapter_kit::read::{
    BatchForm, BatchItem, MAX_DEPTH, NestedLists, Reader, UnknownNames, is_idempotency_key,
    parse_json, read_batch,
};
use adapter_kit::wire_form::DATA;
use conformance::sample_version::SAMPLE_VERSION;
use domain::Trainee;
use proptest::prelude::*;

#[test]
fn depth_limit_is_the_same_wherever_the_depth_is() {
    let versions = Versions::new(&[&SAMPLE_VERSION]);
    let served = versions.iter().next().unwrap();
    let reader = Reader {
        served,
        unknown: UnknownNames::Warn,
        nested: NestedLists::Read,
    };
    for (before, after, around) in [
        ("", "", 0),
        (r#"{"other":"#, "}", 1),
        (r#"{"data":"#, "}", 1),
        (r#"{"data":{"last_name":"#, "}}", 2),
        (r#"{"data":{"other":"#, "}}", 2),
        (r#"{"data":{"schools":"#, "}}", 2),
        (r#"{"data":{"schools":["#, "]}}", 3),
        (r#"{"data":{"schools":[{"name":"#, "}]}}", 4),
        (r#"{"data":{"schools":[{"other":"#, "}]}}", 4),
        (r#"{"data":{"awards":[{"topic":"#, "}]}}", 4),
    ] {
        for (levels, accepted) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
            let arrays = levels - around;
            let body = format!(
                "{before}{}{}{after}",
                "[".repeat(arrays),
                "]".repeat(arrays)
            );
            assert_eq!(
                parse_json(body.as_bytes()).is_ok(),
                accepted,
                "{before} {levels}"
            );
            assert_eq!(
                reader.read::<Trainee>(body.as_bytes()).is_ok(),
                accepted,
                "{before} {levels}"
            );
        }
    }
}

#[test]
fn unknown_names_that_are_ignored_are_not_reported() {
    let versions = Versions::new(&[&SAMPLE_VERSION]);
    let served = versions.iter().next().unwrap();
    let body = br#"{"data":{"last_name":"Ash","last_nam":1,"last_nam":2}}"#;
    let read = |unknown| {
        Reader {
            served,
            unknown,
            nested: NestedLists::Read,
        }
        .read::<Trainee>(body)
        .unwrap()
    };
    let (warned, ignored) = (read(UnknownNames::Warn), read(UnknownNames::Ignore));
    assert_eq!((warned.notices.len(), ignored.notices.len()), (1, 0));
    assert_eq!(
        (ignored.problems, ignored.changes),
        (warned.problems, warned.changes)
    );
}

/// An item in its plain form.
fn plain(item: &BatchItem<'_>) -> Option<String> {
    let key = item.key.as_ref()?;
    Some(format!(
        r#"{{"idempotency_key":{},"data":{}}}"#,
        serde_json::Value::from(key.as_str()),
        item.data
    ))
}

/// Bytes that resemble a batch.
fn pieces() -> impl Strategy<Value = Vec<u8>> {
    let pieces: [&[u8]; 17] = [
        b"[",
        b"]",
        b"{",
        b"}",
        b",",
        b":",
        b"\n",
        b" ",
        b"\"",
        b"\\u00e9",
        b"1",
        b"null",
        b"\xc3",
        b"\"data\":",
        b"\"idempotency_key\":\"a\",",
        b"{\"idempotency_key\":\"b\",\"data\":{\"x\":1}}",
        b"\"idempotency_key\":7,",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12)
        .prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn accepted_items_of_any_bytes_equal_their_plain_form(bytes in prop_oneof![pieces(), any::<Vec<u8>>()]) {
        for form in [BatchForm::Array, BatchForm::Lines] {
            let Ok(items) = read_batch(&bytes, form, UnknownNames::Warn, DATA) else { continue };
            for item in items.iter().filter(|item| item.problems.is_empty()) {
                prop_assert!(item.key.as_deref().is_some_and(is_idempotency_key));
                let plain = plain(item).unwrap();
                let again = read_batch(plain.as_bytes(), BatchForm::Lines, UnknownNames::Reject, DATA).unwrap();
                prop_assert_eq!((&again[0].key, again[0].data, again[0].problems.len()), (&item.key, item.data, 0));
                let body = format!("{{\"data\":{}}}", item.data);
                prop_assert!(parse_json(body.as_bytes()).is_ok());
            }
        }
    }
}
