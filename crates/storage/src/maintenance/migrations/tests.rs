//! Tests applying and reverting migrations with rows, on both databases.

use diesel::backend::Backend;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel_migrations::MigrationHarness as _;
use domain::{State, Trainee};
use test_support::{Kind, all_kinds, kinds};

use super::next_migrations::{SHOES, bring_to_with, shoes};
use super::*;
use crate::base::cause::Cause;
use crate::schema::changes;
use crate::session::Session;
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, counts, empty, filled};

/// The names of the applied migrations, oldest first.
fn names(connection: &mut DatabaseConnection) -> Vec<String> {
    fn sorted_names<DB: Backend>(
        migrations: diesel::migration::Result<Vec<Box<dyn Migration<DB>>>>,
    ) -> Vec<String> {
        let mut names: Vec<_> = migrations
            .unwrap()
            .iter()
            .map(|migration| migration.name().to_string())
            .collect();
        names.sort_unstable();
        names
    }
    match connection {
        DatabaseConnection::Postgres(_) => {
            sorted_names(MigrationSource::<diesel::pg::Pg>::migrations(&POSTGRES))
        }
        DatabaseConnection::Sqlite(_) => sorted_names(
            MigrationSource::<diesel::sqlite::Sqlite>::migrations(&SQLITE),
        ),
    }
}

fn to_newest(connection: &mut DatabaseConnection) -> SchemaChange {
    bring_to(connection, Goal::Newest).unwrap()
}

/// Applies a migration of a newer program.
fn apply_unknown(connection: &mut DatabaseConnection, sql: &str) {
    connection.batch_execute(sql).unwrap();
    connection
        .batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000001')")
        .unwrap();
}

#[test]
fn both_databases_have_same_migrations() {
    let of = |kind| names(&mut connect(empty(kind).url()));
    assert!(
        all_kinds()
            .into_iter()
            .map(of)
            .collect::<Vec<_>>()
            .windows(2)
            .all(|pair| pair[0] == pair[1])
    );
}

#[test]
fn each_migration_can_be_reverted_and_reapplied_with_rows() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        let mut before = counts(&mut connection);
        let names = names(&mut connection);
        for (earlier, later) in names.iter().zip(names.iter().skip(1)).rev() {
            let change = bring_to(&mut connection, Goal::Migration(earlier)).unwrap();
            assert_eq!(
                change,
                SchemaChange {
                    applied: vec![],
                    taken_back: vec![later.clone()]
                }
            );
            // All tables that exist without the migration keep their rows.
            let left = counts(&mut connection);
            before.retain(|(table, _)| left.iter().any(|(name, _)| name == table));
            assert_eq!(left, before, "{kind:?} without {later}");
        }
        match &mut connection {
            DatabaseConnection::Postgres(inner) => {
                inner.revert_all_migrations(POSTGRES).unwrap().len()
            }
            DatabaseConnection::Sqlite(inner) => inner.revert_all_migrations(SQLITE).unwrap().len(),
        };
        assert_eq!(counts(&mut connection), []);
        assert_eq!(to_newest(&mut connection).applied, names);
    }
}

#[test]
fn next_migration_can_be_applied_and_reverted_with_rows() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let folder = shoes();
        let mut connection = connect(database.url());
        let before = counts(&mut connection);
        let newest = names(&mut connection).pop().unwrap();
        let forth = bring_to_with(&mut connection, folder.path(), Goal::Newest).unwrap();
        assert_eq!(
            forth,
            SchemaChange {
                applied: vec![SHOES.to_owned()],
                taken_back: vec![]
            }
        );
        connection
            .batch_execute("INSERT INTO shoes (trainee_key) VALUES (2)")
            .unwrap();
        let refused = bring_to_with(
            &mut connection,
            folder.path(),
            Goal::MigrationKeepingTables(&newest),
        );
        let Err(StorageError::RecordsWouldBeLost { tables }) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(tables, "shoes");
        let back = bring_to_with(&mut connection, folder.path(), Goal::Migration(&newest)).unwrap();
        assert_eq!(
            back,
            SchemaChange {
                applied: vec![],
                taken_back: vec![SHOES.to_owned()]
            }
        );
        assert_eq!(counts(&mut connection), before);
    }
}

#[test]
fn history_keeps_entries_of_every_date() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        let keys = |connection: &mut DatabaseConnection| {
            changes::table
                .select(changes::id)
                .order(changes::id)
                .load::<i64>(connection)
                .unwrap()
        };
        let before = keys(&mut connection);
        for date in [
            "1999-12-31 23:59:59.999",
            "2024-02-01 00:00:00",
            "2999-01-01 00:00:00",
        ] {
            let insert = "INSERT INTO changes (trainee_key, changed_at, operation, fields) VALUES";
            connection
                .batch_execute(&format!("{insert} (2, '{date}', 'update', '{{}}')"))
                .unwrap();
        }
        let next = before.last().unwrap() + 1;
        assert_eq!(
            keys(&mut connection),
            [before, vec![next, next + 1, next + 2]].concat(),
            "{kind:?}"
        );
        connection
            .batch_execute("DELETE FROM trainees WHERE id = 2")
            .unwrap();
        assert_eq!(keys(&mut connection), [0; 0], "{kind:?}");
    }
}

#[test]
fn migration_is_found_by_number_or_full_name() {
    let database = empty(Kind::Sqlite);
    let mut connection = connect(database.url());
    let newest = names(&mut connection).pop().unwrap();
    let number = newest.split('_').next().unwrap();
    for name in [newest.as_str(), number, &number.replace('-', "")] {
        assert_eq!(
            bring_to(&mut connection, Goal::Migration(name)).unwrap(),
            SchemaChange::default(),
            "{name}"
        );
    }
    for name in [
        "",
        "2026",
        "1999-01-01-000001",
        "2026-11-26-000001_placements",
    ] {
        let refused = bring_to(&mut connection, Goal::Migration(name)).unwrap_err();
        assert!(
            matches!(&refused, StorageError::UnknownMigration { known, .. } if known.contains(&newest)),
            "{name}"
        );
    }
}

#[test]
fn newer_schema_is_rejected_without_change() {
    for kind in kinds() {
        let database = empty(kind);
        let mut connection = connect(database.url());
        apply_unknown(&mut connection, "CREATE TABLE future (id INTEGER)");
        let names = names(&mut connection);
        for goal in [Goal::Newest, Goal::Migration(&names[0])] {
            let refused = bring_to(&mut connection, goal).unwrap_err();
            let StorageError::SchemaNewer { version, newest } = &refused else {
                panic!("{refused:?}")
            };
            assert_eq!(version, "99991231000001");
            assert!(
                names.last().unwrap().replace('-', "").starts_with(newest),
                "{newest}"
            );
        }
        assert_eq!(
            counts(&mut connection).len(),
            crate::maintenance::copy::tables::copied().count()
        );
    }
}

/// Tests a layout from before the first release.
#[test]
fn layout_before_release_is_rejected_without_change() {
    let version = "'20260105000001'";
    let older = format!(
        "DELETE FROM __diesel_schema_migrations; \
         INSERT INTO __diesel_schema_migrations (version) VALUES ({version})"
    );
    let newer = format!(
        "{older}; INSERT INTO __diesel_schema_migrations (version) VALUES ('20261128000023')"
    );
    for layout in [
        older.as_str(),
        &newer,
        "DELETE FROM __diesel_schema_migrations",
        "DROP TABLE __diesel_schema_migrations",
    ] {
        for kind in kinds() {
            let database = filled(kind, 3);
            let mut connection = connect(database.url());
            connection.batch_execute(layout).unwrap();
            let before = (
                catalog::tables(&mut connection).unwrap(),
                counts(&mut connection),
            );
            let refusals = [
                bring_to(&mut connection, Goal::Newest).map(drop),
                bring_to(&mut connection, Goal::Migration("2026-11-26-000001")).map(drop),
                Store::open_existing(database.url(), StoreOptions::default()).map(drop),
                Store::pending(database.url(), None).map(drop),
            ];
            for refusal in refusals {
                let Err(StorageError::LayoutBeforeRelease { database: name }) = &refusal else {
                    panic!("{refusal:?}")
                };
                assert!(database.url().contains(name.as_str()), "{name}");
            }
            assert_eq!(
                (
                    catalog::tables(&mut connection).unwrap(),
                    counts(&mut connection)
                ),
                before,
                "{layout}"
            );
        }
    }
}

/// Writes and reads records like a server.
fn write_and_read(store: &Store, trainee_id: &str) {
    let id = trainee_id.to_owned();
    store
        .write_blocking(move |session: &mut Session<'_>| {
            let now = session.now();
            let mut provider = session
                .open_provider("10000001", Cause::new("test"))?
                .unwrap();
            let trainee = Trainee {
                trainee_id: Some(id.clone()),
                last_name: Some("Example".to_owned()),
                state: Some(State::SubmittedForTrn),
                created_at: Some(now),
                updated_at: Some(now),
                ..Trainee::default()
            };
            provider.insert_trainee(&trainee)?;
            let stored = provider.find_trainee(&id)?.unwrap();
            let changed = Trainee {
                email: Some("a@example.com".to_owned()),
                ..stored.record.clone()
            };
            provider.update_trainee(&stored, &changed)
        })
        .unwrap();
    let read = store.read_blocking::<_, StorageError>(|session| {
        session
            .open_provider("10000001", Cause::new("test"))?
            .unwrap()
            .find_trainee(trainee_id)
    });
    assert_eq!(
        read.unwrap().unwrap().record.email.as_deref(),
        Some("a@example.com")
    );
}

#[test]
fn server_continues_after_expanding_migration_of_newer_program() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let server = Store::open(database.url(), StoreOptions::default()).unwrap();
        server.migrate().unwrap();
        write_and_read(&server, "before");
        // An expanding migration may add a nullable column, a column with a default, a table and an
        // index.
        apply_unknown(
            &mut connect(database.url()),
            "ALTER TABLE trainees ADD COLUMN shoe_size TEXT;
             ALTER TABLE schools ADD COLUMN days INTEGER NOT NULL DEFAULT 0;
             CREATE TABLE shoes (trainee_key BIGINT REFERENCES trainees (id) ON DELETE CASCADE);
             CREATE INDEX trainees_by_shoe_size ON trainees (shoe_size);",
        );
        write_and_read(&server, "after");
        let refused = Store::open(database.url(), StoreOptions::default())
            .unwrap()
            .migrate()
            .unwrap_err();
        assert!(
            matches!(refused, StorageError::SchemaNewer { .. }),
            "{refused:?}"
        );
    }
}
