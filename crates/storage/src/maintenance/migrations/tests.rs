//! Tests applying migrations with rows, on both databases.

use chrono::NaiveDateTime;
use diesel::backend::Backend;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use domain::{State, Trainee};
use test_support::{Database, all_kinds, kinds};

use super::next_migrations::{SHOES, bring_up_to_date_with, shoes, up_to};
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
fn next_migration_keeps_rows_of_other_tables() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let folder = shoes();
        let mut connection = connect(database.url());
        let before = counts(&mut connection);
        let applied = bring_up_to_date_with(&mut connection, folder.path()).unwrap();
        assert_eq!(applied, [SHOES]);
        assert_eq!(counts(&mut connection), before, "{kind:?}");
    }
}

#[test]
fn partitioned_history_becomes_one_table() {
    for kind in kinds() {
        let database = Database::fresh_on(kind);
        let mut connection = connect(database.url());
        Migrator {
            migrations: up_to("20261127000005"),
            ..Migrator::new(&mut connection)
        }
        .bring_up_to_date()
        .unwrap();
        let mut rows = String::from(
            "INSERT INTO providers (ukprn, name, created_at)
                 VALUES ('10000001', 'Ashdown University', '2026-01-05 09:00:00');
             INSERT INTO trainees (provider_id, trainee_id, revision, academic_cycle, last_name_folded,
                 first_names_folded, email_folded, state, created_at, updated_at, record)
                 VALUES (1, 't', 1, 2026, '', '', '', 'draft', '2026-03-02', '2026-03-02', '{}');",
        );
        for date in [
            "1999-12-31 23:59:59.999",
            "2024-02-01 00:00:00",
            "2999-01-01 00:00:00",
        ] {
            rows += &format!(
                "INSERT INTO changes (trainee_key, changed_at, operation, fields)
                     VALUES (1, '{date}', 'update', '{{}}');"
            );
        }
        connection.batch_execute(&rows).unwrap();
        let entries = |connection: &mut DatabaseConnection| {
            let columns = (changes::id, changes::changed_at, changes::operation);
            changes::table
                .select(columns)
                .order(changes::id)
                .load::<(i64, NaiveDateTime, String)>(connection)
                .unwrap()
        };
        let before = entries(&mut connection);
        connection
            .batch_execute("DELETE FROM changes WHERE id = 3")
            .unwrap();

        bring_up_to_date(&mut connection).unwrap();
        assert_eq!(entries(&mut connection), before[..2], "{kind:?}");
        let insert = "INSERT INTO changes (trainee_key, changed_at, operation, fields)
                          VALUES (1, '2026-03-02 00:00:00', 'update', '{}')";
        connection.batch_execute(insert).unwrap();
        assert_eq!(entries(&mut connection)[2].0, 4, "{kind:?}");
        connection
            .batch_execute("DELETE FROM trainees WHERE id = 1")
            .unwrap();
        assert_eq!(entries(&mut connection), [], "{kind:?}");
    }
}

/// Tests a layout from before the first release.
#[test]
fn layout_before_release_is_rejected_without_change() {
    let version = "'20260105000001'";
    let older = format!(
        "DELETE FROM __diesel_schema_migrations;
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
                bring_up_to_date(&mut connection).map(drop),
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
fn server_continues_after_migration_of_newer_program() {
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
