//! Reads the values of fields, and reports values of the wrong type.

use std::borrow::Cow;

use domain::fields::field::Codes;
use domain::fields::value::{DateOfText, impossible_date, text_as_date};
use domain::problem::NoticeKind;
use domain::records::record::Changes as _;
use domain::values::text::is_blank;
use domain::{
    Input, Kind, Notice, ParsedRecord, Path, Problem, ProblemKind, Record, RecordField as _, Value,
};
use serde::de::SeqAccess;
use serde_json::Value as Json;

use super::json::{Elements, Scalar, Target};
use crate::form::{self, Form};
use crate::shape::{InputName, JsonType};
use crate::version::ApiVersion;
use crate::wire::WireRecord;
use crate::wire_form::code_of;

/// Reads an array of strings. The result is `None` for null and for a blank string.
pub(super) struct Strings;

impl<'de> Target<'de> for Strings {
    type Output = Result<Option<Vec<String>>, ProblemKind>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if is_empty(&value) {
            Ok(None)
        } else {
            Err(wrong_type(Kind::TextList))
        }
    }

    fn array<A: SeqAccess<'de>>(
        self,
        mut elements: Elements<'de, A>,
    ) -> Result<Self::Output, A::Error> {
        let mut strings = Vec::new();
        while let Some(element) = elements.next(Single)? {
            match element {
                Scalar::Text(text) if !has_control_character(&text) => {
                    strings.push(text.into_owned());
                }
                Scalar::Text(_) => {
                    elements.skip_rest()?;
                    return Ok(Err(ProblemKind::ControlCharacter));
                }
                Scalar::Null | Scalar::Integer(_) | Scalar::Boolean(_) | Scalar::Other => {
                    elements.skip_rest()?;
                    return Ok(Err(wrong_type(Kind::TextList)));
                }
            }
        }
        Ok(Ok(Some(strings)))
    }
}

/// Reads a value as a scalar.
pub(super) struct Single;

impl<'de> Target<'de> for Single {
    type Output = Scalar<'de>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        value
    }
}

/// Returns the problem of a value whose type is not the expected one.
pub(super) fn wrong_type(expected: Kind) -> ProblemKind {
    ProblemKind::WrongType {
        expected,
        impossible_date: None,
    }
}

/// Whether the value is null or a blank string.
pub(super) fn is_empty(value: &Scalar<'_>) -> bool {
    matches!(value, Scalar::Null) || matches!(value, Scalar::Text(text) if is_blank(text))
}

/// Sets an input to a value, or reports the problem of the value.
pub(super) fn set<R: WireRecord>(
    sent: &mut ParsedRecord<R>,
    version: &ApiVersion,
    input: &InputName<R::Field>,
    value: Scalar<'_>,
) {
    let field = input.field;
    // The value has a name of another version, so it is not in this form.
    if input.form.is_some() {
        return set_field(sent, field, value);
    }
    match (input.accepts, &value) {
        (Some(JsonType::Integer), Scalar::Text(_) | Scalar::Boolean(_) | Scalar::Other) => {
            return reject(sent, field, wrong_type(Kind::Integer));
        }
        (Some(JsonType::Text), Scalar::Integer(_) | Scalar::Boolean(_) | Scalar::Other) => {
            return reject(sent, field, wrong_type(Kind::Text));
        }
        (Some(_) | None, _) => {}
    }
    if input.part.is_some() {
        return set_parts(sent, R::inputs(version).parts(input), value);
    }
    let info = field.info();
    let (Some(Codes::Listed(list)), Some(words)) = (info.codes, version.wire.words_of(info.codes))
    else {
        return set_field(sent, field, value);
    };
    let text = match &value {
        Scalar::Text(text) => Cow::Borrowed(text.trim()),
        Scalar::Integer(number) => Cow::Owned(number.to_string()),
        Scalar::Null | Scalar::Boolean(_) | Scalar::Other => return set_field(sent, field, value),
    };
    if let Some(code) = code_of(words, &text) {
        return set_field(sent, field, Scalar::Text(Cow::Borrowed(code)));
    }
    // A code that the version replaces by a word is not accepted.
    if words.iter().any(|(code, _)| *code == text) {
        let codes = words.iter().map(|(code, _)| *code);
        let accepted = codes
            .filter(|code| version.accepted_codes.accepts(list, code))
            .map(str::to_owned)
            .collect();
        return reject(
            sent,
            field,
            ProblemKind::UnknownCode {
                value: text.into_owned(),
                accepted,
            },
        );
    }
    set_field(sent, field, value);
}

/// Splits a joined text and sets the field of each part. A text with a wrong number of parts is one
/// problem, at the first part.
fn set_parts<R: Record>(
    sent: &mut ParsedRecord<R>,
    parts: &[InputName<R::Field>],
    value: Scalar<'_>,
) {
    let separator = parts
        .first()
        .and_then(|first| first.part)
        .map_or("", |part| part.separator);
    let texts: Vec<&str> = match &value {
        Scalar::Null => Vec::new(),
        Scalar::Text(text) if is_blank(text) => Vec::new(),
        Scalar::Text(text) if text.split(separator).count() == parts.len() => {
            text.split(separator).collect()
        }
        Scalar::Text(_) | Scalar::Integer(_) | Scalar::Boolean(_) | Scalar::Other => {
            for part in parts {
                sent.unread.insert(part.field);
            }
            let at = parts.first().map_or(Path::Data, |part| part.field.into());
            return sent.problems.push(Problem::at(at, wrong_type(Kind::Text)));
        }
    };
    for (index, part) in parts.iter().enumerate() {
        match texts.get(index).map_or("", |text| text.trim()) {
            "" => sent.changes.clear(part.field),
            text => set_field(sent, part.field, Scalar::Text(Cow::Borrowed(text))),
        }
    }
}

/// Sets a field to a value, or reports the problem of the value.
fn set_field<R: Record>(sent: &mut ParsedRecord<R>, field: R::Field, value: Scalar<'_>) {
    let expected = field.info().kind;
    let mut wrong_date = None;
    let mut date_with_time = None;
    let input = match value {
        Scalar::Null => return sent.changes.clear(field),
        Scalar::Text(text) if has_control_character(&text) => {
            return reject(sent, field, ProblemKind::ControlCharacter);
        }
        Scalar::Text(text) if is_blank(&text) => return sent.changes.blank(field),
        Scalar::Text(text) => {
            if matches!(expected, Kind::Date | Kind::Year) {
                wrong_date = impossible_date(&text).map(str::to_owned);
            }
            if expected == Kind::Date {
                date_with_time = text_as_date(&text).filter(|date| date.leaves_out_time);
            }
            Some(Input::Text(text))
        }
        Scalar::Integer(number) => Some(Input::Integer(number)),
        Scalar::Boolean(flag) => Some(Input::Boolean(flag)),
        Scalar::Other => None,
    };
    if !input.is_some_and(|input| sent.changes.set(field, input)) {
        return reject(
            sent,
            field,
            ProblemKind::WrongType {
                expected,
                impossible_date: wrong_date,
            },
        );
    }
    // The time of day is not recorded: a strict request is refused, and others get a notice.
    match date_with_time {
        Some(_) if sent.is_strict => reject(sent, field, wrong_type(expected)),
        Some(DateOfText { day, .. }) => {
            sent.notices.push(Notice {
                at: field.into(),
                kind: NoticeKind::TimeLeftOut { day },
            });
        }
        None => {}
    }
}

/// Sets an input in another form to a written value, or reports the problem of the value.
pub(super) fn set_formed<R: Record>(
    sent: &mut ParsedRecord<R>,
    field: R::Field,
    form: &dyn Form,
    written: &Json,
) {
    if written.is_null() {
        return sent.changes.clear(field);
    }
    match form::read(form, written, &field.info().into()) {
        Some(value) => set_canonical(sent, field, value),
        None => reject(sent, field, wrong_type(field.info().kind)),
    }
}

/// Sets a field to a canonical value that a form has read.
pub(super) fn set_canonical<R: Record>(
    sent: &mut ParsedRecord<R>,
    field: R::Field,
    value: Value<'static>,
) {
    let value = match value.into_input() {
        None => Scalar::Null,
        Some(Input::Text(text)) => Scalar::Text(text),
        Some(Input::Integer(number)) => Scalar::Integer(number),
        Some(Input::Boolean(flag)) => Scalar::Boolean(flag),
        Some(Input::TextList(texts)) => {
            if texts.iter().any(|text| has_control_character(text)) {
                return reject(sent, field, ProblemKind::ControlCharacter);
            }
            if !sent.changes.set(field, Input::TextList(texts)) {
                reject(sent, field, wrong_type(field.info().kind));
            }
            return;
        }
    };
    set_field(sent, field, value);
}

/// Whether the text has control characters other than tab and line breaks.
pub(super) fn has_control_character(text: &str) -> bool {
    text.chars()
        .any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}

/// Reports a problem of a field, and marks the field as unread.
pub(super) fn reject<R: Record>(sent: &mut ParsedRecord<R>, field: R::Field, kind: ProblemKind) {
    sent.unread.insert(field);
    sent.problems.push(Problem::at(field, kind));
}
