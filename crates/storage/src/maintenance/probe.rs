//! Asks whether the database answers, by connections of its own.
//!
//! The probe uses no queue and no pool, so a busy store is not reported as an unavailable database.
//! The caller decides how long to wait for the result. On PostgreSQL each step has its own limit,
//! so that the next probe can start.

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
    changes, idempotency_locks, lock_stripes, placement_schools, providers, register_settings,
    replies, schools, tokens, trainee_change_counts, trainee_counts, trainees, training_partners,
};
use crate::store::Store;

/// How long a write that was kept says that the next one would be.
const WRITE_INTERVAL: Duration = Duration::from_secs(1);

/// A connection of its own; nothing until it is first asked over, and after a failure.
type OwnConnection = Arc<Mutex<Option<DatabaseConnection>>>;

/// Asks the database of a store whether it answers. Cheap to clone; all clones share their
/// connections.
#[derive(Clone)]
pub struct Probe {
    store: Store,
    connections: Connections,
    reads: OwnConnection,
    /// Another one, since a commit may be waited for while reads are answered.
    writes: OwnConnection,
    /// When a write was last kept.
    kept: Arc<Mutex<Option<Instant>>>,
    /// The fault of the database that was logged and is not mended.
    logged_fault: Arc<Mutex<Option<Arc<str>>>>,
}

impl Store {
    /// A probe that checks whether the database answers, independently of all jobs.
    pub fn probe(&self) -> Probe {
        Probe::new(self.clone(), self.database.connections().clone())
    }
}

impl Probe {
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

    /// Asks the database for a row, and for the tables and columns that requests need. Questions
    /// are asked one after the other, so a caller that stops waiting leaves at most one thread
    /// behind, until the database or its connection has failed.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DatabaseFault`] for up to a minute after a request met one; otherwise the reason why the database does not
    /// answer. Must be called within a tokio runtime.
    pub async fn ask(&self) -> Result<(), StorageError> {
        match self.ask_over(&self.reads, read).await {
            // A server that says so answers; those who have a connection are served.
            Err(StorageError::Database(DatabaseError::NoConnectionLeft(_))) => {}
            Err(StorageError::Database(DatabaseError::DatabaseFault(reason))) => {
                let mut logged = self.logged_fault.lock().await;
                let error =
                    StorageError::Database(DatabaseError::DatabaseFault(Arc::clone(&reason)));
                if logged.replace(Arc::clone(&reason)) != Some(reason) {
                    log::error!("{error}");
                }
                return Err(error);
            }
            Err(error) => return Err(error),
            Ok(()) => {
                if self.logged_fault.lock().await.take().is_some() {
                    log::info!("the database has again what the register needs");
                    // What requests have met is most likely the same.
                    self.store.last_fault().forget();
                }
            }
        }
        Ok(self.store.last_fault().require_none()?)
    }

    /// Writes a row that belongs to this server, and commits it; at most once a second.
    ///
    /// # Errors
    ///
    /// Why a write would not be kept. Must be called within a tokio runtime.
    pub async fn ask_to_write(&self) -> Result<(), StorageError> {
        // A write that was kept says nothing of the next one where the file was replaced since.
        self.connections.require_unchanged_files()?;
        self.ask_to_write_row().await?;
        Ok(self.store.last_fault().require_none()?)
    }

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
                // The server has no room for one more, and the store has its own.
                Err(StorageError::Database(DatabaseError::NoConnectionLeft(_))) => {
                    over_store().await?
                }
                outcome => outcome?,
            }
        }
        *kept = Some(Instant::now());
        Ok(())
    }

    /// Asks over the connection that there is, otherwise over a new one.
    async fn ask_over(
        &self,
        connection: &OwnConnection,
        ask: fn(&mut DatabaseConnection) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let mut held = Arc::clone(connection).lock_owned().await;
        let connections = self.connections.clone();
        let asking = spawn_blocking(move || {
            connections.require_unchanged_files()?;
            // One that fails is not used again. It may be older than the present life of the
            // database, so its failure says nothing yet; and one to a read-only server may be older
            // than a server that writes.
            if let Some(mut connection) = held.take() {
                connection.set_deadline(Some(Instant::now() + PROBE_TIMEOUT));
                match ask(&mut connection) {
                    Ok(()) => {
                        *held = Some(connection);
                        return Ok(());
                    }
                    // The commit was begun, and may yet be waited for: a second one would be no
                    // better.
                    Err(error @ StorageError::Database(DatabaseError::OutcomeUnknown(_))) => {
                        return Err(error);
                    }
                    // Another connection meets the same.
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

/// Looks for every table and column that requests read. All but the last query are sent together
/// with it.
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
        placement_schools,
        trainee_counts,
        trainee_change_counts
    );
    look_for!(
        changes,
        replies,
        lock_stripes,
        idempotency_locks,
        register_settings,
        providers
    );
    providers::table
        .select(providers::id)
        .first::<i64>(connection)
        .optional()?;
    Ok(())
}

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
    fn database_answers_while_every_connection_of_the_pool_is_taken() {
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
    fn missing_table_or_column_is_a_fault_that_names_it_until_it_is_there_again() {
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
    fn fault_that_a_job_met_is_seen_by_the_probe() {
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
    fn write_check_is_committed_in_one_row_of_this_server() {
        let register = Register::new();
        let probe = register.store.probe();
        let commits = || register.store.writer_stats().groups;
        let before = commits();
        block_on(probe.ask_to_write()).unwrap();
        // The second one rests on the first.
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
