//! A SQLite file that is deleted or moved under a running server, the start after it, and folders
//! that do not exist. The tests of the store have more ways to lose a file.

use std::fs;
use std::path::Path;

use super::observing::server::{Answer, Watched};
use super::opening;
use super::support::running::Running;
use super::support::{Workplace, example, path};

fn register(server: &Watched, last_name: &str) -> Answer {
    let body = example(last_name).to_string();
    let json = "Content-Type: application/json";
    server.send_body("POST", &path("/trainees"), &[json], &body)
}

/// Whether writes are kept, as the server says and as it does.
#[track_caller]
fn require_writes(server: &Watched, last_name: &str, are_kept: bool) {
    let (health, created) = if are_kept { (200, 201) } else { (503, 503) };
    let answer = register(server, last_name);
    assert_eq!(answer.status, created, "{}", answer.body);
    assert_eq!(answer.header("retry-after").is_some(), !are_kept);
    for path in ["/health/ready", "/health/writable"] {
        let answer = server.ask(path);
        assert_eq!(answer.status, health, "{path}: {}", answer.body);
        let is_told = are_kept || answer.json()["reason"] == "database";
        assert!(is_told, "{}", answer.body);
    }
    // Reads go on: a client may be told the wrong thing only by a write that is lost.
    let listed = server.send_body("GET", &path("/trainees"), &[], "");
    assert_eq!(listed.status, 200);
}

#[test]
fn writes_are_rejected_while_file_is_lost() {
    for name in ["register.db", "register.db-wal"] {
        let place = Workplace::on_sqlite();
        let server = Watched::start(&place, "");
        require_writes(&server, "First", true);
        fs::rename(place.path(name), place.path("moved")).unwrap();
        require_writes(&server, "Second", false);
        let said = server.line(|line| line["level"] == "ERROR");
        let said = said["message"].as_str().unwrap();
        for text in ["was deleted, moved or replaced", "restore a backup"] {
            assert!(said.contains(text), "{name}: {said}");
        }
        fs::rename(place.path("moved"), place.path(name)).unwrap();
        require_writes(&server, "Second", true);
    }
}

#[test]
fn server_without_its_database_is_not_started() {
    let place = Workplace::on_sqlite();
    let database = place.path("register.db");
    let server = Watched::start(&place, "");
    assert_eq!(register(&server, "First").status, 201);
    place.done("backup backup.db");
    fs::remove_file(&database).unwrap();
    place.run("restore backup.db").ends(1, &["is in use"]);
    drop(server);
    let marker = place.path("register.db.marker");
    let gone = [
        "register.db is gone",
        marker.to_str().unwrap(),
        "trainee-register restore",
    ];
    opening::require_refusals(&place, &opening::ALL, "", &gone);
    assert!(!database.exists());
    // Another register is not copied over it unnoticed.
    let other = Workplace::on_sqlite();
    other.done("migrate");
    let copied = other.run(format!("copy --from {} --to {}", other.url(), place.url()));
    copied.ends(1, &gone[..1]);

    // What was erased since the backup is not known.
    let restored = place.run("restore backup.db");
    restored.ends(0, &["cannot read the erasures of the replaced database"]);
    let server = Watched::start(&place, "");
    let statuses = ["First", "Second"].map(|name| register(&server, name).status);
    assert_eq!(statuses, [409, 201]);
    drop(server);

    for name in ["", "-wal", "-shm", ".marker"] {
        let _ = fs::remove_file(place.path(&format!("register.db{name}")));
    }
    let server = Watched::start(&place, "");
    assert_eq!(register(&server, "First").status, 201);
}

#[test]
fn every_created_database_has_a_marker() {
    let source = Workplace::on_sqlite();
    source.done("migrate");
    source.done("backup backup.db");
    assert!(source.path("register.db.marker").exists());
    assert!(!source.path("backup.db.marker").exists());
    let backup = source.path("backup.db").display().to_string();
    for line in [
        "provider add --ukprn 10000001 --name Ashdown".to_owned(),
        format!("restore {backup}"),
        format!("copy --from {} --to", source.url()),
        "serve".to_owned(),
    ] {
        let place = Workplace::on_sqlite();
        match line.as_str() {
            "serve" => drop(Running::start(&place, "").stop()),
            copy if copy.starts_with("copy") => drop(place.done(format!("{copy} {}", place.url()))),
            line => drop(place.done(line)),
        }
        let names = fs::read_dir(place.path("")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names
            .filter(|name| !name.contains("-wal") && !name.contains("-shm"))
            .collect();
        names.sort_unstable();
        assert_eq!(names, ["register.db", "register.db.marker"], "{line}");
    }
    // A database that is older than markers gets one as soon as it is served.
    fs::remove_file(source.path("register.db.marker")).unwrap();
    Running::start(&source, "").stop();
    assert!(source.path("register.db.marker").exists());
}

#[test]
fn deleted_database_is_saved_from_open_files() {
    let place = Workplace::on_sqlite();
    place.done("provider add --ukprn 10000001 --name Ashdown");
    let server = Running::start(&place, "");
    let names = ["register.db", "register.db-wal"];
    names
        .iter()
        .for_each(|name| fs::remove_file(place.path(name)).unwrap());
    let open = format!("/proc/{}/fd", server.process_id());
    for name in names {
        let lost = format!("{} (deleted)", place.path(name).display());
        let is_lost = |file: &Path| fs::read_link(file).is_ok_and(|to| to == Path::new(&lost));
        let file = fs::read_dir(&open)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .find(|file| is_lost(file));
        fs::copy(file.unwrap(), place.path(&format!("rescued-{name}"))).unwrap();
    }
    server.stop();
    for name in names {
        fs::rename(place.path(&format!("rescued-{name}")), place.path(name)).unwrap();
    }
    place.done("check");
    assert!(place.done("provider list").contains("Ashdown"));
}

#[test]
fn folder_of_written_file_is_not_created() {
    let place = Workplace::on_sqlite();
    place.done("migrate");
    place.done("backup backup.db");
    let absent = place.path("absent");
    let database = format!(
        "--database-url sqlite://{}/data/register.db",
        absent.display()
    );
    for line in [
        "reference-data export absent/lists",
        &format!("migrate {database}"),
        "backup absent/backup.db",
        &format!("restore backup.db {database}"),
    ] {
        let refused = place.run(line);
        refused.ends(1, &["absent"]);
        assert_eq!(refused.stdout(), "", "{line}");
        assert!(!absent.exists(), "{line}");
    }
    // A folder that is itself what is to be made is, in one that exists.
    place.done("reference-data export lists");
    assert!(fs::read_dir(place.path("lists")).unwrap().count() > 0);
}
