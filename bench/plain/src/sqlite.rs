//! SQLite.

use std::str::FromStr as _;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};

#[path = "queries.rs"]
mod queries;

pub(crate) use queries::Database;

type Db = sqlx::Sqlite;

/// Connections that read. Each has its own thread, so more of them only switch more often.
const READERS: u32 = 4;

const KEY: &str = "INTEGER PRIMARY KEY";
const BYTES: &str = "BLOB";
const ARRAY: &str = "json_array";
const GROUP: &str = "json_group_array";
/// The only writer takes the lock at once, instead of waiting for it after it has read.
const BEGIN: &str = "BEGIN IMMEDIATE";
/// The transaction holds the lock of the database.
const LOCK: Option<&str> = None;

/// Opens a database, as durable as the register's, with as much cache. One connection writes.
pub(crate) async fn open(url: &str) -> sqlx::Result<Database> {
    let options = SqliteConnectOptions::from_str(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .pragma("cache_size", "-8192")
        .pragma("wal_autocheckpoint", "4000")
        .pragma("temp_store", "MEMORY");
    let writes = pool(1, options.clone()).await?;
    let reads = pool(READERS, options).await?;
    Ok(Database::new(reads, writes))
}

async fn pool(connections: u32, options: SqliteConnectOptions) -> sqlx::Result<SqlitePool> {
    SqlitePoolOptions::new()
        .max_connections(connections)
        .min_connections(connections)
        .test_before_acquire(false)
        .connect_with(options)
        .await
}
