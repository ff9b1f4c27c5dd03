//! One JSON object where a record is expected, and lists of them.

use std::fmt;
use std::marker::PhantomData;

use domain::problem::NameHint;
use domain::record::Changes as _;
use domain::{
    Deferral, Degree, FieldSet, Input, Kind, ParsedRecord, Path, Placement, Problem, ProblemKind, Recommendation,
    RecordField as _, Trainee, TraineeField, UnrecognisedNames, Withdrawal,
};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::lists::{Records, Words};
use super::others::{Others, nearest};
use super::token::{Key, Token, TokenAt, ask, refuse, single_values_are};
use super::{NestedLists, Reader, without_data};
use crate::version::Wire;

/// How many arrays and objects stand around the whole body, around the value of `data`, and around the values in it.
const BODY_DEPTH: usize = 0;
const DATA_DEPTH: usize = 1;
pub(super) const RECORD_DEPTH: usize = 2;

/// A record that may hold nested lists of other records.
pub trait Nest: Wire {
    /// Reads a nested list into the changes.
    ///
    /// # Errors
    ///
    /// When the text is not JSON.
    fn nest<'de, A: MapAccess<'de>>(
        sent: &mut ParsedRecord<Self>,
        field: Self::Field,
        object: &mut A,
        reader: Reader<'_>,
    ) -> Result<(), A::Error> {
        let _ = (sent, field, reader);
        object.next_value_seed(TokenAt { depth: RECORD_DEPTH }).map(|_| ())
    }
}

impl Nest for Placement {}
impl Nest for Degree {}
impl Nest for Withdrawal {}
impl Nest for Deferral {}
impl Nest for Recommendation {}
impl Nest for Trainee {
    fn nest<'de, A: MapAccess<'de>>(
        sent: &mut ParsedRecord<Self>,
        list: TraineeField,
        object: &mut A,
        reader: Reader<'_>,
    ) -> Result<(), A::Error> {
        let problem = if list == TraineeField::placements {
            let read = object.next_value_seed(Records::new(reader))?;
            read.map(|records| sent.nested.placements = gathered(&mut sent.unrecognised, records))
        } else {
            let read = object.next_value_seed(Records::new(reader))?;
            read.map(|records| sent.nested.degrees = gathered(&mut sent.unrecognised, records))
        };
        if let Err(kind) = problem {
            sent.unread.insert(list);
            sent.problems.push(Problem::at(Path::List(list.into()), kind));
        }
        Ok(())
    }
}

/// The records of a nested list, whose misnamed fields are told with those of the record that holds them.
fn gathered<R: Nest>(unrecognised: &mut UnrecognisedNames, records: Vec<ParsedRecord<R>>) -> Vec<ParsedRecord<R>> {
    records.iter().for_each(|record| unrecognised.merge(&record.unrecognised));
    records
}

/// Makes a visitor pass over what stands inside an array.
macro_rules! arrays_are {
    (at |$visitor:ident| $depth:expr, $value:expr) => {
        fn visit_seq<A: SeqAccess<'de>>(self, array: A) -> Result<Self::Value, A::Error> {
            let $visitor = &self;
            TokenAt { depth: $depth }.visit_seq(array)?;
            Ok($value)
        }
    };
}

/// Makes a seed ask the text what it is.
macro_rules! ask_the_text {
    ($seed:ident) => {
        impl<'de, R: Nest> DeserializeSeed<'de> for $seed<'_, R> {
            type Value = <Self as Visitor<'de>>::Value;

            fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
                deserializer.deserialize_any(self)
            }
        }
    };
}

/// Reads `{"data": {...}}`.
pub(super) struct Data<'a, R> {
    reader: Reader<'a>,
    record: PhantomData<R>,
}

impl<'a, R> Data<'a, R> {
    pub(super) fn new(reader: Reader<'a>) -> Self {
        Self { reader, record: PhantomData }
    }
}

ask_the_text!(Data);

impl<'de, R: Nest> Visitor<'de> for Data<'_, R> {
    type Value = ParsedRecord<R>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object with the key data")
    }

    single_values_are!(without_data());
    arrays_are!(at | _this | BODY_DEPTH, without_data());

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let mut sent: Option<ParsedRecord<R>> = None;
        let mut repeated = false;
        let mut others = Others::default();
        while let Some(key) = object.next_key_seed(Key)? {
            if key != "data" {
                object.next_value_seed(TokenAt { depth: DATA_DEPTH })?;
                others.keep(&key, |_| NameHint::None);
            } else if let Some(sent) = &mut sent {
                object.next_value_seed(TokenAt { depth: DATA_DEPTH })?;
                if !std::mem::replace(&mut repeated, true) {
                    sent.problems.push(Problem::at(Path::Data, ProblemKind::RepeatedKey));
                }
            } else {
                let read = object.next_value_seed(One::new(self.reader, DATA_DEPTH))?;
                sent = Some(read.unwrap_or_else(without_data));
            }
        }
        let mut sent = sent.unwrap_or_else(without_data);
        others.report(&mut sent, self.reader.unknown);
        Ok(sent)
    }
}

/// Reads one record; `None` when there is no object, or an empty one.
pub(super) struct One<'a, R> {
    reader: Reader<'a>,
    /// How many arrays and objects stand around the record.
    depth: usize,
    record: PhantomData<R>,
}

impl<'a, R> One<'a, R> {
    pub(super) fn new(reader: Reader<'a>, depth: usize) -> Self {
        Self { reader, depth, record: PhantomData }
    }
}

ask_the_text!(One);

impl<'de, R: Nest> Visitor<'de> for One<'_, R> {
    type Value = Option<ParsedRecord<R>>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a record")
    }

    single_values_are!(None);
    arrays_are!(at | one | one.depth, None);

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Self::Value, A::Error> {
        let inputs = R::inputs(self.reader.served.version);
        let foreign_names = R::foreign(&self.reader.served.foreign);
        let unheard = R::unheard(&self.reader.served.foreign);
        let shape = R::shape(self.reader.served.version);
        let mut sent = ParsedRecord::default();
        let (mut seen, mut repeated) = (FieldSet::new(), FieldSet::new());
        let mut foreign = Vec::new();
        let mut others = Others::default();
        let mut empty = true;
        let value = TokenAt { depth: self.depth + 1 };
        while let Some(key) = object.next_key_seed(Key)? {
            empty = false;
            let other_name = || foreign_names.iter().find(|(name, _)| *name == key).copied();
            if let Some(field) = inputs.field(&key) {
                if !seen.insert(field) {
                    object.next_value_seed(value)?;
                    if repeated.insert(field) {
                        refuse(&mut sent, field, ProblemKind::RepeatedKey);
                    }
                } else if field.info().kind == Kind::Records && self.reader.nested == NestedLists::PassOver {
                    object.next_value_seed(value)?;
                    others.keep_list(&key);
                } else {
                    read_field(&mut sent, field, &mut object, self.reader, value)?;
                }
            } else if let Some((name, field)) = other_name() {
                sent.unrecognised.add_of_other_version(name);
                let token = object.next_value_seed(value)?;
                if others.keep_known(&key) {
                    foreign.push((key.into_owned(), field, token));
                }
            } else {
                object.next_value_seed(value)?;
                if shape.is_some_and(|shape| shape.shows(&key)) {
                    others.keep_known(&key);
                } else {
                    let known = unheard.iter().find(|unheard| unheard.name == key);
                    match known {
                        Some(known) => sent.unrecognised.add_of_other_version(known.name),
                        None => sent.unrecognised.unknown += 1,
                    }
                    let slip = |key: &str| nearest(key, inputs.entries.iter().map(|input| input.name));
                    others.keep(&key, |key| match known.and_then(|known| known.later) {
                        Some(later) => NameHint::Later { version: later.version.to_string(), field: later.field },
                        None => slip(key).map_or(NameHint::None, NameHint::Nearest),
                    });
                }
            }
        }
        for (key, field, token) in foreign {
            settle_foreign(&mut sent, &seen, key, field, token);
        }
        others.report(&mut sent, self.reader.unknown);
        Ok((!empty).then_some(sent))
    }
}

/// Reads the value of a field that this version has.
fn read_field<'de, R: Nest, A: MapAccess<'de>>(
    sent: &mut ParsedRecord<R>,
    field: R::Field,
    object: &mut A,
    reader: Reader<'_>,
    value: TokenAt,
) -> Result<(), A::Error> {
    match field.info().kind {
        Kind::Records => R::nest(sent, field, object, reader)?,
        Kind::TextList => match object.next_value_seed(Words)? {
            Ok(None) => sent.changes.clear(field),
            Ok(Some(texts)) => {
                sent.changes.set(field, Input::TextList(texts));
            }
            Err(kind) => refuse(sent, field, kind),
        },
        Kind::Text
        | Kind::Integer
        | Kind::Boolean
        | Kind::Date
        | Kind::Timestamp
        | Kind::Year
        | Kind::Document
        | Kind::Uuid => {
            let token = object.next_value_seed(value)?;
            ask(sent, field, token);
        }
    }
    Ok(())
}

/// Another version's name is refused, unless the right one stands beside it with the same value.
fn settle_foreign<R: Wire>(
    sent: &mut ParsedRecord<R>,
    seen: &FieldSet<R::Field>,
    key: String,
    field: R::Field,
    token: Token<'_>,
) {
    let mut alone = ParsedRecord::<R>::default();
    ask(&mut alone, field, token);
    let same = alone.problems.is_empty() && alone.changes.requested(field) == sent.changes.requested(field);
    if !(seen.contains(field) && same) {
        sent.unread.insert(field);
        sent.problems.push(Problem::at(Path::Key(key), ProblemKind::OtherVersionsName { field: field.into() }));
    }
}
