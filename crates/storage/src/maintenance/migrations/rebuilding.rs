//! Tests rebuilding a table on SQLite, as described in docs/changing-the-schema.md.

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::sql_types::Text;
use test_support::Kind;

use super::next_migrations::{bring_up_to_date_with, folder};
use super::*;
use crate::testing::filled::{connect, counts, filled};

/// The name of the test's migration.
const NAME: &str = "2999-01-01-000001_rebuild";

/// Applies a migration after those of the program.
fn apply(connection: &mut DatabaseConnection, up: &str) -> Result<Vec<String>, StorageError> {
    let folder = folder(&[(NAME, up)]);
    bring_up_to_date_with(connection, folder.path())
}

#[derive(QueryableByName)]
struct Line {
    #[diesel(sql_type = Text)]
    text: String,
}

fn lines(connection: &mut DatabaseConnection, sql: &str) -> Vec<String> {
    let lines = diesel::sql_query(sql).load::<Line>(connection).unwrap();
    lines.into_iter().map(|line| line.text).collect()
}

/// The indexes and triggers of the table. Dropping the table drops them, so they must be created
/// again.
const OBJECTS: &str = "SELECT sql AS text FROM sqlite_master WHERE tbl_name = 'trainees' AND type <> 'table' AND sql IS NOT NULL ORDER BY name";
/// The last assigned key of the table.
const LAST_KEY: &str =
    "SELECT CAST(seq AS TEXT) AS text FROM sqlite_sequence WHERE name = 'trainees'";

/// The SQL that rebuilds the table with the most references, with an additional constraint.
fn rebuild_trainees(connection: &mut DatabaseConnection) -> String {
    let table = lines(
        connection,
        "SELECT sql AS text FROM sqlite_master WHERE name = 'trainees'",
    )
    .remove(0);
    let table = table.replacen("CREATE TABLE trainees", "CREATE TABLE new_trainees", 1);
    let table = format!(
        "{}, CHECK (revision > 0))",
        table.strip_suffix(')').unwrap()
    );
    format!(
        "{table};
         INSERT INTO new_trainees SELECT * FROM trainees;
         DELETE FROM sqlite_sequence WHERE name = 'new_trainees';
         INSERT INTO sqlite_sequence (name, seq) SELECT 'new_trainees', seq FROM sqlite_sequence WHERE name = 'trainees';
         DROP TABLE trainees;
         ALTER TABLE new_trainees RENAME TO trainees;
         {};",
        lines(connection, OBJECTS).join(";\n")
    )
}

#[test]
fn rebuilt_table_keeps_referring_rows() {
    let database = filled(Kind::Sqlite, 3);
    let mut connection = connect(database.url());
    // The key of the removed last trainee must not be used again.
    connection
        .batch_execute("DELETE FROM trainees WHERE id = 6")
        .unwrap();
    let rebuild = rebuild_trainees(&mut connection);
    let state = |connection: &mut DatabaseConnection| {
        let references = catalog::references(connection).unwrap();
        (
            counts(connection),
            references,
            lines(connection, OBJECTS),
            lines(connection, LAST_KEY),
        )
    };
    let before = state(&mut connection);
    assert!(
        before.0.iter().all(|(_, rows)| *rows > 0) && before.3 == ["6"],
        "{before:?}"
    );

    assert_eq!(apply(&mut connection, &rebuild).unwrap(), [NAME]);
    assert_eq!(state(&mut connection), before);
    assert!(
        connection
            .batch_execute("UPDATE trainees SET revision = 0")
            .is_err(),
        "the table was not rebuilt"
    );

    // Foreign keys are enforced again, also on this connection.
    assert!(
        connection
            .batch_execute("UPDATE placement_schools SET trainee_key = 99")
            .is_err()
    );
    connection
        .batch_execute("DELETE FROM trainees WHERE id = 2")
        .unwrap();
    assert_eq!(
        catalog::count(&mut connection, "placement_schools").unwrap(),
        1
    );
}

#[test]
fn migration_with_broken_references_is_rolled_back() {
    let database = filled(Kind::Sqlite, 3);
    let mut connection = connect(database.url());
    let before = counts(&mut connection);
    let refused = apply(&mut connection, "DELETE FROM schools").unwrap_err();
    let StorageError::BrokenReferences { table, owner, rows } = &refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        (table.as_str(), owner.as_str(), *rows),
        ("placement_schools", "schools", 3)
    );
    assert_eq!(counts(&mut connection), before);
    assert!(
        connection
            .batch_execute("UPDATE placement_schools SET trainee_key = 99")
            .is_err()
    );
}
