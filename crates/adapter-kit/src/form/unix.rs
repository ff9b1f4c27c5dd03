//! Dates and times as seconds since 1970.

use domain::{Kind, Value};
use serde_json::{Value as Json, json};

use super::{Form, FormField, Reads, Sample, plain};

const SECONDS_OF_A_DAY: i64 = 24 * 60 * 60;

/// A date or a time as the number of seconds since 1970-01-01T00:00:00Z. A date is written as its
/// midnight in UTC. Milliseconds of times are cut off.
pub const UNIX_SECONDS: UnixSeconds = UnixSeconds(());

/// See [`UNIX_SECONDS`].
#[derive(Debug, Clone, Copy)]
pub struct UnixSeconds(());

impl Form for UnixSeconds {
    fn says(&self) -> String {
        "as seconds since 1970".to_owned()
    }

    fn expected(&self) -> String {
        "a whole number of seconds since 1970; for a date, of its midnight in UTC".to_owned()
    }

    fn schema(&self, field: &FormField) -> Json {
        if field.kind == Kind::Date {
            json!({ "type": "integer", "multipleOf": SECONDS_OF_A_DAY })
        } else {
            json!({ "type": "integer" })
        }
    }

    fn write(&self, value: &Value<'_>, _: &FormField) -> Json {
        if let Value::Timestamp(timestamp) = value {
            return timestamp.timestamp().into();
        }
        if let Value::Date(date) = value {
            let midnight = date.and_time(chrono::NaiveTime::MIN).and_utc();
            return midnight.timestamp().into();
        }
        plain(value)
    }

    fn read(&self, written: &Json, field: &FormField) -> Option<Value<'static>> {
        let seconds = written.as_i64()?;
        if field.kind == Kind::Date && seconds % SECONDS_OF_A_DAY != 0 {
            return None;
        }
        let time = chrono::DateTime::from_timestamp(seconds, 0)?;
        Some(if field.kind == Kind::Date {
            Value::Date(time.date_naive())
        } else {
            Value::Timestamp(time)
        })
    }

    fn samples(&self, field: &FormField) -> Vec<Sample> {
        let seconds = 20_000 * SECONDS_OF_A_DAY;
        let canonical = self.read(&seconds.into(), field).unwrap_or(Value::Null);
        vec![Sample::new(canonical, seconds)]
    }

    fn reads(&self, field: &FormField) -> Reads {
        if field.kind == Kind::Date {
            Reads::All
        } else {
            Reads::WithLoss("Milliseconds are cut off.")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::form::tests::field_of;

    #[test]
    fn date_is_its_midnight_in_utc() {
        let field = field_of(Kind::Date);
        let date = chrono::NaiveDate::from_ymd_opt(2026, 9, 1).unwrap();
        assert_eq!(
            UNIX_SECONDS.write(&Value::Date(date), &field),
            json!(1_788_220_800)
        );
        for refused in [json!(1_788_220_801), json!("2026-09-01"), json!(1.5)] {
            assert_eq!(UNIX_SECONDS.read(&refused, &field), None, "{refused}");
        }
    }
}
