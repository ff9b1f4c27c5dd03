//! Times in the query of a request.

use chrono::{DateTime, NaiveTime, SubsecRound as _, Utc};
use domain::values::iso_8601::{read_date, read_date_time};

/// An ISO 8601 date, which means its beginning, or date-time, which without an offset is one in
/// UTC.
#[must_use]
pub fn timestamp(text: &str) -> Option<DateTime<Utc>> {
    // A plus sign that was not percent-encoded arrives as a space.
    let text = text.trim().replace(' ', "+");
    let timestamp = read_date_time(&text)
        .or_else(|| Some(read_date(&text)?.and_time(NaiveTime::MIN).and_utc()))?;
    // The databases keep four digits of a year.
    (0..=9999)
        .contains(&chrono::Datelike::year(&timestamp))
        .then(|| timestamp.trunc_subsecs(3))
}
