//! One JSON array where a nested list or several texts are expected.

use std::fmt;
use std::marker::PhantomData;

use domain::{Kind, ParsedRecord, Path, Problem, ProblemKind, RecordField as _};
use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::record::{Nest, One, RECORD_DEPTH};
use super::token::{Token, TokenAt, has_control_character, single_values_are};
use super::{MAX_RECORDS, Reader};
use crate::version::Wire;

/// Reads a nested list, or says why it is none.
pub(super) struct Records<'a, R> {
    reader: Reader<'a>,
    record: PhantomData<R>,
}

impl<'a, R> Records<'a, R> {
    pub(super) fn new(reader: Reader<'a>) -> Self {
        Self { reader, record: PhantomData }
    }
}

impl<'de, R: Nest> DeserializeSeed<'de> for Records<'_, R> {
    type Value = Result<Vec<ParsedRecord<R>>, ProblemKind>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, R: Nest> Visitor<'de> for Records<'_, R> {
    type Value = Result<Vec<ParsedRecord<R>>, ProblemKind>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of records")
    }

    single_values_are!(
        null: Ok(Vec::new()),
        text: |text| if text.trim().is_empty() { Ok(Vec::new()) } else { Err(MISTYPED) },
        other: Err(MISTYPED)
    );

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        TokenAt { depth: RECORD_DEPTH }.visit_map(object)?;
        Ok(Err(MISTYPED))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut records = Vec::new();
        while records.len() < MAX_RECORDS {
            match array.next_element_seed(One::new(self.reader, RECORD_DEPTH + 1))? {
                Some(read) => records.push(read.unwrap_or_else(no_record)),
                None => return Ok(Ok(records)),
            }
        }
        let mut more = false;
        while array.next_element_seed(TokenAt { depth: RECORD_DEPTH + 1 })?.is_some() {
            more = true;
        }
        Ok(if more { Err(ProblemKind::TooMany { max: MAX_RECORDS }) } else { Ok(records) })
    }
}

const MISTYPED: ProblemKind = ProblemKind::WrongType { expected: Kind::Records, impossible_date: None };

/// Something in a nested list that is no record: its place becomes the place of the one problem.
fn no_record<R: Wire>() -> ParsedRecord<R> {
    let unread = R::Field::ALL.iter().copied().collect();
    ParsedRecord { problems: vec![Problem::at(Path::Data, ProblemKind::NoData)], unread, ..ParsedRecord::default() }
}

/// Reads an array of texts; `None` for null.
pub(super) struct Words;

impl<'de> DeserializeSeed<'de> for Words {
    type Value = Result<Option<Vec<String>>, ProblemKind>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Words {
    type Value = Result<Option<Vec<String>>, ProblemKind>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array of texts")
    }

    single_values_are!(
        null: Ok(None),
        text: |text| if text.trim().is_empty() { Ok(None) } else { Err(NO_WORDS) },
        other: Err(NO_WORDS)
    );

    fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<Self::Value, A::Error> {
        TokenAt { depth: RECORD_DEPTH }.visit_map(object)?;
        Ok(Err(NO_WORDS))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Self::Value, A::Error> {
        let mut words = Ok(Vec::new());
        while let Some(token) = array.next_element_seed(TokenAt { depth: RECORD_DEPTH + 1 })? {
            match (token, &mut words) {
                (_, Err(_)) => {}
                (Token::Text(text), words) if has_control_character(&text) => {
                    *words = Err(ProblemKind::ControlCharacter);
                }
                (Token::Text(text), Ok(words)) => words.push(text.into_owned()),
                (Token::Null | Token::Integer(_) | Token::Other, words) => *words = Err(NO_WORDS),
            }
        }
        Ok(words.map(Some))
    }
}

const NO_WORDS: ProblemKind = ProblemKind::WrongType { expected: Kind::TextList, impossible_date: None };
