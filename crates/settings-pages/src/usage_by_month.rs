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

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MonthTotal {
    /// The first day of the month.
    pub(crate) month: NaiveDate,
    pub(crate) version: String,
    pub(crate) endpoint: String,
    pub(crate) requests: i64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UsageByMonth {
    /// First days, oldest first, including months without a request.
    pub(crate) months: Vec<NaiveDate>,
    /// Sorted by month, age of the version, and endpoint.
    pub(crate) totals: Vec<MonthTotal>,
}

impl UsageByMonth {
    pub(crate) fn load_own(
        session: &mut ProviderSession<'_>,
        months: u8,
    ) -> Result<Self, StorageError> {
        let months = list_last_months(session.today(), months);
        let mut sums: BTreeMap<_, i64> = BTreeMap::new();
        if let Some(first) = months.first() {
            session.own_totals_since(*first, |total| {
                if total.kind == TotalKind::Request {
                    let month = find_first_of_month(total.day);
                    *sums
                        .entry((month, total.version, total.endpoint))
                        .or_default() += total.requests;
                }
            })?;
        }
        let totals = sums.into_iter();
        let totals = totals.map(|((month, version, endpoint), requests)| MonthTotal {
            month,
            version,
            endpoint,
            requests,
        });
        Ok(Self::new(months, totals.collect()))
    }

    #[must_use]
    pub(crate) fn new(months: Vec<NaiveDate>, mut totals: Vec<MonthTotal>) -> Self {
        totals.sort_by_cached_key(|total| {
            (
                total.month,
                parse_label(&total.version),
                total.version.clone(),
                total.endpoint.clone(),
            )
        });
        Self { months, totals }
    }

    /// Lists the versions, oldest first.
    #[must_use]
    pub(crate) fn list_versions(&self) -> Vec<&str> {
        let mut versions: Vec<&str> = self
            .totals
            .iter()
            .map(|total| total.version.as_str())
            .collect();
        versions.sort_by_key(|version| (parse_label(version), *version));
        versions.dedup();
        versions
    }

    #[must_use]
    pub(crate) fn sum_by_version(&self) -> BTreeMap<(NaiveDate, &str), i64> {
        let mut sums = BTreeMap::new();
        for total in &self.totals {
            *sums
                .entry((total.month, total.version.as_str()))
                .or_default() += total.requests;
        }
        sums
    }

    /// Writes one line for each month, version and endpoint.
    pub(crate) fn write_csv(&self) -> io::Result<String> {
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
                format_month(*month).as_str(),
                version,
                endpoint,
                &requests.to_string(),
            ])?;
        }
        String::from_utf8(file.into_inner().map_err(|error| error.into_error())?)
            .map_err(io::Error::other)
    }
}

/// Formats a month, such as `2026-10`.
#[must_use]
pub(crate) fn format_month(month: NaiveDate) -> String {
    month.format("%Y-%m").to_string()
}

fn parse_label(version: &str) -> Option<Label> {
    // As texts, v10.0 would come before v2.0.
    version.parse().ok()
}

fn find_first_of_month(day: NaiveDate) -> NaiveDate {
    day.with_day(1).unwrap_or(day)
}

/// Lists the first days of the last months, including the current one, oldest first.
fn list_last_months(today: NaiveDate, months: u8) -> Vec<NaiveDate> {
    let this = find_first_of_month(today);
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
        let months = list_last_months(day("2026-01-31"), 3);
        assert_eq!(
            months,
            [day("2025-11-01"), day("2025-12-01"), day("2026-01-01")]
        );
    }
}
