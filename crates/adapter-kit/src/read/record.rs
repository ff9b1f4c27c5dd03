//! The changes that a JSON object asks for.

use std::marker::PhantomData;

use domain::fields::value::{DateOfText, impossible_date, text_as_date};
use domain::problem::{NameHint, NoticeKind};
use domain::records::record::Changes as _;
use domain::values::text::is_blank;
use domain::{
    Deferral, Degree, FieldSet, Input, Kind, Notice, ParsedRecord, Path, Placement, Problem, ProblemKind,
    Recommendation, Record, RecordField as _, Trainee, TraineeField, UnrecognisedNames, Withdrawal,
};
use serde::de::{MapAccess, SeqAccess};

use super::json::{Elements, Pairs, Scalar, Skip, Target};
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
    /// Reads a nested list into the changes. Only a trainee has any.
    ///
    /// # Errors
    ///
    /// Those of the text.
    #[doc(hidden)]
    fn read_list<'de, A: MapAccess<'de>>(
        _: &mut ParsedRecord<Self>,
        _: Self::Field,
        pairs: &mut Pairs<'de, A>,
        _: Reader<'_>,
    ) -> Result<(), A::Error> {
        pairs.value(Skip)
    }
}

impl ReadableRecord for Placement {}
impl ReadableRecord for Degree {}
impl ReadableRecord for Withdrawal {}
impl ReadableRecord for Deferral {}
impl ReadableRecord for Recommendation {}
impl ReadableRecord for Trainee {
    fn read_list<'de, A: MapAccess<'de>>(
        sent: &mut ParsedRecord<Self>,
        list: TraineeField,
        pairs: &mut Pairs<'de, A>,
        reader: Reader<'_>,
    ) -> Result<(), A::Error> {
        let rejected = if list == TraineeField::placements {
            pairs
                .value(List::new(reader))?
                .map(|records| sent.nested.placements = counted(&mut sent.unrecognised, records))
        } else {
            pairs
                .value(List::new(reader))?
                .map(|records| sent.nested.degrees = counted(&mut sent.unrecognised, records))
        };
        if let Err(kind) = rejected {
            sent.unread.insert(list);
            sent.problems.push(Problem::at(Path::List(list.into()), kind));
        }
        Ok(())
    }
}

/// The records of a nested list, whose unrecognised names count with those of their trainee.
fn counted<R: Record>(names: &mut UnrecognisedNames, records: Vec<ParsedRecord<R>>) -> Vec<ParsedRecord<R>> {
    records.iter().for_each(|record| names.merge(&record.unrecognised));
    records
}

/// Reads the record in `{"data": {...}}`.
pub(super) struct Body<'a, R> {
    reader: Reader<'a>,
    record: PhantomData<R>,
}

impl<'a, R> Body<'a, R> {
    pub(super) fn new(reader: Reader<'a>) -> Self {
        Self { reader, record: PhantomData }
    }
}

impl<'de, R: ReadableRecord> Target<'de> for Body<'_, R> {
    type Output = ParsedRecord<R>;

    fn scalar(self, _: Scalar<'de>) -> Self::Output {
        without_data()
    }

    fn object<A: MapAccess<'de>>(self, mut pairs: Pairs<'de, A>) -> Result<Self::Output, A::Error> {
        let (mut sent, mut repeated): (Option<ParsedRecord<R>>, bool) = (None, false);
        let mut keys = Keys::default();
        while let Some(key) = pairs.key()? {
            match &mut sent {
                None if key == "data" => sent = Some(pairs.value(One::new(self.reader))?.unwrap_or_else(without_data)),
                Some(sent) if key == "data" => {
                    pairs.value(Skip)?;
                    if !std::mem::replace(&mut repeated, true) {
                        sent.problems.push(Problem::at(Path::Data, ProblemKind::RepeatedKey));
                    }
                }
                None | Some(_) => {
                    pairs.value(Skip)?;
                    keys.add_unknown(&key, |_| NameHint::None);
                }
            }
        }
        let mut sent = sent.unwrap_or_else(without_data);
        keys.report(&mut sent.problems, &mut sent.notices, self.reader.unknown);
        Ok(sent)
    }
}

/// What a body without `data` asks for.
pub(super) fn without_data<R: Record>() -> ParsedRecord<R> {
    ParsedRecord { problems: vec![Problem::at(Path::Data, ProblemKind::NoData)], ..ParsedRecord::default() }
}

/// Reads the changes of one record; `None` when the value is not an object, or an empty one.
struct One<'a, R> {
    reader: Reader<'a>,
    record: PhantomData<R>,
}

impl<'a, R> One<'a, R> {
    fn new(reader: Reader<'a>) -> Self {
        Self { reader, record: PhantomData }
    }
}

impl<'de, R: ReadableRecord> Target<'de> for One<'_, R> {
    type Output = Option<ParsedRecord<R>>;

    fn scalar(self, _: Scalar<'de>) -> Self::Output {
        None
    }

    fn object<A: MapAccess<'de>>(self, mut pairs: Pairs<'de, A>) -> Result<Self::Output, A::Error> {
        let reader = self.reader;
        let version = reader.served.version;
        let (inputs, shape) = (R::inputs(version), R::shape(version));
        let names = R::other_names(&reader.served.other_names);
        let mut sent = ParsedRecord { is_strict: reader.unknown == UnknownNames::Reject, ..ParsedRecord::default() };
        let (mut seen, mut repeated) = (FieldSet::new(), FieldSet::new());
        let mut other_names = Vec::new();
        let mut keys = Keys::default();
        let (mut count, mut read_only) = (0_usize, 0_usize);
        while let Some(key) = pairs.key()? {
            count += 1;
            if let Some(field) = inputs.field(&key) {
                let is_list = field.info().kind == Kind::Records;
                if !seen.insert(field) {
                    pairs.value(Skip)?;
                    if repeated.insert(field) {
                        reject(&mut sent, field, ProblemKind::RepeatedKey);
                    }
                } else if is_list && reader.nested == NestedLists::Ignore {
                    pairs.value(Skip)?;
                    keys.add_list(&key);
                } else if is_list {
                    R::read_list(&mut sent, field, &mut pairs, reader)?;
                } else if field.info().kind == Kind::TextList {
                    match pairs.value(Strings)? {
                        Ok(None) => sent.changes.clear(field),
                        Ok(Some(texts)) => drop(sent.changes.set(field, Input::TextList(texts))),
                        Err(kind) => reject(&mut sent, field, kind),
                    }
                } else {
                    set(&mut sent, field, pairs.value(Single)?);
                }
            } else if let Some((name, field)) = names.refused.iter().find(|(name, _)| *name == key) {
                sent.unrecognised.add_of_other_version(name);
                let value = pairs.value(Single)?;
                if keys.add_known(&key) {
                    other_names.push((key.into_owned(), *field, value));
                }
            } else if shape.is_some_and(|shape| shape.shows(&key)) {
                pairs.value(Skip)?;
                keys.add_known(&key);
                read_only += 1;
            } else {
                pairs.value(Skip)?;
                let ignored = names.ignored.iter().find(|ignored| ignored.name == key);
                match ignored {
                    Some(ignored) => sent.unrecognised.add_of_other_version(ignored.name),
                    None => sent.unrecognised.unknown += 1,
                }
                if reader.unknown == UnknownNames::Ignore {
                    keys.add_known(&key);
                    continue;
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
        keys.report(&mut sent.problems, &mut sent.notices, reader.unknown);
        if count == read_only && count > 0 {
            sent.notices.push(Notice { at: Path::Data, kind: NoticeKind::ReadOnly });
        }
        Ok((count > 0).then_some(sent))
    }
}

/// Reads a nested list; null and a blank string stand for an empty one.
struct List<'a, R>(One<'a, R>);

impl<'a, R> List<'a, R> {
    fn new(reader: Reader<'a>) -> Self {
        Self(One::new(reader))
    }
}

impl<'de, R: ReadableRecord> Target<'de> for List<'_, R> {
    type Output = Result<Vec<ParsedRecord<R>>, ProblemKind>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if is_empty(&value) { Ok(Vec::new()) } else { Err(wrong_type(Kind::Records)) }
    }

    fn array<A: SeqAccess<'de>>(self, mut elements: Elements<'de, A>) -> Result<Self::Output, A::Error> {
        // The position of something that is no record becomes the path of its one problem.
        let no_record = || ParsedRecord { unread: R::Field::ALL.iter().copied().collect(), ..without_data() };
        let mut records = Vec::new();
        while records.len() < MAX_RECORDS {
            match elements.next(One::<R>::new(self.0.reader))? {
                Some(record) => records.push(record.unwrap_or_else(no_record)),
                None => return Ok(Ok(records)),
            }
        }
        let more = elements.skip_rest()? > 0;
        Ok(if more { Err(ProblemKind::TooMany { max: MAX_RECORDS }) } else { Ok(records) })
    }
}

/// Reads an array of strings; `None` for null and a blank string.
struct Strings;

impl<'de> Target<'de> for Strings {
    type Output = Result<Option<Vec<String>>, ProblemKind>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        if is_empty(&value) { Ok(None) } else { Err(wrong_type(Kind::TextList)) }
    }

    fn array<A: SeqAccess<'de>>(self, mut elements: Elements<'de, A>) -> Result<Self::Output, A::Error> {
        let mut strings = Vec::new();
        while let Some(element) = elements.next(Single)? {
            match element {
                Scalar::Text(text) if !has_control_character(&text) => strings.push(text.into_owned()),
                rejected @ (Scalar::Text(_) | Scalar::Null | Scalar::Integer(_) | Scalar::Other) => {
                    elements.skip_rest()?;
                    let is_text = matches!(rejected, Scalar::Text(_));
                    return Ok(Err(if is_text { ProblemKind::ControlCharacter } else { wrong_type(Kind::TextList) }));
                }
            }
        }
        Ok(Ok(Some(strings)))
    }
}

/// Reads a value as a scalar.
struct Single;

impl<'de> Target<'de> for Single {
    type Output = Scalar<'de>;

    fn scalar(self, value: Scalar<'de>) -> Self::Output {
        value
    }
}

fn wrong_type(expected: Kind) -> ProblemKind {
    ProblemKind::WrongType { expected, impossible_date: None }
}

fn is_empty(value: &Scalar<'_>) -> bool {
    matches!(value, Scalar::Null) || matches!(value, Scalar::Text(text) if is_blank(text))
}

/// Sets a field to the value, or reports why it cannot be read.
fn set<R: Record>(sent: &mut ParsedRecord<R>, field: R::Field, value: Scalar<'_>) {
    let expected = field.info().kind;
    let (mut wrong_date, mut left_out) = (None, None);
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
            left_out = text_as_date(&text).filter(|date| expected == Kind::Date && date.leaves_out_time);
            Some(Input::Text(text))
        }
        Scalar::Integer(number) => Some(Input::Integer(number)),
        Scalar::Other => None,
    };
    if !input.is_some_and(|input| sent.changes.set(field, input)) {
        return reject(sent, field, ProblemKind::WrongType { expected, impossible_date: wrong_date });
    }
    match left_out {
        Some(_) if sent.is_strict => reject(sent, field, wrong_type(expected)),
        Some(DateOfText { day, .. }) => {
            sent.notices.push(Notice { at: field.into(), kind: NoticeKind::TimeLeftOut { day } });
        }
        None => {}
    }
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
