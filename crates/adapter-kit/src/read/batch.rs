//! Reads the body of a batch: a JSON array of items, or one item per line. An item is
//! `{"idempotency_key": ..., "data": ...}`, with the version's key for `data`.
//!
//! The record of an item stays unparsed until the item is handled like a single request.

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;

use domain::problem::NameHint;
use domain::{Notice, Path, Problem, ProblemKind};
use serde::de::{
    DeserializeSeed as _, Deserializer as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{At, Skip};
use super::keys::{Keys, UnknownNames, nearest};
use super::limits::{MAX_BATCH_ITEMS, MAX_KEY_CHARS};
use super::long_integers::is_long_integer;
use super::{Malformed, without_byte_order_mark};
use crate::body_kind::IDEMPOTENCY_KEY;

/// The form of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchForm {
    /// A JSON array of items.
    Array,
    /// One item per line. Blank lines are skipped.
    Lines,
}

/// An item of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchItem<'a> {
    /// The idempotency key; `None` if it is missing or invalid.
    pub key: Option<String>,
    /// The record as sent; empty if it is missing.
    pub data: &'a str,
    /// The problems of the item outside its record. An item with problems is not handled.
    pub problems: Vec<Problem>,
    /// Notices for the client about an accepted item.
    pub notices: Vec<Notice>,
}

/// The reason for refusing a whole batch.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The body as a whole is not JSON.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// An item is not JSON or is nested too deeply.
    #[error("{unit} {number}: {error}")]
    MalformedElement {
        /// `item` or `line`.
        unit: &'static str,
        /// The number of the item or line, from 1.
        number: usize,
        /// The error in the item.
        error: Malformed,
    },
    /// The body is JSON but not an array.
    #[error("the body must be an array of items")]
    NotArray,
    /// The batch has no items.
    #[error("the batch has no items")]
    Empty,
    /// The batch has more than [`MAX_BATCH_ITEMS`] items.
    #[error("the batch has {count} items; it can have {MAX_BATCH_ITEMS} at most")]
    TooMany {
        /// The number of items.
        count: usize,
    },
}

/// Whether the text is a valid idempotency key: 1 to [`MAX_KEY_CHARS`] visible ASCII characters.
#[must_use]
pub fn is_idempotency_key(text: &str) -> bool {
    (1..=MAX_KEY_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Reads the items of a batch, in order. Checks that the records are JSON, but does not read them.
/// `record_key` is the key of the record in an item.
///
/// # Errors
///
/// [`BatchError`] if the whole batch must be refused.
pub fn read_batch<'a>(
    body: &'a [u8],
    form: BatchForm,
    unknown: UnknownNames,
    record_key: &'static str,
) -> Result<Vec<BatchItem<'a>>, BatchError> {
    let texts = match form {
        BatchForm::Array => elements(body)?,
        BatchForm::Lines => lines(body)?,
    };
    if texts.is_empty() {
        return Err(BatchError::Empty);
    }
    let mut items = Vec::with_capacity(texts.len());
    for Element { unit, number, text } in texts {
        let malformed = |error| BatchError::MalformedElement {
            unit,
            number,
            error,
        };
        check(text).map_err(malformed)?;
        items.push(
            read_item(text, unknown, record_key).map_err(|error| malformed(Malformed(error)))?,
        );
    }
    reject_repeated_keys(&mut items);
    Ok(items)
}

/// The text of an item.
struct Element<'a> {
    unit: &'static str,
    number: usize,
    text: &'a [u8],
}

/// Returns the texts of the items in a JSON array.
fn elements(body: &[u8]) -> Result<Vec<Element<'_>>, BatchError> {
    let body = without_byte_order_mark(body);
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => return Ok(Vec::new()),
        Some(b'[') => {}
        Some(_) => {
            // Malformed JSON is another error than JSON without an array.
            check(body)?;
            return Err(BatchError::NotArray);
        }
    }
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let (texts, count) = deserializer.deserialize_seq(Array).map_err(Malformed)?;
    deserializer.end().map_err(Malformed)?;
    if count > MAX_BATCH_ITEMS {
        return Err(BatchError::TooMany { count });
    }
    let texts = texts.into_iter().zip(1..);
    Ok(texts
        .map(|(text, number)| Element {
            unit: "item",
            number,
            text: text.get().as_bytes(),
        })
        .collect())
}

/// Returns the texts of the lines that are not blank.
fn lines(body: &[u8]) -> Result<Vec<Element<'_>>, BatchError> {
    let lines = body.split(|byte| *byte == b'\n').zip(1..);
    let lines = lines.map(|(line, number)| Element {
        unit: "line",
        number,
        text: without_byte_order_mark(line).trim_ascii(),
    });
    let mut items = lines.filter(|line| !line.text.is_empty());
    let accepted: Vec<_> = items.by_ref().take(MAX_BATCH_ITEMS).collect();
    match items.count() {
        0 => Ok(accepted),
        excess => Err(BatchError::TooMany {
            count: MAX_BATCH_ITEMS + excess,
        }),
    }
}

/// Checks that the text is JSON and not nested too deeply.
fn check(text: &[u8]) -> Result<(), Malformed> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    At {
        depth: 0,
        target: Skip,
    }
    .deserialize(&mut deserializer)
    .map_err(Malformed)?;
    deserializer.end().map_err(Malformed)
}

/// Reads the keys of an item. The text must be JSON.
fn read_item<'a>(
    text: &'a [u8],
    unknown: UnknownNames,
    record_key: &'static str,
) -> Result<BatchItem<'a>, serde_json::Error> {
    let mut keys = Keys::default();
    let mut sent_key = None;
    let mut data = None;
    // An item that is not an object is reported as an object without keys.
    if text.starts_with(b"{") {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        for (name, value) in deserializer.deserialize_map(Object)? {
            let member = match &*name {
                IDEMPOTENCY_KEY => &mut sent_key,
                key if key == record_key => &mut data,
                _ => {
                    keys.add_unknown(&name, |name| {
                        nearest(name, [IDEMPOTENCY_KEY, record_key].into_iter())
                            .map_or(NameHint::None, NameHint::Nearest)
                    });
                    continue;
                }
            };
            if keys.add_known(&name) {
                *member = Some(value);
            }
        }
    }
    let sent_key = sent_key.map_or("null", RawValue::get);
    let (key, key_problem) = match serde_json::from_str(sent_key)? {
        _ if is_long_integer(sent_key.as_bytes()) => read_key(sent_key),
        Value::Null => (None, Some(ProblemKind::Blank)),
        Value::String(text) => read_key(text.trim()),
        Value::Number(number) if !number.is_f64() => read_key(&number.to_string()),
        Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            (None, Some(ProblemKind::MalformedKey))
        }
    };
    let mut problems = Vec::new();
    if let Some(kind) = key_problem {
        problems.push(Problem::at(key_path(), kind));
    }
    if data.is_none() {
        problems.push(Problem::at(Path::Data, ProblemKind::NoData));
    }
    let mut notices = Vec::new();
    keys.report(&mut problems, &mut notices, unknown);
    let data = data.map_or("", RawValue::get);
    Ok(BatchItem {
        key,
        data,
        problems,
        notices,
    })
}

/// Returns the text as an idempotency key and `None`, or `None` and the problem of an invalid key.
fn read_key(text: &str) -> (Option<String>, Option<ProblemKind>) {
    match text {
        "" => (None, Some(ProblemKind::Blank)),
        text if is_idempotency_key(text) => (Some(text.to_owned()), None),
        _ => (None, Some(ProblemKind::MalformedKey)),
    }
}

fn key_path() -> Path {
    Path::Key(IDEMPOTENCY_KEY.to_owned())
}

/// Adds a problem to each item whose key repeats the key of an earlier item.
fn reject_repeated_keys(items: &mut [BatchItem<'_>]) {
    let mut first_positions = HashMap::new();
    for (position, item) in items.iter_mut().enumerate() {
        let Some(key) = &item.key else { continue };
        match first_positions.entry(key.clone()) {
            Entry::Vacant(new) => drop(new.insert(position)),
            Entry::Occupied(earlier) => {
                let kind = ProblemKind::RepeatsPosition {
                    position: *earlier.get(),
                };
                item.problems.push(Problem::at(key_path(), kind));
            }
        }
    }
}

/// Visits an array: returns the text of the first [`MAX_BATCH_ITEMS`] elements, and the number of
/// all elements.
struct Array;

impl<'de> Visitor<'de> for Array {
    type Value = (Vec<&'de RawValue>, usize);

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of items")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Self::Value, A::Error> {
        let mut texts = Vec::new();
        while texts.len() < MAX_BATCH_ITEMS {
            match elements.next_element()? {
                Some(text) => texts.push(text),
                None => {
                    let count = texts.len();
                    return Ok((texts, count));
                }
            }
        }
        let mut count = texts.len();
        while elements.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok((texts, count))
    }
}

/// Visits an object: returns its pairs, including repeated keys.
struct Object;

impl<'de> Visitor<'de> for Object {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an item")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Self::Value, A::Error> {
        let mut read = Vec::new();
        while let Some(name) = pairs.next_key::<Cow<'de, str>>()? {
            read.push((name, pairs.next_value()?));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use domain::Code;

    use super::*;
    use crate::wire_form::DATA;

    fn read(body: &str, form: BatchForm) -> Vec<BatchItem<'_>> {
        read_batch(body.as_bytes(), form, UnknownNames::Warn, DATA).unwrap()
    }

    fn codes(item: &BatchItem<'_>) -> Vec<Code> {
        item.problems
            .iter()
            .map(|problem| problem.kind.code())
            .collect()
    }

    #[test]
    fn missing_malformed_or_repeated_key_is_problem_of_its_item() {
        let long = "k".repeat(MAX_KEY_CHARS + 1);
        let keys = [
            "\"a\"",
            "null",
            "\" \"",
            "\"a b\"",
            "\"\u{e9}\"",
            "1.5",
            &format!("\"{long}\""),
            "\" a \"",
        ];
        let items = keys.map(|key| format!(r#"{{"idempotency_key":{key},"data":{{}}}}"#));
        let body = format!("[{}]", items.join(","));
        let items = read(&body, BatchForm::Array);
        assert_eq!(
            items.iter().map(codes).collect::<Vec<_>>(),
            [
                vec![],
                vec![Code::Blank],
                vec![Code::Blank],
                vec![Code::MalformedKey],
                vec![Code::MalformedKey],
                vec![Code::MalformedKey],
                vec![Code::MalformedKey],
                vec![Code::RepeatsPosition],
            ]
        );
    }

    #[test]
    fn malformed_body_is_rejected_as_a_whole() {
        let deep = format!(
            r#"[{{"idempotency_key":"a","data":{}{}}}]"#,
            "[".repeat(32),
            "]".repeat(32)
        );
        let malformed = [
            "[1,",
            "[1] 2",
            "{",
            "[\"\\ud800\"]",
            "[1e999]",
            &deep,
            "[,]",
        ];
        for body in malformed {
            let error = read_batch(body.as_bytes(), BatchForm::Array, UnknownNames::Warn, DATA)
                .unwrap_err();
            assert!(
                matches!(
                    error,
                    BatchError::Malformed(_) | BatchError::MalformedElement { .. }
                ),
                "{body}: {error}"
            );
        }
        let error =
            read_batch(b"{}\n\n{} {}", BatchForm::Lines, UnknownNames::Warn, DATA).unwrap_err();
        assert!(error.to_string().starts_with("line 3: "), "{error}");
    }
}
