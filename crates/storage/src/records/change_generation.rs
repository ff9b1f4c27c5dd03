//! Settings of the change feed: the key that seals cursors, and the generation of positions.
//!
//! Positions of changes are valid in one database only. A register starts a new generation when it
//! was restored or copied, or when its PostgreSQL server has changed. Cursors of an older
//! generation are outdated.

use data_encoding::HEXLOWER;
use database::connection::DatabaseConnection;
use diesel::prelude::*;
use diesel::sql_types::Text;
use postgres_client::PostgresConnection;

use crate::base::register_setting::{read, write};
use crate::error::StorageError;
use crate::schema::register_settings;
use crate::session::Session;

/// The name of the setting that holds the generation. Its value has random digits, a space, and the
/// identifier of the PostgreSQL server.
const GENERATION: &str = "change_generation";
/// The name of the setting with the key: [`KEY_BYTES`] random bytes in hex.
const KEY: &str = "cursor_key";
/// The number of bytes of the key that seals cursors.
pub(crate) const KEY_BYTES: usize = 32;
/// The number of random bytes of a generation.
const GENERATION_BYTES: usize = 8;

impl Session<'_> {
    /// The key that seals the cursors of this register.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptSetting`] when the setting is missing or not a key. Otherwise when
    /// the database does not answer.
    pub fn cursor_key(&mut self) -> Result<[u8; KEY_BYTES], StorageError> {
        let key = read(self.connection, KEY)?.and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok());
        key.and_then(|bytes| bytes.try_into().ok())
            .ok_or(StorageError::CorruptSetting { name: KEY })
    }
}

/// Whether [`record`] would write anything. Only reads.
pub(crate) fn is_due(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let server = server(connection)?;
    if read(connection, KEY)?.is_none() {
        return Ok(true);
    }
    let generation = read(connection, GENERATION)?.unwrap_or_default();
    let recorded_server = generation.split_once(' ').map(|(_, recorded)| recorded);
    Ok(recorded_server != Some(server.as_str()))
}

/// Writes the key if it is missing, and a new generation if it is missing or belongs to another
/// server. Must run in the transaction that migrates the schema.
pub(crate) fn record(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    if !is_due(connection)? {
        return Ok(());
    }
    if read(connection, KEY)?.is_none() {
        write(connection, KEY, &random_hex::<KEY_BYTES>()?)?;
    }
    let generation = draw_generation(connection)?;
    write(connection, GENERATION, &generation)
}

/// Replaces the recorded generation by a new one. Writes nothing when none is recorded.
pub(crate) fn renew(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let generation = draw_generation(connection)?;
    diesel::update(register_settings::table.find(GENERATION))
        .set(register_settings::value.eq(generation))
        .execute(connection)?;
    Ok(())
}

/// The text of a new generation: random digits, a space, and the identifier of the server.
fn draw_generation(connection: &mut DatabaseConnection) -> Result<String, StorageError> {
    Ok(format!(
        "{} {}",
        random_hex::<GENERATION_BYTES>()?,
        server(connection)?
    ))
}

/// Random bytes as hexadecimal digits. [`StorageError::NoRandomness`] without randomness.
fn random_hex<const BYTES: usize>() -> Result<String, StorageError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(StorageError::NoRandomness)?;
    Ok(HEXLOWER.encode(&bytes))
}

#[derive(QueryableByName)]
struct TextRow {
    #[diesel(sql_type = Text)]
    value: String,
}

/// Identifies a PostgreSQL server and its table of trainees; empty on SQLite.
///
/// A copy of the server's files keeps the system identifier. A restored dump gets a new oid of the
/// table. The system identifier is left out when the role may not read it.
fn server(connection: &mut DatabaseConnection) -> Result<String, StorageError> {
    let DatabaseConnection::Postgres(inner) = connection else {
        return Ok(String::new());
    };
    let may_read_identifier = query_text(
        inner,
        "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')::text AS value",
    )?;
    let identifier = if may_read_identifier == "true" {
        query_text(
            inner,
            "SELECT system_identifier::text AS value FROM pg_control_system()",
        )?
    } else {
        String::new()
    };
    let table = query_text(inner, "SELECT 'trainees'::regclass::oid::text AS value")?;
    Ok(format!("{identifier}.{table}"))
}

/// The column `value` of a query with one row.
fn query_text(connection: &mut PostgresConnection, sql: &str) -> Result<String, StorageError> {
    Ok(diesel::sql_query(sql)
        .get_result::<TextRow>(connection)?
        .value)
}
