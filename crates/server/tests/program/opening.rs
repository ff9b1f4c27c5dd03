//! Which commands create a register or change its schema, and that all others leave alone what they
//! find.

use test_support::{Database, Kind};

use super::support::{Workplace, execute, kinds, texts};

/// Commands that need a register.
const COMMANDS: [&str; 11] = [
    "check",
    "audit 3xampleTra1neeWh1sNotTh1",
    "usage",
    "provider list",
    "provider close 10000001",
    "token list",
    "token issue --provider 10000001 --name Records",
    "token revoke 1",
    "registry apply award awards.csv",
    "sandbox seed --provider 10000001 --trainees 1",
    "version readiness v2025.0",
];

fn words(command: &str) -> Vec<&str> {
    command.split(' ').collect()
}

/// Requires that a command ends with one line that has all these texts.
#[track_caller]
fn refuses(place: &Workplace, command: &[&str], expected: &[&str]) {
    let ended = place.run(command, None);
    assert_eq!(
        (ended.status(), ended.stdout()),
        (1, ""),
        "{command:?}: {}",
        ended.stderr()
    );
    assert_eq!(
        ended.stderr().lines().count(),
        1,
        "{command:?}: {}",
        ended.stderr()
    );
    for text in expected {
        assert!(
            ended.stderr().contains(text),
            "{command:?}: {text:?} is not in {}",
            ended.stderr()
        );
    }
}

#[test]
fn a_mistyped_path_is_an_error_and_creates_nothing() {
    let place = Workplace::on_sqlite();
    let schools = place.write(
        "schools.csv",
        "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n",
    );
    let absent = place.path("folder/regsiter.db");
    let url = format!("sqlite://{}", absent.display());
    let on = ["--database-url", &url];
    let expected = [absent.to_str().unwrap(), "does not exist"];
    for command in COMMANDS {
        refuses(&place, &[&words(command)[..], &on].concat(), &expected);
    }
    for command in ["school", "partner"] {
        refuses(
            &place,
            &[&[command, "import", schools.to_str().unwrap()][..], &on].concat(),
            &expected,
        );
    }
    let (backup, copy) = (
        place.path("backup.db"),
        format!("sqlite://{}", place.path("copy.db").display()),
    );
    refuses(
        &place,
        &[&["backup", backup.to_str().unwrap()][..], &on].concat(),
        &[absent.to_str().unwrap()],
    );
    refuses(&place, &["copy", "--from", &url, "--to", &copy], &expected);
    let left: Vec<_> = std::fs::read_dir(place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["schools.csv"]);

    // These create it.
    for command in ["migrate", "provider add --ukprn 10000001 --name Ashdown"] {
        let ended = place.run(&[&words(command)[..], &on].concat(), None);
        assert_eq!(ended.status(), 0, "{}", ended.stderr());
        assert!(absent.exists());
        std::fs::remove_dir_all(absent.parent().unwrap()).unwrap();
    }
}

#[test]
fn folder_as_a_database_is_an_error_and_stays_unchanged() {
    let place = Workplace::on_sqlite();
    let folder = place.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let url = format!("sqlite://{}", folder.display());
    let on = ["--database-url", &url];
    let expected = [folder.to_str().unwrap(), "is a folder"];
    let creating = [
        "serve",
        "migrate",
        "migrate --check",
        "provider add --ukprn 10000001 --name Ashdown",
    ];
    for command in COMMANDS.iter().chain(&creating) {
        refuses(&place, &[&words(command)[..], &on].concat(), &expected);
    }
    let file = place.write("backup.db", "");
    for command in [
        &["backup", "--force"][..],
        &["restore"],
        &["restore", "--force"],
    ] {
        refuses(
            &place,
            &[command, &on, &[file.to_str().unwrap()]].concat(),
            &expected,
        );
    }
    assert_eq!(place.run(&["migrate"], None).status(), 0);
    for (from, to) in [(&url, &place.url()), (&place.url(), &url)] {
        refuses(&place, &["copy", "--from", from, "--to", to], &expected);
    }
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn database_without_a_register_is_an_error_and_stays_unchanged() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        if kind == Kind::Sqlite {
            std::fs::write(database.url().strip_prefix("sqlite://").unwrap(), "").unwrap();
        }
        for command in COMMANDS {
            refuses(
                &place,
                &[&words(command)[..], &["--database-url", database.url()]].concat(),
                &["holds no register"],
            );
        }
        match database.url().strip_prefix("sqlite://") {
            Some(file) => assert_eq!(std::fs::metadata(file).unwrap().len(), 0),
            None => assert_eq!(texts(database.url(), TABLES), [""; 0]),
        }
    }
}

/// The tables of a register on PostgreSQL.
const TABLES: &str =
    "SELECT tablename::text AS text FROM pg_tables WHERE schemaname = current_schema()";

#[test]
fn an_older_schema_is_named_and_left_alone() {
    for kind in kinds() {
        let (place, database) = (Workplace::on_sqlite(), Database::fresh_on(kind));
        let url = database.url();
        let on = ["--database-url", url];
        execute(
            url,
            "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, \
             run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)",
        );
        let mut expected = vec![
            "without migration 2026-11-26-000001_register",
            "`trainee-register migrate`",
        ];
        expected.extend(url.strip_prefix("sqlite://"));
        for command in COMMANDS {
            refuses(&place, &[&words(command)[..], &on].concat(), &expected);
        }
        let target = Database::fresh_on(kind);
        refuses(
            &place,
            &["copy", "--from", url, "--to", target.url()],
            &expected,
        );
        assert_eq!(
            texts(
                url,
                "SELECT version AS text FROM __diesel_schema_migrations"
            ),
            [""; 0]
        );
        let migrated = place.run(&[&["migrate"][..], &on].concat(), None);
        assert_eq!(migrated.status(), 0, "{}", migrated.stderr());
        assert_eq!(place.run(&[&["check"][..], &on].concat(), None).status(), 0);
    }
}
