//! Tests concurrent migrations: locks, waiting, and building an index during writes.

use std::path::Path;
use std::time::{Duration, Instant};
use std::{fs, thread};

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use test_support::{Database, Kind, kinds};

use super::next_migrations::{SHOES, folder, shoes, with_folder};
use super::*;
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, filled};

/// The locks of another process that changes the schema.
const LOCK_SQL: &str =
    "BEGIN; LOCK TABLE __diesel_schema_migrations IN SHARE UPDATE EXCLUSIVE MODE";
/// A migration that builds an index during writes.
const INDEX: &str = "2999-01-01-000002_trainees_by_test";
const INDEX_SQL: &str =
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS trainees_by_test ON trainees (created_at)";
const INDEX_DOWN: &str = "DROP INDEX trainees_by_test";

/// Less than waiting for a lock that a test does not release.
const WITHOUT_LOCK: Duration = Duration::from_secs(60);

/// A policy that waits this long in total, in milliseconds.
fn policy(total: u64) -> RetryPolicy {
    let [total, lock, pause] = [total, 100, 50].map(Duration::from_millis);
    RetryPolicy {
        total,
        lock,
        pause,
        report: total,
    }
}

fn has_postgres() -> bool {
    kinds().contains(&Kind::Postgres)
}

fn lines(connection: &mut DatabaseConnection, sql: &str) -> Vec<String> {
    #[derive(QueryableByName)]
    struct Line {
        #[diesel(sql_type = Text)]
        line: String,
    }
    let lines = diesel::sql_query(sql).load::<Line>(connection).unwrap();
    lines.into_iter().map(|found| found.line).collect()
}

#[test]
fn set_up_without_pending_changes_takes_no_lock() {
    for kind in kinds() {
        let database = filled(kind, 3);
        Store::open(database.url(), StoreOptions::default())
            .unwrap()
            .set_up(Goal::Newest, None)
            .unwrap();
        let mut other = connect(database.url());
        let lock = other.either(LOCK_SQL, "BEGIN IMMEDIATE");
        other.batch_execute(lock).unwrap();
        other
            .batch_execute(
                "UPDATE providers SET name = 'Another'; UPDATE trainees SET revision = 2",
            )
            .unwrap();
        let begun = Instant::now();
        let store = Store::open(database.url(), StoreOptions::default()).unwrap();
        let set_up = store
            .set_up(Goal::Newest, Some(Environment::Production))
            .unwrap();
        assert_eq!(set_up.environment, Environment::Production);
        assert_eq!(store.migrate().unwrap(), 0);
        let pending = Store::pending(database.url(), None).unwrap();
        assert!(pending.is_empty(), "{pending}");
        assert!(
            begun.elapsed() < WITHOUT_LOCK,
            "{kind:?}: {:?}",
            begun.elapsed()
        );
    }
}

#[test]
fn pending_changes_are_named_and_not_applied() {
    for kind in kinds() {
        let database = filled(kind, 3);
        let mut connection = connect(database.url());
        let names = |url| Store::pending(url, None).unwrap().to_string();
        assert_eq!(names(database.url()), "settings of the register");
        set_up(&mut connection, Goal::Newest, None).unwrap();
        assert_eq!(names(database.url()), "");
        let folder = shoes();
        let before = catalog::tables(&mut connection).unwrap();
        let pending = pending::find(&mut connection, &with_folder(folder.path()), None).unwrap();
        assert_eq!(pending.to_string(), SHOES);
        assert_eq!(catalog::tables(&mut connection).unwrap(), before);
        let refused = Store::pending(database.url(), Some(Environment::Sandbox)).unwrap_err();
        assert!(
            matches!(refused, StorageError::OtherEnvironment { .. }),
            "{refused:?}"
        );
        let fresh = Database::fresh_on(kind);
        let refused = Store::pending(fresh.url(), None).unwrap_err();
        assert!(
            matches!(
                refused,
                StorageError::Database(DatabaseError::Absent(_)) | StorageError::NoRegister { .. }
            ),
            "{refused:?}"
        );
    }
}

/// Blocks until another session waits for a lock.
fn wait_for_waiter(connection: &mut DatabaseConnection) {
    let begun = Instant::now();
    let waiting = "SELECT pid::text AS line FROM pg_locks WHERE NOT granted AND pid IN \
                   (SELECT pid FROM pg_stat_activity WHERE datname = current_database())";
    while lines(connection, waiting).is_empty() {
        assert!(
            begun.elapsed() < Duration::from_secs(20),
            "no session waits"
        );
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn schema_change_waits_for_other_change_and_for_locks() {
    if !has_postgres() {
        return;
    }
    for hold in [
        LOCK_SQL,
        "BEGIN; UPDATE trainees SET revision = 2 WHERE id = 2",
    ] {
        let database = filled(Kind::Postgres, 3);
        let folder = shoes();
        let mut other = connect(database.url());
        other.batch_execute(hold).unwrap();
        let mut connection = connect(database.url());
        let connections = Connections::from_url(database.url()).unwrap();
        let work = Migrator::with_connections(&mut connection, &connections);
        let refused = Migrator {
            migrations: with_folder(folder.path()),
            policy: policy(300),
            ..work
        }
        .bring_to(Goal::Newest);
        assert!(
            matches!(refused, Err(StorageError::Database(DatabaseError::Busy))),
            "{hold}: {refused:?}"
        );
        assert!(
            !catalog::tables(&mut connection)
                .unwrap()
                .iter()
                .any(|table| table == "shoes")
        );
        let change = thread::scope(|scope| {
            let waiting = scope.spawn(|| go(database.url(), folder.path(), Goal::Newest));
            wait_for_waiter(&mut connect(database.url()));
            // Other writers proceed: they wait for at most one attempt.
            let mut server = connect(database.url());
            for _ in 0..5 {
                let begun = Instant::now();
                server
                    .batch_execute("UPDATE trainees SET revision = 3 WHERE id = 4")
                    .unwrap();
                assert!(begun.elapsed() < WITHOUT_LOCK, "{:?}", begun.elapsed());
                thread::sleep(Duration::from_millis(40));
            }
            other.batch_execute("COMMIT").unwrap();
            waiting.join().unwrap()
        });
        assert_eq!(change.unwrap().applied, [SHOES], "{hold}");
    }
}

#[test]
fn schema_change_waits_for_sqlite_writer() {
    let database = filled(Kind::Sqlite, 3);
    let folder = shoes();
    let mut other = connect(database.url());
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    let mut connection = connect(database.url());
    connection
        .batch_execute("PRAGMA busy_timeout = 20")
        .unwrap();
    let change = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let migrations = with_folder(folder.path());
            Migrator {
                migrations,
                policy: policy(20_000),
                ..Migrator::new(&mut connection)
            }
            .bring_to(Goal::Newest)
        });
        thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        other.batch_execute("COMMIT").unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(change.unwrap().applied, [SHOES]);
}

fn go(url: &str, folder: &Path, goal: Goal<'_>) -> Result<SchemaChange, StorageError> {
    let connections = Connections::from_url(url).unwrap();
    let mut connection = connections.establish().unwrap();
    let work = Migrator::with_connections(&mut connection, &connections);
    Migrator {
        migrations: with_folder(folder),
        policy: policy(20_000),
        ..work
    }
    .bring_to(goal)
}

/// `true` if the index is valid, `false` if it is invalid; empty if there is none.
fn index(connection: &mut DatabaseConnection) -> Vec<String> {
    lines(
        connection,
        "SELECT indisvalid::text AS line FROM pg_index WHERE indexrelid = to_regclass('trainees_by_test')",
    )
}

#[test]
fn non_transactional_migration_divides_transaction() {
    if !has_postgres() {
        return;
    }
    let database = filled(Kind::Postgres, 3);
    let mut connection = connect(database.url());
    let one = "2999-01-01-000001_one";
    let last = "2999-01-01-000003_last";
    let up = "CREATE TABLE one (id INTEGER)";
    let down = "SELECT 1";
    let broken = folder(&[
        (one, up, down),
        (INDEX, INDEX_SQL, INDEX_DOWN),
        (last, "SELECT broken", down),
    ]);
    let refused = go(database.url(), broken.path(), Goal::Newest).unwrap_err();
    assert!(matches!(refused, StorageError::Migration(_)), "{refused:?}");
    let applied = "SELECT version AS line FROM __diesel_schema_migrations WHERE version LIKE '2999%' ORDER BY version";
    assert_eq!(
        lines(&mut connection, applied),
        ["29990101000001", "29990101000002"]
    );
    assert_eq!(index(&mut connection), ["true"]);

    let up = "CREATE TABLE last (id INTEGER)";
    let mended = folder(&[
        (one, "SELECT broken", down),
        (INDEX, "SELECT broken", INDEX_DOWN),
        (last, up, down),
    ]);
    assert_eq!(
        go(database.url(), mended.path(), Goal::Newest)
            .unwrap()
            .applied,
        [last]
    );
    let back = go(
        database.url(),
        mended.path(),
        Goal::Migration("2999-01-01-000001"),
    )
    .unwrap();
    assert_eq!(back.taken_back, [last, INDEX]);
    assert_eq!(index(&mut connection), [""; 0]);
}

#[test]
fn concurrent_servers_build_index_once_during_writes() {
    if !has_postgres() {
        return;
    }
    let database = filled(Kind::Postgres, 3);
    let folder = folder(&[(INDEX, INDEX_SQL, INDEX_DOWN)]);
    let mut long = connect(database.url());
    long.batch_execute("BEGIN; UPDATE trainees SET revision = 2 WHERE id = 2")
        .unwrap();
    let applied = thread::scope(|scope| {
        let servers: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| go(database.url(), folder.path(), Goal::Newest)))
            .collect();
        let mut other = connect(database.url());
        wait_for_waiter(&mut other);
        for _ in 0..5 {
            let begun = Instant::now();
            other
                .batch_execute("UPDATE trainees SET revision = 3 WHERE id = 4")
                .unwrap();
            assert!(
                begun.elapsed() < Duration::from_millis(500),
                "{:?}",
                begun.elapsed()
            );
            thread::sleep(Duration::from_millis(40));
        }
        long.batch_execute("COMMIT").unwrap();
        servers
            .into_iter()
            .map(|server| server.join().unwrap().unwrap().applied.len())
            .sum::<usize>()
    });
    assert_eq!(applied, 1);
    assert_eq!(index(&mut connect(database.url())), ["true"]);
}

#[test]
fn interrupted_index_is_rebuilt() {
    if !has_postgres() {
        return;
    }
    let database = filled(Kind::Postgres, 3);
    let folder = folder(&[(INDEX, INDEX_SQL, INDEX_DOWN)]);
    let mut long = connect(database.url());
    long.batch_execute("BEGIN; UPDATE trainees SET revision = 2 WHERE id = 2")
        .unwrap();
    let mut other = connect(database.url());
    thread::scope(|scope| {
        let server = scope.spawn(|| go(database.url(), folder.path(), Goal::Newest));
        let begun = Instant::now();
        while index(&mut other).is_empty() {
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "no index is being built"
            );
            thread::sleep(Duration::from_millis(5));
        }
        let kill = "SELECT pg_terminate_backend(pid)::text AS line FROM pg_stat_activity \
                    WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'";
        assert_eq!(lines(&mut other, kill), ["true"]);
        assert!(server.join().unwrap().is_err());
    });
    long.batch_execute("COMMIT").unwrap();
    assert_eq!(index(&mut other), ["false"]);
    assert_eq!(
        go(database.url(), folder.path(), Goal::Newest)
            .unwrap()
            .applied,
        [INDEX]
    );
    assert_eq!(index(&mut other), ["true"]);
}

/// The rules of docs/changing-the-schema.md for migrations outside a transaction.
#[test]
fn non_transactional_migrations_follow_documented_rules() {
    let migrations = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations");
    let check = |folder: &Path| {
        if !folder.join("metadata.toml").exists() {
            return;
        }
        let name = folder.file_name().unwrap().to_str().unwrap().to_owned();
        let up = fs::read_to_string(folder.join("up.sql")).unwrap();
        let code: Vec<_> = up
            .lines()
            .filter(|line| !line.trim_start().starts_with("--"))
            .collect();
        let code = code.join(" ");
        assert_eq!(
            code.trim().trim_end_matches(';').matches(';').count(),
            0,
            "{name}"
        );
        let subject = name.split_once('_').unwrap().1;
        let begins = [
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS",
            "CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS",
            "DROP INDEX CONCURRENTLY IF EXISTS",
        ];
        let is_validation = code.starts_with("ALTER TABLE ")
            && code
                .trim()
                .trim_end_matches(';')
                .ends_with(&format!(" VALIDATE CONSTRAINT {subject}"));
        let is_of_index = begins
            .iter()
            .any(|begin| code.starts_with(&format!("{begin} {subject}")));
        assert!(is_of_index || is_validation, "{name}");
        let down = fs::read_to_string(folder.join("down.sql")).unwrap();
        assert!(
            !down.contains("CONCURRENTLY"),
            "{name}: it is taken back in a transaction"
        );
    };
    for folder in fs::read_dir(migrations.join("postgres")).unwrap() {
        check(&folder.unwrap().path());
    }
    check(&folder(&[(INDEX, INDEX_SQL, INDEX_DOWN)]).path().join(INDEX));
    for folder in fs::read_dir(migrations.join("sqlite")).unwrap() {
        assert!(
            !folder.unwrap().path().join("metadata.toml").exists(),
            "SQLite builds an index while writes wait"
        );
    }
}
