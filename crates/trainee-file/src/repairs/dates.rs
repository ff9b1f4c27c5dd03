//! Dates that are not written as `YYYY-MM-DD`.

use chrono::{Days, NaiveDate};

use super::{Found, Mangled};

/// The months in English, which spreadsheets also shorten to three letters or more.
#[rustfmt::skip]
const MONTHS: [&str; 12] = [
    "january", "february", "march", "april", "may", "june", "july", "august", "september",
    "october", "november", "december",
];
/// The minimum length of the name of a month.
const MIN_MONTH_LETTERS: usize = 3;
/// Years of two digits from this one on belong to the 20th century, like in spreadsheets.
const FIRST_YEAR_OF_1900S: i32 = 30;
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

/// Finds dates that are not written as `YYYY-MM-DD`. Of two numbers the first is the day, unless
/// some dates of the column are only possible with the month first.
pub(super) fn find(cells: &[(usize, &str)], found: &mut Found) {
    let mut numeric = Vec::new();
    for (row, text) in cells {
        let (kind, date) = match read_date(text) {
            None => continue,
            Some(WrittenDate::YearFirst(date)) => (Mangled::YearFirst, date),
            Some(WrittenDate::Named(date)) => (Mangled::DayFirst, date),
            Some(WrittenDate::DayNumber(date)) => (Mangled::DayNumbers, date),
            Some(WrittenDate::Numeric {
                day_first,
                month_first,
            }) => {
                numeric.push((*row, day_first, month_first));
                continue;
            }
        };
        let restored = date.to_string();
        if restored != *text {
            found.entry(kind).or_default().push((*row, restored));
        }
    }
    if numeric.is_empty() {
        return;
    }
    // A date that does not exist in one order proves the other order.
    let has_day_first = numeric
        .iter()
        .any(|(_, _, month_first)| month_first.is_none());
    let has_month_first = numeric.iter().any(|(_, day_first, _)| day_first.is_none());
    let kind = match (has_day_first, has_month_first) {
        (_, false) => Mangled::DayFirst,
        (false, true) => Mangled::MonthFirst,
        (true, true) => Mangled::MixedDates,
    };
    let cells = found.entry(kind).or_default();
    for (row, day_first, month_first) in numeric {
        let date = if kind == Mangled::MonthFirst {
            month_first
        } else {
            day_first
        };
        let restored = date.filter(|_| kind.can_be_restored());
        cells.push((
            row,
            restored.map(|date| date.to_string()).unwrap_or_default(),
        ));
    }
    cells.sort();
}

/// Reads a date in one of the forms that spreadsheets write; `None` for other texts.
fn read_date(text: &str) -> Option<WrittenDate> {
    let text = remove_midnight(text);
    if let Ok(number) = text.parse() {
        return read_day_number(number).map(WrittenDate::DayNumber);
    }
    let parts: Vec<&str> = text
        .split(['/', '-', '.', ' ', ','])
        .filter(|part| !part.is_empty())
        .collect();
    let [first, second, third] = parts[..] else {
        return None;
    };
    if first.len() == 4 && read_month(first).is_none() {
        let date = NaiveDate::from_ymd_opt(first.parse().ok()?, number(second)?, number(third)?);
        return date.map(WrittenDate::YearFirst);
    }
    let year = read_year(third)?;
    if let Some(month) = read_month(second) {
        let date = NaiveDate::from_ymd_opt(year, month, number(first)?);
        return date.map(WrittenDate::Named);
    }
    if let Some(month) = read_month(first) {
        let date = NaiveDate::from_ymd_opt(year, month, number(second)?);
        return date.map(WrittenDate::Named);
    }
    let (first, second) = (number(first)?, number(second)?);
    let day_first = NaiveDate::from_ymd_opt(year, second, first);
    let month_first = NaiveDate::from_ymd_opt(year, first, second);
    (day_first.is_some() || month_first.is_some()).then_some(WrittenDate::Numeric {
        day_first,
        month_first,
    })
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

/// A year of four or of two digits.
fn read_year(text: &str) -> Option<i32> {
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let year: i32 = text.parse().ok().filter(|_| is_digits)?;
    match text.len() {
        4 => Some(year),
        2 if year < FIRST_YEAR_OF_1900S => Some(2000 + year),
        2 => Some(1900 + year),
        _ => None,
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
