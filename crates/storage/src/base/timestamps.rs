//! What a database can say of the time, to hold the clock of the machine against.

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::{DatabaseConnection, with_inner};
use diesel::dsl::{max, sql};
use diesel::prelude::*;
use diesel::sql_types::Timestamptz;

use crate::error::{DatabaseError, StorageError};
use crate::schema::changes;
use crate::session::Session;

impl Session<'_> {
    /// When a trainee was last changed; `None` when none ever was.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn latest_change(&mut self) -> Result<Option<DateTime<Utc>>, StorageError> {
        Ok(latest_change(self.connection)?)
    }

    /// The time of the database server; `None` where there is none but this machine.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn server_time(&mut self) -> Result<Option<DateTime<Utc>>, StorageError> {
        match self.connection {
            DatabaseConnection::Postgres(inner) => Ok(Some(
                diesel::select(sql::<Timestamptz>("clock_timestamp()")).get_result(inner)?,
            )),
            DatabaseConnection::Sqlite(_) => Ok(None),
        }
    }
}

/// When a trainee was last changed; `None` when none ever was.
pub(crate) fn latest_change(
    connection: &mut DatabaseConnection,
) -> Result<Option<DateTime<Utc>>, DatabaseError> {
    // Entries are written in the order of their keys, except those of transactions that run side by
    // side. Each group of writes on SQLite asks this: two look-ups by key, whose statements stay
    // prepared.
    let last = changes::table.select(max(changes::id));
    let Some(last) = with_inner!(connection, |inner| last.get_result::<Option<i64>>(inner))? else {
        return Ok(None);
    };
    let entry = changes::table.find(last).select(changes::changed_at);
    let changed_at: NaiveDateTime = with_inner!(connection, |inner| entry.get_result(inner))?;
    Ok(Some(changed_at.and_utc()))
}

#[cfg(test)]
mod tests {
    use chrono::{TimeDelta, Utc};
    use test_support::Kind;

    use crate::testing::Register;

    #[test]
    fn an_empty_register_has_no_latest_change() {
        assert_eq!(
            Register::with_provider()
                .read(|session| session.latest_change())
                .unwrap(),
            None
        );
    }

    #[test]
    fn only_a_database_server_has_a_time_of_its_own() {
        let server_time = Register::new()
            .read(|session| session.server_time())
            .unwrap();
        match Kind::from_environment() {
            Kind::Sqlite => assert_eq!(server_time, None),
            // The server of the tests runs on this machine.
            Kind::Postgres => {
                assert!((server_time.unwrap() - Utc::now()).abs() < TimeDelta::hours(1))
            }
        }
    }
}
