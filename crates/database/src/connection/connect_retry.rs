//! Retries connecting while a PostgreSQL server has no free connection. Other servers of the
//! register close connections that they do not use.

use std::thread;
use std::time::{Duration, Instant};

use super::database_connection::DatabaseConnection;
use crate::error::DatabaseError;

/// The pause between two attempts.
const NO_CONNECTION_PAUSE: Duration = Duration::from_millis(500);

/// Calls `establish` until it returns something other than [`DatabaseError::NoConnectionLeft`], or
/// until `patience` has passed.
#[expect(
    clippy::disallowed_methods,
    reason = "a connection is opened on the thread of its job"
)]
pub(super) fn connect_with_retry(
    patience: Duration,
    mut establish: impl FnMut() -> Result<DatabaseConnection, DatabaseError>,
) -> Result<DatabaseConnection, DatabaseError> {
    let deadline = Instant::now() + patience;
    let mut is_logged = false;
    loop {
        match establish() {
            Err(error @ DatabaseError::NoConnectionLeft(_)) if Instant::now() < deadline => {
                if !is_logged {
                    log::warn!(
                        "{}; retrying for up to {} s",
                        error.with_causes(),
                        patience.as_secs()
                    );
                }
                is_logged = true;
                thread::sleep(NO_CONNECTION_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use diesel::{Connection as _, ConnectionError, SqliteConnection};

    use super::*;

    #[test]
    fn connecting_retries_while_server_has_no_free_connection() {
        let mut refusals = 2;
        let made = connect_with_retry(Duration::from_mins(1), || {
            refusals -= 1;
            if refusals >= 0 {
                return Err(DatabaseError::NoConnectionLeft(
                    ConnectionError::BadConnection("53300".into()),
                ));
            }
            SqliteConnection::establish(":memory:")
                .map(DatabaseConnection::Sqlite)
                .map_err(DatabaseError::Connection)
        });
        assert!(made.is_ok() && refusals == -1);
    }

    #[test]
    fn connecting_does_not_retry_after_deadline_or_other_errors() {
        for (patience, no_connection_left) in
            [(Duration::ZERO, true), (Duration::from_mins(1), false)]
        {
            let mut attempts = 0;
            let made = connect_with_retry(patience, || {
                attempts += 1;
                let cause = ConnectionError::BadConnection(String::new());
                let error = if no_connection_left {
                    DatabaseError::NoConnectionLeft
                } else {
                    DatabaseError::Connection
                };
                Err(error(cause))
            });
            assert!(made.is_err() && attempts == 1);
        }
    }
}
