//! Migrating the schema, and databases of a newer program or from before the first release.

use std::collections::BTreeMap;

use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;
use postgres_client::PostgresConnection;
use serde_json::Value;
use server::sandbox::demo;
use test_support::{Database, Kind};

use super::support::running::Running;
use super::support::{Workplace, agent, execute, kinds, texts};

const UNKNOWN: &str = "INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000001')";

/// The folder with all migrations.
const MIGRATIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../migrations/sqlite");
/// A database without migrations.
const UNMIGRATED: &str = "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, \
                          run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)";

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
fn migrate_prints_what_it_applied() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let run = |command: &[&str]| {
            place.run(
                &[command, &["--database-url", database.url()]].concat(),
                None,
            )
        };
        let applied = run(&["migrate"]);
        let migrations = migrations();
        let lines = migrations
            .iter()
            .map(|name| format!("applied     {name}\n"));
        let expected: String = lines.collect();
        assert_eq!(
            (applied.status(), applied.stdout()),
            (0, expected.as_str()),
            "{}",
            applied.stderr()
        );
        let again = run(&["migrate"]);
        assert_eq!(
            (again.status(), again.stdout()),
            (0, ""),
            "{}",
            again.stderr()
        );
    }
}

#[test]
fn pre_release_schema_is_rejected_and_left_unchanged() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let (url, other) = (database.url(), place.url());
        let on = ["--database-url", url];
        assert_eq!(
            place.run(&[&["migrate"], &on[..]].concat(), None).status(),
            0
        );
        let versions = "SELECT version AS text FROM __diesel_schema_migrations";
        execute(
            url,
            "DELETE FROM __diesel_schema_migrations; \
             INSERT INTO __diesel_schema_migrations (version) VALUES ('20260105000001')",
        );
        let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
        let assert_refused = |ended: &super::support::Ended, name: &str| {
            assert_eq!(
                (ended.status(), ended.stdout()),
                (1, ""),
                "{}",
                ended.stderr()
            );
            let expected =
                format!("{name} has a layout from before the first release and cannot be used");
            assert_eq!(
                ended.stderr().matches(&expected).count(),
                1,
                "{}",
                ended.stderr()
            );
        };
        for command in [
            &["migrate"][..],
            &["migrate", "--check"],
            &["serve", "--listen", "127.0.0.1:0"],
            &["check"],
            &["provider", "list"],
            &[
                "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
            ],
        ] {
            assert_refused(&place.run(&[command, &on[..]].concat(), None), name);
        }
        assert_eq!(place.run(&["migrate"], None).status(), 0);
        for command in [
            ["copy", "--from", url, "--to", &other],
            ["copy", "--from", &other, "--to", url],
        ] {
            assert_refused(&place.run(&command, None), name);
        }
        if let Some(file) = url.strip_prefix("sqlite://") {
            assert_refused(
                &place.run(&["backup", on[0], on[1]], Some(&place.path("backup.db"))),
                name,
            );
            assert!(!place.path("backup.db").exists());
            let file = std::path::Path::new(file);
            assert_refused(&place.run(&["restore", "--force"], Some(file)), name);
        }
        assert_eq!(texts(url, versions), ["20260105000001"]);
    }
}

#[test]
fn no_command_changes_a_database_migrated_by_newer_program() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let url = database.url();
        place.run(&[&["migrate"], &on[..]].concat(), None);
        execute(url, UNKNOWN);
        let schools = place.write(
            "schools.csv",
            "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n",
        );
        let (schools, other) = (schools.to_str().unwrap(), place.url());
        for command in [
            &["migrate"][..],
            &["serve", "--listen", "127.0.0.1:0"],
            &["check"],
            &["provider", "list"],
            &[
                "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
            ],
            &["token", "list"],
            &["school", "import", schools],
            &[
                "sandbox",
                "seed",
                "--provider",
                "10000001",
                "--trainees",
                "1",
            ],
        ] {
            let refused = place.run(&[command, &on[..]].concat(), None);
            assert_refused(&refused, command);
        }
        assert_eq!(place.run(&["migrate"], None).status(), 0);
        for command in [
            ["copy", "--from", url, "--to", &other],
            ["copy", "--from", &other, "--to", url],
        ] {
            assert_refused(&place.run(&command, None), &command);
        }
        if kind == test_support::Kind::Sqlite {
            let command = ["backup", "--database-url", url];
            assert_refused(
                &place.run(&command, Some(&place.path("backup.db"))),
                &command,
            );
            assert!(!place.path("backup.db").exists());
        }
    }
}

fn assert_refused(ended: &super::support::Ended, command: &[&str]) {
    assert_eq!(ended.status(), 1, "{command:?}: {}", ended.stdout());
    let line = ended
        .stderr()
        .lines()
        .find(|line| line.contains("database has migration 99991231000001"));
    let line = line.unwrap_or_else(|| panic!("{command:?}: {}", ended.stderr()));
    assert!(line.contains("restore a backup"), "{line}");
}

#[test]
fn server_works_while_a_newer_program_expands_the_schema() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let server = place.serve(&on, None);
        let agent = agent();
        let version = versions::all().newest().unwrap().version;
        let path = format!("/api/{}/trainees", version.label);
        let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
        let mut register = |name: &str| {
            body["data"]["last_name"] = name.into();
            body["data"]["email"] = format!("{name}@example.com").into();
            let (status, reply) = server.send(&agent, "POST", &path, Some(&body));
            assert_eq!(status, 201, "{reply}");
            let id = reply["data"]["trainee_id"].as_str().unwrap().to_owned();
            let (status, read) = server.send(&agent, "GET", &format!("{path}/{id}"), None);
            assert_eq!(
                (status, &read["data"]["last_name"]),
                (200, &name.into()),
                "{read}"
            );
        };
        register("Before");
        execute(
            database.url(),
            "ALTER TABLE trainees ADD COLUMN shoe_size TEXT",
        );
        execute(
            database.url(),
            "CREATE TABLE shoes (trainee_key BIGINT REFERENCES trainees (id) ON DELETE CASCADE)",
        );
        execute(database.url(), UNKNOWN);
        register("After");
        let second = place.run(&["serve", "--listen", "127.0.0.1:0", on[0], on[1]], None);
        assert_refused(&second, &["serve"]);
    }
}

#[test]
fn pending_migrations_are_reported_in_one_line_and_exit_status() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let run = |command: &[&str]| {
            let ended = place.run(
                &[command, &["--database-url", database.url()]].concat(),
                None,
            );
            (
                ended.status(),
                ended.stdout().to_owned(),
                ended.stderr().to_owned(),
            )
        };
        let (status, stdout, stderr) = run(&["migrate", "--check"]);
        assert_eq!(
            (status, stdout.as_str(), stderr.lines().count()),
            (1, "", 1),
            "{stderr}"
        );
        execute(database.url(), UNMIGRATED);
        let pending = format!("pending: {}\n", migrations().join(", "));
        let pending = (3, pending, String::new());
        assert_eq!(run(&["migrate", "--check"]), pending);
        assert_eq!(
            run(&["migrate", "--check"]),
            pending,
            "the first look changed something"
        );
        assert_eq!(run(&["migrate"]).0, 0);
        assert_eq!(
            run(&["migrate", "--check"]),
            (0, "up to date\n".to_owned(), String::new())
        );
        let (status, _, stderr) = run(&["migrate", "--check", "--environment", "production"]);
        assert!(
            status == 1 && stderr.contains("the environment of this register is sandbox"),
            "{stderr}"
        );
        execute(database.url(), UNKNOWN);
        assert_eq!(run(&["migrate", "--check"]).0, 1);
    }
}

#[test]
fn server_waits_for_a_transaction_blocking_its_migration() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let mut place = Workplace::on_sqlite();
    place.use_database(Database::fresh_on(Kind::Postgres));
    execute(&place.url(), UNMIGRATED);
    let mut writer = PostgresConnection::establish(&place.url()).unwrap();
    writer
        .batch_execute("BEGIN; CREATE TABLE providers (id BIGINT)")
        .unwrap();
    let mut server = Running::begin(&place, &[]);
    server.wait_for("migration is blocked by another program's transaction; waited ");
    // Another one finds out without waiting.
    let pending = place.run(&["migrate", "--check"], None);
    assert_eq!(pending.status(), 3, "{}", pending.stderr());
    writer.batch_execute("ROLLBACK").unwrap();
    server.wait_until_it_listens();
}

/// The folder with registers that earlier releases have made, and their replies.
const REGISTERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/registers");

/// A register of the first release, with 22 trainees of two providers in all states.
fn register_of_first_release(place: &mut Workplace, kind: Kind) {
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
}

/// Issues a token. Returns the header `Authorization` with it.
fn issue_token(place: &Workplace, ukprn: &str) -> String {
    let issued = place.run(
        &["token", "issue", "--provider", ukprn, "--name", "Test"],
        None,
    );
    let printed = issued.stdout();
    let mut words = printed.split_whitespace();
    let token = words.find(|word| word.starts_with("sandbox_")).unwrap();
    format!("Bearer {token}")
}

#[test]
fn register_of_first_release_is_migrated_with_all_records() {
    for kind in kinds() {
        let mut place = Workplace::on_sqlite();
        register_of_first_release(&mut place, kind);
        let counts = [
            "trainees",
            "changes",
            "replies",
            "tokens",
            "invitations",
            "erasures",
        ]
        .map(|table| format!("SELECT '{table} ' || CAST(count(*) AS TEXT) AS text FROM {table}"));
        let counts = counts.join(" UNION ALL ");
        let before = texts(&place.url(), &counts);
        let migrated = place.run(&["migrate"], None);
        assert_eq!(migrated.status(), 0, "{}", migrated.stderr());
        assert_eq!(texts(&place.url(), &counts), before, "{kind:?}");
        let checked = place.run(&["check"], None);
        assert_eq!(checked.status(), 0, "{}", checked.stdout());

        let tokens = ["10000001", "10000002"].map(|ukprn| (ukprn, issue_token(&place, ukprn)));
        let tokens = BTreeMap::from(tokens);
        let server = place.serve(&[], None);
        let replies = std::fs::read_to_string(format!("{REGISTERS}/0.1.0.replies.json")).unwrap();
        let replies: Vec<Value> = serde_json::from_str(&replies).unwrap();
        for reply in replies {
            let (ukprn, path) = (reply["ukprn"].as_str().unwrap(), reply["path"].as_str());
            let headers = [("Authorization", tokens[ukprn].as_str())];
            let (status, shown) = server.send_with(&agent(), "GET", path.unwrap(), &headers, None);
            assert_eq!(status, 200, "{path:?}: {shown}");
            assert_eq!(shown["data"], reply["data"], "{path:?}");
        }
    }
}

/// The cursors are of the file for SQLite: a dump gets a new generation where it is restored.
#[test]
fn cursors_of_first_release_are_outdated() {
    let mut place = Workplace::on_sqlite();
    register_of_first_release(&mut place, Kind::Sqlite);
    assert_eq!(place.run(&["migrate"], None).status(), 0);
    let token = issue_token(&place, "10000001");
    let server = place.serve(&[], None);
    let paths = std::fs::read_to_string(format!("{REGISTERS}/0.1.0.cursors.json")).unwrap();
    for path in serde_json::from_str::<Vec<String>>(&paths).unwrap() {
        let headers = [("Authorization", token.as_str())];
        let (status, shown) = server.send_with(&agent(), "GET", &path, &headers, None);
        assert_eq!(status, 410, "{path}: {shown}");
    }
}
