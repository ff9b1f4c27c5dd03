//! The environment of a register, as its database records it: sandbox or production.
//!
//! The command that creates a database records it; all later ones must match it. A register that was created before the
//! environment was recorded has no record, and once it has a provider nobody may guess.

use chrono::Utc;
use diesel::prelude::*;
use domain::iso_8601;
use rustix::system::uname;

use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::schema::{providers, register_settings};
use crate::session::Session;
use crate::tokens::Environment;
use crate::{catalog, document};

/// The name of the setting.
const SETTING: &str = "environment";
/// The name of the setting that holds [`document::SCHEMA`].
const SCHEMA_SETTING: &str = "record_schema";

/// What a command does with a register that is in use and has no recorded environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unrecorded {
    /// It records the requested environment; without a request it refuses.
    RecordRequested,
    /// It refuses.
    Refuse,
    /// It leaves the register without a record.
    Keep,
}

impl Session<'_> {
    /// The recorded environment of the register.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn environment(&mut self) -> Result<Option<Environment>, StorageError> {
        read(self.connection)
    }
}

/// Fails when an environment is requested that is not the recorded one.
///
/// # Errors
///
/// [`StorageError::OtherEnvironment`].
pub fn require_same(recorded: Option<Environment>, requested: Option<Environment>) -> Result<(), StorageError> {
    match (recorded, requested) {
        (Some(recorded), Some(requested)) if recorded != requested => {
            Err(StorageError::OtherEnvironment { recorded, requested })
        }
        (_, _) => Ok(()),
    }
}

/// The environment that a database records; `None` also where it holds no register.
pub(crate) fn recorded(connection: &mut DatabaseConnection) -> Result<Option<Environment>, StorageError> {
    if !has_settings(connection)? {
        return Ok(None);
    }
    read(connection)
}

fn read(connection: &mut DatabaseConnection) -> Result<Option<Environment>, StorageError> {
    let value = register_settings::table
        .find(SETTING)
        .select(register_settings::value)
        .first::<String>(connection)
        .optional()?;
    Ok(value.map(|value| value.parse()).transpose()?)
}

/// Compares the recorded environment with the requested one, or records one where there is none: the requested one, otherwise
/// sandbox. Returns what is recorded then.
///
/// Must run in the transaction that brings the schema to its goal.
pub(crate) fn resolve(
    connection: &mut DatabaseConnection,
    requested: Option<Environment>,
    unrecorded: Unrecorded,
) -> Result<Option<Environment>, StorageError> {
    if let Some(environment) = recorded(connection)? {
        require_same(Some(environment), requested)?;
        return Ok(Some(environment));
    }
    let environment = match (is_in_use(connection)?, unrecorded, requested) {
        (false, _, requested) => requested.unwrap_or(Environment::Sandbox),
        (true, Unrecorded::RecordRequested, Some(requested)) => requested,
        (true, Unrecorded::Keep, _) => return Ok(None),
        (true, Unrecorded::Refuse | Unrecorded::RecordRequested, _) => {
            return Err(StorageError::EnvironmentNotRecorded);
        }
    };
    diesel::insert_into(register_settings::table)
        .values((register_settings::name.eq(SETTING), register_settings::value.eq(environment.to_string())))
        .execute(connection)?;
    Ok(Some(environment))
}

/// Whether [`resolve`] would record an environment, or refuse to; changes nothing.
pub(crate) fn is_due(connection: &mut DatabaseConnection, unrecorded: Unrecorded) -> Result<bool, StorageError> {
    if read(connection)?.is_some() {
        return Ok(false);
    }
    Ok(!is_in_use(connection)?
        || match unrecorded {
            Unrecorded::Keep => false,
            Unrecorded::RecordRequested | Unrecorded::Refuse => true,
        })
}

/// Whether [`record_schema`] would record something; changes nothing.
pub(crate) fn schema_is_due(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(require_known_schema(connection)? != Some(document::SCHEMA))
}

/// Records which set of fields the documents hold, unless a newer one is recorded.
pub(crate) fn record_schema(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let recorded = require_known_schema(connection)?;
    let number = document::SCHEMA.to_string();
    match recorded {
        Some(recorded) if recorded == document::SCHEMA => {}
        Some(_) => {
            diesel::update(register_settings::table.find(SCHEMA_SETTING))
                .set(register_settings::value.eq(number))
                .execute(connection)?;
        }
        None => {
            diesel::insert_into(register_settings::table)
                .values((register_settings::name.eq(SCHEMA_SETTING), register_settings::value.eq(number)))
                .execute(connection)?;
        }
    }
    Ok(())
}

/// The recorded number of the set of fields that documents hold. Fails when it is that of a newer program.
pub(crate) fn require_known_schema(connection: &mut DatabaseConnection) -> Result<Option<i64>, StorageError> {
    let value = register_settings::table
        .find(SCHEMA_SETTING)
        .select(register_settings::value)
        .first::<String>(connection)
        .optional()?;
    let Some(value) = value else { return Ok(None) };
    match value.parse::<i64>() {
        Ok(number) if number <= document::SCHEMA => Ok(Some(number)),
        Ok(_) | Err(_) => Err(StorageError::RecordsNewer { recorded: value, known: document::SCHEMA }),
    }
}

/// What the names of settings begin with that show when a server last found that it can write.
const WRITE_CHECK: &str = "write_check ";

/// Records that this machine can write now. Must run in a transaction that writes.
pub(crate) fn record_write_check(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let name = format!("{WRITE_CHECK}{}", uname().nodename().to_string_lossy());
    let time = iso_8601::timestamp(Utc::now());
    let setting = register_settings::table.find(&name);
    if diesel::update(setting).set(register_settings::value.eq(&time)).execute(connection)? == 0 {
        diesel::insert_into(register_settings::table)
            .values((register_settings::name.eq(&name), register_settings::value.eq(&time)))
            .execute(connection)?;
    }
    Ok(())
}

fn has_settings(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(catalog::tables(connection)?.iter().any(|table| table == "register_settings"))
}

/// Whether the register has a provider, whose tokens are of one environment. One whose schema was just created has none.
fn is_in_use(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    Ok(providers::table.select(providers::id).first::<i64>(connection).optional()?.is_some())
}

#[cfg(test)]
mod tests;
