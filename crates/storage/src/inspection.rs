//! What the database itself says of its invariants, whatever its tables mean.

use diesel::connection::SimpleConnection as _;

use crate::catalog;
use crate::catalog::Orphan;
use crate::connection::DatabaseConnection;
use crate::copy::tables;
use crate::error::StorageError;
use crate::session::Session;
use crate::trainees::miscounted;

/// What was found about the database as a whole.
#[derive(Debug, Default)]
pub struct Inspection {
    /// What SQLite finds wrong with its file. PostgreSQL has tools of its own for that.
    pub damage: Vec<String>,
    /// Rows that refer to rows which are not there.
    pub orphans: Vec<Orphan>,
    /// How many of the counts that the database keeps for lists are wrong.
    pub miscounted: i64,
    /// How many rows each table has.
    pub counts: Vec<(&'static str, i64)>,
}

impl Session<'_> {
    /// Looks at all tables.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn inspect(&mut self) -> Result<Inspection, StorageError> {
        // Whole tables are read here, once each.
        if let DatabaseConnection::Postgres(inner) = &mut *self.connection {
            inner.batch_execute("SET LOCAL enable_seqscan = on")?;
        }
        let mut found = Inspection { damage: catalog::damage(self.connection)?, ..Inspection::default() };
        for reference in catalog::references(self.connection)? {
            found.orphans.extend(catalog::orphans(self.connection, &reference)?);
        }
        found.miscounted = miscounted(self.connection)?;
        for table in tables::copied().chain(tables::DERIVED.iter().copied()) {
            found.counts.push((table, catalog::count(self.connection, table)?));
        }
        Ok(found)
    }
}
