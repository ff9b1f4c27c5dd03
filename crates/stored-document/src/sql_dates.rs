//! Dates and timestamps in the database. SQLite stores text. Every request reads and writes dates,
//! so this module does not interpret format strings.

use chrono::{NaiveDate, NaiveDateTime, Timelike as _};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types;
use diesel::sqlite::{Sqlite, SqliteValue};
use domain::values::iso_8601::{self, write_date, write_milliseconds, write_time};

use crate::calendar_day;

/// A millisecond, in nanoseconds.
const MILLISECOND: u32 = 1_000_000;
/// A second, in nanoseconds. chrono represents leap seconds as more nanoseconds.
const SECOND: u32 = 1_000 * MILLISECOND;

/// Delegates to the conversions of chrono's type in PostgreSQL, where values are binary.
macro_rules! as_in_postgres {
    ($outer:ident, $inner:ty, $sql:ty) => {
        impl FromSql<$sql, Pg> for $outer {
            fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
                <$inner as FromSql<$sql, Pg>>::from_sql(value).map(Self)
            }
        }

        impl ToSql<$sql, Pg> for $outer {
            fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
                <$inner as ToSql<$sql, Pg>>::to_sql(&self.0, &mut out.reborrow())
            }
        }
    };
}

/// A day, stored as a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = sql_types::Date)]
pub struct Day(pub NaiveDate);

as_in_postgres!(Day, NaiveDate, sql_types::Date);

impl FromSql<sql_types::Date, Sqlite> for Day {
    fn from_sql(mut value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        let text = value.read_text();
        let day = calendar_day(text.as_bytes()).ok_or_else(|| format!("{text:?} is no day"))?;
        Ok(Self(day))
    }
}

impl ToSql<sql_types::Date, Sqlite> for Day {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(iso_8601::date(self.0));
        Ok(IsNull::No)
    }
}

/// A timestamp in UTC, stored without a time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = sql_types::Timestamp)]
pub struct Timestamp(pub NaiveDateTime);

as_in_postgres!(Timestamp, NaiveDateTime, sql_types::Timestamp);

impl FromSql<sql_types::Timestamp, Sqlite> for Timestamp {
    fn from_sql(value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        <NaiveDateTime as FromSql<sql_types::Timestamp, Sqlite>>::from_sql(value).map(Self)
    }
}

impl ToSql<sql_types::Timestamp, Sqlite> for Timestamp {
    /// Writes the same text as diesel, because SQLite compares texts: no fraction if it is zero.
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        let time = self.0.time();
        let nanoseconds = time.nanosecond();
        if !nanoseconds.is_multiple_of(MILLISECOND) || nanoseconds >= SECOND {
            return <NaiveDateTime as ToSql<sql_types::Timestamp, Sqlite>>::to_sql(&self.0, out);
        }
        out.set_value(iso_8601::string(|out| {
            write_date(out, self.0.date());
            out.push(b' ');
            write_time(out, time);
            if nanoseconds != 0 {
                write_milliseconds(out, time);
            }
        }));
        Ok(IsNull::No)
    }
}

#[cfg(test)]
mod tests {
    use database::connection::{Connections, with_inner};
    use diesel::dsl::select;
    use diesel::prelude::*;
    use diesel::sql_types::Text;
    use test_support::{Database, Kind};

    use super::*;

    #[test]
    fn stored_day_equals_stored_date() {
        let database = Database::fresh();
        let mut connection = Connections::from_url(database.url())
            .unwrap()
            .establish()
            .unwrap();
        for text in ["0001-01-01", "2024-02-29", "2026-12-31", "9999-12-31"] {
            let date: NaiveDate = text.parse().unwrap();
            let day = Day(date).into_sql::<sql_types::Date>();
            let chrono_date = date.into_sql::<sql_types::Date>();
            let query = select((day.eq(chrono_date), day, chrono_date.cast::<Text>()));
            let found = with_inner!(&mut connection, |inner| query
                .get_result::<(bool, Day, String)>(inner));
            assert_eq!(found.unwrap(), (true, Day(date), text.to_owned()));
        }
    }

    #[test]
    fn stored_timestamp_equals_that_of_diesel() {
        let database = Database::fresh();
        let mut connection = Connections::from_url(database.url())
            .unwrap()
            .establish()
            .unwrap();
        for text in [
            "0001-01-01T00:00:00",
            "2024-02-29T08:05:09.050",
            "2026-12-31T23:59:59.999",
            "2026-12-31T23:59:59.000001",
            "9999-12-31T12:00:00",
        ] {
            let timestamp: NaiveDateTime = text.parse().unwrap();
            let own = Timestamp(timestamp).into_sql::<sql_types::Timestamp>();
            let diesels = timestamp.into_sql::<sql_types::Timestamp>();
            let query = select((own.eq(diesels), own));
            let found = with_inner!(&mut connection, |inner| query
                .get_result::<(bool, Timestamp)>(inner));
            assert_eq!(found.unwrap(), (true, Timestamp(timestamp)), "{text}");
        }
    }

    #[test]
    fn malformed_day_is_an_error() {
        let database = Database::fresh_on(Kind::Sqlite);
        let mut connection = Connections::from_url(database.url())
            .unwrap()
            .establish()
            .unwrap();
        for text in ["2026-02-30", "2026-2-3", "today", ""] {
            let query = diesel::sql_query(format!("SELECT '{text}' AS day"));
            let read = with_inner!(&mut connection, |inner| query.get_result::<Row>(inner));
            assert!(
                matches!(read, Err(diesel::result::Error::DeserializationError(_))),
                "{text}"
            );
        }
    }

    #[derive(Debug, QueryableByName)]
    struct Row {
        #[diesel(sql_type = sql_types::Date)]
        #[expect(dead_code, reason = "the test expects an error")]
        day: Day,
    }
}
