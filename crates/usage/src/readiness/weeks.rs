//! How the share of writes moved that the newest version would accept, week by week.

use std::collections::BTreeMap;

use adapter_kit::Label;
use chrono::{Datelike as _, NaiveDate, TimeDelta};
use serde::Serialize;
use storage::error::StorageError;
use storage::observations::usage::CheckDay;
use storage::session::{ProviderSession, Session};

use super::Writes;
use crate::report::day;

/// The weeks that are looked at, of which the present one is the last.
pub const WEEKS: u8 = 12;

/// The accepted writes of one week that were tried in the newest version.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ReadinessWeek {
    /// The Monday with which the week begins, in UTC.
    #[serde(serialize_with = "day")]
    pub monday: NaiveDate,
    /// Those that were tried.
    #[serde(flatten)]
    pub writes: Writes,
}

impl ReadinessWeek {
    /// The weeks in which the provider of the session sent writes to a version that were tried in
    /// the newest one, oldest first.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn load_own(
        session: &mut ProviderSession<'_>,
        version: Label,
        newest: Label,
    ) -> Result<Vec<Self>, StorageError> {
        let since = first_monday(session.today());
        Ok(by_week(session.own_checks_by_day(
            since,
            &version.to_string(),
            &newest.to_string(),
        )?))
    }

    /// The same of the tokens that the condition picks.
    pub(super) fn load_for_tokens(
        session: &mut Session<'_>,
        version: &str,
        newest: &str,
        is_asked_for: impl Fn(i64) -> bool,
    ) -> Result<Vec<Self>, StorageError> {
        let since = first_monday(session.today());
        let mut days = session.checks_by_day(since, version, newest)?;
        days.retain(|day| is_asked_for(day.token_id));
        Ok(by_week(days))
    }
}

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

/// The Monday with which the first of the weeks begins.
fn first_monday(today: NaiveDate) -> NaiveDate {
    monday(today) - TimeDelta::weeks(i64::from(WEEKS) - 1)
}

/// The Monday of the week of a day.
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
    fn days_of_one_week_are_added_from_monday_to_sunday() {
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
    fn the_present_week_is_the_last_one() {
        assert_eq!(first_monday(date("2026-03-08")), date("2025-12-15"));
        assert_eq!(first_monday(date("2026-03-09")), date("2025-12-22"));
    }
}
