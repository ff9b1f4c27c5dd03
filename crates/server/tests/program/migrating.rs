//! Migrating the schema, and registers that earlier releases have made.

use std::collections::BTreeMap;

use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;
use postgres_client::PostgresConnection;
use serde_json::Value;
use test_support::{Database, Kind};

use super::opening::{UNKNOWN, UNMIGRATED};
use super::support::running::Running;
use super::support::{Workplace, execute, kinds};

/// The folder with all migrations.
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite");

/// The names of all migrations, in their order.
fn migrations() -> Vec<String> {
    let folders = std::fs::read_dir(MIGRATIONS).unwrap();
    let mut names: Vec<_> = folders
        .map(|folder| folder.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn migrations_are_named_before_and_when_applied() {
    for kind in kinds() {
        let place = Workplace::on(kind);
        place.run("migrate --check").refuses(&[]);
        place.execute(UNMIGRATED);
        // The first look changes nothing.
        for _ in 0..2 {
            let pending = place.run("migrate --check");
            pending.prints(3, &format!("pending: {}\n", migrations().join(", ")));
            assert_eq!(pending.stderr(), "");
        }
        let applied = migrations()
            .iter()
            .map(|name| format!("applied     {name}\n"))
            .collect::<String>();
        place.run("migrate").prints(0, &applied);
        place.run("migrate").prints(0, "");
        place.run("migrate --check").prints(0, "up to date\n");
        let other = place.run("migrate --check --environment production");
        other.ends(1, &["the environment of this register is sandbox"]);
        place.execute(UNKNOWN);
        assert_eq!(place.run("migrate --check").status(), 1);
    }
}

#[test]
fn server_reports_transaction_that_blocks_its_migration() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let place = Workplace::on(Kind::Postgres);
    place.execute(UNMIGRATED);
    let mut writer = PostgresConnection::establish(&place.url()).unwrap();
    writer
        .batch_execute("BEGIN; CREATE TABLE providers (id BIGINT)")
        .unwrap();
    let mut server = Running::begin(&place, "");
    server.wait_for("migration is blocked by another program's transaction; waited ");
    // Another one finds out without waiting.
    assert_eq!(place.run("migrate --check").status(), 3);
    writer.batch_execute("ROLLBACK").unwrap();
    server.wait_until_it_listens();
}

/// The folder with registers that earlier releases have made, and their replies.
const REGISTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/registers");

/// A register of the first release, with 22 trainees of two providers in all states.
fn register_of_first_release(kind: Kind) -> Workplace {
    let mut place = Workplace::on_sqlite();
    match kind {
        Kind::Sqlite => {
            let file = format!("{REGISTERS}/0.1.0.db");
            std::fs::copy(file, place.path("register.db")).unwrap();
        }
        Kind::Postgres => {
            let database = Database::fresh_on(kind);
            let dump = format!("{REGISTERS}/0.1.0.postgres.sql");
            execute(database.url(), &std::fs::read_to_string(dump).unwrap());
            place.use_database(database);
        }
    }
    place
}

/// Issues a token. Returns the header `Authorization` with it.
fn issue_token(place: &Workplace, ukprn: &str) -> String {
    let token = place.done(format!("token issue --provider {ukprn} --name Test"));
    format!("Bearer {token}")
}

#[test]
fn register_of_first_release_is_migrated() {
    for kind in kinds() {
        let place = register_of_first_release(kind);
        let tables = "trainees changes replies tokens invitations erasures";
        let counts = tables.split(' ').map(|table| {
            format!("SELECT '{table} ' || CAST(count(*) AS TEXT) AS text FROM {table}")
        });
        let counts = counts.collect::<Vec<_>>().join(" UNION ALL ");
        let before = place.texts(&counts);
        place.done("migrate");
        assert_eq!(place.texts(&counts), before, "{kind:?}");
        place.done("check");

        let tokens = ["10000001", "10000002"].map(|ukprn| (ukprn, issue_token(&place, ukprn)));
        let tokens = BTreeMap::from(tokens);
        let server = place.serve("");
        let replies = std::fs::read_to_string(format!("{REGISTERS}/0.1.0.replies.json")).unwrap();
        let replies: Vec<Value> = serde_json::from_str(&replies).unwrap();
        for reply in replies {
            let (ukprn, path) = (reply["ukprn"].as_str().unwrap(), reply["path"].as_str());
            let headers = [("Authorization", tokens[ukprn].as_str())];
            let (status, shown) = server.send_with("GET", path.unwrap(), &headers, None);
            assert_eq!(status, 200, "{path:?}: {shown}");
            assert_eq!(shown["data"], reply["data"], "{path:?}");
        }
    }
}

/// The cursors are of the file for SQLite: a dump gets a new generation where it is restored.
#[test]
fn cursors_of_first_release_are_outdated() {
    let place = register_of_first_release(Kind::Sqlite);
    place.done("migrate");
    let token = issue_token(&place, "10000001");
    let server = place.serve("");
    let paths = std::fs::read_to_string(format!("{REGISTERS}/0.1.0.cursors.json")).unwrap();
    for path in serde_json::from_str::<Vec<String>>(&paths).unwrap() {
        let headers = [("Authorization", token.as_str())];
        let (status, shown) = server.send_with("GET", &path, &headers, None);
        assert_eq!(status, 410, "{path}: {shown}");
    }
}
