//! Times in the query of a request.

use chrono::{DateTime, NaiveTime, SubsecRound as _, Utc};
use domain::values::iso_8601::{read_date, read_date_time};

/// Reads an ISO 8601 date or date-time. A date means its beginning, and a date-time without an
/// offset is in UTC. Fractions are cut to milliseconds. `None` for other texts, and for years that
/// the databases cannot keep.
#[must_use]
pub fn timestamp(text: &str) -> Option<DateTime<Utc>> {
    // A plus sign that was not percent-encoded arrives as a space.
    let text = text.trim().replace(' ', "+");
    let begin_of_day = || Some(read_date(&text)?.and_time(NaiveTime::MIN).and_utc());
    let timestamp = read_date_time(&text).or_else(begin_of_day)?;
    // The databases keep four digits of a year.
    (0..=9999)
        .contains(&chrono::Datelike::year(&timestamp))
        .then(|| timestamp.trunc_subsecs(3))
}
