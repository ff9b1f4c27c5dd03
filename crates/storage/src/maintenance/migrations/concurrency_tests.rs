//! Tests concurrent migrations: locks and waiting.

#![expect(
    clippy::disallowed_methods,
    reason = "a test waits on threads of its own"
)]

use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use test_support::{Database, Kind, kinds};

use super::next_migrations::{SHOES, shoes, with_folder};
use super::*;
use crate::error::DatabaseError;
use crate::store::{Store, StoreOptions};
use crate::testing::filled::{connect, filled};

/// The locks of another process that changes the schema.
const LOCK_SQL: &str =
    "BEGIN; LOCK TABLE __diesel_schema_migrations IN SHARE UPDATE EXCLUSIVE MODE";

/// Less than waiting for a lock that a test does not release.
const WITHOUT_LOCK: Duration = Duration::from_mins(1);

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
fn set_up_without_changes_takes_no_lock() {
    for kind in kinds() {
        let database = filled(kind, 3);
        Store::open(database.url(), StoreOptions::default())
            .unwrap()
            .set_up(None)
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
        let set_up = store.set_up(Some(Environment::Production)).unwrap();
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
        set_up(&mut connection, None).unwrap();
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
fn schema_change_waits_for_locks() {
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
        let refused = Migrator {
            migrations: with_folder(folder.path()),
            policy: policy(300),
            connection: &mut connection,
        }
        .bring_up_to_date();
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
            let waiting = scope.spawn(|| migrate(database.url(), folder.path()));
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
        assert_eq!(change.unwrap(), [SHOES], "{hold}");
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
                connection: &mut connection,
            }
            .bring_up_to_date()
        });
        thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        other.batch_execute("COMMIT").unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(change.unwrap(), [SHOES]);
}

fn migrate(url: &str, folder: &Path) -> Result<Vec<String>, StorageError> {
    Migrator {
        migrations: with_folder(folder),
        policy: policy(20_000),
        connection: &mut connect(url),
    }
    .bring_up_to_date()
}
