//! The environment of a register: recorded when it is created, and every command must match it.

use std::path::Path;

use test_support::Database;
use versions::SERVED;

use super::support::running::{Running, ask};
use super::support::{Ended, Workplace, execute, kinds, texts};

const PROVIDER: [&str; 6] = [
    "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
];
const ISSUE: [&str; 6] = [
    "token",
    "issue",
    "--provider",
    "10000001",
    "--name",
    "Records",
];
const SEED: [&str; 6] = [
    "sandbox",
    "seed",
    "--provider",
    "10000001",
    "--trainees",
    "3",
];
const RECORD: &str = "SELECT value AS text FROM register_settings WHERE name = 'environment'";

/// Requires that a command was refused with one line that has this text.
#[track_caller]
fn refuses(ended: &Ended, text: &str) {
    assert_eq!(
        (ended.status(), ended.stdout()),
        (1, ""),
        "{}",
        ended.stderr()
    );
    assert_eq!(ended.stderr().lines().count(), 1, "{}", ended.stderr());
    assert!(
        ended.stderr().contains(text),
        "{text:?} is not in {}",
        ended.stderr()
    );
}

#[track_caller]
fn succeeds(ended: Ended) -> Ended {
    assert_eq!(ended.status(), 0, "{}{}", ended.stdout(), ended.stderr());
    ended
}

/// A register with three trainees, which is of the given environment now.
fn with_trainees(place: &Workplace, environment: &str) {
    for command in [PROVIDER, SEED] {
        succeeds(place.run(&command, None));
    }
    record(place, environment);
}

fn record(place: &Workplace, environment: &str) {
    execute(
        &place.url(),
        &format!("UPDATE register_settings SET value = '{environment}' WHERE name = 'environment'"),
    );
}

/// All commands that open a register, but for those that are refused for other reasons first.
fn commands(place: &Workplace) -> Vec<Vec<String>> {
    let schools = place.write(
        "schools.csv",
        "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n",
    );
    let partners = place.write("partners.csv", "URN,UKPRN,Name\n");
    let trainees = place.write("trainees.csv", "trainee_id\n");
    let with = |words: &[&str], file: &Path| {
        let mut words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        words.push(file.to_str().unwrap().to_owned());
        words
    };
    let mut commands = vec![
        with(&["school", "import"], &schools),
        with(&["partner", "import"], &partners),
        with(&["registry", "apply", "award"], &trainees),
    ];
    for words in [
        "provider list",
        "provider close 10000001",
        "token issue --provider 10000001 --name Records",
        "token list",
        "token revoke 1",
        "sandbox seed --provider 10000001 --trainees 1",
        "usage",
        "version readiness v2025.0",
    ] {
        commands.push(words.split(' ').map(str::to_owned).collect());
    }
    commands
}

/// Runs a command with more arguments.
fn run(place: &Workplace, command: &[String], more: &[&str]) -> Ended {
    let words: Vec<&str> = command
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    place.run(&words, None)
}

#[test]
fn server_without_environment_option_serves_production_as_production() {
    let place = Workplace::new();
    succeeds(place.run(&["migrate", "--environment", "production"], None));
    succeeds(place.run(&PROVIDER, None));
    let token = succeeds(place.run(&ISSUE, None));
    assert!(
        token.stdout().starts_with("production_"),
        "{}",
        token.stdout()
    );
    refuses(
        &place.run(
            &["serve", "--listen", "127.0.0.1:0", "--registry-delay", "0"],
            None,
        ),
        "sandbox environment",
    );
    refuses(
        &place.run(&["serve", "--listen", "127.0.0.1:0", "--demo"], None),
        "sandbox environment only",
    );
    let mut server = Running::begin_with(&place, &["serve", "--listen", "127.0.0.1:0"]);
    server.wait_for("environment: production");
    server.wait_until_it_listens();
    assert_eq!(
        texts(&place.url(), "SELECT name AS text FROM schools"),
        [""; 0]
    );
    let label = SERVED.last().unwrap().label;
    for (path, status) in [("account", "405"), ("sandbox/reset", "404")] {
        let request = format!(
            "POST /api/{label}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\nContent-Length: 0\r\n\r\n",
            token.stdout().trim()
        );
        let reply = ask(&mut server.connect(), &request);
        assert!(
            reply.starts_with(&format!("HTTP/1.1 {status} ")),
            "{path}: {reply}"
        );
    }
}

#[test]
fn new_register_is_a_sandbox_by_default() {
    for (environment, expected) in [
        (None, "sandbox"),
        (Some("sandbox"), "sandbox"),
        (Some("production"), "production"),
    ] {
        let place = Workplace::new();
        let mut command = place.command(&PROVIDER, None);
        // As an option or as a variable, it is the same.
        environment.map(|environment| command.env("REGISTER_ENVIRONMENT", environment));
        assert!(command.status().unwrap().success());
        assert_eq!(texts(&place.url(), RECORD), [expected]);
        let token = succeeds(place.run(&ISSUE, None));
        assert!(
            token.stdout().starts_with(&format!("{expected}_")),
            "{}",
            token.stdout()
        );
    }
}

#[test]
fn every_command_refuses_another_environment_than_that_of_the_register() {
    let place = Workplace::new();
    with_trainees(&place, "production");
    let other = "the environment of this register is production, not sandbox";
    let mut commands = commands(&place);
    for words in [
        "serve --listen 127.0.0.1:0",
        "migrate",
        "check",
        "audit 3xampleTra1neeWh1sNotTh1",
    ] {
        commands.push(words.split(' ').map(str::to_owned).collect());
    }
    commands.push(
        ["provider", "add", "--ukprn", "10000002", "--name", "Beech"]
            .map(str::to_owned)
            .to_vec(),
    );
    let target = Database::fresh();
    commands.push(
        ["copy", "--from", &place.url(), "--to", target.url()]
            .map(str::to_owned)
            .to_vec(),
    );
    for command in &commands {
        refuses(&run(&place, command, &["--environment", "sandbox"]), other);
    }
    let mut command = place.command(&["check"], None);
    let ended = command
        .env("REGISTER_ENVIRONMENT", "sandbox")
        .output()
        .unwrap();
    assert!(!ended.status.success() && String::from_utf8(ended.stderr).unwrap().contains(other));
    assert_eq!(texts(&place.url(), RECORD), ["production"]);
    succeeds(place.run(&["check", "--environment", "production"], None));
}

#[test]
fn nothing_is_invented_in_production() {
    let place = Workplace::new();
    succeeds(place.run(&PROVIDER, None));
    // Enough trainees that some of them wait for a number.
    succeeds(place.run(
        &[
            "sandbox",
            "seed",
            "--provider",
            "10000001",
            "--trainees",
            "40",
        ],
        None,
    ));
    record(&place, "production");
    let first =
        "id = (SELECT min(id) FROM trainees WHERE trn IS NULL AND state = 'submitted_for_trn')";
    let ids = texts(
        &place.url(),
        &format!("SELECT trainee_id AS text FROM trainees WHERE {first}"),
    );
    refuses(
        &place.run(
            &[
                "sandbox",
                "seed",
                "--provider",
                "10000001",
                "--trainees",
                "1",
                "--seed",
                "2",
            ],
            None,
        ),
        "works in the sandbox environment only",
    );
    let id = &ids[0];
    let refused = place.apply("issue-trn", &format!("trainee_id,trn\n{id},\n"), &[]);
    assert_eq!(refused.status(), 1);
    let expected = format!(
        "done       0\nunchanged  0\nrefused    1\nline 2: trainee {id}: a TRN is required: "
    );
    assert!(
        refused.stdout().starts_with(&expected),
        "{}",
        refused.stdout()
    );
    assert_eq!(
        texts(
            &place.url(),
            "SELECT trn AS text FROM trainees WHERE trn = '1234567'"
        ),
        [""; 0]
    );
    let numbered = format!("trainee_id,trn\n{id},1234567\n");
    succeeds(place.apply("issue-trn", &numbered, &[]));
}

#[test]
fn a_copy_is_of_the_environment_of_its_source() {
    for kind in kinds() {
        let place = Workplace::new();
        with_trainees(&place, "production");
        let (target, other) = (Database::fresh_on(kind), Database::fresh_on(kind));
        succeeds(place.run(
            &["copy", "--from", &place.url(), "--to", target.url()],
            None,
        ));
        assert_eq!(texts(target.url(), RECORD), ["production"]);
        succeeds(place.run(&["migrate", "--database-url", other.url()], None));
        assert_eq!(texts(other.url(), RECORD), ["sandbox"]);
        let refused = place.run(&["copy", "--from", &place.url(), "--to", other.url()], None);
        refuses(
            &refused,
            "copy from is a production register, and database to copy to is a sandbox register",
        );
        // The empty register is as usable as before.
        succeeds(place.run(&["provider", "list", "--database-url", other.url()], None));
    }
}

#[test]
fn a_restored_register_is_of_the_environment_of_its_backup() {
    let place = Workplace::on_sqlite();
    with_trainees(&place, "production");
    let file = place.path("backup.db");
    succeeds(place.run(&["backup", "--environment", "production"], Some(&file)));
    refuses(
        &place.run(
            &["backup", "--force", "--environment", "sandbox"],
            Some(&file),
        ),
        "the environment of this register is production, not sandbox",
    );
    let other = Workplace::on_sqlite();
    refuses(
        &other.run(&["restore", "--environment", "sandbox"], Some(&file)),
        "the environment of this register is production, not sandbox",
    );
    assert!(!other.path("register.db").exists());
    succeeds(other.run(&["restore"], Some(&file)));
    assert_eq!(texts(&other.url(), RECORD), ["production"]);

    let sandbox = Workplace::on_sqlite();
    with_trainees(&sandbox, "sandbox");
    let before = texts(&sandbox.url(), "SELECT trainee_id AS text FROM trainees");
    refuses(
        &sandbox.run(&["restore", "--force"], Some(&file)),
        "is a backup of a production register, and",
    );
    assert_eq!(
        texts(&sandbox.url(), "SELECT trainee_id AS text FROM trainees"),
        before
    );
}
