//! What is recorded for those who follow changes: the key that seals their cursors, and the
//! generation of positions.
//!
//! Positions of changes mean something in one database only. A register that was restored or
//! copied, or whose PostgreSQL server is another one, begins a new generation, and nobody can go on
//! at a position of an older one.
//!
//! A promoted standby may lack the last changes of the server before it, and gives their numbers to
//! other changes. Its timeline is another one, and the timeline is part of the generation.

use data_encoding::HEXLOWER;
use database::connection::DatabaseConnection;
use database::connection::fixed_expression::fixed_expressions;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use serde::{Deserialize, Serialize};

use crate::base::register_setting::{read, write};
use crate::error::StorageError;
use crate::schema::register_settings;
use crate::session::Session;

/// The name of the setting with the generation: random digits, and behind a space the number of the
/// PostgreSQL server.
const GENERATION: &str = "change_generation";
/// The name of the setting with the key: [`KEY_BYTES`] random bytes in hex.
const KEY: &str = "cursor_key";
/// Bytes of a key that seals cursors.
pub(crate) const KEY_BYTES: usize = 32;
/// Random bytes of a generation.
const GENERATION_BYTES: usize = 8;

impl Session<'_> {
    /// The key that seals the cursors of this register.
    ///
    /// # Errors
    ///
    /// [`StorageError::CorruptSetting`] when there is none, or it is no key; otherwise when the database does not answer.
    pub fn cursor_key(&mut self) -> Result<[u8; KEY_BYTES], StorageError> {
        let key = read(self.connection, KEY)?.and_then(|hex| HEXLOWER.decode(hex.as_bytes()).ok());
        key.and_then(|bytes| bytes.try_into().ok())
            .ok_or(StorageError::CorruptSetting { name: KEY })
    }
}

/// What positions of changes mean something in.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct Generation {
    /// What is recorded in the register.
    pub(crate) register: String,
    /// The timeline of a PostgreSQL server.
    pub(crate) timeline: String,
}

impl Generation {
    /// Whether positions of this generation have the same meaning in the present one.
    ///
    /// # Errors
    ///
    /// [`StorageError::CursorOnStandby`] on a standby of the same register, whose timeline is not known.
    pub(crate) fn is_current(&self, present: &Self) -> Result<bool, StorageError> {
        if present.timeline == STANDBY && self.register == present.register {
            return Err(StorageError::CursorOnStandby);
        }
        Ok(self == present)
    }
}

/// Whether [`record`] would record something; changes nothing.
pub(crate) fn is_due(connection: &mut DatabaseConnection) -> Result<bool, StorageError> {
    let server = server(connection)?;
    let is_of_server = |generation: String| {
        generation
            .split_once(' ')
            .is_some_and(|(_, of)| of == server)
    };
    Ok(
        read(connection, KEY)?.is_none()
            || !read(connection, GENERATION)?.is_some_and(is_of_server),
    )
}

/// Records a key and a generation where there are none, or the generation is that of another
/// server. Must run in the transaction that brings the schema to its goal.
pub(crate) fn record(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    if !is_due(connection)? {
        return Ok(());
    }
    if read(connection, KEY)?.is_none() {
        write(connection, KEY, &random::<KEY_BYTES>()?)?;
    }
    if read(connection, GENERATION)?.is_some() {
        // Transactions of this server have other numbers.
        limit_time_of_changes(connection, false)?;
        connection.batch_execute("UPDATE trainees SET changed_in = 0 WHERE changed_in <> 0")?;
        limit_time_of_changes(connection, true)?;
    }
    let generation = new(connection)?;
    write(connection, GENERATION, &generation)
}

/// Says whether a transaction that changes trainees must be committed in time on PostgreSQL. One
/// that changes all of them, while no server runs, may take longer.
fn limit_time_of_changes(
    connection: &mut DatabaseConnection,
    is_limited: bool,
) -> Result<(), StorageError> {
    if connection.is_remote() {
        let verb = if is_limited { "ENABLE" } else { "DISABLE" };
        connection.batch_execute(&format!(
            "ALTER TABLE trainees {verb} TRIGGER trainees_refuse_late_change"
        ))?;
    }
    Ok(())
}

/// Begins another generation, where one was begun.
pub(crate) fn renew(connection: &mut DatabaseConnection) -> Result<(), StorageError> {
    let generation = new(connection)?;
    diesel::update(register_settings::table.find(GENERATION))
        .set(register_settings::value.eq(generation))
        .execute(connection)?;
    Ok(())
}

fn new(connection: &mut DatabaseConnection) -> Result<String, StorageError> {
    Ok(format!(
        "{} {}",
        random::<GENERATION_BYTES>()?,
        server(connection)?
    ))
}

fn random<const BYTES: usize>() -> Result<String, StorageError> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(StorageError::NoRandomness)?;
    Ok(HEXLOWER.encode(&bytes))
}

#[derive(QueryableByName)]
struct Server {
    #[diesel(sql_type = Text)]
    server: String,
}

/// What a PostgreSQL server and a table of trainees are known by; empty on SQLite. A copy of the
/// server's files has the same number, and a restored dump has another table. The number may not be
/// to be known.
fn server(connection: &mut DatabaseConnection) -> Result<String, StorageError> {
    let DatabaseConnection::Postgres(inner) = connection else {
        return Ok(String::new());
    };
    let may_ask = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')::text AS server";
    let number = if diesel::sql_query(may_ask)
        .get_result::<Server>(inner)?
        .server
        == "true"
    {
        let ask = "SELECT system_identifier::text AS server FROM pg_control_system()";
        diesel::sql_query(ask).get_result::<Server>(inner)?.server
    } else {
        String::new()
    };
    let table = "SELECT 'trainees'::regclass::oid::text AS server";
    Ok(format!(
        "{number}.{}",
        diesel::sql_query(table).get_result::<Server>(inner)?.server
    ))
}

/// What the timeline of a standby is called. PostgreSQL does not tell it: a standby may follow a
/// server of another timeline.
const STANDBY: &str = "standby";

fixed_expressions! {
    /// What is recorded of the generation; empty where nothing is.
    pub(crate) GenerationText: Text = GENERATION_SQL, sqlite: GENERATION_SQL;
    /// The timeline of a PostgreSQL server, which changes when a standby is promoted; empty on
    /// SQLite.
    pub(crate) Timeline: Text =
        "CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END",
        sqlite: "''";
}

const GENERATION_SQL: &str =
    "coalesce((SELECT value FROM register_settings WHERE name = 'change_generation'), '')";

#[cfg(test)]
mod tests {
    use super::*;

    fn generation(register: &str, timeline: &str) -> Generation {
        Generation {
            register: register.to_owned(),
            timeline: timeline.to_owned(),
        }
    }

    #[test]
    fn generation_of_another_register_or_timeline_is_not_current() {
        let present = generation("abcd 12", "00000002");
        assert!(present.is_current(&present).unwrap());
        for (register, timeline) in [
            ("efgh 12", "00000002"),
            ("abcd 12", "00000001"),
            ("abcd 12", STANDBY),
        ] {
            assert!(
                !generation(register, timeline).is_current(&present).unwrap(),
                "{register} {timeline}"
            );
        }
    }

    #[test]
    fn generation_on_a_standby_of_the_same_register_is_unknown() {
        let present = generation("abcd 12", STANDBY);
        for timeline in ["00000001", STANDBY] {
            let unknown = generation("abcd 12", timeline).is_current(&present);
            assert!(
                matches!(unknown, Err(StorageError::CursorOnStandby)),
                "{timeline}: {unknown:?}"
            );
        }
        assert!(!generation("efgh 12", STANDBY).is_current(&present).unwrap());
    }
}
