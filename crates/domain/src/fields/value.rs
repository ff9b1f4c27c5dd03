//! The types of fields, and their values outside a record.
//!
//! [`FieldType`] connects a Rust type to its [`Kind`]: conversion to and from a [`Value`], and
//! parsing of an [`Input`].

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use uuid::Uuid;

use crate::values::iso_8601::{DATE_LENGTH, has_date_format, read_date, read_date_time};

/// Text. The dictionary may limit its length.
pub type Text = String;
/// A whole number.
pub type Integer = i64;
/// True or false. Shown as false if no value is stored.
pub type Boolean = bool;
/// A calendar date.
pub type Date = NaiveDate;
/// A timestamp in UTC, truncated to milliseconds.
pub type Timestamp = DateTime<Utc>;
/// Several codes, in the order of the request.
pub type TextList = Vec<String>;

/// A calendar year, such as 2021. Requests may send a number, text or a full date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Year(pub i64);

/// A JSON text of an imported record. It is never parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document(pub String);

/// The type of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A JSON string. A whole number is read as its decimal text.
    Text,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Boolean,
    /// `YYYY-MM-DD`. The time of an ISO 8601 date-time is dropped.
    Date,
    /// A timestamp in UTC with milliseconds.
    Timestamp,
    /// A calendar year.
    Year,
    /// An array of strings.
    TextList,
    /// An object, or null.
    Document,
    /// A UUID, or null.
    Uuid,
    /// An array of other records.
    Records,
}

/// A sent value, before it is parsed as the type of its field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
    /// A JSON string that is not blank.
    Text(Cow<'a, str>),
    /// A JSON number without fraction or exponent.
    Integer(i128),
    /// `true` or `false`.
    Boolean(bool),
    /// A JSON array of strings.
    TextList(TextList),
}

/// The canonical value of a field, as stored or shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// Text or a code.
    Text(Cow<'a, str>),
    /// A whole number.
    Integer(i64),
    /// True or false.
    Boolean(bool),
    /// A calendar date.
    Date(NaiveDate),
    /// A timestamp in UTC.
    Timestamp(DateTime<Utc>),
    /// A UUID.
    Uuid(Uuid),
    /// An array of strings.
    TextList(Vec<Cow<'a, str>>),
    /// An object with pairs of a name and a code, in order.
    Codes(Vec<(&'static str, Cow<'a, str>)>),
    /// A JSON text of an imported record.
    Document(Cow<'a, str>),
}

impl<'a> Value<'a> {
    /// Returns borrowed text as a value.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// Returns borrowed text as a value, or null for `None`.
    #[must_use]
    pub fn optional(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    /// Whether the value is null or an empty list.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        match self {
            Self::Null => true,
            Self::TextList(texts) => texts.is_empty(),
            Self::Text(_)
            | Self::Integer(_)
            | Self::Boolean(_)
            | Self::Date(_)
            | Self::Timestamp(_)
            | Self::Uuid(_)
            | Self::Codes(_)
            | Self::Document(_) => false,
        }
    }

    /// Returns the value, or the result of `other` if the value is null.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::Null { other() } else { self }
    }

    /// Returns the value as text without JSON escapes, such as `2026-09-01` or `11`. Returns `None`
    /// for null, lists and objects.
    #[must_use]
    pub fn to_plain_text(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::Text(text) => Cow::Borrowed(text.as_ref()),
            Self::Integer(number) => Cow::Owned(number.to_string()),
            Self::Boolean(flag) => Cow::Borrowed(if *flag { "true" } else { "false" }),
            Self::Date(date) => Cow::Owned(date.to_string()),
            Self::Timestamp(timestamp) => {
                Cow::Owned(crate::values::iso_8601::timestamp(*timestamp))
            }
            Self::Uuid(uuid) => Cow::Owned(uuid.to_string()),
            Self::Null | Self::TextList(_) | Self::Codes(_) | Self::Document(_) => return None,
        })
    }

    /// Returns the value as an input, or `None` for null, lists of codes and documents.
    #[must_use]
    pub fn into_input(self) -> Option<Input<'a>> {
        Some(match self {
            Self::Text(text) => Input::Text(text),
            Self::Integer(number) => Input::Integer(number.into()),
            Self::Boolean(flag) => Input::Boolean(flag),
            Self::TextList(texts) => {
                Input::TextList(texts.into_iter().map(Cow::into_owned).collect())
            }
            Self::Date(_) | Self::Timestamp(_) | Self::Uuid(_) => {
                Input::Text(Cow::Owned(self.to_plain_text()?.into_owned()))
            }
            Self::Null | Self::Codes(_) | Self::Document(_) => return None,
        })
    }

    /// Returns the text of a text value, or `None` for other values.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }
}

/// A Rust type for fields.
pub trait FieldType: Sized + Clone + PartialEq {
    /// The kind of fields of this type.
    const KIND: Kind;
    /// The shown value of an empty field.
    const WHEN_EMPTY: Value<'static> = Value::Null;

    /// Converts to a value.
    fn to_value(&self) -> Value<'_>;

    /// Converts from a value. Returns `None` for a value of another type.
    fn from_value(value: Value<'_>) -> Option<Self>;

    /// Parses the input of a client. Returns `None` for an input of another type. The default
    /// accepts no input.
    fn parse(_: Input<'_>) -> Option<Self> {
        None
    }

    /// Trims white space around text and collapses white space inside. Other values are unchanged.
    #[must_use]
    fn collapse_whitespace(self) -> Self {
        self
    }
}

/// Implements [`FieldType`] for a type that corresponds to one variant of [`Value`].
macro_rules! field_types {
    ($(
        $type:ident: |$this:ident| $to_value:expr, $pattern:pat => $from_value:expr
        $(, empty $empty:expr)? $(, parse $parse:path)? $(, collapse $collapse:path)?;
    )+) => {$(
        impl FieldType for $type {
            const KIND: Kind = Kind::$type;
            $(const WHEN_EMPTY: Value<'static> = $empty;)?

            fn to_value(&self) -> Value<'_> {
                let $this = self;
                $to_value
            }

            fn from_value(value: Value<'_>) -> Option<Self> {
                if let $pattern = value { Some($from_value) } else { None }
            }

            $(fn parse(input: Input<'_>) -> Option<Self> {
                $parse(input)
            })?

            $(fn collapse_whitespace(self) -> Self {
                $collapse(&self)
            })?
        }
    )+};
}
field_types! {
    Text: |text| Value::text(text), Value::Text(text) => text.into_owned(), parse parse_text, collapse collapse_whitespace;
    Integer: |number| Value::Integer(*number), Value::Integer(number) => number, parse parse_integer;
    Boolean: |value| Value::Boolean(*value), Value::Boolean(value) => value, empty Value::Boolean(false), parse parse_boolean;
    Date: |date| Value::Date(*date), Value::Date(date) => date, parse parse_date;
    Timestamp: |timestamp| Value::Timestamp(*timestamp), Value::Timestamp(timestamp) => timestamp;
    Year: |year| Value::Integer(year.0), Value::Integer(year) => Self(year), parse parse_year;
    TextList: |texts| Value::TextList(texts.iter().map(|text| Cow::Borrowed(text.as_str())).collect()),
        Value::TextList(texts) => texts.into_iter().map(Cow::into_owned).collect(),
        empty Value::TextList(Vec::new()), parse parse_texts;
    Document: |document| Value::Document(Cow::Borrowed(&document.0)), Value::Document(text) => Self(text.into_owned());
    Uuid: |uuid| Value::Uuid(*uuid), Value::Uuid(uuid) => uuid;
}

fn parse_text(input: Input<'_>) -> Option<Text> {
    match input {
        Input::Text(text) => Some(text.into_owned()),
        Input::Integer(number) => Some(number.to_string()),
        Input::Boolean(_) | Input::TextList(_) => None,
    }
}

fn parse_integer(input: Input<'_>) -> Option<Integer> {
    match input {
        Input::Integer(number) => number.try_into().ok(),
        Input::Text(text) => text.trim().parse().ok(),
        Input::Boolean(_) | Input::TextList(_) => None,
    }
}

fn parse_boolean(input: Input<'_>) -> Option<Boolean> {
    match input {
        Input::Boolean(flag) => Some(flag),
        // Files have text only.
        Input::Text(text) => text.trim().parse().ok(),
        Input::Integer(_) | Input::TextList(_) => None,
    }
}

fn parse_date(input: Input<'_>) -> Option<Date> {
    if let Input::Text(text) = input {
        date(&text)
    } else {
        None
    }
}

fn parse_year(input: Input<'_>) -> Option<Year> {
    match input {
        Input::Integer(number) => i64::try_from(number).ok().map(Year),
        Input::Text(text) if text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()) => {
            text.parse().ok().map(Year)
        }
        Input::Text(text) => date(&text).map(|day| Year(i64::from(chrono::Datelike::year(&day)))),
        Input::Boolean(_) | Input::TextList(_) => None,
    }
}

fn parse_texts(input: Input<'_>) -> Option<TextList> {
    if let Input::TextList(texts) = input {
        Some(texts)
    } else {
        None
    }
}

fn collapse_whitespace(text: &str) -> Text {
    let mut words = text.split_whitespace();
    let mut collapsed = String::with_capacity(text.len());
    collapsed.extend(words.next());
    for word in words {
        collapsed.push(' ');
        collapsed.push_str(word);
    }
    collapsed
}

/// Returns the beginning of a text that has the format `YYYY-MM-DD` but is not a date, such as
/// `2026-02-30`. Returns `None` for other texts.
#[must_use]
pub fn impossible_date(text: &str) -> Option<&str> {
    let (day, _) = text.split_at_checked(DATE_LENGTH)?;
    (has_date_format(day) && day.parse::<NaiveDate>().is_err()).then_some(day)
}

/// A date parsed from text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateOfText {
    /// The day.
    pub day: NaiveDate,
    /// Whether the text has a time other than midnight in UTC.
    pub leaves_out_time: bool,
}

/// Parses `YYYY-MM-DD`, or the date of an ISO 8601 date-time with any offset. Returns `None` for
/// other texts.
#[must_use]
pub fn text_as_date(text: &str) -> Option<DateOfText> {
    let day = read_date(text.get(..DATE_LENGTH)?)?;
    if text.len() == DATE_LENGTH {
        return Some(DateOfText {
            day,
            leaves_out_time: false,
        });
    }
    read_date_time(text).map(|time| DateOfText {
        day,
        leaves_out_time: time.time() != NaiveTime::MIN,
    })
}

fn date(text: &str) -> Option<NaiveDate> {
    text_as_date(text).map(|date| date.day)
}
