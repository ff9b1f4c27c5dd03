//! A readiness report as text for a terminal.

use askama::Template;
use chrono::NaiveDate;
use domain::values::iso_8601::timestamp;
use storage::observations::totals::KEPT_DAYS;
use usage::readiness::{FEW, Removal, VersionReadiness, Writes};

/// A readiness report as text.
#[derive(Template)]
#[template(path = "version/readiness.txt")]
pub(super) struct ReadinessText<'a> {
    report: &'a VersionReadiness,
    /// The beginning of a sentence about an unused version.
    subject: String,
}

impl<'a> ReadinessText<'a> {
    pub(super) fn new(report: &'a VersionReadiness) -> Self {
        let provider = report.provider.as_ref();
        let subject = provider.map_or("No provider has".to_owned(), |ukprn| {
            format!("Provider {ukprn} has not")
        });
        Self { report, subject }
    }

    /// The first day with counts, if it is after the first day of the report.
    fn late_counts(&self) -> Option<NaiveDate> {
        let since = self.report.since;
        self.report.counted_since.filter(|counted| *counted > since)
    }

    fn is_newest(&self) -> bool {
        self.report.version == self.report.newest
    }

    /// The number of days of the report.
    fn days(&self) -> i64 {
        (self.report.until - self.report.since).num_days() + 1
    }

    fn tokens(&self) -> usize {
        let providers = self.report.providers.iter();
        providers.map(|provider| provider.tokens.len()).sum()
    }

    fn requests(&self) -> i64 {
        let providers = self.report.providers.iter();
        providers.map(|provider| provider.requests).sum()
    }

    /// The results of checked writes.
    fn checked(&self, writes: &Writes) -> String {
        let newest = self.report.newest;
        if writes.percent.is_none() {
            return format!("No write was checked against {newest}.");
        }
        format!("writes checked against {newest}: {}", share(*writes))
    }
}

/// The number of checked writes and the accepted share.
fn share(writes: Writes) -> String {
    let percent = writes.percent.unwrap_or_default();
    let few = if writes.few {
        format!("; unreliable below {FEW} writes")
    } else {
        String::new()
    };
    let Writes { checked, valid, .. } = writes;
    format!("{checked}, accepted: {valid} ({percent} %{few})")
}
