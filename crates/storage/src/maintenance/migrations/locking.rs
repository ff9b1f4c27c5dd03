//! The lock that serialises schema changes, and the time limits for waiting.
//!
//! The lock is on the table of applied migrations, in a mode that allows reading and inserting
//! rows. Later writers queue behind a migration that waits for a lock. Each wait is therefore
//! short: after a lock timeout everything is rolled back, and the migration is tried again after a
//! pause.

use std::time::{Duration, Instant};
use std::{fmt, thread};

use database::catalog;
use database::connection::{Access, DatabaseConnection};
use diesel::connection::SimpleConnection as _;
use diesel::migration::MigrationConnection as _;

use super::{MIGRATIONS_TABLE, Migrations, Migrator};
use crate::error::{DatabaseError, StorageError};

/// Time limits for waiting for locks of other processes.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    /// The total time.
    pub(super) total: Duration,
    /// The time for one lock, on PostgreSQL. Other writers may have to wait this long.
    pub(super) lock: Duration,
    /// The pause between attempts, during which other writers proceed.
    pub(super) pause: Duration,
    /// The interval between log lines.
    pub(super) report: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            total: Duration::from_mins(10),
            lock: Duration::from_secs(1),
            pause: Duration::from_secs(4),
            report: Duration::from_secs(30),
        }
    }
}

/// The pause before the next attempt while another process changes the schema. No writer queues
/// behind such an attempt.
const SCHEMA_LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The cause of a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocker {
    /// Another process is changing the schema.
    AnotherChange,
    /// Another transaction holds a lock that the migration needs.
    Transaction,
}

impl fmt::Display for Blocker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AnotherChange => "another program is changing the database schema",
            Self::Transaction => "migration is blocked by another program's transaction",
        })
    }
}

impl RetryPolicy {
    /// Retries `attempt` while a lock prevents it, up to the total time. `attempt` sets its
    /// argument to the cause of a failure, for the log and the length of the pause.
    #[expect(
        clippy::disallowed_methods,
        reason = "a migration waits on its own thread"
    )]
    fn retry<T>(
        self,
        mut attempt: impl FnMut(&mut Blocker) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let begun = Instant::now();
        let mut reported: Option<Instant> = None;
        loop {
            let mut blocker = Blocker::AnotherChange;
            let outcome = attempt(&mut blocker);
            let waited = begun.elapsed();
            let is_blocked = matches!(
                outcome,
                Err(StorageError::Database(DatabaseError::Busy)
                    | StorageError::Database(DatabaseError::Collided))
            );
            if !is_blocked || waited >= self.total {
                return outcome;
            }
            if reported.is_none_or(|reported| reported.elapsed() >= self.report) {
                reported = Some(Instant::now());
                log::warn!(
                    "{blocker}; waited {} s of up to {} s",
                    waited.as_secs(),
                    self.total.as_secs()
                );
            }
            thread::sleep(if blocker == Blocker::AnotherChange {
                SCHEMA_LOCK_PAUSE
            } else {
                self.pause
            });
        }
    }
}

impl Migrator<'_> {
    /// Reads the database without the lock. Retries, because a table cannot be read while a
    /// migration alters it.
    pub(super) fn retry_read<T>(
        &mut self,
        mut read: impl FnMut(&mut DatabaseConnection, &Migrations) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let Self {
            connection,
            migrations,
            policy,
            ..
        } = self;
        policy.retry(|_| read(connection, migrations))
    }

    /// Runs `work` on the schema in one transaction, while no other process changes the schema.
    /// `work` may run more than once.
    ///
    /// Foreign keys are not enforced during the transaction on SQLite. A migration rebuilds a table
    /// by dropping it, and with enforced foreign keys that would first delete its rows and, by `ON
    /// DELETE CASCADE`, all rows that refer to them. The setting can be changed only outside a
    /// transaction. The references are checked at the end instead.
    pub(super) fn with_schema_lock<T>(
        &mut self,
        mut work: impl FnMut(&mut DatabaseConnection, &Migrations) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        let Self {
            connection,
            migrations,
            policy,
            ..
        } = self;
        policy.retry(|blocker| {
            enforce_foreign_keys(connection, "OFF")?;
            let outcome = run_in_transaction(connection, policy.lock, blocker, |connection| {
                work(connection, migrations)
            });
            let enforced = enforce_foreign_keys(connection, "ON");
            let answer = outcome?;
            enforced.map(|()| answer)
        })
    }
}

/// Locks the schema and runs `work` in one transaction. Sets `blocker` to what prevents the attempt
/// if it fails now.
fn run_in_transaction<T>(
    connection: &mut DatabaseConnection,
    lock_timeout: Duration,
    blocker: &mut Blocker,
    work: impl FnOnce(&mut DatabaseConnection) -> Result<T, StorageError>,
) -> Result<T, StorageError> {
    connection.begin(Access::Write)?;
    let outcome = lock(connection, lock_timeout).and_then(|()| {
        *blocker = Blocker::Transaction;
        work(connection)
    });
    match outcome {
        Ok(answer) => {
            connection.commit()?;
            Ok(answer)
        }
        Err(error) => {
            // A failed rollback needs no handling: nothing is committed, and the connection is not
            // used again.
            let _ = connection.roll_back();
            Err(error)
        }
    }
}

/// Locks the schema against other changes until the transaction ends, and limits each wait for a
/// lock.
fn lock(connection: &mut DatabaseConnection, lock_timeout: Duration) -> Result<(), StorageError> {
    let is_new = !catalog::tables(connection)?
        .iter()
        .any(|table| table == MIGRATIONS_TABLE);
    match connection {
        DatabaseConnection::Postgres(inner) => {
            // A migration may take longer than a request, and this transaction may be idle while
            // another connection runs a migration.
            inner.batch_execute(&format!(
                "SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = 0;
                 SET LOCAL idle_in_transaction_session_timeout = 0",
                lock_timeout.as_millis()
            ))?;
            if is_new && let Err(error) = inner.setup() {
                let error = StorageError::from(error);
                // Another process has created the table at the same time.
                return Err(if error.is_unique_violation() {
                    StorageError::Database(DatabaseError::Busy)
                } else {
                    error
                });
            }
            inner.batch_execute(&format!(
                "LOCK TABLE {MIGRATIONS_TABLE} IN SHARE UPDATE EXCLUSIVE MODE"
            ))?;
        }
        // On SQLite, writing transactions are sequential.
        DatabaseConnection::Sqlite(inner) => {
            if is_new {
                inner.setup()?;
            }
        }
    }
    Ok(())
}

/// Switches the enforcement of foreign keys on SQLite. Does nothing on PostgreSQL, which alters
/// tables in place.
fn enforce_foreign_keys(
    connection: &mut DatabaseConnection,
    switch: &str,
) -> Result<(), StorageError> {
    let DatabaseConnection::Sqlite(inner) = connection else {
        return Ok(());
    };
    Ok(inner.batch_execute(&format!("PRAGMA foreign_keys = {switch}"))?)
}
