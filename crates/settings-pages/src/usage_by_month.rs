//! The monthly requests of a provider by version and endpoint, for a CSV file and for the chart. The
//! page and the command show the same.

use std::collections::BTreeMap;
use std::io;

use adapter_kit::Label;
use chrono::{Datelike as _, Months, NaiveDate};
use storage::error::StorageError;
use storage::observations::totals::TotalKind;
use storage::session::ProviderSession;

pub(crate) mod chart;

const HEADINGS: [&str; 4] = ["month", "version", "endpoint", "requests"];

/// Requests of one month.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MonthTotal {
    /// The first day of the month.
    pub(crate) month: NaiveDate,
    /// The label of the version.
    pub(crate) version: String,
    /// The endpoint.
    pub(crate) endpoint: String,
    /// The number of requests.
    pub(crate) requests: i64,
}

/// The requests of several months.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageByMonth {
    /// The first days of the months, oldest first, including months without a request.
    pub(crate) months: Vec<NaiveDate>,
    /// The requests, sorted by month, age of the version, and endpoint.
    pub(crate) totals: Vec<MonthTotal>,
}

impl UsageByMonth {
    /// Loads the requests of the session's provider in the given number of months, including the
    /// current one.
    ///
    /// # Errors
    ///
    /// When the database fails.
    pub(crate) fn load_own(
        session: &mut ProviderSession<'_>,
        months: u8,
    ) -> Result<Self, StorageError> {
        let months = last_months(session.today(), months);
        let mut sums: BTreeMap<_, i64> = BTreeMap::new();
        if let Some(first) = months.first() {
            session.own_totals_since(*first, |total| {
                if total.kind == TotalKind::Request {
                    let month = first_of_month(total.day);
                    *sums
                        .entry((month, total.version, total.endpoint))
                        .or_default() += total.requests;
                }
            })?;
        }
        let total = |((month, version, endpoint), requests)| MonthTotal {
            month,
            version,
            endpoint,
            requests,
        };
        Ok(Self::new(months, sums.into_iter().map(total).collect()))
    }

    /// Creates a report from the requests of these months.
    #[must_use]
    pub(crate) fn new(months: Vec<NaiveDate>, mut totals: Vec<MonthTotal>) -> Self {
        totals.sort_by_cached_key(|total| {
            (
                total.month,
                age(&total.version),
                total.version.clone(),
                total.endpoint.clone(),
            )
        });
        Self { months, totals }
    }

    /// The versions, oldest first.
    #[must_use]
    pub(crate) fn versions(&self) -> Vec<&str> {
        let mut versions: Vec<&str> = self
            .totals
            .iter()
            .map(|total| total.version.as_str())
            .collect();
        versions.sort_by_key(|version| (age(version), *version));
        versions.dedup();
        versions
    }

    /// The requests of each version in each month, summed over all endpoints.
    #[must_use]
    pub(crate) fn by_version(&self) -> BTreeMap<(NaiveDate, &str), i64> {
        let mut sums = BTreeMap::new();
        for total in &self.totals {
            *sums
                .entry((total.month, total.version.as_str()))
                .or_default() += total.requests;
        }
        sums
    }

    /// The requests as CSV, one line for each month, version and endpoint.
    ///
    /// # Errors
    ///
    /// When writing a line fails.
    pub(crate) fn csv(&self) -> io::Result<String> {
        let mut file = csv::Writer::from_writer(Vec::new());
        file.write_record(HEADINGS)?;
        for MonthTotal {
            month,
            version,
            endpoint,
            requests,
        } in &self.totals
        {
            file.write_record([
                month_name(*month).as_str(),
                version,
                endpoint,
                &requests.to_string(),
            ])?;
        }
        String::from_utf8(file.into_inner().map_err(|error| error.into_error())?)
            .map_err(io::Error::other)
    }
}

/// A month in the form `2026-10`.
#[must_use]
pub(crate) fn month_name(month: NaiveDate) -> String {
    month.format("%Y-%m").to_string()
}

/// The sort key of a version: its age instead of its text.
fn age(version: &str) -> Option<Label> {
    version.parse().ok()
}

/// The first day of a day's month.
fn first_of_month(day: NaiveDate) -> NaiveDate {
    day.with_day(1).unwrap_or(day)
}

/// The first days of the last `months` months, including the current one, oldest first.
fn last_months(today: NaiveDate, months: u8) -> Vec<NaiveDate> {
    let this = first_of_month(today);
    (0..u32::from(months))
        .rev()
        .filter_map(|ago| this.checked_sub_months(Months::new(ago)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_end_with_current_one_and_begin_on_first_day() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let months = last_months(day("2026-01-31"), 3);
        assert_eq!(
            months,
            [day("2025-11-01"), day("2025-12-01"), day("2026-01-01")]
        );
    }
}
