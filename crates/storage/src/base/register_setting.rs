//! The settings of a register: pairs of name and text in the table `register_settings`.

use database::connection::{DatabaseConnection, with_inner};
use diesel::prelude::*;

use crate::error::StorageError;
use crate::schema::register_settings;

/// The value of a setting; `None` when the register has no setting with that name.
pub(crate) fn read(
    connection: &mut DatabaseConnection,
    name: &str,
) -> Result<Option<String>, StorageError> {
    let setting = register_settings::table
        .find(name)
        .select(register_settings::value);
    Ok(with_inner!(connection, |inner| setting.first::<String>(inner)).optional()?)
}

/// Inserts or updates a setting. Must run in a transaction that writes.
pub(crate) fn write(
    connection: &mut DatabaseConnection,
    name: &str,
    value: &str,
) -> Result<(), StorageError> {
    let setting = register_settings::table.find(name);
    if diesel::update(setting)
        .set(register_settings::value.eq(value))
        .execute(connection)?
        == 0
    {
        diesel::insert_into(register_settings::table)
            .values((
                register_settings::name.eq(name),
                register_settings::value.eq(value),
            ))
            .execute(connection)?;
    }
    Ok(())
}
