//! Retries to connect while a PostgreSQL server has no free connection. Other servers of the
//! register return theirs when they do not use them.

use std::thread;
use std::time::{Duration, Instant};

use super::database_connection::DatabaseConnection;
use crate::error::DatabaseError;

/// How long to wait before a server that had no connection left is asked again.
const NO_CONNECTION_PAUSE: Duration = Duration::from_millis(500);

/// Tries until the server has a connection left, within a time.
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
    fn a_connection_is_waited_for_while_the_server_has_none_left() {
        let mut refusals = 2;
        let made = connect_with_retry(Duration::from_secs(60), || {
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
    fn nothing_but_a_server_without_a_connection_left_is_waited_for() {
        for (patience, no_connection_left) in
            [(Duration::ZERO, true), (Duration::from_secs(60), false)]
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
