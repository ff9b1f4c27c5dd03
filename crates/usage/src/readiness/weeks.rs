//! The weekly share of writes that the newest version would accept.

use std::collections::BTreeMap;

use adapter_kit::Label;
use chrono::{Datelike as _, NaiveDate, TimeDelta};
use serde::Serialize;
use storage::error::StorageError;
use storage::observations::usage::CheckDay;
use storage::session::{ProviderSession, Session};

use super::Writes;
use crate::report::day;

/// The number of weeks in a report, including the current one.
pub const WEEKS: u8 = 12;

/// The accepted writes of one week that were checked against the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReadinessWeek {
    /// The Monday of the week, in UTC.
    #[serde(serialize_with = "day")]
    pub monday: NaiveDate,
    /// The checked writes.
    #[serde(flatten)]
    pub writes: Writes,
}

impl ReadinessWeek {
    /// Loads the weeks with writes of the session's provider to `version` that were checked against
    /// the rules of `newest_version`, oldest first.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub fn load_own(
        session: &mut ProviderSession<'_>,
        version: Label,
        newest_version: Label,
    ) -> Result<Vec<Self>, StorageError> {
        let first_reported_monday = first_monday(session.today());
        Ok(by_week(session.own_checks_by_day(
            first_reported_monday,
            &version.to_string(),
            &newest_version.to_string(),
        )?))
    }

    /// Loads the weeks with checked writes of the tokens that `is_asked_for` selects by their
    /// number.
    pub(super) fn load_for_tokens(
        session: &mut Session<'_>,
        version: &str,
        newest_version: &str,
        is_asked_for: impl Fn(i64) -> bool,
    ) -> Result<Vec<Self>, StorageError> {
        let first_reported_monday = first_monday(session.today());
        let mut days = session.checks_by_day(first_reported_monday, version, newest_version)?;
        days.retain(|day| is_asked_for(day.token_id));
        Ok(by_week(days))
    }
}

/// Sums the checked writes of each week, oldest first.
fn by_week(days: Vec<CheckDay>) -> Vec<ReadinessWeek> {
    let mut weeks: BTreeMap<NaiveDate, (i64, i64)> = BTreeMap::new();
    for CheckDay {
        day,
        checked,
        valid,
        ..
    } in days
    {
        let week = weeks.entry(monday(day)).or_default();
        *week = (week.0 + checked, week.1 + valid);
    }
    let week = |(monday, (checked, valid))| ReadinessWeek {
        monday,
        writes: Writes::new(checked, valid),
    };
    weeks.into_iter().map(week).collect()
}

/// The Monday of the first week of a report that ends today.
fn first_monday(today: NaiveDate) -> NaiveDate {
    monday(today) - TimeDelta::weeks(i64::from(WEEKS) - 1)
}

/// The Monday of the week that contains the day.
fn monday(day: NaiveDate) -> NaiveDate {
    day - TimeDelta::days(i64::from(day.weekday().num_days_from_monday()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> NaiveDate {
        text.parse().unwrap()
    }

    #[test]
    fn days_of_week_are_summed_from_monday_to_sunday() {
        let day = |day, token_id, checked, valid| CheckDay {
            day: date(day),
            token_id,
            checked,
            valid,
        };
        let days = vec![
            day("2026-03-01", 1, 10, 10), // a Sunday
            day("2026-03-02", 1, 40, 10),
            day("2026-03-02", 2, 40, 40),
            day("2026-03-08", 1, 20, 20),
        ];
        let week = |monday, checked, valid| (date(monday), checked, valid);
        let found: Vec<_> = by_week(days)
            .iter()
            .map(|week| (week.monday, week.writes.checked, week.writes.valid))
            .collect();
        assert_eq!(
            found,
            [week("2026-02-23", 10, 10), week("2026-03-02", 100, 70)]
        );
    }

    #[test]
    fn current_week_is_last_one() {
        assert_eq!(first_monday(date("2026-03-08")), date("2025-12-15"));
        assert_eq!(first_monday(date("2026-03-09")), date("2025-12-22"));
    }
}
