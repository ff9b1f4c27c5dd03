//! Tests of the row locks on PostgreSQL: which transactions wait for each other.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use chrono::{NaiveDate, TimeDelta};
use database::connection::Access;
use diesel::sql_types::BigInt;
use test_support::{Database, Kind, kinds};

use super::*;
use crate::testing::Register;
use crate::testing::filled::{connect, empty};

/// A register on PostgreSQL; `None` where the tests run on SQLite only.
fn on_postgres() -> Option<Database> {
    kinds()
        .contains(&Kind::Postgres)
        .then(|| empty(Kind::Postgres))
}

/// A connection in a write transaction with a lock timeout of 100 ms.
fn writing(database: &Database) -> DatabaseConnection {
    let mut connection = connect(database.url());
    connection.begin(Access::Write).unwrap();
    // `LOCAL`: a pooler may run the next transaction in another session.
    connection
        .batch_execute("SET LOCAL lock_timeout = '100ms'")
        .unwrap();
    connection
}

fn now() -> NaiveDateTime {
    NaiveDate::from_ymd_opt(2026, 3, 2)
        .unwrap()
        .and_hms_milli_opt(12, 0, 0, 5)
        .unwrap()
}

fn try_key(
    connection: &mut DatabaseConnection,
    provider: i64,
    key: &str,
    now: NaiveDateTime,
) -> bool {
    let oldest = now - TimeDelta::hours(24);
    with_idempotency_key_locked(connection, provider, key, now, oldest, |_| Ok(()))
        .unwrap()
        .is_some()
}

#[derive(QueryableByName)]
struct Count {
    #[diesel(sql_type = BigInt)]
    rows: i64,
}

fn count(connection: &mut DatabaseConnection, from: &str) -> i64 {
    diesel::sql_query(format!("SELECT count(*) AS rows FROM {from}"))
        .get_result::<Count>(connection)
        .unwrap()
        .rows
}

fn duplicate_key(last_name: &str) -> DuplicateKey {
    let trainee = domain::Trainee {
        last_name: Some(last_name.to_owned()),
        ..domain::Trainee::default()
    };
    DuplicateKey::from_trainee(&trainee, now().date())
}

#[test]
fn same_person_waits_and_another_does_not() {
    let Some(database) = on_postgres() else {
        return;
    };
    let mut one = writing(&database);
    let mut other = writing(&database);
    let lock = |connection: &mut DatabaseConnection, provider, last_name, may_wait| {
        with_duplicates_locked(
            connection,
            provider,
            &duplicate_key(last_name),
            may_wait,
            |_| Ok(()),
        )
    };
    for may_wait in [true, false] {
        lock(&mut one, 1, "Ash", may_wait).unwrap();
        lock(&mut other, 2, "Ash", may_wait).unwrap();
        lock(&mut other, 1, "Beech", may_wait).unwrap();
    }
    assert!(matches!(
        lock(&mut other, 1, "Ash", false),
        Err(StorageError::Database(DatabaseError::Busy))
    ));
    // No statement has failed: the transaction is still usable.
    assert_eq!(count(&mut other, "lock_stripes"), STRIPES.cast_signed());
    assert!(matches!(
        lock(&mut other, 1, "Ash", true),
        Err(StorageError::Database(DatabaseError::Busy))
    ));
    other.roll_back().unwrap();
    one.commit().unwrap();
    other.begin(Access::Write).unwrap();
    lock(&mut other, 1, "Ash", true).unwrap();
}

#[test]
fn load_sees_commits_of_previous_lock_holder() {
    let Some(database) = on_postgres() else {
        return;
    };
    let mut one = writing(&database);
    let mut other = connect(database.url());
    let key = duplicate_key("Ash");
    with_duplicates_locked(&mut one, 1, &key, true, |_| Ok(())).unwrap();
    one.batch_execute("INSERT INTO register_settings (name, value) VALUES ('seen', 'x')")
        .unwrap();
    other.begin(Access::Write).unwrap();
    let seen = thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let seen = "register_settings WHERE name = 'seen'";
            with_duplicates_locked(&mut other, 1, &key, true, |connection| {
                Ok(count(connection, seen))
            })
        });
        thread::sleep(Duration::from_millis(100));
        one.commit().unwrap();
        waiting.join().unwrap()
    });
    assert_eq!(seen.unwrap(), 1);
    other.roll_back().unwrap();
    // Also where the row is missing.
    one.batch_execute("DELETE FROM lock_stripes").unwrap();
    one.begin(Access::Write).unwrap();
    let seen = with_duplicates_locked(&mut one, 1, &key, true, |connection| {
        Ok(count(connection, "lock_stripes"))
    });
    assert_eq!(seen.unwrap(), 1);
}

#[test]
fn locking_writes_no_rows_except_in_emptied_table() {
    let Some(database) = on_postgres() else {
        return;
    };
    let mut one = writing(&database);
    let mut other = writing(&database);
    let trn: Trn = "1234567".parse().unwrap();
    let versions = "(SELECT DISTINCT xmin::text FROM lock_stripes) v";
    let before = (count(&mut one, "lock_stripes"), count(&mut one, versions));
    assert_eq!(before, (STRIPES.cast_signed(), 1));
    lock_trn(&mut one, &trn).unwrap();
    one.commit().unwrap();
    assert_eq!(
        (count(&mut one, "lock_stripes"), count(&mut one, versions)),
        before
    );
    one.batch_execute("DELETE FROM lock_stripes").unwrap();
    one.begin(Access::Write).unwrap();
    lock_trn(&mut one, &trn).unwrap();
    assert!(matches!(
        lock_trn(&mut other, &trn),
        Err(StorageError::Database(DatabaseError::Busy))
    ));
    other.roll_back().unwrap();
    one.commit().unwrap();
    assert_eq!(count(&mut one, "lock_stripes"), 1);
}

#[test]
fn try_lock_trn_does_not_wait_for_locked_trn() {
    let Some(database) = on_postgres() else {
        return;
    };
    let mut one = writing(&database);
    let mut other = writing(&database);
    let trn: Trn = "1234567".parse().unwrap();
    assert!(try_lock_trn(&mut one, &trn).unwrap());
    assert!(!try_lock_trn(&mut other, &trn).unwrap());
    one.commit().unwrap();
    assert!(try_lock_trn(&mut other, &trn).unwrap());
}

#[test]
fn idempotency_key_is_in_flight_until_transaction_ends() {
    let Some(database) = on_postgres() else {
        return;
    };
    let mut one = writing(&database);
    let mut other = writing(&database);
    assert!(try_key(&mut one, 1, "a'b", now()));
    assert!(
        try_key(&mut one, 1, "a'b", now()),
        "a transaction refuses itself"
    );
    for round in 0..2 {
        assert!(!try_key(&mut other, 1, "a'b", now()), "{round}");
        assert!(try_key(&mut other, 2, "a'b", now()), "{round}");
        // No other key shares the row of the key.
        for number in 0..500 {
            assert!(
                try_key(&mut other, 1, &format!("{number}"), now()),
                "{round} {number}"
            );
        }
    }
    one.roll_back().unwrap();
    assert!(try_key(&mut other, 1, "a'b", now()));
    // A rolled-back request leaves only the row of its key.
    other.roll_back().unwrap();
    assert_eq!(count(&mut one, "idempotency_locks"), 502);
    assert_eq!(
        count(
            &mut one,
            "idempotency_locks WHERE digest ~ '^[0-9a-f]{64}$'"
        ),
        502
    );
}

#[test]
fn rollback_keeps_work_before_key_lock() {
    let Some(database) = on_postgres() else {
        return;
    };
    let mut one = writing(&database);
    one.batch_execute("INSERT INTO register_settings (name, value) VALUES ('before', '1')")
        .unwrap();
    assert!(try_key(&mut one, 1, "key", now()));
    one.batch_execute("INSERT INTO register_settings (name, value) VALUES ('after', '1')")
        .unwrap();
    one.require_depth(1).unwrap();
    one.roll_back().unwrap();
    assert_eq!(
        count(
            &mut one,
            "register_settings WHERE name IN ('before', 'after')"
        ),
        1
    );
}

#[test]
fn key_reused_during_removal_is_not_in_flight() {
    let Some(database) = on_postgres() else {
        return;
    };
    let mut one = writing(&database);
    let old = now() - TimeDelta::hours(50);
    assert!(try_key(&mut one, 1, "key", old));
    one.commit().unwrap();
    // Runs the statements of a removal without committing.
    let mut removing = writing(&database);
    removing
        .batch_execute("SELECT * FROM idempotency_locks FOR UPDATE; DELETE FROM idempotency_locks")
        .unwrap();
    let (send, receive) = mpsc::channel();
    let url = database.url().to_owned();
    let again = thread::spawn(move || {
        let mut connection = connect(&url);
        connection.begin(Access::Write).unwrap();
        send.send(try_key(&mut connection, 1, "key", now()))
            .unwrap();
        connection.commit().unwrap();
    });
    assert!(
        receive.recv_timeout(Duration::from_millis(200)).is_err(),
        "did not wait"
    );
    removing.commit().unwrap();
    assert!(
        receive.recv_timeout(Duration::from_secs(5)).unwrap(),
        "in flight"
    );
    again.join().unwrap();
}

#[test]
fn old_rows_of_keys_are_removed_unless_locked() {
    let Some(database) = on_postgres() else {
        return;
    };
    let register = Register::new();
    if matches!(connect(register.url()), DatabaseConnection::Sqlite(_)) {
        return;
    }
    drop(database);
    let date = register.store.now().naive_utc();
    let mut connection = connect(register.url());
    for (number, days) in [(0, 0), (1, 1), (2, 3), (3, 4), (4, 5)] {
        connection.begin(Access::Write).unwrap();
        assert!(try_key(
            &mut connection,
            1,
            &format!("{number}"),
            date - TimeDelta::days(days)
        ));
        connection.commit().unwrap();
    }
    // A request that is still running reuses an old key.
    connection.begin(Access::Write).unwrap();
    assert!(try_key(&mut connection, 1, "4", date));
    let remove = || {
        register
            .write(|session| session.remove_old_idempotency_locks(1))
            .unwrap()
    };
    assert_eq!((remove(), remove(), remove()), (1, 1, 0));
    let mut other = connect(register.url());
    other.begin(Access::Write).unwrap();
    assert!(!try_key(&mut other, 1, "4", date));
    assert_eq!(count(&mut other, "idempotency_locks"), 3);
}

/// Searches all sources for functions of the other kind of PostgreSQL locks. A pooler or a
/// distributed engine may not support them.
#[test]
fn only_rows_and_tables_are_locked() {
    let word = ["advis", "ory"].concat();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations")];
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for entry in fs::read_dir(crates).unwrap() {
        folders.push(entry.unwrap().path());
    }
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let extension = path
                .extension()
                .and_then(|extension| extension.to_str())
                .unwrap_or_default();
            if path.is_dir() {
                folders.push(path);
            } else if ["rs", "sql"].contains(&extension) {
                files += 1;
                let text = fs::read_to_string(&path).unwrap();
                let found = text.lines().find(|line| line.contains(&format!("{word}_")));
                assert_eq!(found, None, "{}", path.display());
            }
        }
    }
    assert!(files > 100, "{files}");
}
