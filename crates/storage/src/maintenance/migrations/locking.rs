//! The lock that serialises changes of the schema, and how long a process waits for it.
//!
//! The lock is on the table of applied migrations, in a mode that allows reading it and adding
//! rows. A migration that waits for a lock makes later writers wait behind it; so it waits briefly,
//! everything is rolled back, and tried again later.

use std::time::{Duration, Instant};
use std::{fmt, thread};

use database::catalog;
use database::connection::{Access, DatabaseConnection};
use diesel::connection::SimpleConnection as _;
use diesel::migration::MigrationConnection as _;

use super::{MIGRATIONS_TABLE, Migrations, Migrator};
use crate::error::{DatabaseError, StorageError};

/// How long is waited for what others hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct RetryPolicy {
    /// In all.
    pub(super) total: Duration,
    /// For one lock, on PostgreSQL. Writes of others may have to wait for so long.
    pub(super) lock: Duration,
    /// The pause between attempts, for other writers.
    pub(super) pause: Duration,
    /// From one line of the log to the next.
    pub(super) report: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            total: Duration::from_secs(600),
            lock: Duration::from_secs(1),
            pause: Duration::from_secs(4),
            report: Duration::from_secs(30),
        }
    }
}

/// The pause before the next attempt while another process changes the schema. No writer waits
/// behind that attempt.
const SCHEMA_LOCK_PAUSE: Duration = Duration::from_millis(100);

/// What an attempt failed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocker {
    /// The schema is being changed.
    AnotherChange,
    /// Something else holds what the work needs.
    Transaction,
}

impl fmt::Display for Blocker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AnotherChange => "another program is changing the schema of the database",
            Self::Transaction => "a migration waits for a transaction of another program to end",
        })
    }
}

impl RetryPolicy {
    /// Retries until no lock prevents it, or until the timeout.
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
            if !matches!(
                outcome,
                Err(StorageError::Database(DatabaseError::Busy)
                    | StorageError::Database(DatabaseError::Collided))
            ) || waited >= self.total
            {
                return outcome;
            }
            if reported.is_none_or(|reported| reported.elapsed() >= self.report) {
                reported = Some(Instant::now());
                let (waited, total) = (waited.as_secs(), self.total.as_secs());
                log::warn!("{blocker}: waiting, {waited} s so far and {total} s at most");
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
    /// Looks at the database without a lock. A table that a migration alters cannot be read until
    /// it has ended, so this may have to wait too.
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

    /// Does work on the schema in one transaction, which is the only one of its kind. The work may
    /// be done again from its beginning.
    ///
    /// On SQLite a table is rebuilt by dropping it, and while foreign keys are enforced, dropping a
    /// table first deletes its rows, and with them all rows that refer to them by `ON DELETE
    /// CASCADE`. So foreign keys are not enforced during the migration, which can be set only
    /// outside a transaction; they are checked at the end instead.
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
            // What cannot be rolled back is not committed either, and the connection is not used
            // again.
            let _ = connection.roll_back();
            Err(error)
        }
    }
}

/// Locks the schema against other changes until the transaction ends. Each wait for a lock is
/// short.
fn lock(connection: &mut DatabaseConnection, lock_timeout: Duration) -> Result<(), StorageError> {
    let is_new = !catalog::tables(connection)?
        .iter()
        .any(|table| table == MIGRATIONS_TABLE);
    match connection {
        DatabaseConnection::Postgres(inner) => {
            // A migration may take longer than a request, and is not idle while another connection
            // does the work.
            inner.batch_execute(&format!(
                "SET LOCAL lock_timeout = {}; SET LOCAL statement_timeout = 0;
                 SET LOCAL idle_in_transaction_session_timeout = 0",
                lock_timeout.as_millis()
            ))?;
            if is_new && let Err(error) = inner.setup() {
                let error = StorageError::from(error);
                // Another process has just created the table.
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
        // Its transactions that write come one after the other.
        DatabaseConnection::Sqlite(inner) => {
            if is_new {
                inner.setup()?;
            }
        }
    }
    Ok(())
}

/// Says whether SQLite enforces foreign keys; PostgreSQL always does, and alters tables in place.
fn enforce_foreign_keys(
    connection: &mut DatabaseConnection,
    switch: &str,
) -> Result<(), StorageError> {
    let DatabaseConnection::Sqlite(inner) = connection else {
        return Ok(());
    };
    Ok(inner.batch_execute(&format!("PRAGMA foreign_keys = {switch}"))?)
}
