//! That opening an existing register neither creates nor changes anything.

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use test_support::{Database, Kind, kinds};

use crate::catalog;
use crate::error::StorageError;
use crate::store::migrations::{Goal, bring_to};
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, filled};

fn refusal(url: &str) -> StorageError {
    Store::open_existing(url, StoreOptions::default()).err().unwrap()
}

#[test]
fn an_absent_file_is_reported_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["register.db", "folder/register.db"] {
        let file = folder.path().join(name);
        let refused = refusal(&format!("sqlite://{}", file.display()));
        assert!(matches!(&refused, StorageError::Absent(absent) if *absent == file), "{refused:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_database_without_a_register_is_reported_and_left_as_it_is() {
    for kind in kinds() {
        let database = Database::fresh_on(kind);
        if kind == Kind::Sqlite {
            // Somebody else's database, in the mode in which SQLite creates one.
            let mut other = SqliteConnection::establish(database.url().strip_prefix("sqlite://").unwrap()).unwrap();
            other.batch_execute("CREATE TABLE shoes (size INTEGER)").unwrap();
        }
        let before = content(&database);
        let refused = refusal(database.url());
        assert!(matches!(refused, StorageError::NoRegister { .. }), "{refused:?}");
        assert!(content(&database) == before, "{kind:?} was changed");
    }
}

#[test]
fn a_database_that_cannot_hold_every_character_is_refused_and_left_as_it_is() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let server = Database::fresh_on(Kind::Postgres);
    let (name, url) = other_database(&server, "latin1");
    let sql = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    connect(server.url()).batch_execute(&sql).unwrap();
    let refused = [Store::open(&url, StoreOptions::default()).err().unwrap(), refusal(&url)];
    connect(server.url()).batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).unwrap();
    for refused in refused {
        let StorageError::DatabaseEncoding { encoding } = &refused else { panic!("{refused:?}") };
        assert_eq!(encoding, "LATIN1");
        assert!(refused.to_string().contains("ENCODING 'UTF8'"), "{refused}");
    }
}

/// The name and the URL of another database of the same server.
fn other_database(database: &Database, suffix: &str) -> (String, String) {
    let url = database.url();
    let (address, parameters) = url.split_once('?').map_or((url, ""), |(address, parameters)| (address, parameters));
    let name = address.rsplit('/').next().unwrap();
    let other = format!("{name}_{suffix}");
    let url = format!("{}{other}?{parameters}", address.strip_suffix(name).unwrap());
    (other, url)
}

/// The bytes of a file, or the names of the tables of a server's database.
fn content(database: &Database) -> Vec<u8> {
    match database.url().strip_prefix("sqlite://") {
        Some(file) => std::fs::read(file).unwrap(),
        None => catalog::tables(&mut connect(database.url())).unwrap().join(" ").into_bytes(),
    }
}

#[test]
fn an_older_schema_is_reported_and_left_as_it_is() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        bring_to(&mut connection, Goal::Migration("2026-01-05-000002_trainees")).unwrap();
        let before = catalog::tables(&mut connection).unwrap();
        let refused = refusal(database.url());
        let StorageError::SchemaOlder { migration, .. } = &refused else { panic!("{refused:?}") };
        assert_eq!(migration, "2026-11-21-000003_changes_and_replies");
        assert_eq!(catalog::tables(&mut connection).unwrap(), before);
        bring_to(&mut connection, Goal::Newest).unwrap();
        Store::open_existing(database.url(), StoreOptions::default()).unwrap();
    }
}
