//! Tests that commits wait for the disk. The tests read the settings of the store's own write
//! connections.

use database::connection::DatabaseConnection;
use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Integer, Text};
use test_support::Kind;

use crate::error::{DatabaseError, StorageError};
use crate::session::Session;
use crate::store::{Store, StoreOptions};
use crate::testing::Register;

/// The value of `PRAGMA synchronous` for `FULL`: each commit waits for the disk.
const FULL: i32 = 2;

/// The journal mode and the value of `PRAGMA synchronous`.
fn settings_on_sqlite(session: &mut Session<'_>) -> Result<(String, i32), StorageError> {
    let DatabaseConnection::Sqlite(inner) = session.connection else {
        panic!("another database was opened")
    };
    let journal_mode = sql::<Text>("(SELECT journal_mode FROM pragma_journal_mode)");
    let synchronous = sql::<Integer>("(SELECT synchronous FROM pragma_synchronous)");
    Ok(diesel::select((journal_mode, synchronous)).get_result(inner)?)
}

fn setting_on_postgres(session: &mut Session<'_>) -> Result<String, StorageError> {
    let DatabaseConnection::Postgres(inner) = session.connection else {
        panic!("another database was opened")
    };
    Ok(diesel::select(sql::<Text>("current_setting('synchronous_commit')")).get_result(inner)?)
}

#[test]
fn sqlite_writer_waits_for_disk() {
    let register = Register::on_sqlite();
    let expected = ("wal".to_owned(), FULL);
    assert_eq!(register.write(settings_on_sqlite).unwrap(), expected);
    let lost: Result<(), _> = register.write(|_| panic!("as the test wants"));
    assert!(
        matches!(
            lost,
            Err(StorageError::Database(DatabaseError::JobPanicked))
        ),
        "{lost:?}"
    );
    assert_eq!(register.write(settings_on_sqlite).unwrap(), expected);
}

fn is_pooled(register: &Register) -> bool {
    matches!(register.second_connection(), DatabaseConnection::Postgres(inner) if inner.is_pooled())
}

#[test]
fn postgres_commits_wait_for_disk() {
    if Kind::from_environment() != Kind::Postgres {
        return;
    }
    let register = Register::new();
    // Each default and the setting of the store. Every setting except `off` waits for the disk;
    // the operator may choose among them.
    for (default, expected) in [
        ("off", "on"),
        ("on", "on"),
        ("local", "local"),
        ("remote_apply", "remote_apply"),
    ] {
        let alter = format!(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = {default}', current_database()); END $$"
        );
        register.second_connection().batch_execute(&alter).unwrap();
        let store = Store::open(register.url(), StoreOptions::default()).unwrap();
        let seen = store.write_blocking(setting_on_postgres).unwrap();
        // The session behind a pooler may have started before the change of the default.
        assert!(
            seen == expected || (is_pooled(&register) && seen != "off"),
            "by default {default}: {seen}"
        );
    }
}
