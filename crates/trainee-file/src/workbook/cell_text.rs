//! The texts of cells by their types, which do not depend on the formats of cells.

use calamine::ExcelDateTime;

/// The first whole number with more digits than a spreadsheet keeps.
const FIRST_LONG_NUMBER: f64 = 1e15;
/// The first day number that spreadsheets do not show: 10000-01-01, in the system of 1900.
const FIRST_LATE_DAY: f64 = 2_958_466.0;
/// What a spreadsheet shows for a date that it cannot show.
const NO_DATE: &str = "####";

/// Returns the text of a number, without decimals if it is whole, and with the 15 digits that a
/// spreadsheet keeps. `None` for a number with more digits before the decimal point.
pub(super) fn number_text(number: f64) -> Option<String> {
    if !number.is_finite() || number.abs() >= FIRST_LONG_NUMBER {
        return None;
    }
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    // The sum has no negative zero.
    Some((rounded + 0.0).to_string())
}

/// Returns a date as `YYYY-MM-DD`, with its time unless it is midnight, or a time alone.
pub(super) fn date_text(date: &ExcelDateTime) -> String {
    let days = date.as_f64();
    if !(0.0..FIRST_LATE_DAY).contains(&days) {
        return NO_DATE.to_owned();
    }
    let (year, month, day, hour, minute, second, _) = date.to_ymd_hms_milli();
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    if days > 0.0 && days < 1.0 {
        return time;
    }
    iso_date_text(&format!("{year:04}-{month:02}-{day:02}T{time}")).to_owned()
}

/// Returns an ISO date without its time if it is midnight.
pub(super) fn iso_date_text(text: &str) -> &str {
    match text.split_once('T') {
        Some((date, time))
            if time
                .chars()
                .all(|sign| matches!(sign, '0' | ':' | '.' | 'Z')) =>
        {
            date
        }
        _ => text,
    }
}
