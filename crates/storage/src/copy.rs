//! Copies a whole register from one database to another, whichever of the two each is.
//!
//! Rows go over as they are, keys included, table by table in the order in which tables refer to each other, and within a
//! table in the order of the keys. Each batch is one transaction, so the last key that the target holds says how far the
//! copy has come, and the same call goes on there. What the target's own triggers derive is not copied.
//!
//! Knows nothing of what rows mean.

mod sequences;
pub(crate) mod tables;
mod verify;

use std::path::PathBuf;

use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;

use crate::connection::{Access, Connections, DatabaseConnection};
use crate::error::StorageError;
use crate::store::migrations::{Goal, bring_to, refuse_newer, require_current};
use crate::tokens::Environment;
use crate::{catalog, change_generation, environment};
use tables::{Copied, Visitor, visit_all};
pub use verify::Difference;

/// The table that stands in a target from the beginning of a copy to its end. While it is there, nothing else opens the
/// database.
const IN_PROGRESS: &str = "copy_in_progress";

/// Rows in one transaction.
const BATCH: i64 = 500;

/// Why a register was not copied.
#[derive(Debug, thiserror::Error)]
pub enum CopyError {
    /// The database to copy from failed.
    #[error("cannot read the database to copy from")]
    Source(#[source] StorageError),
    /// The database to copy to failed.
    #[error("cannot write the database to copy to")]
    Target(#[source] StorageError),
    /// There is no file to copy from.
    #[error("database to copy from does not exist: {}", .0.display())]
    Absent(PathBuf),
    /// The target holds a register of its own.
    #[error("database to copy to is not empty: table {table} has {rows} rows")]
    NotEmpty {
        /// A table with rows.
        table: &'static str,
        /// How many.
        rows: i64,
    },
    /// The target is recorded as another environment than the source.
    #[error(
        "database to copy from is a {from} register, and database to copy to is a {to} register: copy to a new database"
    )]
    OtherEnvironment {
        /// The environment of the source.
        from: Environment,
        /// The environment of the target.
        to: Environment,
    },
    /// The target holds a part of something else.
    #[error(
        "database to copy to holds a part of another copy, or the source has changed since: table {table}, key {key} \
         is not the same in both; begin again with an empty database"
    )]
    AnotherCopy {
        /// The table whose last row differs.
        table: &'static str,
        /// The key of that row.
        key: String,
    },
}

/// How far a copy has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// So many rows are to be copied and, afterwards, compared.
    Begun {
        /// Rows of all tables together.
        rows: u64,
    },
    /// So many more rows are in the target, committed; those of an earlier run included.
    Copied(u64),
    /// So many more rows were compared.
    Compared(u64),
}

/// What a finished copy came to.
#[derive(Debug, Default)]
pub struct CopyReport {
    /// How many rows each table has, in the order in which tables were copied.
    pub rows: Vec<(&'static str, u64)>,
    /// Where source and target differ; empty on a good copy. While there is any, nothing else opens the target.
    pub differences: Vec<Difference>,
}

/// Copies the register at `from` to the empty database at `to`, or goes on where an earlier call was interrupted.
///
/// The target's schema is brought up to date first; that of the source must be up to date, and its environment recorded,
/// which goes with the copy. The source is read in one snapshot, and then compared row by row with the
/// target in another one, so that what was written to it meanwhile is found as a difference. Blocks.
///
/// # Errors
///
/// [`CopyError`]; also when an environment is requested that is not that of the source. What was copied stays, and the same
/// call goes on there.
pub fn copy(
    from: &str,
    to: &str,
    requested: Option<Environment>,
    mut report_step: impl FnMut(Step),
) -> Result<CopyReport, CopyError> {
    let (mut source, environment) = open_source(from, requested)?;
    let target_connections = Connections::to(to).map_err(CopyError::Target)?;
    let mut target = target_connections.establish().map_err(CopyError::Target)?;
    prepare(&mut target, environment)?;

    source.begin(Access::Read).map_err(|error| CopyError::Source(error.into()))?;
    let mut transfer = Transfer { source: &mut source, target: &mut target, report_step: &mut report_step };
    let rows = count_all(transfer.source).map_err(CopyError::Source)?;
    (transfer.report_step)(Step::Begun { rows });
    let outcome = visit_all(&mut transfer).and_then(|()| sequences::align(transfer.source, transfer.target));
    source.roll_back().map_err(|error| CopyError::Source(error.into()))?;
    outcome?;

    let report = verify::compare(&mut source, &mut target, &mut report_step)?;
    if report.differences.is_empty() {
        open_target(&mut target).and_then(|()| target_connections.mark_created()).map_err(CopyError::Target)?;
    }
    Ok(report)
}

/// Lets others open a target that is complete. Its changes are of another generation.
fn open_target(target: &mut DatabaseConnection) -> Result<(), StorageError> {
    target.transaction(|target| {
        change_generation::renew(target)?;
        Ok(target.batch_execute(&format!("DROP TABLE {IN_PROGRESS}"))?)
    })
}

/// Opens the database to copy from, which stays as it is.
fn open_source(url: &str, requested: Option<Environment>) -> Result<(DatabaseConnection, Environment), CopyError> {
    let connections = Connections::to(url).map_err(CopyError::Source)?;
    let mut source = connections.establish_existing().map_err(|error| {
        if let StorageError::Absent(file) = error { CopyError::Absent(file) } else { CopyError::Source(error) }
    })?;
    let outcome = is_unfinished(&mut source).and_then(|unfinished| {
        if unfinished {
            return Err(StorageError::UnfinishedCopy);
        }
        require_current(&mut source, &connections.display_name())?;
        let environment = environment::recorded(&mut source)?.ok_or(StorageError::EnvironmentNotRecorded)?;
        environment::require_same(Some(environment), requested)?;
        Ok(environment)
    });
    let environment = outcome.map_err(CopyError::Source)?;
    Ok((source, environment))
}

/// Whether the database is the target of a copy that has not come to its end.
pub(crate) fn is_unfinished(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(catalog::tables(connection)?.iter().any(|table| table == IN_PROGRESS))
}

/// Brings a new target's schema up to date and marks it; refuses one that holds a register.
fn prepare(target: &mut DatabaseConnection, environment: Environment) -> Result<(), CopyError> {
    if is_unfinished(target).map_err(CopyError::Target)? {
        return refuse_newer(target).map_err(CopyError::Target);
    }
    bring_to(target, Goal::Newest).map_err(CopyError::Target)?;
    target.begin(Access::Write).map_err(|error| CopyError::Target(error.into()))?;
    let outcome = mark(target, environment);
    match outcome {
        Ok(()) => target.commit().map_err(|error| CopyError::Target(error.into())),
        Err(refusal) => {
            // The connection is not used again.
            let _ = target.roll_back();
            Err(refusal)
        }
    }
}

fn mark(target: &mut DatabaseConnection, from: Environment) -> Result<(), CopyError> {
    // An empty register has settings of its own, which make room for those of the source.
    let settings = tables::SETTINGS;
    for table in tables::copied().filter(|table| *table != settings) {
        let rows = catalog::count(target, table).map_err(CopyError::Target)?;
        if rows > 0 {
            return Err(CopyError::NotEmpty { table, rows });
        }
    }
    match environment::recorded(target).map_err(CopyError::Target)? {
        Some(to) if to != from => return Err(CopyError::OtherEnvironment { from, to }),
        Some(_) | None => {}
    }
    target
        .batch_execute(&format!("DELETE FROM {settings}; CREATE TABLE {IN_PROGRESS} (begun BOOLEAN)"))
        .map_err(|error| CopyError::Target(error.into()))
}

fn count_all(connection: &mut DatabaseConnection) -> Result<u64, StorageError> {
    let mut all = 0;
    for table in tables::copied() {
        all += u64::try_from(catalog::count(connection, table)?).unwrap_or_default();
    }
    Ok(all)
}

/// Brings over one table after the other.
struct Transfer<'a> {
    source: &'a mut DatabaseConnection,
    target: &'a mut DatabaseConnection,
    report_step: &'a mut dyn FnMut(Step),
}

impl Visitor for Transfer<'_> {
    type Error = CopyError;

    fn visit<R: Copied>(&mut self) -> Result<(), CopyError> {
        let mut last = self.resume::<R>()?;
        loop {
            let rows = R::page(self.source, last.as_ref(), BATCH).map_err(|error| CopyError::Source(error.into()))?;
            let Some(row) = rows.last() else { return Ok(()) };
            last = Some(row.key());
            self.write(&rows).map_err(CopyError::Target)?;
            (self.report_step)(Step::Copied(rows.len() as u64));
        }
    }
}

impl Transfer<'_> {
    /// The last key that the target holds already. Its row must be that of the source.
    fn resume<R: Copied>(&mut self) -> Result<Option<R::Key>, CopyError> {
        let Some(row) = R::last(self.target).map_err(|error| CopyError::Target(error.into()))? else {
            return Ok(None);
        };
        let key = row.key();
        let there = R::find(self.source, &key).map_err(|error| CopyError::Source(error.into()))?;
        if there.as_ref() != Some(&row) {
            return Err(CopyError::AnotherCopy { table: R::TABLE, key: R::shown(&key) });
        }
        let rows = catalog::count(self.target, R::TABLE).map_err(CopyError::Target)?;
        (self.report_step)(Step::Copied(u64::try_from(rows).unwrap_or_default()));
        Ok(Some(key))
    }

    fn write<R: Copied>(&mut self, rows: &[R]) -> Result<(), StorageError> {
        self.target.begin(Access::Write)?;
        match R::insert(self.target, rows) {
            Ok(()) => Ok(self.target.commit()?),
            Err(error) => {
                // The connection is not used again.
                let _ = self.target.roll_back();
                Err(error.into())
            }
        }
    }
}

#[cfg(test)]
mod tests;
