//! Asks whether the database answers, by a connection of its own.
//!
//! It stands in no queue and takes nothing from the pool, so a store that is busy is not taken for one whose database is
//! away. How long somebody waits for the answer is for the caller to say.

use std::fmt;
use std::sync::Arc;

use diesel::prelude::*;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::connection::{Connections, DatabaseConnection};
use crate::error::StorageError;
use crate::schema::providers;

/// Asks the database of a store whether it answers. Cheap to clone; all clones share one connection.
#[derive(Clone)]
pub struct Probe {
    connections: Connections,
    /// Nothing until it is first asked, and after a failure.
    connection: Arc<Mutex<Option<DatabaseConnection>>>,
}

impl Probe {
    pub(crate) fn over(connections: Connections) -> Self {
        Self { connections, connection: Arc::default() }
    }

    /// Asks the database for a row. Questions are asked one after the other, so whoever gives up waiting leaves one thread
    /// behind at most, until the database or its connection has failed.
    ///
    /// # Errors
    ///
    /// Why the database does not answer. Must be called within a tokio runtime.
    pub async fn ask(&self) -> Result<(), StorageError> {
        let mut held = Arc::clone(&self.connection).lock_owned().await;
        let connections = self.connections.clone();
        let asking = spawn_blocking(move || {
            // One that fails is not used again. It may be older than the present life of the database, so its failure says
            // nothing yet.
            if let Some(mut connection) = held.take()
                && ask_over(&mut connection).is_ok()
            {
                *held = Some(connection);
                return Ok(());
            }
            let mut connection = connections.establish()?;
            ask_over(&mut connection)?;
            *held = Some(connection);
            Ok(())
        });
        asking.await.unwrap_or(Err(StorageError::Closed))
    }
}

fn ask_over(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    providers::table.select(providers::id).first::<i64>(connection).optional()?;
    Ok(())
}

impl fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Probe")
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{Register, block_on};

    #[test]
    fn a_database_answers_also_while_every_connection_of_the_pool_is_taken() {
        let register = Register::new();
        let probe = register.store.probe();
        let taken = register.read(|_| {
            register.read(|_| {
                block_on(probe.ask())?;
                Ok(register.store.stats())
            })
        });
        let stats = taken.unwrap();
        assert_eq!((stats.connections, stats.connections_idle, stats.connections_limit), (2, 0, 2));
        block_on(probe.ask()).unwrap();
    }
}
