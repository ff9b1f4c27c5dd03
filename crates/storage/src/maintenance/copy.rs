//! Copies a whole register from one database to another. Each can be SQLite or PostgreSQL.
//!
//! Rows are copied unchanged, including keys, in the order of their keys. Tables are copied in the
//! order of their references (`tables.rs`). One statement inserts a batch (`rows.rs`). Rows that
//! the target's triggers derive are not copied. An interrupted copy must start again with an empty
//! database.

mod rows;
mod sequences;
pub(crate) mod tables;
mod verify;

use std::path::PathBuf;

use database::catalog;
use database::connection::{Access, Connections, DatabaseConnection};
use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;

use crate::base::token::Environment;
use crate::error::{DatabaseError, StorageError};
use crate::maintenance::environment;
use crate::maintenance::migrations::{bring_up_to_date, require_current};
use crate::records::change_generation;
use rows::{TableAccess, key_of};
use tables::{COPIED, CopiedTable};
pub use verify::Difference;

/// A table that exists in the target during a copy. While it exists, other commands do not open the
/// database.
const IN_PROGRESS: &str = "copy_in_progress";

/// The number of rows in one transaction.
const BATCH: usize = 500;

/// Failure of a copy.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The database to copy from failed.
    #[error("cannot read the database to copy from")]
    Source(#[source] StorageError),
    /// The database to copy to failed.
    #[error("cannot write the database to copy to")]
    Target(#[source] StorageError),
    /// The file to copy from does not exist.
    #[error("database to copy from does not exist: {}", .0.display())]
    Absent(PathBuf),
    /// The target contains a register.
    #[error("database to copy to is not empty: table {table} has {rows} rows")]
    NotEmpty {
        /// A table with rows.
        table: &'static str,
        /// The number of its rows.
        rows: i64,
    },
    /// The target has another environment than the source.
    #[error(
        "database to copy from is a {from} register, and database to copy to is a {to} register: copy to a new database"
    )]
    OtherEnvironment {
        /// The environment of the source.
        from: Environment,
        /// The environment of the target.
        to: Environment,
    },
}

/// The progress of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The copy has begun.
    Begun {
        /// The number of rows to copy, and then to compare, in all tables.
        rows: u64,
    },
    /// This number of further rows was committed in the target.
    Copied(u64),
    /// This number of further rows was compared.
    Compared(u64),
}

/// The result of a copy.
#[derive(Debug, Default)]
pub struct CopyReport {
    /// The number of rows of each table, in the order of copying.
    pub rows: Vec<(&'static str, u64)>,
    /// The differences between source and target. Empty after a successful copy; otherwise other
    /// commands do not open the target.
    pub differences: Vec<Difference>,
}

/// Copies the register at `from` to the empty database at `to`.
///
/// First brings the target's schema up to date. The source must have the present schema and a
/// recorded environment, which is copied too. The source is read in one snapshot, then compared row
/// by row with the target in another one, so that writes during the copy appear as differences.
/// Blocks.
///
/// # Errors
///
/// [`CopyError`]; also if the requested environment differs from that of the source. The copied
/// rows stay, and other commands do not open the target.
pub fn copy(
    from: &str,
    to: &str,
    requested: Option<Environment>,
    mut report_step: impl FnMut(Step),
) -> Result<CopyReport, CopyError> {
    let (mut source, environment) = open_source(from, requested)?;
    let target_connections = Connections::from_url(to).map_err(target_error)?;
    let mut target = target_connections.establish().map_err(target_error)?;
    prepare(&mut target, environment)?;

    // After an error the connection is dropped, which ends its transaction.
    source.begin(Access::Read).map_err(source_error)?;
    report_step(Step::Begun {
        rows: count_all(&mut source).map_err(source_error)?,
    });
    for table in COPIED {
        copy_rows(&mut source, &mut target, table, &mut report_step)?;
    }
    source.roll_back().map_err(source_error)?;

    let report = verify::compare(&mut source, &mut target, &mut report_step)?;
    if report.differences.is_empty() {
        open_target(&mut target)
            .and_then(|()| Ok(target_connections.mark_created()?))
            .map_err(target_error)?;
    }
    Ok(report)
}

/// Converts an error of the database to copy from.
fn source_error(error: impl Into<StorageError>) -> CopyError {
    CopyError::Source(error.into())
}

/// Converts an error of the database to copy to.
fn target_error(error: impl Into<StorageError>) -> CopyError {
    CopyError::Target(error.into())
}

/// Removes the marker of a complete target, so that other commands can open it. Starts a new
/// generation of changes, so that the target refuses cursors of the source.
fn open_target(target: &mut DatabaseConnection) -> Result<(), StorageError> {
    target.transaction(|target| {
        change_generation::renew(target)?;
        Ok(target.batch_execute(&format!("DROP TABLE {IN_PROGRESS}"))?)
    })
}

/// Opens the database to copy from without changing it.
fn open_source(
    url: &str,
    requested: Option<Environment>,
) -> Result<(DatabaseConnection, Environment), CopyError> {
    let connections = Connections::from_url(url).map_err(source_error)?;
    let mut source = connections.establish_existing().map_err(|error| {
        if let DatabaseError::Absent(file) = error {
            CopyError::Absent(file)
        } else {
            source_error(error)
        }
    })?;
    let environment = require_source(&mut source, &connections.display_name(), requested)
        .map_err(source_error)?;
    Ok((source, environment))
}

/// Fails unless the database contains a complete register with the present schema. Returns its
/// environment.
fn require_source(
    source: &mut DatabaseConnection,
    name: &str,
    requested: Option<Environment>,
) -> Result<Environment, StorageError> {
    if is_unfinished(source)? {
        return Err(StorageError::UnfinishedCopy);
    }
    require_current(source, name)?;
    let environment = environment::require(source)?;
    environment::require_same(Some(environment), requested)?;
    Ok(environment)
}

/// Whether the database is the target of an unfinished copy.
pub(crate) fn is_unfinished(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(catalog::tables(connection)?
        .iter()
        .any(|table| table == IN_PROGRESS))
}

/// Brings the schema of an empty target up to date and marks the target. Fails if the target
/// contains a register.
fn prepare(target: &mut DatabaseConnection, environment: Environment) -> Result<(), CopyError> {
    if is_unfinished(target).map_err(target_error)? {
        return Err(target_error(StorageError::UnfinishedCopy));
    }
    bring_up_to_date(target).map_err(target_error)?;
    // After an error the connection is dropped, which ends its transaction.
    target.begin(Access::Write).map_err(target_error)?;
    check_empty_and_mark(target, environment)?;
    target.commit().map_err(target_error)
}

/// Fails if the target has rows or is of another environment, and marks it as an unfinished copy.
fn check_empty_and_mark(
    target: &mut DatabaseConnection,
    source_environment: Environment,
) -> Result<(), CopyError> {
    let filled = tables::FILLED_WHEN_EMPTY;
    for table in tables::copied().filter(|table| !filled.contains(table)) {
        let rows = catalog::count(target, table).map_err(target_error)?;
        if rows > 0 {
            return Err(CopyError::NotEmpty { table, rows });
        }
    }
    match environment::recorded(target).map_err(target_error)? {
        Some(to) if to != source_environment => {
            let from = source_environment;
            return Err(CopyError::OtherEnvironment { from, to });
        }
        Some(_) | None => {}
    }
    for table in filled {
        let delete = format!("DELETE FROM {table}");
        target.batch_execute(&delete).map_err(target_error)?;
    }
    let marker = format!("CREATE TABLE {IN_PROGRESS} (begun BOOLEAN)");
    target.batch_execute(&marker).map_err(target_error)
}

/// The number of rows in all copied tables.
fn count_all(connection: &mut DatabaseConnection) -> Result<u64, StorageError> {
    let mut all = 0;
    for table in tables::copied() {
        all += u64::try_from(catalog::count(connection, table)?).unwrap_or_default();
    }
    Ok(all)
}

/// Copies the rows of a table, then its last assigned key.
fn copy_rows(
    source: &mut DatabaseConnection,
    target: &mut DatabaseConnection,
    table: &'static CopiedTable,
    report_step: &mut dyn FnMut(Step),
) -> Result<(), CopyError> {
    let read = TableAccess::new(source, table).map_err(source_error)?;
    let write = TableAccess::new(target, table).map_err(target_error)?;
    let mut last = None;
    loop {
        let rows = read.page(source, last.as_ref()).map_err(source_error)?;
        let Some(row) = rows.last() else { break };
        last = Some(key_of(table, row));
        write.insert(target, &rows).map_err(target_error)?;
        report_step(Step::Copied(rows.len() as u64));
    }
    if read.has_sequence
        && let Some(key) = sequences::last_key(source, table.name).map_err(source_error)?
    {
        sequences::set_last_key(target, table.name, key).map_err(target_error)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
