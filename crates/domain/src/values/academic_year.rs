//! Academic years, identified by the calendar year of their start.

use chrono::{Datelike as _, Months, NaiveDate};

/// The first month of an academic year.
const FIRST_MONTH: u32 = 8;

/// Returns the academic year of a day. Year Y runs from 1 August Y to 31 July Y + 1.
#[must_use]
pub fn starting_year(day: NaiveDate) -> i32 {
    if day.month() >= FIRST_MONTH {
        day.year()
    } else {
        day.year() - 1
    }
}

/// Returns the academic year of a training: the year of its start, else the year of the day one
/// month from today.
#[must_use]
pub fn training_year(start: Option<NaiveDate>, today: NaiveDate) -> i32 {
    starting_year(
        start.unwrap_or_else(|| today.checked_add_months(Months::new(1)).unwrap_or(today)),
    )
}

/// Returns the label of an academic year, such as `2026 to 2027`.
#[must_use]
pub fn label(year: i32) -> String {
    format!("{year} to {}", year + 1)
}

/// Returns the same day of an earlier calendar year. 29 February becomes 28 February if that year
/// is not a leap year.
#[must_use]
pub fn years_before(day: NaiveDate, years: u32) -> NaiveDate {
    day.checked_sub_months(Months::new(years * 12))
        .unwrap_or(NaiveDate::MIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn academic_year_begins_on_first_of_august() {
        assert_eq!(starting_year(day("2026-07-31")), 2025);
        assert_eq!(starting_year(day("2026-08-01")), 2026);
        assert_eq!(starting_year(day("2026-12-31")), 2026);
        assert_eq!(starting_year(day("2027-01-01")), 2026);
    }

    #[test]
    fn training_year_without_start_is_next() {
        assert_eq!(training_year(None, day("2026-06-30")), 2025);
        assert_eq!(training_year(None, day("2026-07-01")), 2026);
        assert_eq!(
            training_year(Some(day("2020-09-01")), day("2026-07-01")),
            2020
        );
    }

    #[test]
    fn years_before_leap_day_end_in_february() {
        assert_eq!(years_before(day("2028-02-29"), 16), day("2012-02-29"));
        assert_eq!(years_before(day("2028-02-29"), 10), day("2018-02-28"));
    }
}
