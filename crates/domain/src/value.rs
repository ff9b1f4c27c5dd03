//! What a field can hold, seen from outside its record.
//!
//! [`Typed`] joins a Rust type to its [`Kind`]: how a value of it is shown ([`Value`]) and how it is
//! read from what a client sent ([`Input`]). It knows neither field names nor JSON.

use std::borrow::Cow;

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use uuid::Uuid;

use crate::{Degree, Placement, Stored};

/// Text of any length; the dictionary gives the limit, if there is one.
pub type Text = String;
/// A whole number.
pub type Integer = i64;
/// Yes or no. A flag is never null: absent means no.
pub type Flag = bool;
/// A calendar day.
pub type Date = NaiveDate;
/// A moment in UTC, cut to the millisecond.
pub type Moment = DateTime<Utc>;
/// Several codes, in the order in which they were sent.
pub type Texts = Vec<String>;

/// A calendar year, such as 2021. A request may carry it as a number, as text or as a full date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Year(pub i64);

/// A fragment of JSON that came with an imported record and is handed on unread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document(pub String);

/// What sort of value a field holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A JSON string; a whole number is read as its decimal text.
    Text,
    /// A whole number.
    Integer,
    /// `true` or `false`.
    Flag,
    /// `YYYY-MM-DD`; a full ISO 8601 date-time is cut to its date.
    Date,
    /// A moment in UTC with milliseconds.
    Moment,
    /// A calendar year.
    Year,
    /// An array of strings.
    Texts,
    /// An object, or null.
    Document,
    /// A UUID, or null.
    Uuid,
    /// An array of other records.
    Records,
}

/// A value as a client sent it, before it is known whether it fits the field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input<'a> {
    /// A JSON string that is not blank.
    Text(Cow<'a, str>),
    /// A JSON number without fraction or exponent.
    Integer(i128),
    /// A JSON array of strings.
    Texts(Texts),
}

/// A field's value as it is shown.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// No value.
    Null,
    /// Text, a code included.
    Text(Cow<'a, str>),
    /// A whole number.
    Integer(i64),
    /// Yes or no.
    Flag(bool),
    /// A calendar day.
    Date(NaiveDate),
    /// A moment in UTC.
    Moment(DateTime<Utc>),
    /// A UUID.
    Uuid(Uuid),
    /// An array of strings.
    Texts(Vec<Cow<'a, str>>),
    /// An object of names and codes, in this order.
    Codes(Vec<(&'static str, Cow<'a, str>)>),
    /// An imported fragment of JSON.
    Document(Cow<'a, str>),
    /// Nested placements.
    Placements(Vec<&'a dyn Stored<Placement>>),
    /// Nested degrees.
    Degrees(Vec<&'a dyn Stored<Degree>>),
}

impl<'a> Value<'a> {
    /// Text that lives as long as its record or its list.
    #[must_use]
    pub fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// Text, or null when there is none.
    #[must_use]
    pub fn optional(text: Option<&'a str>) -> Self {
        text.map_or(Self::Null, Self::text)
    }

    /// The placements, wherever they are stored.
    #[must_use]
    pub fn placements<S: Stored<Placement>>(records: &'a [S]) -> Self {
        Self::Placements(records.iter().map(|record| record as _).collect())
    }

    /// The degrees, wherever they are stored.
    #[must_use]
    pub fn degrees<S: Stored<Degree>>(records: &'a [S]) -> Self {
        Self::Degrees(records.iter().map(|record| record as _).collect())
    }

    /// The value, or another in place of null.
    #[must_use]
    pub fn or_else(self, other: impl FnOnce() -> Self) -> Self {
        if self == Self::Null { other() } else { self }
    }

    /// The text of a text value.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }
}

/// A Rust type that a field may have.
pub trait Typed: Sized + Clone + PartialEq {
    /// The kind of a field of this type.
    const KIND: Kind;
    /// How the field is shown when it holds nothing.
    const ABSENT: Value<'static> = Value::Null;

    /// The value as it is shown.
    fn view(&self) -> Value<'_>;

    /// The value of which this is the view, or `None` when it is no view of such a value.
    fn of_view(value: Value<'_>) -> Option<Self>;

    /// The value that a client meant, or `None` when the input does not fit the kind.
    fn read(_: Input<'_>) -> Option<Self> {
        None
    }

    /// The value with surrounding white space removed and inner runs made one space.
    #[must_use]
    fn tidied(self) -> Self {
        self
    }
}

impl Typed for Text {
    const KIND: Kind = Kind::Text;

    fn view(&self) -> Value<'_> {
        Value::text(self)
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Text(text) = value { Some(text.into_owned()) } else { None }
    }

    fn read(input: Input<'_>) -> Option<Self> {
        match input {
            Input::Text(text) => Some(text.into_owned()),
            Input::Integer(number) => Some(number.to_string()),
            Input::Texts(_) => None,
        }
    }

    fn tidied(self) -> Self {
        let mut words = self.split_whitespace();
        let mut tidy = String::with_capacity(self.len());
        tidy.extend(words.next());
        for word in words {
            tidy.push(' ');
            tidy.push_str(word);
        }
        tidy
    }
}

impl Typed for Integer {
    const KIND: Kind = Kind::Integer;

    fn view(&self) -> Value<'_> {
        Value::Integer(*self)
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Integer(number) = value { Some(number) } else { None }
    }
}

impl Typed for Flag {
    const KIND: Kind = Kind::Flag;
    const ABSENT: Value<'static> = Value::Flag(false);

    fn view(&self) -> Value<'_> {
        Value::Flag(*self)
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Flag(flag) = value { Some(flag) } else { None }
    }
}

impl Typed for Date {
    const KIND: Kind = Kind::Date;

    fn view(&self) -> Value<'_> {
        Value::Date(*self)
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Date(day) = value { Some(day) } else { None }
    }

    fn read(input: Input<'_>) -> Option<Self> {
        if let Input::Text(text) = input { date(&text) } else { None }
    }
}

impl Typed for Moment {
    const KIND: Kind = Kind::Moment;

    fn view(&self) -> Value<'_> {
        Value::Moment(*self)
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Moment(moment) = value { Some(moment) } else { None }
    }
}

impl Typed for Year {
    const KIND: Kind = Kind::Year;

    fn view(&self) -> Value<'_> {
        Value::Integer(self.0)
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Integer(year) = value { Some(Self(year)) } else { None }
    }

    fn read(input: Input<'_>) -> Option<Self> {
        match input {
            Input::Integer(number) => i64::try_from(number).ok().map(Self),
            Input::Text(text) if text.len() == 4 && text.bytes().all(|b| b.is_ascii_digit()) => {
                text.parse().ok().map(Self)
            }
            Input::Text(text) => date(&text).map(|day| Self(i64::from(chrono::Datelike::year(&day)))),
            Input::Texts(_) => None,
        }
    }
}

impl Typed for Texts {
    const KIND: Kind = Kind::Texts;
    const ABSENT: Value<'static> = Value::Texts(Vec::new());

    fn view(&self) -> Value<'_> {
        Value::Texts(self.iter().map(|text| Cow::Borrowed(text.as_str())).collect())
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Texts(texts) = value { Some(texts.into_iter().map(Cow::into_owned).collect()) } else { None }
    }

    fn read(input: Input<'_>) -> Option<Self> {
        if let Input::Texts(texts) = input { Some(texts) } else { None }
    }
}

impl Typed for Document {
    const KIND: Kind = Kind::Document;

    fn view(&self) -> Value<'_> {
        Value::Document(Cow::Borrowed(&self.0))
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Document(text) = value { Some(Self(text.into_owned())) } else { None }
    }
}

impl Typed for Uuid {
    const KIND: Kind = Kind::Uuid;

    fn view(&self) -> Value<'_> {
        Value::Uuid(*self)
    }

    fn of_view(value: Value<'_>) -> Option<Self> {
        if let Value::Uuid(uuid) = value { Some(uuid) } else { None }
    }
}

/// The date at the beginning of a text, when it is written as `YYYY-MM-DD` and no calendar has it, such as `2026-02-30`.
#[must_use]
pub fn impossible_date(text: &str) -> Option<&str> {
    let (day, _) = text.split_at_checked(10)?;
    (has_the_form_of_a_date(day) && day.parse::<NaiveDate>().is_err()).then_some(day)
}

fn has_the_form_of_a_date(day: &str) -> bool {
    day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    })
}

/// A date as `YYYY-MM-DD`, or the date of an ISO 8601 date-time as it was written, whatever its
/// offset.
fn date(text: &str) -> Option<NaiveDate> {
    let (day, rest) = text.split_at_checked(10)?;
    if !has_the_form_of_a_date(day) {
        return None;
    }
    let day = day.parse::<NaiveDate>().ok()?;
    let whole = rest.is_empty()
        || DateTime::parse_from_rfc3339(text).is_ok()
        || ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%MZ"]
            .iter()
            .any(|format| NaiveDateTime::parse_from_str(text, format).is_ok());
    whole.then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Input<'_> {
        Input::Text(Cow::Borrowed(text))
    }

    #[test]
    fn a_date_time_is_cut_to_its_date() {
        let day = NaiveDate::from_ymd_opt(2026, 9, 1);
        for written in ["2026-09-01", "2026-09-01T23:59:59.999Z", "2026-09-01T00:30:00+02:00", "2026-09-01T08:00"] {
            assert_eq!(Date::read(text(written)), day, "{written}");
        }
    }

    #[test]
    fn impossible_and_half_written_dates_are_not_read() {
        for written in [
            "2026-13-01",
            "2026-02-30",
            "0000-00-00",
            "2026-9-1",
            "01/09/2026",
            "2026-09-01x",
            "20260901",
            "+2026-09-1",
            "2026-09-01T25:00:00Z",
            "２０２６-０９-０１",
        ] {
            assert_eq!(Date::read(text(written)), None, "{written}");
        }
        assert_eq!(Date::read(Input::Integer(20_260_901)), None);
    }

    #[test]
    fn a_date_that_no_calendar_has_is_told_from_what_is_no_date() {
        for (text, impossible) in [
            ("2026-13-01", Some("2026-13-01")),
            ("2026-02-30T10:00:00Z", Some("2026-02-30")),
            ("2026-02-28", None),
            ("2026-09-01T25:00:00Z", None),
            ("01/09/2026", None),
            ("2026-9-1", None),
        ] {
            assert_eq!(impossible_date(text), impossible, "{text}");
        }
    }

    #[test]
    fn a_whole_number_is_read_as_text_and_cannot_get_leading_zeros_back() {
        assert_eq!(Text::read(Input::Integer(202)), Some("202".to_owned()));
        assert_eq!(Text::read(Input::Integer(1)), Some("1".to_owned()));
    }

    #[test]
    fn a_year_is_read_from_a_number_a_text_and_a_full_date() {
        for input in [Input::Integer(2021), text("2021"), text("2021-07-01"), text("2021-07-01T10:00:00Z")] {
            assert_eq!(Year::read(input), Some(Year(2021)));
        }
        assert_eq!(Year::read(text("twenty")), None);
        assert_eq!(Year::read(text("21")), None);
    }

    #[test]
    fn tidied_text_has_single_inner_spaces_and_none_around() {
        assert_eq!("  Ann \t  Marie\n".to_owned().tidied(), "Ann Marie");
    }
}
