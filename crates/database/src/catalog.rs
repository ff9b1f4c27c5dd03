//! Reads the schema from the database: tables, columns and foreign keys.
//!
//! Independent of the tables of the register.

use std::fmt;

use diesel::prelude::*;
use diesel::sql_types::{BigInt, Text};

use crate::connection::DatabaseConnection;
use crate::error::DatabaseError;

/// A foreign key: a column that refers to another table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, QueryableByName)]
pub struct Reference {
    /// The referring table.
    #[diesel(sql_type = Text)]
    pub table: String,
    /// The referring column.
    #[diesel(sql_type = Text)]
    pub column: String,
    /// The table with the referenced rows.
    #[diesel(sql_type = Text)]
    pub owner: String,
    /// The referenced column.
    #[diesel(sql_type = Text)]
    pub key: String,
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq, QueryableByName)]
pub struct Column {
    /// The name.
    #[diesel(sql_type = Text)]
    pub name: String,
    /// The database's name of the type, in lower case.
    #[diesel(sql_type = Text)]
    pub sql_type: String,
}

impl Column {
    /// Whether the column holds timestamps.
    pub fn is_timestamp(&self) -> bool {
        self.sql_type.starts_with("timestamp")
    }
}

/// A reference to a missing row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The referring table.
    pub table: String,
    /// The referring column.
    pub column: String,
    /// The table without the row.
    pub owner: String,
    /// The key of the missing row.
    pub key: i64,
    /// The number of rows with this reference.
    pub rows: i64,
}

impl fmt::Display for Orphan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            table,
            column,
            owner,
            key,
            rows,
        } = self;
        write!(
            formatter,
            "table {table}: {column} is {key} in {rows} rows, and table {owner} has no such row"
        )
    }
}

/// A row with one text.
#[derive(QueryableByName)]
struct Name {
    #[diesel(sql_type = Text)]
    name: String,
}

/// A row with a number of rows.
#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    rows: i64,
}

/// The key of a missing row, and the number of rows that refer to it.
#[derive(QueryableByName)]
struct Missing {
    #[diesel(sql_type = BigInt)]
    key: i64,
    #[diesel(sql_type = BigInt)]
    rows: i64,
}

/// The tables on SQLite, without its own ones.
const SQLITE_TABLES: &str = "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 7) <> 'sqlite_' ORDER BY name";
/// The tables on PostgreSQL.
const POSTGRES_TABLES: &str = "SELECT relname::text AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
     WHERE n.nspname = current_schema() AND relkind = 'r' ORDER BY relname";

/// The first schema, except the current one, with a table of a name.
const OTHER_SCHEMA: &str = "SELECT n.nspname::text AS name FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace \
     WHERE relname = $1 AND n.nspname IS DISTINCT FROM current_schema() ORDER BY n.nspname LIMIT 1";

/// The foreign keys on SQLite.
const SQLITE_REFERENCES: &str = "SELECT m.name AS \"table\", f.\"from\" AS \"column\", f.\"table\" AS owner, f.\"to\" AS key \
     FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f WHERE m.type = 'table'";
/// The foreign keys on PostgreSQL.
const POSTGRES_REFERENCES: &str = "SELECT child.relname::text AS \"table\", a.attname::text AS \"column\", \
     parent.relname::text AS owner, b.attname::text AS key FROM pg_constraint c \
     JOIN pg_class child ON child.oid = c.conrelid JOIN pg_class parent ON parent.oid = c.confrelid \
     JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1] \
     JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1] \
     JOIN pg_namespace n ON n.oid = c.connamespace WHERE c.contype = 'f' AND n.nspname = current_schema()";

/// The names of all tables, including diesel's own.
pub fn tables(connection: &mut DatabaseConnection) -> Result<Vec<String>, DatabaseError> {
    let query = diesel::sql_query(connection.either(POSTGRES_TABLES, SQLITE_TABLES));
    Ok(query
        .load::<Name>(connection)?
        .into_iter()
        .map(|found| found.name)
        .collect())
}

/// A PostgreSQL schema, other than the current one, with a table of this name. `None` on SQLite, or
/// if there is no such schema.
pub fn other_schema_with(
    connection: &mut DatabaseConnection,
    table: &str,
) -> Result<Option<String>, DatabaseError> {
    let DatabaseConnection::Postgres(inner) = connection else {
        return Ok(None);
    };
    let query = diesel::sql_query(OTHER_SCHEMA).bind::<Text, _>(table);
    Ok(query
        .get_result::<Name>(inner)
        .optional()?
        .map(|found| found.name))
}

/// The columns of a table, sorted by name. The table must be one of [`tables`].
pub fn columns(
    connection: &mut DatabaseConnection,
    table: &str,
) -> Result<Vec<Column>, DatabaseError> {
    let query = connection.either(
        format!(
            "SELECT attname::text AS name, format_type(atttypid, NULL) AS sql_type FROM pg_attribute \
             WHERE attrelid = '{table}'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attname::text COLLATE \"C\""
        ),
        format!("SELECT name, lower(type) AS sql_type FROM pragma_table_info('{table}') ORDER BY name"),
    );
    Ok(diesel::sql_query(query).load::<Column>(connection)?)
}

/// The path of a SQLite file, or the name of a PostgreSQL database.
pub fn database_name(connection: &mut DatabaseConnection) -> Result<String, DatabaseError> {
    let query = connection.either(
        "SELECT current_database()::text AS name",
        "SELECT file AS name FROM pragma_database_list WHERE name = 'main'",
    );
    Ok(diesel::sql_query(query)
        .get_result::<Name>(connection)?
        .name)
}

/// The number of rows of a table, which must be one of [`tables`].
pub fn count(connection: &mut DatabaseConnection, table: &str) -> Result<i64, DatabaseError> {
    let query = diesel::sql_query(format!("SELECT count(*) AS \"rows\" FROM \"{table}\""));
    Ok(query.get_result::<Count>(connection)?.rows)
}

/// All foreign keys, sorted by table and column. The schema has only foreign keys of one column.
pub fn references(connection: &mut DatabaseConnection) -> Result<Vec<Reference>, DatabaseError> {
    let query = diesel::sql_query(connection.either(POSTGRES_REFERENCES, SQLITE_REFERENCES));
    let mut references = query.load::<Reference>(connection)?;
    references.sort_unstable();
    Ok(references)
}

/// The references of a column to missing rows.
pub fn orphans(
    connection: &mut DatabaseConnection,
    reference: &Reference,
) -> Result<Vec<Orphan>, DatabaseError> {
    let Reference {
        table,
        column,
        owner,
        key,
    } = reference;
    let query = diesel::sql_query(format!(
        "SELECT child.\"{column}\" AS key, count(*) AS \"rows\" FROM \"{table}\" child \
         LEFT JOIN \"{owner}\" parent ON parent.\"{key}\" = child.\"{column}\" \
         WHERE child.\"{column}\" IS NOT NULL AND parent.\"{key}\" IS NULL \
         GROUP BY child.\"{column}\" ORDER BY child.\"{column}\""
    ));
    let found = query.load::<Missing>(connection)?;
    Ok(found
        .into_iter()
        .map(|missing| Orphan {
            table: table.clone(),
            column: column.clone(),
            owner: owner.clone(),
            key: missing.key,
            rows: missing.rows,
        })
        .collect())
}

/// The errors that SQLite finds in its file. Empty on PostgreSQL, which has its own tools to check
/// files.
pub fn damage(connection: &mut DatabaseConnection) -> Result<Vec<String>, DatabaseError> {
    let DatabaseConnection::Sqlite(inner) = connection else {
        return Ok(Vec::new());
    };
    let found = diesel::sql_query("SELECT integrity_check AS name FROM pragma_integrity_check")
        .load::<Name>(inner)?;
    Ok(found
        .into_iter()
        .map(|line| line.name)
        .filter(|line| line != "ok")
        .collect())
}
