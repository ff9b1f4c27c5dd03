//! Times that the database returns, to compare with the clock of the machine.

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::{DatabaseConnection, with_inner};
use database::writer::{WriteScope, WriteStart};
use diesel::dsl::{max, sql};
use diesel::prelude::*;
use diesel::sql_types::Timestamptz;

use crate::error::{DatabaseError, StorageError};
use crate::schema::changes;
use crate::session::Session;

impl Session<'_> {
    /// The time of the last change of any trainee; `None` when the history is empty.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn latest_change(&mut self) -> Result<Option<DateTime<Utc>>, StorageError> {
        Ok(latest_change(self.connection)?)
    }

    /// The time of the database server; `None` on SQLite, which uses the clock of this machine.
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

/// The first query of each transaction that writes: on SQLite, the date of the last change, which
/// another process may have made.
pub(crate) fn start_writing(
    connection: &mut DatabaseConnection,
    _: WriteScope,
) -> Result<WriteStart, DatabaseError> {
    let last_change = match connection {
        DatabaseConnection::Postgres(_) => None,
        DatabaseConnection::Sqlite(_) => latest_change(connection)?,
    };
    Ok(WriteStart {
        now: None,
        last_change,
    })
}

/// The time of the last change of any trainee; `None` when the history is empty.
fn latest_change(
    connection: &mut DatabaseConnection,
) -> Result<Option<DateTime<Utc>>, DatabaseError> {
    // The entry with the highest key is the latest, apart from concurrent transactions. Two
    // look-ups by key are fast, which matters because each group of writes on SQLite needs them.
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
    fn latest_change_of_empty_register_is_none() {
        assert_eq!(
            Register::with_provider()
                .read(|session| session.latest_change())
                .unwrap(),
            None
        );
    }

    #[test]
    fn server_time_is_absent_on_sqlite() {
        let server_time = Register::new()
            .read(|session| session.server_time())
            .unwrap();
        match Kind::from_environment() {
            Kind::Sqlite => assert_eq!(server_time, None),
            // The database server of the tests runs on this machine.
            Kind::Postgres => {
                assert!((server_time.unwrap() - Utc::now()).abs() < TimeDelta::hours(1))
            }
        }
    }
}
