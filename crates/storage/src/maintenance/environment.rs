//! The recorded environment of a register: sandbox or production.
//!
//! The command that creates a database records the environment; all later commands must match it.

use chrono::Utc;
use database::catalog;
use database::connection::DatabaseConnection;
use diesel::prelude::*;
use domain::values::iso_8601;
use rustix::system::uname;

use crate::base::register_setting;
use crate::base::token::Environment;
use crate::error::StorageError;
use crate::schema::providers;
use crate::session::Session;

/// The name of the setting.
const SETTING: &str = "environment";
/// The name of the setting that holds [`stored_document::SCHEMA`].
const SCHEMA_SETTING: &str = "record_schema";

impl Session<'_> {
    /// The recorded environment of the register.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptSetting`] if the setting is missing; otherwise when the database does
    /// not answer.
    pub fn environment(&mut self) -> Result<Environment, StorageError> {
        require(self.connection)
    }
}

/// The recorded environment of a register. Fails if there is none.
pub(crate) fn require(connection: &mut DatabaseConnection) -> Result<Environment, StorageError> {
    read(connection)?.ok_or(StorageError::CorruptSetting { name: SETTING })
}

/// Fails if the requested environment differs from the recorded one.
///
/// # Errors
///
/// [`StorageError::OtherEnvironment`].
pub fn require_same(
    recorded: Option<Environment>,
    requested: Option<Environment>,
) -> Result<(), StorageError> {
    match (recorded, requested) {
        (Some(recorded), Some(requested)) if recorded != requested => {
            Err(StorageError::OtherEnvironment {
                recorded,
                requested,
            })
        }
        (_, _) => Ok(()),
    }
}

/// The recorded environment of a database; `None` if the database has none or is no register.
pub(crate) fn recorded(
    connection: &mut DatabaseConnection,
) -> Result<Option<Environment>, StorageError> {
    if !has_settings(connection)? {
        return Ok(None);
    }
    read(connection)
}

/// The recorded environment of a register; `None` if there is none.
fn read(connection: &mut DatabaseConnection) -> Result<Option<Environment>, StorageError> {
    Ok(register_setting::read(connection, SETTING)?
        .map(|value| value.parse())
        .transpose()?)
}

/// Compares the recorded environment with the requested one. In a new register, records the
/// requested one, or sandbox by default. Returns the recorded environment.
///
/// Call this in the transaction that changes the schema.
pub(crate) fn resolve(
    connection: &mut DatabaseConnection,
    requested: Option<Environment>,
) -> Result<Environment, StorageError> {
    if let Some(environment) = recorded(connection)? {
        require_same(Some(environment), requested)?;
        return Ok(environment);
    }
    if has_providers(connection)? {
        // The tokens of the providers belong to an environment, which must not be guessed.
        return Err(StorageError::CorruptSetting { name: SETTING });
    }
    let environment = requested.unwrap_or(Environment::Sandbox);
    register_setting::write(connection, SETTING, &environment.to_string())?;
    Ok(environment)
}

/// Whether [`resolve`] would record an environment or fail. Changes nothing.
pub(crate) fn is_due(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(read(connection)?.is_none())
}

/// Whether [`record_schema`] would record a number. Changes nothing.
pub(crate) fn schema_is_due(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(require_known_schema(connection)? != Some(stored_document::SCHEMA))
}

/// Records the number of the documents' set of fields, unless a newer one is recorded.
pub(crate) fn record_schema(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    if !schema_is_due(connection)? {
        return Ok(());
    }
    register_setting::write(
        connection,
        SCHEMA_SETTING,
        &stored_document::SCHEMA.to_string(),
    )
}

/// The recorded number of the documents' set of fields; `None` if there is none. Fails if a newer
/// program has recorded it.
pub(crate) fn require_known_schema(
    connection: &mut DatabaseConnection,
) -> Result<Option<i64>, StorageError> {
    let Some(value) = register_setting::read(connection, SCHEMA_SETTING)? else {
        return Ok(None);
    };
    match value.parse::<i64>() {
        Ok(number) if number <= stored_document::SCHEMA => Ok(Some(number)),
        Ok(_) | Err(_) => Err(StorageError::RecordsNewer {
            recorded: value,
            known: stored_document::SCHEMA,
        }),
    }
}

/// The prefix of settings with the time of a server's last successful write check.
const WRITE_CHECK: &str = "write_check ";

/// Records under the name of this machine that it can write now. Call this in a writing
/// transaction.
#[expect(
    clippy::disallowed_methods,
    reason = "the value is only written to see whether that is possible"
)]
pub(crate) fn record_write_check(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let name = format!("{WRITE_CHECK}{}", uname().nodename().to_string_lossy());
    register_setting::write(connection, &name, &iso_8601::timestamp(Utc::now()))
}

/// Whether the database has the table of settings, as each register has.
fn has_settings(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(catalog::tables(connection)?
        .iter()
        .any(|table| table == "register_settings"))
}

fn has_providers(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(providers::table
        .select(providers::id)
        .first::<i64>(connection)
        .optional()?
        .is_some())
}

#[cfg(test)]
mod tests;
