//! Finds the pending changes of a database, without changing it and without a lock.

use std::fmt;

use database::connection::DatabaseConnection;
use diesel::backend::Backend;

use super::{Listed, Migrations};
use crate::base::token::Environment;
use crate::error::StorageError;
use crate::maintenance::environment;
use crate::maintenance::migrations::apply::{applied, pending};
use crate::records::change_generation;

/// The changes that bring a database up to date.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pending {
    /// The pending migrations, oldest first. If there are any, settings are not checked.
    pub migrations: Vec<String>,
    /// Whether a setting of the register is missing: the environment, the number of the set of
    /// fields, or the generation of changes.
    pub settings: bool,
}

impl Pending {
    /// Whether the database is up to date.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Pending {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = self.migrations.clone();
        if self.settings {
            parts.push("settings of the register".to_owned());
        }
        formatter.write_str(&parts.join(", "))
    }
}

/// Finds the changes that bring the database to the newest schema.
pub(super) fn find(
    connection: &mut DatabaseConnection,
    migrations: &Migrations,
    requested: Option<Environment>,
) -> Result<Pending, StorageError> {
    environment::require_same(environment::recorded(connection)?, requested)?;
    let migrations = self::migrations(connection, migrations)?;
    if !migrations.is_empty() {
        return Ok(Pending {
            migrations,
            ..Pending::default()
        });
    }
    let settings = environment::is_due(connection)?
        || environment::schema_is_due(connection)?
        || change_generation::is_due(connection)?;
    Ok(Pending {
        migrations,
        settings,
    })
}

/// The names of the migrations that must be applied, oldest first.
pub(super) fn migrations(
    connection: &mut DatabaseConnection,
    migrations: &Migrations,
) -> Result<Vec<String>, StorageError> {
    let applied = applied(connection)?;
    match connection {
        DatabaseConnection::Postgres(_) => pending_names((migrations.postgres)(), &applied),
        DatabaseConnection::Sqlite(_) => pending_names((migrations.sqlite)(), &applied),
    }
}

fn pending_names<DB: Backend>(
    migrations: Listed<DB>,
    applied: &[String],
) -> Result<Vec<String>, StorageError> {
    let pending = pending(migrations, applied)?;
    Ok(pending
        .iter()
        .map(|migration| migration.name().to_string())
        .collect())
}
