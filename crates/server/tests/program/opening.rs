//! Commands on databases that they cannot use: each says so in one line, and changes nothing.

use super::support::{Workplace, execute, texts};

/// Commands that need a register.
const NEEDING: &str = "
check
audit 3xampleTra1neeWh1sNotTh1
usage
provider list
provider close 10000001
token list
token issue --provider 10000001 --name Records
token revoke 1
school import schools.csv
partner import partners.csv
registry apply award awards.csv
sandbox seed --provider 10000001 --trainees 1
version readiness v2025.0
";

/// Commands that create a register or change its schema, or say what they would do.
const CREATING: &str = "
serve --listen 127.0.0.1:0
migrate
migrate --check
provider add --ukprn 10000001 --name Ashdown
";

/// A database whose first migration is not applied.
pub(super) const UNMIGRATED: &str = "CREATE TABLE __diesel_schema_migrations (version VARCHAR(50) PRIMARY KEY NOT NULL, \
                                     run_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP)";
/// The migration of a newer program.
pub(super) const UNKNOWN: &str =
    "INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000001')";
const MIGRATIONS: &str = "SELECT version AS text FROM __diesel_schema_migrations";

/// Requires that commands with these options end with one line that has all the texts.
pub(super) fn require_refusals(place: &Workplace, lists: &[&str], options: &str, texts: &[&str]) {
    place.write(
        "schools.csv",
        "URN,EstablishmentName,Postcode,EstablishmentStatus (name)\n",
    );
    place.write("partners.csv", "URN,UKPRN,Name\n");
    place.write("awards.csv", "trainee_id\n");
    for command in lists.concat().lines().filter(|line| !line.is_empty()) {
        place.run(format!("{command} {options}")).refuses(texts);
    }
}

pub(super) const ALL: [&str; 2] = [NEEDING, CREATING];

/// Requires that nothing is copied from a database to another one or the other way.
fn require_refused_copies(url: &str, texts: &[&str]) {
    let other = Workplace::on_sqlite();
    other.done("migrate");
    for (from, to) in [(url, &*other.url()), (&other.url(), url)] {
        other
            .run(format!("copy --from {from} --to {to}"))
            .refuses(texts);
    }
}

#[test]
fn mistyped_path_is_refused_and_creates_nothing() {
    let place = Workplace::on_sqlite();
    let absent = place.path("folder/regsiter.db");
    let url = format!("sqlite://{}", absent.display());
    let on = format!("--database-url {url}");
    let expected = [absent.to_str().unwrap(), "does not exist"];
    require_refusals(&place, &[NEEDING], &on, &expected);
    place
        .run(format!("backup backup.db {on}"))
        .refuses(&expected[..1]);
    place
        .run(format!(
            "copy --from {url} --to sqlite://{}/copy.db",
            place.path("").display()
        ))
        .refuses(&expected);
    assert_eq!(std::fs::read_dir(place.path("")).unwrap().count(), 3);

    for command in ["migrate", "provider add --ukprn 10000001 --name Ashdown"] {
        place.done(format!("{command} {on}"));
        assert!(absent.exists());
        std::fs::remove_dir_all(absent.parent().unwrap()).unwrap();
    }
}

#[test]
fn folder_as_database_is_refused_unchanged() {
    let place = Workplace::on_sqlite();
    let folder = place.path("folder");
    std::fs::create_dir(&folder).unwrap();
    let url = format!("sqlite://{}", folder.display());
    let on = format!("--database-url {url}");
    let expected = [folder.to_str().unwrap(), "is a folder"];
    require_refusals(&place, &ALL, &on, &expected);
    place.write("backup.db", "");
    for command in ["backup --force", "restore", "restore --force"] {
        place
            .run(format!("{command} backup.db {on}"))
            .refuses(&expected);
    }
    require_refused_copies(&url, &expected);
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn file_that_is_no_database_is_refused() {
    let place = Workplace::on_sqlite();
    let text = "this is no database, whatever its name is\n".repeat(100);
    let file = place.write("register.db", text);
    let expected = [
        file.to_str().unwrap(),
        "not a database",
        "check --database-url",
    ];
    require_refusals(&place, &ALL, "", &expected);
}

#[test]
fn database_without_register_is_refused_unchanged() {
    let place = Workplace::new();
    let url = place.url();
    if let Some(file) = url.strip_prefix("sqlite://") {
        std::fs::write(file, "").unwrap();
    }
    require_refusals(&place, &[NEEDING], "", &["holds no register"]);
    match url.strip_prefix("sqlite://") {
        Some(file) => assert_eq!(std::fs::metadata(file).unwrap().len(), 0),
        None => assert_eq!(texts(&url, TABLES), [""; 0]),
    }
}

/// The tables of a register on PostgreSQL.
const TABLES: &str =
    "SELECT tablename::text AS text FROM pg_tables WHERE schemaname = current_schema()";

#[test]
fn older_schema_is_refused_until_migrated() {
    let (place, target) = (Workplace::new(), Workplace::new());
    let url = place.url();
    execute(&url, UNMIGRATED);
    let mut expected = vec![
        "without migration 2026-11-26-000001_register",
        "`trainee-register migrate`",
    ];
    expected.extend(url.strip_prefix("sqlite://"));
    require_refusals(&place, &[NEEDING], "", &expected);
    let copied = place.run(format!("copy --from {url} --to {}", target.url()));
    copied.refuses(&expected);
    assert_eq!(texts(&url, MIGRATIONS), [""; 0]);
    place.done("migrate");
    place.done("check");
}

#[test]
fn schema_before_first_release_is_refused_unchanged() {
    let place = Workplace::migrated();
    let url = place.url();
    place.execute(
        "DELETE FROM __diesel_schema_migrations; \
         INSERT INTO __diesel_schema_migrations (version) VALUES ('20260105000001')",
    );
    let name = url.rsplit('/').next().unwrap().split('?').next().unwrap();
    let told = format!("{name} has a layout from before the first release and cannot be used");
    require_refusals(&place, &ALL, "", &[&told]);
    require_refused_copies(&url, &[&told]);
    if let Some(file) = url.strip_prefix("sqlite://") {
        place.run("backup backup.db").refuses(&[&told]);
        assert!(!place.path("backup.db").exists());
        let other = Workplace::on_sqlite();
        other.done("migrate");
        other
            .run(format!("restore --force {file}"))
            .refuses(&[&told]);
    }
    assert_eq!(texts(&url, MIGRATIONS), ["20260105000001"]);
}

#[test]
fn schema_of_newer_program_is_refused() {
    let place = Workplace::migrated();
    place.execute(UNKNOWN);
    let expected = ["database has migration 99991231000001", "restore a backup"];
    require_refusals(&place, &ALL, "", &expected);
    require_refused_copies(&place.url(), &expected);
    if place.url().starts_with("sqlite:") {
        place.run("backup backup.db").refuses(&expected);
        assert!(!place.path("backup.db").exists());
    }
}

#[test]
fn other_environment_is_refused_unchanged() {
    let place = Workplace::new();
    place.done("migrate --environment production");
    let other = ["the environment of this register is production, not sandbox"];
    require_refusals(&place, &ALL, "--environment sandbox", &other);
    let (url, target) = (place.url(), Workplace::new());
    let copy = format!(
        "copy --from {url} --to {} --environment sandbox",
        target.url()
    );
    place.run(copy).refuses(&other);
    let mut command = place.command("check");
    command.env("REGISTER_ENVIRONMENT", "sandbox");
    super::support::Ended(command.output().unwrap()).refuses(&other);
    let recorded = "SELECT value AS text FROM register_settings WHERE name = 'environment'";
    assert_eq!(place.texts(recorded), ["production"]);
    place.done("check --environment production");
}
