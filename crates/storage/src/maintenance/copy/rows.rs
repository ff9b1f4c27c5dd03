//! Reads and writes the rows of any table as JSON objects, by the columns in the database's
//! catalogue.
//!
//! Both databases represent a row by the same object. Numbers and booleans are integers; all other
//! values are text. A timestamp is text in the format that diesel writes to SQLite. A document is
//! its text, byte for byte. One statement with one parameter inserts a batch of rows; the JSON
//! functions of each database expand the parameter.

use std::collections::BTreeMap;

use chrono::NaiveDateTime;
use database::catalog::{self, Column};
use database::connection::DatabaseConnection;
use diesel::prelude::*;
use diesel::result::Error as DieselError;
use diesel::sql_types::Text;
use serde::{Deserialize, Serialize};

use super::tables::CopiedTable;
use crate::error::StorageError;

/// The format of timestamps in SQLite. It sorts as text in the order of time.
const TIMESTAMP_FORMAT: &str = "%Y-%m-%d %H:%M:%S%.f";

/// A value of a column in the JSON object of a row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Value {
    Integer(i64),
    Text(String),
}

/// The values of a row by the names of the columns.
pub(super) type Row = BTreeMap<String, Option<Value>>;

/// The values of the key columns, in the order of [`CopiedTable::key`].
pub(super) type Key = Vec<Option<Value>>;

/// A copied table in one database: the SQL that reads and writes its rows.
pub(super) struct TableAccess {
    /// Whether a sequence assigns the keys.
    pub(super) has_sequence: bool,
    /// The names of the columns with timestamps.
    timestamps: Vec<String>,
    /// The SQL that reads rows, without condition, order and limit.
    select: String,
    /// The SQL that reads and compares the columns of the key.
    key_columns: Vec<String>,
    /// The SQL that extracts the values of a key from the parameter.
    key_values: Vec<String>,
    /// The SQL that inserts the rows of its parameter.
    insert: String,
}

#[derive(QueryableByName)]
struct JsonRow {
    #[diesel(sql_type = Text)]
    json: String,
}

impl TableAccess {
    /// Builds the SQL from the columns in the catalogue of the database.
    pub(super) fn new(
        connection: &mut DatabaseConnection,
        table: &'static CopiedTable,
    ) -> Result<Self, StorageError> {
        let name = table.name;
        let columns = catalog::columns(connection, name)?;
        let mut names = Vec::new();
        let mut pairs = Vec::new();
        let mut values = Vec::new();
        for column in &columns {
            names.push(format!("\"{}\"", column.name));
            pairs.push(format!(
                "'{}', {}",
                column.name,
                read_expression(connection, column)
            ));
            values.push(write_expression(connection, column));
        }
        let names = names.join(", ");
        let pairs = pairs.join(", ");
        let values = values.join(", ");
        let mut key_columns = Vec::new();
        let mut key_values = Vec::new();
        for (index, key) in table.key.iter().enumerate() {
            let sql_type = columns
                .iter()
                .find(|column| column.name == *key)
                .map_or("", |column| &column.sql_type);
            let is_text_of_postgres = connection.either(true, false) && sql_type == "text";
            // SQLite compares bytes by default.
            key_columns.push(format!(
                "\"{key}\"{}",
                if is_text_of_postgres {
                    " COLLATE \"C\""
                } else {
                    ""
                }
            ));
            key_values.push(connection.either(
                format!("($1::json ->> {index})::{sql_type}"),
                format!("json_extract($1, '$[{index}]')"),
            ));
        }
        Ok(Self {
            has_sequence: columns.iter().any(|column| column.name == "id"),
            timestamps: columns
                .into_iter()
                .filter(Column::is_timestamp)
                .map(|column| column.name)
                .collect(),
            select: connection.either(
                format!("SELECT json_build_object({pairs})::text AS json FROM \"{name}\""),
                format!("SELECT json_object({pairs}) AS json FROM \"{name}\""),
            ),
            key_columns,
            key_values,
            insert: connection.either(
                format!(
                    "INSERT INTO \"{name}\" ({names}) \
                     SELECT {values} FROM json_populate_recordset(NULL::\"{name}\", $1::json)"
                ),
                format!("INSERT INTO \"{name}\" ({names}) SELECT {values} FROM json_each($1)"),
            ),
        })
    }

    /// Up to [`super::BATCH`] rows after a key, in the order of the keys.
    pub(super) fn page(
        &self,
        connection: &mut DatabaseConnection,
        after: Option<&Key>,
    ) -> Result<Vec<Row>, StorageError> {
        let select = &self.select;
        let columns = self.key_columns.join(", ");
        let values = self.key_values.join(", ");
        let condition = if after.is_some() {
            format!("WHERE ({columns}) > ({values})")
        } else {
            String::new()
        };
        let query = format!(
            "{select} {condition} ORDER BY {columns} LIMIT {}",
            super::BATCH
        );
        let mut query = diesel::sql_query(query).into_boxed();
        if let Some(key) = after {
            query = query.bind::<Text, _>(serde_json::to_string(key).map_err(not_a_row)?);
        }
        let found = query.load::<JsonRow>(connection)?;
        found
            .into_iter()
            .map(|JsonRow { json }| self.parse(&json))
            .collect()
    }

    /// Inserts all rows or none.
    pub(super) fn insert(
        &self,
        connection: &mut DatabaseConnection,
        rows: &[Row],
    ) -> Result<(), StorageError> {
        let rows = serde_json::to_string(rows).map_err(not_a_row)?;
        diesel::sql_query(&self.insert)
            .bind::<Text, _>(rows)
            .execute(connection)?;
        Ok(())
    }

    /// Parses the JSON object of a row, and gives timestamps the format of SQLite.
    fn parse(&self, json: &str) -> Result<Row, StorageError> {
        let mut row: Row = serde_json::from_str(json).map_err(not_a_row)?;
        for name in &self.timestamps {
            if let Some(Some(Value::Text(text))) = row.get_mut(name) {
                let time =
                    NaiveDateTime::parse_from_str(&text.replacen('T', " ", 1), TIMESTAMP_FORMAT);
                *text = time
                    .map_err(not_a_row)?
                    .format(TIMESTAMP_FORMAT)
                    .to_string();
            }
        }
        Ok(row)
    }
}

/// The key of a row: the values of the key columns.
pub(super) fn key_of(table: &CopiedTable, row: &Row) -> Key {
    table
        .key
        .iter()
        .map(|column| row.get(*column).cloned().flatten())
        .collect()
}

/// A key for messages, without text that a client chose.
pub(super) fn show_key(table: &CopiedTable, key: Key) -> String {
    let shown = key.into_iter().map(|value| match value {
        Some(Value::Integer(number)) => number.to_string(),
        Some(Value::Text(text)) => text,
        None => String::new(),
    });
    match (table.name, shown.collect::<Vec<_>>().as_slice()) {
        // The client chose the idempotency key.
        ("replies", [provider, _]) => format!("{provider}/..."),
        (_, key) => key.join("/"),
    }
}

/// The SQL that reads a column's value for the object of a row.
fn read_expression(connection: &DatabaseConnection, column: &Column) -> String {
    let Column { name, sql_type } = column;
    match (connection, sql_type.as_str()) {
        (DatabaseConnection::Postgres(_), "boolean") => format!("\"{name}\"::integer"),
        (DatabaseConnection::Postgres(_), "json") => format!("\"{name}\"::text"),
        _ => format!("\"{name}\""),
    }
}

/// The SQL of a column's value to insert. PostgreSQL has already converted all values except
/// documents to the types of the columns.
fn write_expression(connection: &DatabaseConnection, column: &Column) -> String {
    let Column { name, sql_type } = column;
    match (connection, sql_type.as_str()) {
        (DatabaseConnection::Postgres(_), "json") => format!("(\"{name}\" #>> '{{}}')::json"),
        (DatabaseConnection::Postgres(_), _) => format!("\"{name}\""),
        (DatabaseConnection::Sqlite(_), _) => format!("json_extract(json_each.value, '$.{name}')"),
    }
}

/// Converts the error of a JSON text that does not represent a row.
fn not_a_row(error: impl std::error::Error + Send + Sync + 'static) -> StorageError {
    DieselError::DeserializationError(Box::new(error)).into()
}
