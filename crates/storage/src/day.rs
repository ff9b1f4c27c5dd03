//! A day in the database. Each request compares and reads those of its token, which SQLite has as text: that is read and
//! written here without a format that must be interpreted.

use chrono::NaiveDate;
use diesel::deserialize::{self, FromSql, FromSqlRow};
use diesel::expression::AsExpression;
use diesel::pg::{Pg, PgValue};
use diesel::serialize::{self, IsNull, Output, ToSql};
use diesel::sql_types::Date;
use diesel::sqlite::{Sqlite, SqliteValue};

use crate::document::calendar_day;

/// A day, which the databases have as a date.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, AsExpression, FromSqlRow)]
#[diesel(sql_type = Date)]
pub(crate) struct Day(pub(crate) NaiveDate);

impl FromSql<Date, Pg> for Day {
    fn from_sql(value: PgValue<'_>) -> deserialize::Result<Self> {
        <NaiveDate as FromSql<Date, Pg>>::from_sql(value).map(Self)
    }
}

impl ToSql<Date, Pg> for Day {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Pg>) -> serialize::Result {
        <NaiveDate as ToSql<Date, Pg>>::to_sql(&self.0, &mut out.reborrow())
    }
}

impl FromSql<Date, Sqlite> for Day {
    fn from_sql(mut value: SqliteValue<'_, '_, '_>) -> deserialize::Result<Self> {
        let text = value.read_text();
        let day = calendar_day(text.as_bytes()).ok_or_else(|| format!("{text:?} is no day"))?;
        Ok(Self(day))
    }
}

impl ToSql<Date, Sqlite> for Day {
    fn to_sql<'b>(&'b self, out: &mut Output<'b, '_, Sqlite>) -> serialize::Result {
        out.set_value(self.0.to_string());
        Ok(IsNull::No)
    }
}

#[cfg(test)]
mod tests {
    use diesel::dsl::select;
    use diesel::prelude::*;
    use diesel::sql_types::Text;

    use super::*;
    use crate::connection::with_inner;
    use crate::testing::Register;

    #[test]
    fn a_day_is_in_the_database_what_a_date_is() {
        let register = Register::new();
        let mut connection = register.second_connection();
        for text in ["0001-01-01", "2024-02-29", "2026-12-31", "9999-12-31"] {
            let date: NaiveDate = text.parse().unwrap();
            let (of_day, of_date) = (Day(date).into_sql::<Date>(), date.into_sql::<Date>());
            let query = select((of_day.eq(of_date), of_day, of_date.cast::<Text>()));
            let found = with_inner!(&mut connection, |inner| query.get_result::<(bool, Day, String)>(inner));
            assert_eq!(found.unwrap(), (true, Day(date), text.to_owned()));
        }
    }

    #[test]
    fn what_is_no_day_is_an_error() {
        let register = Register::on_sqlite();
        let mut connection = register.second_connection();
        for text in ["2026-02-30", "2026-2-3", "today", ""] {
            let query = diesel::sql_query(format!("SELECT '{text}' AS day"));
            let read = with_inner!(&mut connection, |inner| query.get_result::<Row>(inner));
            assert!(matches!(read, Err(diesel::result::Error::DeserializationError(_))), "{text}");
        }
    }

    #[derive(Debug, QueryableByName)]
    struct Row {
        #[diesel(sql_type = Date)]
        #[expect(dead_code, reason = "it is not read to the end")]
        day: Day,
    }
}
