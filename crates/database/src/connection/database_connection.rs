//! A connection to one of the two databases.

use diesel::SqliteConnection;
use diesel::connection::SimpleConnection;
use postgres_client::PostgresConnection;

/// A connection to one of the two databases.
///
/// PostgreSQL must be first: diesel tries the variants in order, and SQLite accepts any string as a
/// path.
#[derive(diesel::MultiConnection)]
pub enum DatabaseConnection {
    /// A connection to PostgreSQL.
    Postgres(PostgresConnection),
    /// A connection to SQLite.
    Sqlite(SqliteConnection),
}
