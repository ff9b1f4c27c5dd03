//! Dates that are not written as `YYYY-MM-DD`.

use chrono::{Datelike as _, Days, Months, NaiveDate};

use super::formulas::read_text_formula;
use super::numbers::remove_decimals;
use super::{CellKind, DateOrder, Mangled, ReadColumn, RepairContext};

/// The months in English, which spreadsheets also shorten to three letters or more.
#[rustfmt::skip]
const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
];
/// The minimum length of the name of a month.
const MIN_MONTH_LETTERS: usize = 3;
/// How far ahead of today a date with a year of two digits can be, unless it is a date of birth: 50
/// years.
const TIME_AHEAD: Months = Months::new(50 * 12);
/// The minimum age of a person whose date of birth is recognised without a heading, in years.
const MIN_AGE: i32 = 15;
/// The day numbers of a spreadsheet from 1927 to 2064. Other numbers are not read as dates.
const DAY_NUMBERS: std::ops::RangeInclusive<u64> = 10_000..=60_000;

/// A date and its written form.
#[derive(Debug, Clone, Copy)]
enum WrittenDate {
    YearFirst(NaiveDate),
    /// A day, the name of a month, and a year.
    Named(NaiveDate),
    DayNumber(NaiveDate),
    /// Two numbers and a year, read as day and month and as month and day. At least one of the two
    /// dates exists.
    Numeric {
        day_first: Option<NaiveDate>,
        month_first: Option<NaiveDate>,
    },
}

/// How the dates of a file are read.
pub(super) struct FileDates {
    today: NaiveDate,
    order: FileOrder,
}

/// The order of day and month in the dates of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileOrder {
    Known(DateOrder),
    /// Some dates exist only in one order, and some only in the other.
    Mixed,
    /// All dates exist in both orders, and are different days.
    Undecided,
}

/// Decides the order of day and month for a file, unless the person has chosen it: a date that does
/// not exist in one order proves the other one, for all columns.
pub(super) fn decide_order(columns: &[ReadColumn<'_>], context: &RepairContext) -> FileDates {
    let mut has_day_first = false;
    let mut has_month_first = false;
    let mut has_undecided = false;
    for column in columns {
        if !matches!(column.kind, CellKind::Date | CellKind::BirthDate) {
            continue;
        }
        for (_, text) in &column.cells {
            let shown = read_text_formula(text);
            match read_date(shown.as_deref().unwrap_or(text), column.kind, context.today) {
                Some(WrittenDate::Numeric {
                    day_first: Some(day_first),
                    month_first: Some(month_first),
                }) => has_undecided |= day_first != month_first,
                Some(WrittenDate::Numeric { day_first, .. }) => {
                    has_day_first |= day_first.is_some();
                    has_month_first |= day_first.is_none();
                }
                Some(
                    WrittenDate::YearFirst(_) | WrittenDate::Named(_) | WrittenDate::DayNumber(_),
                )
                | None => {}
            }
        }
    }
    let found = match (has_day_first, has_month_first) {
        (true, true) => FileOrder::Mixed,
        (false, true) => FileOrder::Known(DateOrder::MonthFirst),
        (true, false) => FileOrder::Known(DateOrder::DayFirst),
        (false, false) if has_undecided => FileOrder::Undecided,
        (false, false) => FileOrder::Known(DateOrder::DayFirst),
    };
    FileDates {
        today: context.today,
        order: context.date_order.map_or(found, FileOrder::Known),
    }
}

impl FileDates {
    /// Returns the repair of a date; `None` if it is written as `YYYY-MM-DD` or cannot be read.
    pub(super) fn repair(&self, text: &str, kind: CellKind) -> Option<(Mangled, String)> {
        let Some(read) = read_date(text, kind, self.today) else {
            return self.write_impossible(text);
        };
        let (kind, date) = match read {
            WrittenDate::YearFirst(date) => (Mangled::YearFirst, date),
            WrittenDate::Named(date) => (Mangled::MonthNames, date),
            WrittenDate::DayNumber(date) => (Mangled::DayNumbers, date),
            WrittenDate::Numeric {
                day_first,
                month_first,
            } => match self.order {
                FileOrder::Mixed | FileOrder::Undecided if day_first == month_first => {
                    (Mangled::DayFirst, day_first?)
                }
                FileOrder::Known(DateOrder::DayFirst) => (Mangled::DayFirst, day_first?),
                FileOrder::Known(DateOrder::MonthFirst) => (Mangled::MonthFirst, month_first?),
                FileOrder::Mixed => {
                    return Some((Mangled::MixedDates, join_dates(day_first, month_first)));
                }
                FileOrder::Undecided => {
                    return Some((Mangled::UndecidedDates, join_dates(day_first, month_first)));
                }
            },
        };
        let restored = date.to_string();
        (restored != text).then_some((kind, restored))
    }

    /// Writes a date that is in no calendar, such as 31/02/2001, as `YYYY-MM-DD`: the register then
    /// says that there is no such day, and not that it cannot read the date.
    fn write_impossible(&self, text: &str) -> Option<(Mangled, String)> {
        let FileOrder::Known(order) = self.order else {
            return None;
        };
        let [first, second, year] = split_date(text)[..] else {
            return None;
        };
        let (first, second) = (number(first)?, number(second)?);
        let (kind, day, month) = match order {
            DateOrder::DayFirst => (Mangled::DayFirst, first, second),
            DateOrder::MonthFirst => (Mangled::MonthFirst, second, first),
        };
        let WrittenYear::Whole(year) = WrittenYear::read(year)? else {
            return None;
        };
        let is_written_well = (1..=31).contains(&day) && (1..=12).contains(&month);
        is_written_well.then(|| (kind, format!("{year}-{month:02}-{day:02}")))
    }

    /// Returns the year of a date or of a number with decimals. `None` for a year of four digits, for
    /// a date as `YYYY-MM-DD`, which the register reads, and for other texts.
    pub(super) fn repair_year(&self, text: &str) -> Option<(Mangled, String)> {
        if let Some(year) = remove_decimals(text).filter(|year| year.len() == 4) {
            return Some((Mangled::DatesOfYears, year.to_owned()));
        }
        let date = match read_date(text, CellKind::BirthDate, self.today)? {
            WrittenDate::YearFirst(date) if date.to_string() == text => return None,
            WrittenDate::YearFirst(date)
            | WrittenDate::Named(date)
            | WrittenDate::DayNumber(date) => date,
            WrittenDate::Numeric {
                day_first,
                month_first,
            } => day_first.or(month_first)?,
        };
        Some((Mangled::DatesOfYears, date.year().to_string()))
    }
}

/// Whether a text can be the date of birth of a trainee.
pub(crate) fn is_birth_date(text: &str, today: NaiveDate) -> bool {
    let is_past = |date: NaiveDate| date.year() <= today.year() - MIN_AGE;
    match read_date(text, CellKind::BirthDate, today) {
        Some(WrittenDate::YearFirst(date) | WrittenDate::Named(date)) => is_past(date),
        Some(WrittenDate::Numeric {
            day_first,
            month_first,
        }) => day_first.or(month_first).is_some_and(is_past),
        // Most numbers are not dates.
        Some(WrittenDate::DayNumber(_)) | None => false,
    }
}

/// The one or two dates that a text can mean.
fn join_dates(day_first: Option<NaiveDate>, month_first: Option<NaiveDate>) -> String {
    let dates: Vec<_> = [day_first, month_first]
        .into_iter()
        .flatten()
        .map(|date| date.to_string())
        .collect();
    dates.join(" or ")
}

/// Reads a date in one of the forms that spreadsheets write; `None` for other texts.
fn read_date(text: &str, kind: CellKind, today: NaiveDate) -> Option<WrittenDate> {
    let text = remove_midnight(text);
    if let Ok(number) = remove_decimals(text).unwrap_or(text).parse() {
        return read_day_number(number).map(WrittenDate::DayNumber);
    }
    let [first, second, third] = split_date(text)[..] else {
        return None;
    };
    if first.len() == 4 && read_month(first).is_none() {
        let date = NaiveDate::from_ymd_opt(first.parse().ok()?, number(second)?, number(third)?);
        return date.map(WrittenDate::YearFirst);
    }
    let year = WrittenYear::read(third)?;
    let date = |month, day| year.date(month, day, kind, today);
    if let Some(month) = read_month(second) {
        return date(month, number(first)?).map(WrittenDate::Named);
    }
    if let Some(month) = read_month(first) {
        return date(month, number(second)?).map(WrittenDate::Named);
    }
    let (first, second) = (number(first)?, number(second)?);
    let day_first = date(second, first);
    let month_first = date(first, second);
    (day_first.is_some() || month_first.is_some()).then_some(WrittenDate::Numeric {
        day_first,
        month_first,
    })
}

/// The parts of a written date.
fn split_date(text: &str) -> Vec<&str> {
    text.split(['/', '-', '.', ' ', ','])
        .filter(|part| !part.is_empty())
        .collect()
}

/// Removes the time from a date if it is midnight, because some programs add it to days.
fn remove_midnight(text: &str) -> &str {
    let Some((date, time)) = text.split_once([' ', 'T']) else {
        return text;
    };
    let time = time.trim_end_matches('Z');
    let is_zero = |character| matches!(character, '0' | ':' | '.');
    let is_midnight = time.contains(':') && time.chars().all(is_zero);
    if is_midnight { date } else { text }
}

/// The date of a day number of a spreadsheet; `None` outside [`DAY_NUMBERS`].
fn read_day_number(number: u64) -> Option<NaiveDate> {
    // Day 0 of spreadsheets.
    let zero = NaiveDate::from_ymd_opt(1899, 12, 30)?;
    let is_date = DAY_NUMBERS.contains(&number);
    is_date.then(|| zero.checked_add_days(Days::new(number)))?
}

/// A number of one or two digits.
fn number(text: &str) -> Option<u32> {
    let is_number = text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().ok())?
}

/// A year as it is written.
#[derive(Debug, Clone, Copy)]
enum WrittenYear {
    Whole(i32),
    /// The last two digits.
    TwoDigits(i32),
}

impl WrittenYear {
    fn read(text: &str) -> Option<Self> {
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let year = text.parse().ok().filter(|_| is_digits)?;
        match text.len() {
            4 => Some(Self::Whole(year)),
            2 => Some(Self::TwoDigits(year)),
            _ => None,
        }
    }

    /// The date in this year; `None` if it does not exist.
    fn date(self, month: u32, day: u32, kind: CellKind, today: NaiveDate) -> Option<NaiveDate> {
        let digits = match self {
            Self::Whole(year) => return NaiveDate::from_ymd_opt(year, month, day),
            Self::TwoDigits(digits) => digits,
        };
        let latest = match kind {
            CellKind::BirthDate => today,
            CellKind::Date
            | CellKind::Year
            | CellKind::Text
            | CellKind::Code
            | CellKind::Digits(_) => today.checked_add_months(TIME_AHEAD)?,
        };
        let year = latest.year() - (latest.year() - digits).rem_euclid(100);
        let date = NaiveDate::from_ymd_opt(year, month, day);
        if date.is_some_and(|date| date > latest) {
            return NaiveDate::from_ymd_opt(year - 100, month, day);
        }
        date
    }
}

/// The number of a month by its name, which may be shortened.
fn read_month(text: &str) -> Option<u32> {
    let name = text.to_ascii_lowercase();
    let place = MONTHS
        .iter()
        .position(|month| name.len() >= MIN_MONTH_LETTERS && month.starts_with(&name))?;
    u32::try_from(place + 1).ok()
}
