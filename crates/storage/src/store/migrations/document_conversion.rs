//! From the tables of before, with a row for each placement, degree, disability and withdrawal, to one document per trainee;
//! and back.
//!
//! The migration that makes room for documents renames the tables of before. They are read by the conversion, kept as they
//! were until [`finish`] removes them, and filled from the documents on the way back, so that what was written since is in
//! them too. The databases do the work: a batch is one statement, whatever it converts.

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable, Text};

use super::{Goal, views};
use crate::catalog;
use crate::change_generation;
use crate::connection::{Access, DatabaseConnection};
use crate::error::StorageError;
use crate::schema::trainees;

/// The number of the migration that makes room for documents.
const MIGRATION: &str = "20261123000009";
/// A table of before, under the name that it has until the conversion is finished.
const FORMER_TABLE: &str = "former_placements";
/// A table that came with documents.
const NEW_TABLE: &str = "placement_schools";
/// Keys of trainees in one batch.
const BATCH: i64 = 1_000;

/// The most trainees that are converted without being asked to: it takes about a second.
const SMALL_REGISTER: i64 = 10_000;

/// What of the conversion runs in an SQL text for each database.
struct Script {
    sqlite: &'static str,
    postgres: &'static str,
}

macro_rules! script {
    ($name:literal) => {
        Script {
            sqlite: include_str!(concat!("../../../conversion/sqlite/", $name)),
            postgres: include_str!(concat!("../../../conversion/postgres/", $name)),
        }
    };
}

const CONVERT: Script = script!("convert.sql");
const FINISH: Script = script!("finish.sql");
const REOPEN: Script = script!("reopen.sql");
const REVERT: Script = script!("revert.sql");
/// The migration that made the tables of before.
const TRAINEES: Script = Script {
    sqlite: include_str!("../../../../../migrations/sqlite/2026-01-05-000002_trainees/up.sql"),
    postgres: include_str!("../../../../../migrations/postgres/2026-01-05-000002_trainees/up.sql"),
};
/// What stands in it in front of the tables with rows of a trainee.
const FIRST_NESTED_TABLE: &str = "CREATE TABLE trainee_disabilities";

impl Script {
    fn run(&self, connection: &mut DatabaseConnection) -> Result<(), StorageError> {
        let sql = connection.either(self.postgres, self.sqlite);
        Ok(connection.batch_execute(sql)?)
    }
}

/// The trainees without a document.
#[derive(QueryableByName)]
struct Unconverted {
    /// The first of their keys.
    #[diesel(sql_type = Nullable<BigInt>)]
    first: Option<i64>,
    #[diesel(sql_type = BigInt)]
    trainees: i64,
}

#[derive(QueryableByName)]
struct Definition {
    #[diesel(sql_type = Text)]
    sql: String,
}

/// What is left of the conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conversion {
    /// The schema has no room for documents.
    NotBegun,
    /// So many trainees have no document yet.
    Begun {
        /// The trainees.
        left: i64,
    },
    /// Every trainee has a document, and the tables of before are kept.
    Converted,
    /// The tables of before are removed.
    Finished,
}

/// How far the conversion has come.
pub(crate) fn state(connection: &mut DatabaseConnection) -> Result<Conversion, StorageError> {
    let tables = catalog::tables(connection)?;
    let has = |name: &str| tables.iter().any(|table| table == name);
    if !has(NEW_TABLE) {
        return Ok(Conversion::NotBegun);
    }
    if !has(FORMER_TABLE) {
        return Ok(Conversion::Finished);
    }
    match unconverted(connection)?.trainees {
        0 => Ok(Conversion::Converted),
        left => Ok(Conversion::Begun { left }),
    }
}

fn unconverted(connection: &mut DatabaseConnection) -> Result<Unconverted, StorageError> {
    let query = "SELECT min(id) AS first, count(*) AS trainees FROM trainees WHERE record IS NULL";
    Ok(diesel::sql_query(query).get_result(connection)?)
}

/// Whether [`after_migrations`] would do something, or refuse, in a schema that needs no migration.
pub(super) fn is_due(
    state: Conversion,
    connection: &mut DatabaseConnection,
    goal: Goal<'_>,
) -> Result<bool, StorageError> {
    match state {
        Conversion::Begun { left } => Ok(left <= SMALL_REGISTER || goal == Goal::Newest),
        Conversion::Converted => Ok(is_empty(connection)?),
        Conversion::NotBegun | Conversion::Finished => Ok(false),
    }
}

/// Whether there are no trainees.
fn is_empty(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(trainees::table.select(trainees::id).first::<i64>(connection).optional()?.is_none())
}

/// What follows the migrations: a register without trainees needs no tables of before, and a small one is converted at once.
///
/// Must run in the transaction that brings the schema to its goal.
pub(super) fn after_migrations(connection: &mut DatabaseConnection, goal: Goal<'_>) -> Result<(), StorageError> {
    if let Conversion::Begun { left } = state(connection)? {
        if left <= SMALL_REGISTER {
            convert_in_transaction(connection)?;
        } else if goal == Goal::Newest {
            return Err(StorageError::NotConverted { trainees: left });
        }
    }
    if state(connection)? == Conversion::Converted && is_empty(connection)? {
        finish(connection)?;
    }
    Ok(())
}

/// Converts the next trainees that have no document, and returns what is left then. It is an error when that is as much as
/// before.
fn convert_batch(connection: &mut DatabaseConnection, left: &Unconverted) -> Result<Unconverted, StorageError> {
    let Some(first) = left.first else { return unconverted(connection) };
    let sql = connection.either(CONVERT.postgres, CONVERT.sqlite);
    let sql = sql.replace(":first", &first.to_string()).replace(":last", &(first + BATCH - 1).to_string());
    connection.batch_execute(&sql)?;
    let after = unconverted(connection)?;
    if after.trainees < left.trainees { Ok(after) } else { Err(StorageError::NotConverted { trainees: left.trainees }) }
}

/// Converts all trainees that have no document, in the transaction that is open.
fn convert_in_transaction(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let mut left = unconverted(connection)?;
    change_generation::limit_time_of_changes(connection, false)?;
    while left.trainees > 0 {
        left = convert_batch(connection, &left)?;
    }
    change_generation::limit_time_of_changes(connection, true)
}

/// Converts all trainees that have no document, a batch in a transaction. What was converted stays when this is interrupted,
/// and the same call goes on there.
pub(crate) fn convert(
    connection: &mut DatabaseConnection,
    mut progress: impl FnMut(Progress),
) -> Result<(), StorageError> {
    let Conversion::Begun { .. } = state(connection)? else { return Ok(()) };
    let mut left = unconverted(connection)?;
    progress(Progress::Begun { trainees: left.trainees });
    while left.trainees > 0 {
        connection.begin(Access::Write)?;
        let after = match convert_batch(connection, &left) {
            Ok(after) => after,
            Err(error) => {
                // What cannot be rolled back is not committed either, and the connection is not used again.
                let _ = connection.roll_back();
                return Err(error);
            }
        };
        connection.commit()?;
        progress(Progress::Converted(left.trainees - after.trainees));
        left = after;
    }
    Ok(())
}

/// How far the conversion of a register has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// So many trainees are to be converted.
    Begun {
        /// The trainees.
        trainees: i64,
    },
    /// So many more are converted, and committed.
    Converted(i64),
}

/// Keeps a column of a later migration while the table is built anew on SQLite.
const KEEP_POSITIONS_SQL: &str = "CREATE TEMP TABLE positions (id INTEGER PRIMARY KEY, changed_in INTEGER NOT NULL); \
     INSERT INTO positions SELECT id, changed_in FROM trainees WHERE changed_in <> 0";

/// Gives the table that was built anew on SQLite the column of a later migration.
const RESTORE_POSITIONS_SQL: &str = "ALTER TABLE trainees ADD COLUMN changed_in INTEGER NOT NULL DEFAULT 0; \
     UPDATE trainees SET changed_in = (SELECT changed_in FROM positions WHERE positions.id = trainees.id) \
     WHERE id IN (SELECT id FROM positions); \
     DROP TABLE positions";

/// Removes the tables of before; nothing when that was done.
///
/// Must run in a transaction of the schema.
pub(super) fn finish(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    match state(connection)? {
        Conversion::NotBegun | Conversion::Finished => return Ok(()),
        Conversion::Begun { left } => return Err(StorageError::NotConverted { trainees: left }),
        Conversion::Converted => {}
    }
    connection.batch_execute(views::REMOVE_SQL)?;
    // On SQLite the table is built anew, and its indexes and triggers go with the old one.
    let definitions = match connection {
        DatabaseConnection::Postgres(_) => Vec::new(),
        DatabaseConnection::Sqlite(inner) => diesel::sql_query(
            "SELECT sql FROM sqlite_master WHERE tbl_name = 'trainees' AND type IN ('index', 'trigger') \
             AND sql IS NOT NULL AND name <> 'trainees_to_convert'",
        )
        .load::<Definition>(inner)?,
    };
    let keeps_positions = !definitions.is_empty() && change_generation::has_positions(connection)?;
    if keeps_positions {
        connection.batch_execute(KEEP_POSITIONS_SQL)?;
    }
    FINISH.run(connection)?;
    if keeps_positions {
        connection.batch_execute(RESTORE_POSITIONS_SQL)?;
    }
    for Definition { sql } in definitions {
        connection.batch_execute(&sql)?;
    }
    views::make(connection)
}

/// Fills the tables of before from the documents, when the schema is to go back to a time without them.
///
/// Must run in the transaction that brings the schema to its goal, before the migrations are taken back.
pub(super) fn before_migrations(connection: &mut DatabaseConnection, goal: &str) -> Result<(), StorageError> {
    let number: String = goal.split('_').next().unwrap_or_default().replace('-', "");
    let goes_back = number.len() == MIGRATION.len() && number.as_str() < MIGRATION;
    let state = state(connection)?;
    if !goes_back || state == Conversion::NotBegun {
        return Ok(());
    }
    connection.batch_execute(views::REMOVE_SQL)?;
    change_generation::limit_time_of_changes(connection, false)?;
    match state {
        // An interrupted conversion is ended first: the tables are filled from documents alone.
        Conversion::Begun { .. } => convert_in_transaction(connection)?,
        Conversion::Finished => reopen(connection)?,
        Conversion::NotBegun | Conversion::Converted => {}
    }
    REVERT.run(connection)
}

/// Makes the tables of before, empty, as the migration made them that made them first.
fn reopen(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let first_migration = connection.either(TRAINEES.postgres, TRAINEES.sqlite);
    let nested = first_migration.find(FIRST_NESTED_TABLE).and_then(|place| first_migration.get(place..));
    connection.batch_execute(nested.unwrap_or_default())?;
    REOPEN.run(connection)
}
