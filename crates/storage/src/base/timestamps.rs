//! Times that the database returns, to compare with the clock of the machine.

use chrono::{DateTime, NaiveDateTime, Utc};
use database::connection::DatabaseConnection;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Timestamptz;

use crate::error::StorageError;
use crate::schema::changes;
use crate::session::Session;

impl Session<'_> {
    /// The time of the last change of any trainee; `None` when the history is empty.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn latest_change(&mut self) -> Result<Option<DateTime<Utc>>, StorageError> {
        // The entry with the highest key is the latest, apart from concurrent transactions.
        let last = changes::table
            .order(changes::id.desc())
            .select(changes::changed_at)
            .first::<NaiveDateTime>(self.connection)
            .optional()?;
        Ok(last.map(|date| date.and_utc()))
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
    #[expect(
        clippy::disallowed_methods,
        reason = "a test compares with the clock of the machine"
    )]
    fn server_time_is_absent_on_sqlite() {
        let server_time = Register::new()
            .read(|session| session.server_time())
            .unwrap();
        match Kind::from_environment() {
            Kind::Sqlite => assert_eq!(server_time, None),
            // The database server of the tests runs on this machine.
            Kind::Postgres => {
                assert!((server_time.unwrap() - Utc::now()).abs() < TimeDelta::hours(1));
            }
        }
    }
}
