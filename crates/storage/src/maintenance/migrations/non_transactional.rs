//! Migrations that run outside a transaction on PostgreSQL (`run_in_transaction = false` in their
//! `metadata.toml`), such as building an index of a large table or validating a constraint while
//! other transactions write.
//!
//! Such a migration is one statement that can be run again after an interruption. An interrupted
//! `CREATE INDEX CONCURRENTLY` leaves an invalid index behind. The migration therefore has the name
//! of its index, and an invalid index of that name is dropped first.

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};
use diesel_migrations::MigrationHarness as _;
use postgres_client::PostgresConnection;

use super::locking::RetryPolicy;
use super::{Goal, Migrations, Migrator};
use crate::error::StorageError;
use crate::maintenance::migrations::apply::{applied, kept, known, with_harness};

/// Counts invalid indexes with a name: at most one.
const INVALID_INDEXES_SQL: &str = "SELECT count(*) AS indexes FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid \
     JOIN pg_namespace n ON n.oid = c.relnamespace \
     WHERE NOT i.indisvalid AND n.nspname = current_schema() AND c.relname = $1";

#[derive(QueryableByName)]
struct Indexes {
    #[diesel(sql_type = BigInt)]
    indexes: i64,
}

#[derive(QueryableByName)]
struct Setting {
    #[diesel(sql_type = Text)]
    value: String,
}

impl Migrator<'_> {
    /// Applies the next migration, which runs outside a transaction. Returns its name; `None` if
    /// another process has applied it.
    ///
    /// One connection holds the lock, in a transaction that reads no rows: the migration would wait
    /// for a transaction with a snapshot. The other connection runs the migration.
    pub(super) fn apply_outside(&mut self, goal: Goal<'_>) -> Result<Option<String>, StorageError> {
        let policy = self.policy;
        match self.connections {
            Some(connections) => {
                let mut runner = connections.establish()?;
                self.with_schema_lock(|_, migrations| {
                    apply_next(&mut runner, migrations, goal, policy)
                })
            }
            None => apply_next(self.connection, &self.migrations, goal, policy),
        }
    }
}

/// Applies the next pending migration. Returns its name; `None` if no migration is pending, or if
/// the next one runs in a transaction.
fn apply_next(
    connection: &mut DatabaseConnection,
    migrations: &Migrations,
    goal: Goal<'_>,
    policy: RetryPolicy,
) -> Result<Option<String>, StorageError> {
    let applied = applied(connection)?;
    let DatabaseConnection::Postgres(inner) = connection else {
        // SQLite runs all migrations in a transaction.
        return Ok(None);
    };
    let migrations = known((migrations.postgres)(), &applied)?;
    let kept = kept(&migrations, goal)?;
    let next = migrations
        .iter()
        .take(kept)
        .find(|(_, applied)| !applied)
        .map(|(migration, _)| migration);
    let Some(migration) = next.filter(|migration| !migration.metadata().run_in_transaction())
    else {
        return Ok(None);
    };
    let name = migration.name().to_string();
    log::info!(
        "migration {name} started; it may take long; requests continue; it restarts if interrupted"
    );
    // The migration waits for earlier transactions, but blocks none, so it may wait for the total
    // time.
    let timeouts = ["lock_timeout", "statement_timeout"];
    let before = timeouts
        .iter()
        .map(|name| setting(inner, name))
        .collect::<Result<Vec<_>, _>>()?;
    set(
        inner,
        timeouts,
        [&policy.total.as_millis().to_string(), "0"],
    )?;
    let outcome = run(inner, migration.as_ref(), &name);
    if let [lock, statement] = before.as_slice() {
        set(inner, timeouts, [lock, statement])?;
    }
    outcome.map(|()| Some(name))
}

/// Drops an invalid index that an interrupted run of the migration left, and runs the migration.
fn run(
    connection: &mut PostgresConnection,
    migration: &dyn diesel::migration::Migration<diesel::pg::Pg>,
    name: &str,
) -> Result<(), StorageError> {
    let index = name.split_once('_').map_or(name, |(_, index)| index);
    let invalid = diesel::sql_query(INVALID_INDEXES_SQL)
        .bind::<Text, _>(index)
        .get_result::<Indexes>(connection)?;
    if invalid.indexes > 0 {
        log::info!("index {index} is incomplete; dropping and rebuilding it");
        connection.batch_execute(&format!("DROP INDEX CONCURRENTLY IF EXISTS \"{index}\""))?;
    }
    with_harness(connection, |connection| connection.run_migration(migration))?;
    Ok(())
}

/// The value of a setting of the session.
fn setting(connection: &mut PostgresConnection, name: &str) -> Result<String, StorageError> {
    let query = diesel::sql_query("SELECT current_setting($1) AS value").bind::<Text, _>(name);
    Ok(query.get_result::<Setting>(connection)?.value)
}

/// Sets two settings for the session.
fn set(
    connection: &mut PostgresConnection,
    names: [&str; 2],
    values: [&str; 2],
) -> Result<(), StorageError> {
    let settings = names
        .iter()
        .zip(values)
        .map(|(name, value)| format!("SET {name} = '{value}'"));
    Ok(connection.batch_execute(&settings.collect::<Vec<_>>().join("; "))?)
}
