//! Tests of opening an existing register: opening neither creates nor changes anything.

use database::catalog;
use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use test_support::{Database, Kind, VARIANT_VARIABLE, kinds};

use crate::error::{DatabaseError, StorageError};
use crate::maintenance::migrations::bring_up_to_date;
use crate::store::{Store, StoreOptions};
use crate::testing::block_on;
use crate::testing::filled::{connect, filled};

fn refusal(url: &str) -> StorageError {
    Store::open_existing(url, StoreOptions::default())
        .err()
        .unwrap()
}

#[test]
fn absent_file_is_reported_and_not_created() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["register.db", "folder/register.db"] {
        let file = folder.path().join(name);
        let refused = refusal(&format!("sqlite://{}", file.display()));
        assert!(
            matches!(&refused, StorageError::Database(DatabaseError::Absent(absent)) if *absent == file),
            "{refused:?}"
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn database_without_register_is_reported_and_unchanged() {
    for kind in kinds() {
        let database = Database::fresh_on(kind);
        if kind == Kind::Sqlite {
            // The database of another program, with the default journal mode of SQLite.
            let mut other =
                SqliteConnection::establish(database.url().strip_prefix("sqlite://").unwrap())
                    .unwrap();
            other
                .batch_execute("CREATE TABLE shoes (size INTEGER)")
                .unwrap();
        }
        let before = content(&database);
        let refused = refusal(database.url());
        assert!(
            matches!(refused, StorageError::NoRegister { .. }),
            "{refused:?}"
        );
        assert!(content(&database) == before, "{kind:?} was changed");
    }
}

#[test]
fn database_with_other_encoding_is_refused() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let server = Database::fresh_on(Kind::Postgres);
    let (name, url) = other_database(&server, "latin1");
    let sql = format!("CREATE DATABASE {name} TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C'");
    connect(server.url()).batch_execute(&sql).unwrap();
    let refused = [
        Store::open(&url, StoreOptions::default()).err().unwrap(),
        refusal(&url),
    ];
    connect(server.url())
        .batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)"))
        .unwrap();
    for refused in refused {
        let StorageError::Database(DatabaseError::DatabaseEncoding { encoding }) = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(encoding, "LATIN1");
        assert!(refused.to_string().contains("ENCODING 'UTF8'"), "{refused}");
    }
}

/// A register on PostgreSQL without a pooler; `None` where the tests use SQLite only or a pooler.
/// A pooler manages roles and their settings itself.
#[expect(
    clippy::disallowed_methods,
    reason = "tests are told the variant of PostgreSQL in a variable"
)]
fn direct_postgres_register() -> Option<Database> {
    let is_pooled =
        std::env::var(VARIANT_VARIABLE).is_ok_and(|variant| variant.starts_with("pgbouncer"));
    (kinds().contains(&Kind::Postgres) && !is_pooled).then(|| filled(Kind::Postgres, 3))
}

fn database_name(database: &Database) -> &str {
    database
        .url()
        .rsplit_once('/')
        .unwrap()
        .1
        .split('?')
        .next()
        .unwrap()
}

#[test]
fn search_path_of_database_is_ignored() {
    let Some(database) = direct_postgres_register() else {
        return;
    };
    let name = database_name(&database);
    let sql = format!("CREATE SCHEMA other; ALTER DATABASE {name} SET search_path = other");
    connect(database.url()).batch_execute(&sql).unwrap();
    let store = Store::open_existing(database.url(), StoreOptions::default()).unwrap();
    let added = store.write_blocking(|session| session.add_provider("10000009", "Dogwood"));
    assert!(added.is_ok(), "{added:?}");
    assert_eq!(store.migrate().unwrap(), 0);
}

#[test]
fn register_in_another_schema_is_reported() {
    let Some(database) = direct_postgres_register() else {
        return;
    };
    connect(database.url())
        .batch_execute("ALTER SCHEMA public RENAME TO other; CREATE SCHEMA public")
        .unwrap();
    let refused = refusal(database.url());
    assert!(
        matches!(&refused, StorageError::OtherSchema { schema } if schema == "other"),
        "{refused:?}"
    );
    let store = Store::open(database.url(), StoreOptions::default()).unwrap();
    assert!(matches!(
        store.migrate(),
        Err(StorageError::OtherSchema { .. })
    ));
    // The error message suggests this address.
    let mark = if database.url().contains('?') {
        '&'
    } else {
        '?'
    };
    let url = format!("{}{mark}options=-c%20search_path%3Dother", database.url());
    Store::open_existing(&url, StoreOptions::default()).unwrap();
}

#[test]
fn missing_permission_is_fault_naming_table() {
    let Some(database) = direct_postgres_register() else {
        return;
    };
    let role = format!("{}_role", database_name(&database));
    let mut owner = connect(database.url());
    let grant = "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public";
    owner
        .batch_execute(&format!(
            "CREATE ROLE {role} LOGIN; {grant} TO {role}; REVOKE INSERT ON providers FROM {role}"
        ))
        .unwrap();
    let (scheme, rest) = database.url().split_once("://").unwrap();
    let url = format!("{scheme}://{role}@{}", rest.split_once('@').unwrap().1);
    let store = Store::open_existing(&url, StoreOptions::default()).unwrap();
    let refused =
        block_on(store.write(|session| session.add_provider("10000009", "Dogwood"))).unwrap_err();
    let fault = "permission denied for table providers (SQLSTATE 42501)";
    assert!(
        matches!(&refused, StorageError::Database(DatabaseError::DatabaseFault(reason)) if **reason == *fault),
        "{refused:?}"
    );
    assert!(block_on(store.probe().ask()).is_err());
    owner
        .batch_execute(&format!("GRANT INSERT ON providers TO {role}"))
        .unwrap();
    block_on(store.write(|session| session.add_provider("10000009", "Dogwood"))).unwrap();
    owner
        .batch_execute(&format!("REVOKE SELECT ON trainees FROM {role}"))
        .unwrap();
    assert!(
        matches!(block_on(store.probe().ask()), Err(StorageError::Database(DatabaseError::DatabaseFault(reason))) if reason.contains("trainees"))
    );
    drop(store);
    owner
        .batch_execute(&format!("DROP OWNED BY {role}; DROP ROLE {role}"))
        .unwrap();
}

/// The name and the URL of another database on the same server.
fn other_database(database: &Database, suffix: &str) -> (String, String) {
    let url = database.url();
    let (address, parameters) = url
        .split_once('?')
        .map_or((url, ""), |(address, parameters)| (address, parameters));
    let name = address.rsplit('/').next().unwrap();
    let other = format!("{name}_{suffix}");
    let url = format!(
        "{}{other}?{parameters}",
        address.strip_suffix(name).unwrap()
    );
    (other, url)
}

/// The bytes of a SQLite file, or the names of the tables of a PostgreSQL database.
fn content(database: &Database) -> Vec<u8> {
    match database.url().strip_prefix("sqlite://") {
        Some(file) => std::fs::read(file).unwrap(),
        None => catalog::tables(&mut connect(database.url()))
            .unwrap()
            .join(" ")
            .into_bytes(),
    }
}

#[test]
fn older_schema_is_reported_and_unchanged() {
    for kind in kinds() {
        let database = Database::fresh_on(kind);
        let mut connection = connect(database.url());
        connection
            .batch_execute(
                "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, \
                            run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)",
            )
            .unwrap();
        let before = catalog::tables(&mut connection).unwrap();
        let refused = refusal(database.url());
        let StorageError::SchemaOlder { migration, .. } = &refused else {
            panic!("{refused:?}")
        };
        assert_eq!(migration, "2026-11-26-000001_register");
        assert_eq!(catalog::tables(&mut connection).unwrap(), before);
        bring_up_to_date(&mut connection).unwrap();
        Store::open_existing(database.url(), StoreOptions::default()).unwrap();
    }
}
