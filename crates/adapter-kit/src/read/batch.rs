//! Reads the body of a batch: a JSON array of items, or one item a line, each `{"idempotency_key":
//! ..., "data": ...}`.
//!
//! The record of an item stays the text that was sent. It is read when the item is handled, as that
//! of a request of its own.

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

/// The key of an item under which the client's idempotency key is.
pub const IDEMPOTENCY_KEY: &str = "idempotency_key";
/// The key under which the record is.
const DATA: &str = "data";

/// How the items of a batch are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchForm {
    /// As a JSON array.
    Array,
    /// As lines, each with a JSON value; blank lines are skipped.
    Lines,
}

/// An item of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchItem<'a> {
    /// The idempotency key, where what was sent can be one.
    pub key: Option<String>,
    /// The record as it was sent.
    pub data: &'a str,
    /// What is wrong with the item besides its record. One that has any is not handled.
    pub problems: Vec<Problem>,
    /// What the client should know about an item that is handled.
    pub notices: Vec<Notice>,
}

/// A batch of which no item is handled.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The body as a whole is not JSON.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// An item is not JSON, or nested too deeply. Items and lines are counted from 1.
    #[error("{unit} {number}: {error}")]
    MalformedElement {
        /// What it is: an item or a line.
        unit: &'static str,
        /// Which one it is.
        number: usize,
        /// What is wrong with it.
        error: Malformed,
    },
    /// The body is JSON, and no array.
    #[error("the body must be an array of items")]
    NotArray,
    /// There are no items.
    #[error("the batch has no items")]
    Empty,
    /// There are too many items.
    #[error("the batch has {count} items; it can have {MAX_BATCH_ITEMS} at most")]
    TooMany {
        /// How many there are.
        count: usize,
    },
}

/// Whether a text can be an idempotency key.
#[must_use]
pub fn is_idempotency_key(text: &str) -> bool {
    (1..=MAX_KEY_CHARS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Reads the items of a batch, in order. Nothing is said of their records, except that they are
/// JSON.
///
/// # Errors
///
/// Why no item can be handled.
pub fn read_batch(
    body: &[u8],
    form: BatchForm,
    unknown: UnknownNames,
) -> Result<Vec<BatchItem<'_>>, BatchError> {
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
        items.push(read_item(text, unknown).map_err(|error| malformed(Malformed(error)))?);
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

fn elements(body: &[u8]) -> Result<Vec<Element<'_>>, BatchError> {
    let body = without_byte_order_mark(body);
    match body.iter().find(|byte| !byte.is_ascii_whitespace()) {
        None => return Ok(Vec::new()),
        Some(b'[') => {}
        Some(_) => {
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

fn lines(body: &[u8]) -> Result<Vec<Element<'_>>, BatchError> {
    let lines = body.split(|byte| *byte == b'\n').zip(1..);
    let lines = lines.map(|(line, number)| Element {
        unit: "line",
        number,
        text: without_byte_order_mark(line).trim_ascii(),
    });
    let mut written = lines.filter(|line| !line.text.is_empty());
    let items: Vec<_> = written.by_ref().take(MAX_BATCH_ITEMS).collect();
    match written.count() {
        0 => Ok(items),
        others => Err(BatchError::TooMany {
            count: MAX_BATCH_ITEMS + others,
        }),
    }
}

/// Checks that a text is JSON, and not nested too deeply.
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

fn read_item(text: &[u8], unknown: UnknownNames) -> Result<BatchItem<'_>, serde_json::Error> {
    let mut keys = Keys::default();
    let (mut sent_key, mut data) = (None, None);
    // What is no object has neither key.
    if text.starts_with(b"{") {
        let mut deserializer = serde_json::Deserializer::from_slice(text);
        for (name, value) in deserializer.deserialize_map(Object)? {
            match &*name {
                IDEMPOTENCY_KEY if keys.add_known(&name) => sent_key = Some(value),
                DATA if keys.add_known(&name) => data = Some(value),
                IDEMPOTENCY_KEY | DATA => {}
                _ => keys.add_unknown(&name, |name| {
                    nearest(name, [IDEMPOTENCY_KEY, DATA].into_iter())
                        .map_or(NameHint::None, NameHint::Nearest)
                }),
            }
        }
    }
    let sent_key = sent_key.map_or("null", RawValue::get);
    let (key, problem) = match serde_json::from_str(sent_key)? {
        _ if is_long_integer(sent_key.as_bytes()) => read_key(sent_key),
        Value::Null => (None, Some(ProblemKind::Blank)),
        Value::String(text) => read_key(text.trim()),
        Value::Number(number) if !number.is_f64() => read_key(&number.to_string()),
        Value::Number(_) | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            (None, Some(ProblemKind::MalformedKey))
        }
    };
    let key_problem = problem.map(|kind| Problem::at(key_path(), kind));
    let no_data = data
        .is_none()
        .then(|| Problem::at(Path::Data, ProblemKind::NoData));
    let mut problems = key_problem.into_iter().chain(no_data).collect();
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

/// The key that a text is, or what is wrong with it.
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

/// Of several items with the same key, the first is handled.
fn reject_repeated_keys(items: &mut [BatchItem<'_>]) {
    let mut first = HashMap::new();
    for (position, item) in items.iter_mut().enumerate() {
        let Some(key) = &item.key else { continue };
        match first.entry(key.clone()) {
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

/// Reads as many elements of an array as a batch can have, and counts them all.
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

/// Reads the pairs of an object, repeated keys included.
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

    fn read(body: &str, form: BatchForm) -> Vec<BatchItem<'_>> {
        read_batch(body.as_bytes(), form, UnknownNames::Warn).unwrap()
    }

    fn codes(item: &BatchItem<'_>) -> Vec<Code> {
        item.problems
            .iter()
            .map(|problem| problem.kind.code())
            .collect()
    }

    #[test]
    fn key_that_is_missing_or_malformed_or_repeated_is_a_problem_of_its_item() {
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
        let (blank, malformed) = (Code::Blank, Code::MalformedKey);
        let expected = [
            None,
            Some(blank),
            Some(blank),
            Some(malformed),
            Some(malformed),
            Some(malformed),
            Some(malformed),
        ];
        let expected: Vec<Vec<Code>> = expected
            .into_iter()
            .chain([Some(Code::RepeatsPosition)])
            .map(Vec::from_iter)
            .collect();
        assert_eq!(
            read(&body, BatchForm::Array)
                .iter()
                .map(codes)
                .collect::<Vec<_>>(),
            expected
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
            let error =
                read_batch(body.as_bytes(), BatchForm::Array, UnknownNames::Warn).unwrap_err();
            assert!(
                matches!(
                    error,
                    BatchError::Malformed(_) | BatchError::MalformedElement { .. }
                ),
                "{body}: {error}"
            );
        }
        let error = read_batch(b"{}\n\n{} {}", BatchForm::Lines, UnknownNames::Warn).unwrap_err();
        assert!(error.to_string().starts_with("line 3: "), "{error}");
    }
}
