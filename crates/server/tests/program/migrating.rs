//! The schema forwards and back, and a database that a newer program has been at.

use diesel::Connection as _;
use diesel::connection::SimpleConnection as _;
use postgres_client::PostgresConnection;
use serde_json::Value;
use server::sandbox::demo;
use server::versions;
use test_support::{Database, Kind};

use super::support::running::Running;
use super::support::{Workplace, agent, execute, kinds};

const UNKNOWN: &str = "INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000001')";

#[test]
fn the_schema_goes_back_to_what_an_older_program_knows_and_forth_again() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let first = place.run(&[&["migrate"], &on[..]].concat(), None);
        assert_eq!(first.status(), 0, "{}", first.stderr());
        let names: Vec<_> =
            first.stdout().lines().map(|line| line.strip_prefix("applied     ").unwrap().to_owned()).collect();
        assert!(names.len() > 2 && names.is_sorted(), "{names:?}");
        let added =
            place.run(&[&["provider", "add", "--ukprn", "10000001", "--name", "Ashdown"], &on[..]].concat(), None);
        assert_eq!(added.status(), 0, "{}", added.stderr());

        let back = place.run(&[&["migrate", "--force", "--to", &names[1]], &on[..]].concat(), None);
        let expected: String = names[2..].iter().rev().map(|name| format!("taken back  {name}\n")).collect();
        assert_eq!((back.status(), back.stdout()), (0, expected.as_str()), "{}", back.stderr());
        // The register has a provider, so nobody may guess what it is.
        let forth = place.run(&[&["migrate", "--environment", "sandbox"], &on[..]].concat(), None);
        let expected: String = names[2..].iter().map(|name| format!("applied     {name}\n")).collect();
        assert_eq!((forth.status(), forth.stdout()), (0, expected.as_str()));
        let listed = place.run(&[&["provider", "list"], &on[..]].concat(), None);
        assert!(listed.stdout().contains("10000001"), "{}", listed.stdout());

        let unknown = place.run(&[&["migrate", "--force", "--to", "1999-01-01-000001"], &on[..]].concat(), None);
        assert_eq!((unknown.status(), unknown.stdout()), (1, ""));
        assert!(unknown.stderr().contains(&names[0]), "{}", unknown.stderr());
    }
}

#[test]
fn no_command_changes_a_database_that_a_newer_program_has_been_at() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let on = ["--database-url", database.url()];
        let url = database.url();
        place.run(&[&["migrate"], &on[..]].concat(), None);
        execute(url, UNKNOWN);
        let schools = place.write("schools.csv", "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n");
        let (schools, other) = (schools.to_str().unwrap(), place.url());
        for command in [
            &["migrate"][..],
            &["migrate", "--force", "--to", "2026-01-05-000002"],
            &["serve", "--listen", "127.0.0.1:0"],
            &["check"],
            &["provider", "list"],
            &["provider", "add", "--ukprn", "10000001", "--name", "Ashdown"],
            &["token", "list"],
            &["school", "import", schools],
            &["sandbox", "seed", "--provider", "10000001", "--trainees", "1"],
        ] {
            let refused = place.run(&[command, &on[..]].concat(), None);
            assert_refused(&refused, command);
        }
        assert_eq!(place.run(&["migrate"], None).status(), 0);
        for command in [["copy", "--from", url, "--to", &other], ["copy", "--from", &other, "--to", url]] {
            assert_refused(&place.run(&command, None), &command);
        }
        if kind == test_support::Kind::Sqlite {
            let command = ["backup", "--database-url", url];
            assert_refused(&place.run(&command, Some(&place.path("backup.db"))), &command);
            assert!(!place.path("backup.db").exists());
        }
    }
}

fn assert_refused(ended: &super::support::Ended, command: &[&str]) {
    assert_eq!(ended.status(), 1, "{command:?}: {}", ended.stdout());
    let line = ended.stderr().lines().find(|line| line.contains("database has migration 99991231000001"));
    let line = line.unwrap_or_else(|| panic!("{command:?}: {}", ended.stderr()));
    assert!(line.contains("`trainee-register migrate --to 2026"), "{line}");
}

#[test]
fn a_server_goes_on_while_a_newer_program_expands_the_schema_under_it() {
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
            assert_eq!((status, &read["data"]["last_name"]), (200, &name.into()), "{read}");
        };
        register("Before");
        execute(database.url(), "ALTER TABLE trainees ADD COLUMN shoe_size TEXT");
        execute(database.url(), "CREATE TABLE shoes (trainee_key BIGINT REFERENCES trainees (id) ON DELETE CASCADE)");
        execute(database.url(), UNKNOWN);
        register("After");
        let second = place.run(&["serve", "--listen", "127.0.0.1:0", on[0], on[1]], None);
        assert_refused(&second, &["serve"]);
    }
}

#[test]
fn what_is_pending_is_reported_in_one_line_and_in_the_exit_status() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let run = |command: &[&str]| {
            let ended = place.run(&[command, &["--database-url", database.url()]].concat(), None);
            (ended.status(), ended.stdout().to_owned(), ended.stderr().to_owned())
        };
        let (status, stdout, stderr) = run(&["migrate", "--check"]);
        assert_eq!((status, stdout.as_str(), stderr.lines().count()), (1, "", 1), "{stderr}");
        assert_eq!(run(&["migrate"]).0, 0);
        assert_eq!(run(&["migrate", "--check"]), (0, "up to date\n".to_owned(), String::new()));
        assert_eq!(run(&["migrate", "--force", "--to", "2026-11-23-000009"]).0, 0);
        let pending = "pending: 2026-11-23-000010_lock_rows, 2026-11-24-000011_change_positions, \
                       2026-11-24-000012_trainees_by_position, \
                       2026-11-25-000013_archived_months, 2026-11-25-000014_changes_by_id_and_date, \
                       2026-11-25-000015_changes_bound, 2026-11-25-000016_changes_until, 2026-11-25-000017_changes_by_month, \
                       2026-11-25-000018_erasures, 2026-11-26-000019_users, 2026-11-26-000020_request_log, \
                       2026-11-27-000021_sign_in_attempts, 2026-11-27-000022_imports, \
                       2026-11-28-000023_counts_in_fewer_statements\n";
        let pending = (3, pending.to_owned(), String::new());
        assert_eq!(run(&["migrate", "--check"]), pending);
        assert_eq!(run(&["migrate", "--check"]), pending, "the first look changed something");
        let (status, _, stderr) = run(&["migrate", "--check", "--environment", "production"]);
        assert!(status == 1 && stderr.contains("the environment of this register is sandbox"), "{stderr}");
        assert_eq!(run(&["migrate"]).0, 0);
        assert_eq!(run(&["migrate", "--check"]).0, 0);
        execute(database.url(), UNKNOWN);
        assert_eq!(run(&["migrate", "--check"]).0, 1);
    }
}

#[test]
fn migrations_under_a_running_server_on_sqlite_are_not_taken_back() {
    let place = Workplace::on_sqlite();
    let server = place.serve(&[], None);
    let refused = place.run(&["migrate", "--force", "--to", "2026-11-22-000008"], None);
    assert_eq!((refused.status(), refused.stdout()), (1, ""));
    assert!(refused.stderr().contains("register.db is in use; stop the server first"), "{}", refused.stderr());
    assert_eq!(place.run(&["migrate", "--check"], None).stdout(), "up to date\n");
    server.stop();
    assert_eq!(place.run(&["migrate", "--force", "--to", "2026-11-22-000008"], None).status(), 0);
}

#[test]
fn tables_with_records_are_dropped_only_where_that_is_confirmed() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let run = |command: &[&str]| place.run(&[command, &["--database-url", database.url()]].concat(), None);
        let back = ["migrate", "--to", "2026-11-25-000018"];
        assert_eq!(run(&["migrate"]).status(), 0);
        // No table that would be dropped has a row.
        assert_eq!(run(&back).status(), 0);
        assert_eq!(run(&["migrate"]).status(), 0);
        // That is in the activity log.
        assert_eq!(run(&["provider", "add", "--ukprn", "10000001", "--name", "Ashdown"]).status(), 0);
        let refused = run(&back);
        assert_eq!((refused.status(), refused.stdout()), (1, ""));
        assert!(refused.stderr().contains("in the tables activity_log: make a backup"), "{}", refused.stderr());
        assert_eq!(run(&["migrate", "--check"]).stdout(), "up to date\n");
        assert_eq!(run(&["migrate", "--force", "--to", "2026-11-25-000018"]).status(), 0);
    }
}

#[test]
fn server_waits_for_a_transaction_that_holds_what_a_migration_needs() {
    if !kinds().contains(&Kind::Postgres) {
        return;
    }
    let mut place = Workplace::on_sqlite();
    place.use_database(Database::fresh_on(Kind::Postgres));
    assert_eq!(place.run(&["migrate"], None).status(), 0);
    assert_eq!(place.run(&["migrate", "--force", "--to", "2026-11-22-000008"], None).status(), 0);
    let mut writer = PostgresConnection::establish(&place.url()).unwrap();
    writer.batch_execute("BEGIN; LOCK TABLE trainees IN ROW EXCLUSIVE MODE").unwrap();
    let mut server = Running::begin(&place, &[]);
    server.wait_for("a migration waits for a transaction of another program to end: waiting, ");
    // Another one finds out without waiting.
    let pending = place.run(&["migrate", "--check"], None);
    assert_eq!(pending.status(), 3, "{}", pending.stderr());
    writer.batch_execute("COMMIT").unwrap();
    server.wait_until_it_listens();
}
