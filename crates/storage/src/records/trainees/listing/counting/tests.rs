//! Tests that the stored counts equal counts of the rows.

use std::thread;

use database::connection::{Connections, DatabaseConnection};
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::BigInt;
use test_support::{Database, Kind, has_postgres};

use crate::store::{Store, StoreOptions};

/// Selects the number of stored counts that differ from a count of the rows.
const DIFFERING_SQL: &str = "
    WITH kept AS (
        SELECT provider_id, academic_cycle, state, has_trn, itt_start_date, sum(trainees) AS trainees
        FROM trainee_counts GROUP BY 1, 2, 3, 4, 5 HAVING sum(trainees) <> 0),
    counted AS (
        SELECT provider_id, academic_cycle, state, trn IS NOT NULL, coalesce(itt_start_date, '0001-01-01'), count(*)
        FROM trainees WHERE discarded_at IS NULL AND state <> 'draft' GROUP BY 1, 2, 3, 4, 5)
    SELECT (SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted) AS more)
         + (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept) AS fewer) AS number";

/// Like [`DIFFERING_SQL`], for the counts by the day of the last change.
const DIFFERING_BY_DAY_SQL: &str = "
    WITH kept AS (
        SELECT provider_id, academic_cycle, changed_on, state, has_trn, sum(trainees) AS trainees
        FROM trainee_change_counts GROUP BY 1, 2, 3, 4, 5 HAVING sum(trainees) <> 0),
    counted AS (
        SELECT provider_id, academic_cycle, DAY, state, trn IS NOT NULL, count(*)
        FROM trainees WHERE discarded_at IS NULL AND state <> 'draft' GROUP BY 1, 2, 3, 4, 5)
    SELECT (SELECT count(*) FROM (SELECT * FROM kept EXCEPT SELECT * FROM counted) AS more)
         + (SELECT count(*) FROM (SELECT * FROM counted EXCEPT SELECT * FROM kept) AS fewer) AS number";

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

fn number(connection: &mut DatabaseConnection, sql: &str) -> i64 {
    diesel::sql_query(sql)
        .get_result::<Number>(connection)
        .unwrap()
        .number
}

#[track_caller]
fn assert_counts_are_right(connection: &mut DatabaseConnection) {
    assert_eq!(number(connection, DIFFERING_SQL), 0);
    let by_day = DIFFERING_BY_DAY_SQL.replace(
        "DAY",
        connection.either("updated_at::DATE", "date(updated_at)"),
    );
    assert_eq!(number(connection, &by_day), 0);
}

fn trainees(connection: &mut DatabaseConnection) -> i64 {
    number(connection, "SELECT count(*) AS number FROM trainees")
}

/// A register with two providers, and a connection to it.
fn register(database: &Database) -> DatabaseConnection {
    let store = Store::open(database.url(), StoreOptions::default()).unwrap();
    store.migrate().unwrap();
    for ukprn in ["10000001", "10000002"] {
        store
            .write_blocking(move |session| session.add_provider(ukprn, "A provider"))
            .unwrap();
    }
    connect(database)
}

fn connect(database: &Database) -> DatabaseConnection {
    Connections::from_url(database.url())
        .unwrap()
        .establish()
        .unwrap()
}

/// A generator of pseudo-random numbers with a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        // Knuth's MMIX linear congruential generator.
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.below(words.len() as u64) as usize]
    }

    fn provider(&mut self) -> u64 {
        1 + self.below(2)
    }

    fn cycle(&mut self) -> u64 {
        2025 + self.below(2)
    }

    fn state(&mut self) -> &'static str {
        self.one_of(&[
            "'draft'",
            "'submitted_for_trn'",
            "'trn_received'",
            "'deferred'",
            "'withdrawn'",
            "'awarded'",
        ])
    }

    fn start(&mut self) -> &'static str {
        self.one_of(&["NULL", "'2025-09-01'", "'2026-09-01'", "'2027-01-04'"])
    }

    fn trn(&mut self) -> &'static str {
        self.one_of(&["NULL", "'1234567'", "'7654321'"])
    }

    fn discarded(&mut self) -> &'static str {
        self.one_of(&["NULL", "NULL", "'2026-10-01 00:00:00'"])
    }

    /// A random write, possibly of many rows. An inserted trainee gets the identifier `named`.
    fn write(&mut self, named: &str) -> String {
        let some = format!("id % {} = {}", 1 + self.below(9), self.below(3));
        match self.below(10) {
            0..4 => format!(
                "INSERT INTO trainees (provider_id, trainee_id, revision, academic_cycle, last_name_folded,
                     first_names_folded, email_folded, itt_start_date, trn, state, created_at, updated_at, record, discarded_at)
                 VALUES ({}, '{named}', 1, {}, '', '', '', {}, {}, {}, '2026-10-01', '2026-10-01', '{{}}', {})",
                self.provider(),
                self.cycle(),
                self.start(),
                self.trn(),
                self.state(),
                self.discarded(),
            ),
            // The program changes trainees in this way. A trigger sets the position.
            4 => format!("UPDATE trainees SET state = {}, record = '{{}}' WHERE {some}", self.state()),
            5 => format!("UPDATE trainees SET trn = {}, itt_start_date = {} WHERE {some}", self.trn(), self.start()),
            6 => format!("UPDATE trainees SET discarded_at = {} WHERE {some}", self.discarded()),
            7 => format!(
                "UPDATE trainees SET provider_id = {}, academic_cycle = {} WHERE {some}",
                self.provider(),
                self.cycle()
            ),
            8 => format!("UPDATE trainees SET revision = revision + 1, updated_at = '2026-10-02' WHERE {some}"),
            _ => format!("DELETE FROM trainees WHERE {some} AND id % 4 = 0"),
        }
    }
}

#[test]
fn counts_are_right_after_writes_of_all_kinds() {
    let database = Database::fresh();
    let mut connection = register(&database);
    for seed in 0..5 {
        let mut numbers = Numbers(seed);
        for step in 0..100 {
            connection
                .batch_execute(&numbers.write(&format!("{seed}-{step}")))
                .unwrap();
            if numbers.below(10) == 0 {
                let undone = numbers.write(&format!("{seed}-{step}-undone"));
                connection
                    .batch_execute(&format!("BEGIN; {undone}; ROLLBACK"))
                    .unwrap();
            }
            assert_counts_are_right(&mut connection);
        }
    }
    assert!(trainees(&mut connection) > 0);
    connection.batch_execute("DELETE FROM trainees").unwrap();
    assert_counts_are_right(&mut connection);
}

#[test]
fn concurrent_writers_do_not_wait_and_keep_counts_right() {
    if !has_postgres() {
        return;
    }
    let database = Database::fresh_on(Kind::Postgres);
    let mut connection = register(&database);
    let insert = |named: &str| {
        format!(
            "INSERT INTO trainees (provider_id, trainee_id, revision, academic_cycle, last_name_folded,
                 first_names_folded, email_folded, state, created_at, updated_at, record)
             VALUES (1, '{named}', 1, 2026, '', '', '', 'deferred', '2026-10-01', '2026-10-01', '{{}}')"
        )
    };
    connection.batch_execute(&insert("first")).unwrap();
    // Three open transactions change the same count. Waiting for each other would never end.
    let mut open: Vec<DatabaseConnection> = (0..3).map(|_| connect(&database)).collect();
    for (number, writer) in open.iter_mut().enumerate() {
        writer
            .batch_execute("SET lock_timeout = '10s'; BEGIN")
            .unwrap();
        writer
            .batch_execute(&insert(&format!("open {number}")))
            .unwrap();
        writer
            .batch_execute(&insert(&format!("again {number}")))
            .unwrap();
    }
    for writer in open.iter_mut().rev() {
        writer.batch_execute("COMMIT").unwrap();
    }
    assert_counts_are_right(&mut connection);
    assert_eq!(
        number(
            &mut connection,
            "SELECT count(*) AS number FROM trainee_counts"
        ),
        3
    );
    // Many transactions in random order.
    thread::scope(|scope| {
        for writer in 0..6 {
            let database = &database;
            scope.spawn(move || {
                let mut connection = connect(database);
                let mut numbers = Numbers(writer);
                for step in 0..60 {
                    // Each writer has its own trainees, so writers do not wait for each other.
                    let named = format!("{writer}-{step}");
                    let insert = insert(&named);
                    let state = numbers.state();
                    let other = numbers.state();
                    connection
                        .batch_execute(&format!(
                            "BEGIN; {insert}; UPDATE trainees SET state = {state} WHERE trainee_id = '{named}';
                             UPDATE trainees SET state = {other} WHERE trainee_id = '{writer}-{}'; COMMIT",
                            numbers.below(step + 1),
                        ))
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(trainees(&mut connection), 7 + 6 * 60);
    assert_counts_are_right(&mut connection);
}

#[test]
fn truncating_trainees_resets_counts() {
    if !has_postgres() {
        return;
    }
    let database = Database::fresh_on(Kind::Postgres);
    let mut connection = register(&database);
    let mut numbers = Numbers(3);
    for step in 0..20 {
        connection
            .batch_execute(&numbers.write(&step.to_string()))
            .unwrap();
    }
    connection
        .batch_execute("TRUNCATE trainees CASCADE")
        .unwrap();
    assert_counts_are_right(&mut connection);
}
