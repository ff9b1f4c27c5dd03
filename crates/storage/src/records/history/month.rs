//! A month of the calendar, in UTC.

use std::fmt;
use std::str::FromStr;

use chrono::{Datelike as _, Months, NaiveDate, NaiveDateTime};

/// A month of the calendar, in UTC. Later months compare as greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Month {
    first_day: NaiveDate,
}

/// The text is not a month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a month has the form YYYY-MM")]
pub struct NoMonth;

/// The requested month is not over. Contains the latest permitted month.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0} is not over, and is the latest month that can be given")]
pub struct MonthNotOver(pub(super) Month);

impl Month {
    /// The month of a day.
    #[must_use]
    pub fn from_day(day: NaiveDate) -> Self {
        Self {
            first_day: day.with_day(1).unwrap_or(day),
        }
    }

    /// The first day of the month.
    #[must_use]
    pub fn first_day(self) -> NaiveDate {
        self.first_day
    }

    /// The first instant of the month.
    pub(crate) fn begin(self) -> NaiveDateTime {
        self.first_day.into()
    }

    /// The following month.
    #[must_use]
    pub fn next(self) -> Self {
        self.later(1)
    }

    /// The month `months` months later, or the last month of the calendar.
    #[must_use]
    pub fn later(self, months: u32) -> Self {
        Self {
            first_day: self
                .first_day
                .checked_add_months(Months::new(months))
                .unwrap_or(NaiveDate::MAX),
        }
    }
}

impl fmt::Display for Month {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first_day.format("%Y-%m").fmt(formatter)
    }
}

impl FromStr for Month {
    type Err = NoMonth;

    fn from_str(text: &str) -> Result<Self, NoMonth> {
        let day = format!("{text}-01")
            .parse::<NaiveDate>()
            .map_err(|_| NoMonth)?;
        let month = Self::from_day(day);
        // The parser of days also accepts other forms, such as `2026-1`.
        if month.to_string() == text {
            Ok(month)
        } else {
            Err(NoMonth)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn month_round_trips_through_its_text() {
        for text in ["2026-01", "1999-12"] {
            assert_eq!(text.parse::<Month>().unwrap().to_string(), text);
        }
        for text in ["2026", "2026-1", "2026-13", "2026-01-01", " 2026-01", ""] {
            assert_eq!(text.parse::<Month>(), Err(NoMonth), "{text}");
        }
    }

    #[test]
    fn next_month_of_december_is_january() {
        let december: Month = "2026-12".parse().unwrap();
        assert_eq!(december.next().to_string(), "2027-01");
        assert!(december < december.next());
    }
}
