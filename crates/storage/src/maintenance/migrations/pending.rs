//! Finds the pending changes of a database, without changing it and without a lock.

use std::fmt;

use database::connection::DatabaseConnection;

use super::{Goal, Migrations};
use crate::base::token::Environment;
use crate::error::StorageError;
use crate::maintenance::environment;
use crate::maintenance::migrations::apply::{Known, applied, kept, known};
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
    let migrations = self::migrations(connection, migrations, Goal::Newest)?;
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

/// The migrations that must be applied or reverted to reach the goal, oldest first.
pub(super) fn migrations(
    connection: &mut DatabaseConnection,
    migrations: &Migrations,
    goal: Goal<'_>,
) -> Result<Vec<String>, StorageError> {
    fn changed_names<DB: diesel::backend::Backend>(
        migrations: &Known<DB>,
        goal: Goal<'_>,
    ) -> Result<Vec<String>, StorageError> {
        let kept = kept(migrations, goal)?;
        // At the goal, the first `kept` migrations are applied, and no others.
        let changed = migrations
            .iter()
            .enumerate()
            .filter(|(at, (_, applied))| (*at < kept) != *applied);
        Ok(changed
            .map(|(_, (migration, _))| migration.name().to_string())
            .collect())
    }
    let applied = applied(connection)?;
    match connection {
        DatabaseConnection::Postgres(_) => {
            changed_names(&known((migrations.postgres)(), &applied)?, goal)
        }
        DatabaseConnection::Sqlite(_) => {
            changed_names(&known((migrations.sqlite)(), &applied)?, goal)
        }
    }
}
