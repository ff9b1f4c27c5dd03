//! Checks whether the database answers, over separate connections.
//!
//! The probe uses no queue and no pool, so a busy store is not reported as an unavailable database.
//! The caller decides how long to wait for the result. On PostgreSQL each step has a time limit, so
//! that the next probe can start.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::connection::{
    Access, Connections, DatabaseConnection, PROBE_TIMEOUT, execute_deferred,
};
use diesel::prelude::*;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;

use crate::error::{DatabaseError, StorageError};
use crate::maintenance::environment;
use crate::schema::{
    changes, placement_schools, provider_positions, providers, register_settings, replies, schools,
    tokens, trainees, training_partners,
};
use crate::store::Store;

/// How long a successful write check stays valid.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// A connection of the probe; `None` before the first check and after a failure.
type OwnConnection = Arc<Mutex<Option<DatabaseConnection>>>;

/// Checks whether the database of a store answers. Cheap to clone; all clones share their
/// connections.
#[derive(Clone)]
pub struct Probe {
    store: Store,
    connections: Connections,
    reads: OwnConnection,
    /// A separate connection, since reads may be answered while a commit waits.
    writes: OwnConnection,
    /// When a write was last committed.
    kept: Arc<Mutex<Option<Instant>>>,
    /// The logged fault of the database that still exists.
    logged_fault: Arc<Mutex<Option<Arc<str>>>>,
}

impl Store {
    /// A probe that checks whether the database answers, independently of all jobs.
    pub fn probe(&self) -> Probe {
        Probe::new(self.clone(), self.database.connections().clone())
    }
}

impl Probe {
    /// A probe without connections; each check opens the connection that it needs.
    pub(crate) fn new(store: Store, connections: Connections) -> Self {
        Self {
            store,
            connections,
            reads: OwnConnection::default(),
            writes: OwnConnection::default(),
            kept: Arc::default(),
            logged_fault: Arc::default(),
        }
    }

    /// Reads a row, and checks the tables and columns that requests need. Checks run one after the
    /// other, so a caller that stops waiting leaves at most one thread behind, until the database
    /// or its connection fails.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DatabaseFault`] for up to a minute after a request encountered one;
    /// otherwise the reason why the database does not answer. Must be called within a tokio
    /// runtime.
    pub async fn ask(&self) -> Result<(), StorageError> {
        match self.ask_over(&self.reads, read).await {
            // The server answers, and serves existing connections.
            Err(StorageError::Database(DatabaseError::NoConnectionLeft(_))) => {}
            Err(StorageError::Database(DatabaseError::DatabaseFault(reason))) => {
                let mut logged = self.logged_fault.lock().await;
                let error =
                    StorageError::Database(DatabaseError::DatabaseFault(Arc::clone(&reason)));
                // Each fault is logged once.
                if logged.replace(Arc::clone(&reason)) != Some(reason) {
                    log::error!("{error}");
                }
                return Err(error);
            }
            Err(error) => return Err(error),
            Ok(()) => {
                if self.logged_fault.lock().await.take().is_some() {
                    log::info!("database fault resolved");
                    // Requests have most likely encountered the same fault.
                    self.store.last_fault().forget();
                }
            }
        }
        Ok(self.store.last_fault().require_none()?)
    }

    /// Writes a row of this server and commits it, at most once a second.
    ///
    /// # Errors
    ///
    /// The reason why a write fails. Must be called within a tokio runtime.
    pub async fn ask_to_write(&self) -> Result<(), StorageError> {
        // An earlier write does not count if the file was replaced after it.
        self.connections.require_unchanged_files()?;
        self.ask_to_write_row().await?;
        Ok(self.store.last_fault().require_none()?)
    }

    /// Writes and commits a row, unless the last write is recent. SQLite allows one writer, so the
    /// store writes there.
    async fn ask_to_write_row(&self) -> Result<(), StorageError> {
        let mut kept = self.kept.lock().await;
        if kept.is_some_and(|kept| kept.elapsed() < WRITE_INTERVAL) {
            return Ok(());
        }
        let over_store = || {
            self.store
                .write(|session| environment::record_write_check(session.connection))
        };
        if self.connections.allow_one_writer() {
            over_store().await?;
        } else {
            match self.ask_over(&self.writes, write).await {
                // The server has no free connection, but the store has connections.
                Err(StorageError::Database(DatabaseError::NoConnectionLeft(_))) => {
                    over_store().await?;
                }
                outcome => outcome?,
            }
        }
        *kept = Some(Instant::now());
        Ok(())
    }

    /// Runs a check over the kept connection. Without one, or if it has failed, runs the check over
    /// a new connection. Keeps the connection after a successful check.
    async fn ask_over(
        &self,
        connection: &OwnConnection,
        ask: fn(&mut DatabaseConnection) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut held = Arc::clone(connection).lock_owned().await;
        let connections = self.connections.clone();
        let asking = spawn_blocking(move || {
            connections.require_unchanged_files()?;
            // A failed connection is dropped, and the check is repeated on a new one: the failure
            // may be that of an old connection, from before a restart of the server or to a
            // read-only server.
            if let Some(mut connection) = held.take() {
                connection.set_deadline(Some(Instant::now() + PROBE_TIMEOUT));
                match ask(&mut connection) {
                    Ok(()) => {
                        *held = Some(connection);
                        return Ok(());
                    }
                    // The commit may still be waiting, and so would a second one.
                    Err(error @ StorageError::Database(DatabaseError::OutcomeUnknown(_))) => {
                        return Err(error);
                    }
                    // Another connection would encounter the same fault.
                    Err(error @ StorageError::Database(DatabaseError::DatabaseFault(_))) => {
                        return Err(error);
                    }
                    Err(StorageError::Database(DatabaseError::ReadOnly(_))) => {}
                    Err(_) => connections.invalidate(),
                }
            }
            let mut connection = connections.establish_for_probe()?;
            ask(&mut connection)?;
            *held = Some(connection);
            Ok(())
        });
        asking
            .await
            .unwrap_or(Err(StorageError::Database(DatabaseError::Closed)))
    }
}

/// Checks each table and column that requests read. All queries are sent together.
fn read(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    macro_rules! look_for {
        ($($table:ident),+) => {$(
            let none = $table::table.select($table::all_columns).limit(0);
            execute_deferred!(connection, |inner| none.execute(inner))?;
        )+};
    }
    look_for!(
        tokens,
        schools,
        training_partners,
        trainees,
        placement_schools
    );
    look_for!(
        changes,
        replies,
        provider_positions,
        register_settings,
        providers
    );
    providers::table
        .select(providers::id)
        .first::<i64>(connection)
        .optional()?;
    Ok(())
}

/// Writes a row of this server and commits it.
fn write(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    connection.begin(Access::Write)?;
    environment::record_write_check(connection)?;
    Ok(connection.commit()?)
}

impl fmt::Debug for Probe {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Probe")
    }
}

#[cfg(test)]
mod tests {
    use diesel::connection::SimpleConnection as _;
    use diesel::prelude::*;

    use crate::error::{DatabaseError, StorageError};
    use crate::schema::register_settings;
    use crate::testing::{Register, block_on};

    #[test]
    fn probe_succeeds_while_pool_is_exhausted() {
        let register = Register::new();
        let probe = register.store.probe();
        let taken = register.read(|_| {
            register.read(|_| {
                block_on(probe.ask())?;
                Ok(register.store.stats())
            })
        });
        let stats = taken.unwrap();
        assert_eq!(stats.connections - stats.connections_idle, 2);
        block_on(probe.ask()).unwrap();
    }

    #[test]
    fn missing_table_is_reported_until_restored() {
        let register = Register::with_provider();
        let probe = register.store.probe();
        block_on(probe.ask()).unwrap();
        for (break_it, mend_it, object) in [
            (
                "ALTER TABLE changes RENAME TO elsewhere",
                "ALTER TABLE elsewhere RENAME TO changes",
                "changes",
            ),
            (
                "ALTER TABLE trainees RENAME COLUMN revision TO elsewhere",
                "ALTER TABLE trainees RENAME COLUMN elsewhere TO revision",
                "revision",
            ),
        ] {
            register
                .second_connection()
                .batch_execute(break_it)
                .unwrap();
            let fault = block_on(probe.ask()).unwrap_err();
            assert!(
                matches!(&fault, StorageError::Database(DatabaseError::DatabaseFault(reason)) if reason.contains(object)),
                "{fault:?}"
            );
            register.second_connection().batch_execute(mend_it).unwrap();
            block_on(probe.ask()).unwrap();
        }
    }

    #[test]
    fn probe_reports_fault_of_earlier_job() {
        let register = Register::with_provider();
        let probe = register.store.probe();
        let met = register.store.write(|session| {
            Ok::<_, StorageError>(
                session
                    .connection
                    .batch_execute("DELETE FROM absent_table")?,
            )
        });
        let met = block_on(met);
        assert!(
            matches!(
                met,
                Err(StorageError::Database(DatabaseError::DatabaseFault(_)))
            ),
            "{met:?}"
        );
        for seen in [block_on(probe.ask()), block_on(probe.ask_to_write())] {
            assert!(
                matches!(&seen, Err(StorageError::Database(DatabaseError::DatabaseFault(reason))) if reason.contains("absent_table")),
                "{seen:?}"
            );
        }
    }

    #[test]
    fn write_check_uses_one_row_per_server() {
        let register = Register::new();
        let probe = register.store.probe();
        let commits = || register.store.writer_stats().groups;
        let before = commits();
        block_on(probe.ask_to_write()).unwrap();
        // The second check uses the result of the first.
        block_on(probe.ask_to_write()).unwrap();
        assert!(commits() - before <= 1);
        block_on(register.store.probe().ask_to_write()).unwrap();
        let checks = register_settings::table
            .filter(register_settings::name.like("write_check %"))
            .count();
        assert_eq!(
            checks
                .get_result::<i64>(&mut register.second_connection())
                .unwrap(),
            1
        );
    }
}
