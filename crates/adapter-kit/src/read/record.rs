//! The changes that a JSON object asks for.

use domain::problem::NameHint;
use domain::record::Changes as _;
use domain::value::impossible_date;
use domain::{
    Deferral, Degree, FieldSet, Input, Kind, ParsedRecord, Path, Placement, Problem, ProblemKind, Recommendation,
    Record, RecordField as _, Trainee, TraineeField, UnrecognisedNames, Withdrawal,
};

use super::json::Json;
use super::keys::{Keys, UnknownNames, nearest};
use super::limits::MAX_RECORDS;
use crate::versions::Served;
use crate::wire::WireRecord;

/// What becomes of nested lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum NestedLists {
    /// They are read: their records are created together with the trainee.
    #[default]
    Read,
    /// They are unknown names: their records have endpoints of their own.
    Ignore,
}

/// How bodies of one version are read.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    /// The version among the others.
    pub served: &'a Served,
    /// What becomes of unknown names.
    pub unknown: UnknownNames,
    /// What becomes of nested lists.
    pub nested: NestedLists,
}

/// A record that a request can have.
pub trait ReadableRecord: WireRecord {
    /// Reads a nested list into the changes.
    #[doc(hidden)]
    fn read_list(_: &mut ParsedRecord<Self>, _: Self::Field, _: NestedList<'_, '_>) {}
}

/// A value where a list of nested records is expected.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "passed to one function")]
pub struct NestedList<'a, 'de> {
    value: Json<'de>,
    reader: Reader<'a>,
}

impl ReadableRecord for Placement {}
impl ReadableRecord for Degree {}
impl ReadableRecord for Withdrawal {}
impl ReadableRecord for Deferral {}
impl ReadableRecord for Recommendation {}
impl ReadableRecord for Trainee {
    fn read_list(sent: &mut ParsedRecord<Self>, list: TraineeField, value: NestedList<'_, '_>) {
        let NestedList { value, reader } = value;
        let rejected = if list == TraineeField::placements {
            records(value, reader, &mut sent.unrecognised).map(|records| sent.nested.placements = records)
        } else {
            records(value, reader, &mut sent.unrecognised).map(|records| sent.nested.degrees = records)
        };
        if let Err(kind) = rejected {
            sent.unread.insert(list);
            sent.problems.push(Problem::at(Path::List(list.into()), kind));
        }
    }
}

/// The record in `{"data": {...}}`.
pub(super) fn body<R: ReadableRecord>(body: Json<'_>, reader: Reader<'_>) -> ParsedRecord<R> {
    let Json::Object(pairs) = body else { return without_data() };
    let (mut sent, mut repeated): (Option<ParsedRecord<R>>, bool) = (None, false);
    let mut keys = Keys::default();
    for (key, value) in pairs {
        match &mut sent {
            _ if key != "data" => keys.add_unknown(&key, |_| NameHint::None),
            None => sent = Some(record(value, reader).unwrap_or_else(without_data)),
            Some(_) if repeated => {}
            Some(sent) => {
                repeated = true;
                sent.problems.push(Problem::at(Path::Data, ProblemKind::RepeatedKey));
            }
        }
    }
    let mut sent = sent.unwrap_or_else(without_data);
    keys.report(&mut sent, reader.unknown);
    sent
}

/// What a body without `data` asks for.
pub(super) fn without_data<R: Record>() -> ParsedRecord<R> {
    ParsedRecord { problems: vec![Problem::at(Path::Data, ProblemKind::NoData)], ..ParsedRecord::default() }
}

/// The changes of one record; `None` when the value is not an object, or an empty one.
fn record<R: ReadableRecord>(value: Json<'_>, reader: Reader<'_>) -> Option<ParsedRecord<R>> {
    let Json::Object(pairs) = value else { return None };
    if pairs.is_empty() {
        return None;
    }
    let version = reader.served.version;
    let (inputs, shape) = (R::inputs(version), R::shape(version));
    let names = R::other_names(&reader.served.other_names);
    let mut sent = ParsedRecord::default();
    let (mut seen, mut repeated) = (FieldSet::new(), FieldSet::new());
    let mut other_names = Vec::new();
    let mut keys = Keys::default();
    for (key, value) in pairs {
        if let Some(field) = inputs.field(&key) {
            let is_list = field.info().kind == Kind::Records;
            if !seen.insert(field) {
                if repeated.insert(field) {
                    reject(&mut sent, field, ProblemKind::RepeatedKey);
                }
            } else if is_list && reader.nested == NestedLists::Ignore {
                keys.add_list(&key);
            } else if is_list {
                R::read_list(&mut sent, field, NestedList { value, reader });
            } else {
                set(&mut sent, field, value);
            }
        } else if let Some((name, field)) = names.refused.iter().find(|(name, _)| *name == key) {
            sent.unrecognised.add_of_other_version(name);
            if keys.add_known(&key) {
                other_names.push((key.into_owned(), *field, value));
            }
        } else if shape.is_some_and(|shape| shape.shows(&key)) {
            keys.add_known(&key);
        } else {
            let ignored = names.ignored.iter().find(|ignored| ignored.name == key);
            match ignored {
                Some(ignored) => sent.unrecognised.add_of_other_version(ignored.name),
                None => sent.unrecognised.unknown += 1,
            }
            keys.add_unknown(&key, |key| match ignored.and_then(|ignored| ignored.later) {
                Some(later) => NameHint::Later { version: later.version.to_string(), field: later.field },
                None => nearest(key, inputs.entries.iter().map(|input| input.name))
                    .map_or(NameHint::None, NameHint::Nearest),
            });
        }
    }
    for (key, field, value) in other_names {
        // Accepted next to the right name with the same value.
        let mut alone = ParsedRecord::<R>::default();
        set(&mut alone, field, value);
        let same = alone.problems.is_empty() && alone.changes.requested(field) == sent.changes.requested(field);
        if !(seen.contains(field) && same) {
            sent.unread.insert(field);
            sent.problems.push(Problem::at(Path::Key(key), ProblemKind::OtherVersionsName { field: field.into() }));
        }
    }
    keys.report(&mut sent, reader.unknown);
    Some(sent)
}

/// The records of a nested list; null and a blank string stand for an empty one.
fn records<R: ReadableRecord>(
    value: Json<'_>,
    reader: Reader<'_>,
    unrecognised: &mut UnrecognisedNames,
) -> Result<Vec<ParsedRecord<R>>, ProblemKind> {
    let elements = match value {
        Json::Array(elements) if elements.len() > MAX_RECORDS => {
            return Err(ProblemKind::TooMany { max: MAX_RECORDS });
        }
        Json::Array(elements) => elements,
        value if is_blank(&value) => Vec::new(),
        Json::Null | Json::Text(_) | Json::Integer(_) | Json::Object(_) | Json::Other => {
            return Err(ProblemKind::WrongType { expected: Kind::Records, impossible_date: None });
        }
    };
    // The position of something that is no record becomes the path of its one problem.
    let no_record = || ParsedRecord { unread: R::Field::ALL.iter().copied().collect(), ..without_data() };
    let records: Vec<ParsedRecord<R>> =
        elements.into_iter().map(|element| record(element, reader).unwrap_or_else(no_record)).collect();
    records.iter().for_each(|record| unrecognised.merge(&record.unrecognised));
    Ok(records)
}

fn is_blank(value: &Json<'_>) -> bool {
    matches!(value, Json::Null) || matches!(value, Json::Text(text) if text.trim().is_empty())
}

/// Sets a field to the value, or reports why it cannot be read.
fn set<R: Record>(sent: &mut ParsedRecord<R>, field: R::Field, value: Json<'_>) {
    let expected = field.info().kind;
    if expected == Kind::TextList {
        return match strings(value) {
            Ok(None) => sent.changes.clear(field),
            Ok(Some(texts)) => drop(sent.changes.set(field, Input::TextList(texts))),
            Err(kind) => reject(sent, field, kind),
        };
    }
    let mut wrong_date = None;
    let input = match value {
        Json::Null => return sent.changes.clear(field),
        Json::Text(text) if has_control_character(&text) => {
            return reject(sent, field, ProblemKind::ControlCharacter);
        }
        Json::Text(text) if text.trim().is_empty() => return sent.changes.blank(field),
        Json::Text(text) => {
            if matches!(expected, Kind::Date | Kind::Year) {
                wrong_date = impossible_date(&text).map(str::to_owned);
            }
            Some(Input::Text(text))
        }
        Json::Integer(number) => Some(Input::Integer(number)),
        Json::Array(_) | Json::Object(_) | Json::Other => None,
    };
    if !input.is_some_and(|input| sent.changes.set(field, input)) {
        reject(sent, field, ProblemKind::WrongType { expected, impossible_date: wrong_date });
    }
}

/// An array of strings; `None` for null and a blank string.
fn strings(value: Json<'_>) -> Result<Option<Vec<String>>, ProblemKind> {
    let mistyped = || ProblemKind::WrongType { expected: Kind::TextList, impossible_date: None };
    if is_blank(&value) {
        return Ok(None);
    }
    let Json::Array(elements) = value else { return Err(mistyped()) };
    let string = |element| match element {
        Json::Text(text) if has_control_character(&text) => Err(ProblemKind::ControlCharacter),
        Json::Text(text) => Ok(text.into_owned()),
        Json::Null | Json::Integer(_) | Json::Array(_) | Json::Object(_) | Json::Other => Err(mistyped()),
    };
    elements.into_iter().map(string).collect::<Result<_, _>>().map(Some)
}

/// Whether the text has characters that no name, address or reason has.
fn has_control_character(text: &str) -> bool {
    text.chars().any(|c| c.is_control() && !matches!(c, '\t' | '\n' | '\r'))
}

/// Reports why a field cannot be read.
fn reject<R: Record>(sent: &mut ParsedRecord<R>, field: R::Field, kind: ProblemKind) {
    sent.unread.insert(field);
    sent.problems.push(Problem::at(field, kind));
}
