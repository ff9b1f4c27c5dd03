//! Dates and timestamps in the database. SQLite has them as text: what each request reads and
//! writes is read and written here without a format that must be interpreted.

use chrono::{NaiveDate, NaiveDateTime, Timelike as _};
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types;
use diesel::sqlite::{Sqlite, SqliteValue};
use domain::values::iso_8601::{self, write_date, write_milliseconds, write_time};

use crate::calendar_day;

/// Nanoseconds of a millisecond.
const MILLISECOND: u32 = 1_000_000;
/// Nanoseconds of a second. What has more is a leap second.
const SECOND: u32 = 1_000 * MILLISECOND;

/// On PostgreSQL a value is what chrono's is, which has no format to interpret there.
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

/// A day, which the databases have as a date.
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

/// A timestamp in UTC, which the databases have without its time zone.
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
    /// As diesel writes one, since texts are compared: without a fraction where it is zero.
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
    fn a_day_is_in_the_database_what_a_date_is() {
        let database = Database::fresh();
        let mut connection = Connections::from_url(database.url())
            .unwrap()
            .establish()
            .unwrap();
        for text in ["0001-01-01", "2024-02-29", "2026-12-31", "9999-12-31"] {
            let date: NaiveDate = text.parse().unwrap();
            let (of_day, of_date) = (
                Day(date).into_sql::<sql_types::Date>(),
                date.into_sql::<sql_types::Date>(),
            );
            let query = select((of_day.eq(of_date), of_day, of_date.cast::<Text>()));
            let found = with_inner!(&mut connection, |inner| query
                .get_result::<(bool, Day, String)>(inner));
            assert_eq!(found.unwrap(), (true, Day(date), text.to_owned()));
        }
    }

    #[test]
    fn a_timestamp_is_in_the_database_what_diesel_makes_of_it() {
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
            let ours = Timestamp(timestamp).into_sql::<sql_types::Timestamp>();
            let of_diesel = timestamp.into_sql::<sql_types::Timestamp>();
            let query = select((ours.eq(of_diesel), ours));
            let found = with_inner!(&mut connection, |inner| query
                .get_result::<(bool, Timestamp)>(inner));
            assert_eq!(found.unwrap(), (true, Timestamp(timestamp)), "{text}");
        }
    }

    #[test]
    fn what_is_no_day_is_an_error() {
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
        #[expect(dead_code, reason = "it is not read to the end")]
        day: Day,
    }
}
