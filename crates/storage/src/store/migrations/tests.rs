//! Migrations forwards and back, over rows, on both databases.

use diesel::backend::Backend;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel_migrations::MigrationHarness as _;
use domain::{State, Trainee};
use test_support::{Kind, all_kinds, kinds};

use super::*;
use crate::history::Cause;
use crate::schema::changes;
use crate::session::Session;
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, counts, empty, filled};

/// The names of the migrations that are applied, oldest first.
fn names(connection: &mut DatabaseConnection) -> Vec<String> {
    fn of<DB: Backend>(migrations: diesel::migration::Result<Vec<Box<dyn Migration<DB>>>>) -> Vec<String> {
        let mut names: Vec<_> = migrations.unwrap().iter().map(|migration| migration.name().to_string()).collect();
        names.sort_unstable();
        names
    }
    match connection {
        DatabaseConnection::Postgres(_) => of(MigrationSource::<diesel::pg::Pg>::migrations(&POSTGRES)),
        DatabaseConnection::Sqlite(_) => of(MigrationSource::<diesel::sqlite::Sqlite>::migrations(&SQLITE)),
    }
}

fn to_newest(connection: &mut DatabaseConnection) -> SchemaChange {
    bring_to(connection, Goal::Newest).unwrap()
}

/// Makes believe that a newer program has been here.
fn apply_unknown(connection: &mut DatabaseConnection, sql: &str) {
    connection.batch_execute(sql).unwrap();
    connection.batch_execute("INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000001')").unwrap();
}

#[test]
fn both_databases_have_the_same_migrations() {
    let of = |kind| names(&mut connect(empty(kind).url()));
    assert!(all_kinds().into_iter().map(of).collect::<Vec<_>>().windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn every_migration_can_be_taken_back_over_rows_and_applied_again() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        let mut before = counts(&mut connection);
        let names = names(&mut connection);
        for (earlier, later) in names.iter().zip(names.iter().skip(1)).rev() {
            let change = bring_to(&mut connection, Goal::Migration(earlier)).unwrap();
            assert_eq!(change, SchemaChange { applied: vec![], taken_back: vec![later.clone()] });
            // What is there without the migration is there with all its rows.
            let left = counts(&mut connection);
            before.retain(|(table, _)| left.iter().any(|(name, _)| name == table));
            assert_eq!(left, before, "{kind:?} without {later}");
        }
        match &mut connection {
            DatabaseConnection::Postgres(inner) => inner.revert_all_migrations(POSTGRES).unwrap().len(),
            DatabaseConnection::Sqlite(inner) => inner.revert_all_migrations(SQLITE).unwrap().len(),
        };
        assert_eq!(counts(&mut connection), []);
        assert_eq!(to_newest(&mut connection).applied, names);
    }
}

#[test]
fn rows_that_survive_the_way_back_survive_the_way_forth() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        let names = names(&mut connection);
        bring_to(&mut connection, Goal::Migration(&names[1])).unwrap();
        let before = counts(&mut connection);
        assert_eq!(to_newest(&mut connection).applied, names[2..]);
        let after = counts(&mut connection);
        assert!(before.iter().all(|table| after.contains(table)), "{kind:?}: {before:?} {after:?}");
    }
}

/// How an older program adds to the history.
const OLD_INSERT: &str = "INSERT INTO changes (changed_at, token_id, request_id, version, operation, fields, changed_by, \
     trainee_key) VALUES";

#[test]
fn the_history_keeps_its_entries_and_goes_on_with_its_keys_when_it_is_partitioned_and_back() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        let keys = |connection: &mut DatabaseConnection| {
            changes::table.select(changes::id).order(changes::id).load::<i64>(connection).unwrap()
        };
        for goal in [Goal::Migration("2026-11-24-000012_trainees_by_position"), Goal::Newest, Goal::Newest] {
            bring_to(&mut connection, goal).unwrap();
            let before = keys(&mut connection);
            let values = "NULL, NULL, NULL, 'update', '{}', NULL, 2";
            for date in ["1999-12-31 23:59:59.999", "2024-02-01 00:00:00", "2999-01-01 00:00:00"] {
                connection.batch_execute(&format!("{OLD_INSERT} ('{date}', {values})")).unwrap();
            }
            let next = before.last().unwrap() + 1;
            assert_eq!(keys(&mut connection), [before, vec![next, next + 1, next + 2]].concat(), "{kind:?} {goal:?}");
        }
        let before = keys(&mut connection);
        bring_to(&mut connection, Goal::Migration("2026-11-24-000012_trainees_by_position")).unwrap();
        assert_eq!(keys(&mut connection), before, "{kind:?}");
        connection.batch_execute("DELETE FROM trainees WHERE id = 2").unwrap();
        bring_to(&mut connection, Goal::Newest).unwrap();
        assert_eq!(keys(&mut connection), [0; 0], "{kind:?}");
    }
}

#[test]
fn a_sequence_of_another_name_gets_the_one_by_which_the_key_of_a_trainee_is_found() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let database = filled(Kind::Postgres, 3);
    let mut connection = connect(database.url());
    bring_to(&mut connection, Goal::Migration("2026-11-27-000022_imports")).unwrap();
    connection.batch_execute("ALTER SEQUENCE trainees_id_seq RENAME TO keys_of_trainees").unwrap();
    to_newest(&mut connection);
    // It fails where there is no such sequence, or another one.
    let drawn = "SELECT setval(pg_get_serial_sequence('trainees', 'id'), 77); \
                 SELECT 1 / (currval('trainees_id_seq') = 77)::int";
    connection.batch_execute(drawn).unwrap();
}

#[test]
fn a_migration_is_named_by_its_number_or_in_full() {
    let database = empty(Kind::Sqlite);
    let mut connection = connect(database.url());
    let newest = names(&mut connection).pop().unwrap();
    let number = newest.split('_').next().unwrap();
    for name in [newest.as_str(), number, &number.replace('-', "")] {
        assert_eq!(bring_to(&mut connection, Goal::Migration(name)).unwrap(), SchemaChange::default(), "{name}");
    }
    for name in ["", "2026", "1999-01-01-000001", "2026-01-05-000002_placements"] {
        let refused = bring_to(&mut connection, Goal::Migration(name)).unwrap_err();
        assert!(matches!(&refused, StorageError::UnknownMigration { known, .. } if known.contains(&newest)), "{name}");
    }
}

#[test]
fn a_schema_that_is_newer_than_the_program_is_refused_and_left_alone() {
    for kind in kinds() {
        let database = empty(kind);
        let mut connection = connect(database.url());
        apply_unknown(&mut connection, "CREATE TABLE future (id INTEGER)");
        let names = names(&mut connection);
        for goal in [Goal::Newest, Goal::Migration(&names[0])] {
            let refused = bring_to(&mut connection, goal).unwrap_err();
            let StorageError::SchemaNewer { version, newest } = &refused else { panic!("{refused:?}") };
            assert_eq!(version, "99991231000001");
            assert!(names.last().unwrap().replace('-', "").starts_with(newest), "{newest}");
        }
        assert_eq!(counts(&mut connection).len(), crate::copy::tables::copied().count());
    }
}

/// What a server does all day.
fn write_and_read(store: &Store, trainee_id: &str) {
    let id = trainee_id.to_owned();
    store
        .write_blocking(move |session: &mut Session<'_>| {
            let now = session.now();
            let mut provider = session.open_provider("10000001", Cause::of("test"))?.unwrap();
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
            let changed = Trainee { email: Some("a@example.com".to_owned()), ..stored.record.clone() };
            provider.update_trainee(&stored, &changed)
        })
        .unwrap();
    let read = store.read_blocking::<_, StorageError>(|session| {
        session.open_provider("10000001", Cause::of("test"))?.unwrap().find_trainee(trainee_id)
    });
    assert_eq!(read.unwrap().unwrap().record.email.as_deref(), Some("a@example.com"));
}

#[test]
fn a_server_goes_on_after_an_expanding_migration_of_a_newer_program() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let server = Store::open(database.url(), StoreOptions::default()).unwrap();
        server.migrate().unwrap();
        write_and_read(&server, "before");
        // A column that may be empty, a column with a default, a table of its own and an index: what the rules allow.
        apply_unknown(
            &mut connect(database.url()),
            "ALTER TABLE trainees ADD COLUMN shoe_size TEXT;
             ALTER TABLE schools ADD COLUMN days INTEGER NOT NULL DEFAULT 0;
             CREATE TABLE shoes (trainee_key BIGINT REFERENCES trainees (id) ON DELETE CASCADE);
             CREATE INDEX trainees_by_shoe_size ON trainees (shoe_size);",
        );
        write_and_read(&server, "after");
        let refused = Store::open(database.url(), StoreOptions::default()).unwrap().migrate().unwrap_err();
        assert!(matches!(refused, StorageError::SchemaNewer { .. }), "{refused:?}");
    }
}
