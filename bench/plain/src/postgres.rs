//! PostgreSQL.

use sqlx::postgres::PgPoolOptions;

#[path = "queries.rs"]
mod queries;

pub(crate) use queries::Database;

type Db = sqlx::Postgres;

const CONNECTIONS: u32 = 16;

const KEY: &str = "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
const BYTES: &str = "BYTEA";
const ARRAY: &str = "json_build_array";
const GROUP: &str = "json_agg";
const BEGIN: &str = "BEGIN";
/// Serialises registrations of the same person, before one of them looks for duplicates.
const LOCK: Option<&str> = Some("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))");

/// Opens a database.
pub(crate) async fn open(url: &str) -> sqlx::Result<Database> {
    let pool = PgPoolOptions::new()
        .max_connections(CONNECTIONS)
        .min_connections(CONNECTIONS)
        .test_before_acquire(false)
        .connect(url)
        .await?;
    Ok(Database::new(pool.clone(), pool))
}
