//! Backups beside a server, and their way back.

use std::fs::Permissions;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use server::sandbox::demo;
use test_support::{Database, Kind, Tool, has_tools, postgres_programs};

use super::support::{Server, Workplace, agent, execute, kinds, texts};

/// Registers a trainee of that number and gives its identifier.
fn register(server: &Server, number: usize) -> String {
    let version = versions::all().newest().unwrap().version;
    let mut body: Value = serde_json::from_str(&demo::example(version)).unwrap();
    let letters: String = format!("{number:04}")
        .bytes()
        .map(|digit| char::from(digit + 49))
        .collect();
    body["data"]["last_name"] = format!("Example{letters}").into();
    body["data"]["email"] = format!("trainee.{number}@example.com").into();
    let (status, reply) = server.send(
        &agent(),
        "POST",
        &format!("/api/{}/trainees", version.label),
        Some(&body),
    );
    assert_eq!(status, 201, "{reply}");
    reply["data"]["trainee_id"].as_str().unwrap().to_owned()
}

fn ids(url: &str) -> Vec<String> {
    texts(url, "SELECT trainee_id AS text FROM trainees ORDER BY id")
}

/// A place with a database, and a backup of it.
fn with_backup() -> (Workplace, std::path::PathBuf) {
    let place = Workplace::on_sqlite();
    let added = place.run(
        &[
            "provider", "add", "--ukprn", "10000001", "--name", "Ashdown",
        ],
        None,
    );
    assert_eq!(added.status(), 0, "{}", added.stderr());
    let file = place.path("backup.db");
    let made = place.run(&["backup"], Some(&file));
    assert_eq!((made.status(), made.stdout()), (0, ""), "{}", made.stderr());
    (place, file)
}

/// Asks for a refusal, and for nothing to have happened.
fn assert_refused(place: &Workplace, arguments: &[&str], file: &Path, told: &str) {
    let before = std::fs::read(place.path("register.db")).ok();
    let refused = place.run(arguments, Some(file));
    assert_eq!(
        (refused.status(), refused.stdout()),
        (1, ""),
        "{arguments:?}"
    );
    assert!(
        refused.stderr().contains(told),
        "{told} in {}",
        refused.stderr()
    );
    assert!(
        std::fs::read(place.path("register.db")).ok() == before,
        "the database was changed"
    );
    let left = std::fs::read_dir(place.path("."))
        .unwrap()
        .map(|entry| entry.unwrap().file_name());
    let left: Vec<_> = left
        .filter(|name| name.to_string_lossy().ends_with(".part"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn backup_during_writes_has_everything_acknowledged_before() {
    let place = Workplace::on_sqlite();
    let server = place.serve(&[], None);
    let written = AtomicUsize::new(0);
    let is_backed_up = AtomicUsize::new(0);
    let file = place.path("backup.db");
    let acknowledged = thread::scope(|scope| {
        scope.spawn(|| {
            while is_backed_up.load(Ordering::SeqCst) == 0 {
                register(&server, written.fetch_add(1, Ordering::SeqCst));
            }
        });
        while written.load(Ordering::SeqCst) < 3 {
            thread::yield_now();
        }
        let acknowledged = ids(&place.url());
        let made = place.run(&["backup"], Some(&file));
        is_backed_up.store(1, Ordering::SeqCst);
        assert_eq!(made.status(), 0, "{}", made.stderr());
        acknowledged
    });
    drop(server);

    let other = Workplace::on_sqlite();
    let restored = other.run(&["restore"], Some(&file));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
    let held = ids(&other.url());
    assert!(
        held.starts_with(&acknowledged),
        "{} of {}",
        held.len(),
        acknowledged.len()
    );
    assert!(ids(&place.url()).starts_with(&held));
    assert_eq!(other.run(&["check"], None).status(), 0);
    let server = other.serve(&[], None);
    let path = format!(
        "/api/{}/trainees/{}",
        versions::all().newest().unwrap().version.label,
        held[0]
    );
    assert_eq!(server.send(&agent(), "GET", &path, None).0, 200);
}

#[test]
fn database_in_use_or_without_confirmation_is_not_replaced() {
    let (place, file) = with_backup();
    let server = place.serve(&[], None);
    let newest = register(&server, 1);
    for (arguments, told) in [
        (&["restore"][..], "already exists"),
        (&["restore", "--force"], "is in use"),
    ] {
        let refused = place.run(arguments, Some(&file));
        assert_eq!(refused.status(), 1);
        assert!(refused.stderr().contains(told), "{}", refused.stderr());
        assert!(ids(&place.url()).contains(&newest));
    }
    register(&server, 2);
    // The server ends without closing anything, so what it wrote last is in the file beside the
    // database.
    drop(server);
    assert!(place.path("register.db-wal").metadata().unwrap().len() > 0);
    let restored = place.run(&["restore", "--force"], Some(&file));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
    assert_eq!(ids(&place.url()), [""; 0]);
    assert_eq!(place.run(&["check"], None).status(), 0);
    assert!(
        place
            .run(&["provider", "list"], None)
            .stdout()
            .contains("10000001")
    );
}

#[test]
fn damaged_database_in_use_is_not_replaced() {
    let (place, file) = with_backup();
    let server = place.serve(&[], None);
    register(&server, 1);
    execute(&place.url(), "PRAGMA wal_checkpoint(TRUNCATE)");
    // The server continues with what it has read; opening the file now finds no database.
    let garbage = [b'x'; 4096];
    let mut damaged = std::fs::File::options()
        .write(true)
        .open(place.path("register.db"))
        .unwrap();
    damaged.write_all(&garbage).unwrap();
    drop(damaged);
    assert_refused(&place, &["restore", "--force"], &file, "is in use");
    drop(server);
    let restored = place.run(&["restore", "--force"], Some(&file));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
    assert_eq!(place.run(&["check"], None).status(), 0);
}

#[test]
fn database_moved_away_from_a_server_is_not_replaced() {
    let (place, file) = with_backup();
    let server = place.serve(&[], None);
    std::fs::rename(place.path("register.db"), place.path("moved.db")).unwrap();
    assert_refused(&place, &["restore"], &file, "is in use");
    assert!(!place.path("register.db").exists());
    drop(server);
    let restored = place.run(&["restore"], Some(&file));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
}

#[test]
fn database_whose_use_is_unknown_is_not_replaced() {
    let (place, file) = with_backup();
    // A file that no user can lock.
    std::fs::create_dir(place.path("register.db-shm")).unwrap();
    assert_refused(
        &place,
        &["restore", "--force"],
        &file,
        "cannot tell whether",
    );
    std::fs::remove_dir(place.path("register.db-shm")).unwrap();
    assert_eq!(place.run(&["restore", "--force"], Some(&file)).status(), 0);
}

#[test]
fn leftover_database_files_do_not_survive_a_restore() {
    let (place, file) = with_backup();
    std::fs::remove_file(place.path("register.db")).unwrap();
    for ending in ["-wal", "-shm", "-journal"] {
        place.write(&format!("register.db{ending}"), "of another database");
    }
    let restored = place.run(&["restore"], Some(&file));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
    assert!(!place.path("register.db-journal").exists());
    assert_eq!(place.run(&["check"], None).status(), 0);
}

#[test]
fn databases_backups_and_restored_files_are_readable_by_owner_only() {
    let (place, file) = with_backup();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let database = place.path("register.db");
    assert_eq!((mode(&database), mode(&file)), (0o600, 0o600));
    std::fs::set_permissions(&database, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(place.run(&["check"], None).status(), 0);
    assert_eq!(mode(&database), 0o644);
    let restored = place.run(&["restore", "--force"], Some(&file));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
    assert_eq!((mode(&database), mode(&file)), (0o600, 0o600));
}

#[test]
fn a_backup_is_not_overwritten_without_a_confirmation() {
    let (place, file) = with_backup();
    let first = std::fs::read(&file).unwrap();
    assert_refused(
        &place,
        &["backup"],
        &file,
        "already exists; use --force to replace it",
    );
    place.run(
        &["provider", "add", "--ukprn", "10000002", "--name", "Beech"],
        None,
    );
    let second = place.run(&["backup", "--force"], Some(&file));
    assert_eq!(second.status(), 0, "{}", second.stderr());
    assert!(std::fs::read(&file).unwrap() != first);
    let nothing = Workplace::on_sqlite();
    assert_refused(
        &nothing,
        &["backup"],
        &nothing.path("backup.db"),
        "no such file",
    );
    assert!(!nothing.path("register.db").exists());
}

#[test]
fn backup_does_not_replace_its_source_database() {
    let (place, _) = with_backup();
    let link = place.path("link.db");
    std::os::unix::fs::symlink(place.path("register.db"), &link).unwrap();
    let hard_link = place.path("hard-link.db");
    std::fs::hard_link(place.path("register.db"), &hard_link).unwrap();
    let server = place.serve(&[], None);
    let first = register(&server, 1);
    for file in [
        place.path("register.db"),
        place.path("./register.db"),
        place.path("register.db-wal"),
        link,
        hard_link,
    ] {
        assert_refused(
            &place,
            &["backup", "--force"],
            &file,
            "belongs to the database to back up",
        );
    }
    let second = register(&server, 2);
    drop(server);
    let file = place.path("register.db");
    assert_refused(
        &place,
        &["backup", "--force"],
        &file,
        "belongs to the database to back up",
    );
    assert!(ids(&place.url()).ends_with(&[first, second]));
    assert_eq!(place.run(&["check"], None).status(), 0);
}

#[test]
fn backup_does_not_replace_a_database_in_use() {
    let (place, _) = with_backup();
    let other = Workplace::on_sqlite();
    let server = other.serve(&[], None);
    let newest = register(&server, 1);
    let link = place.path("link.db");
    std::os::unix::fs::symlink(other.path("register.db"), &link).unwrap();
    for file in [other.path("register.db"), link] {
        assert_refused(
            &place,
            &["backup", "--force"],
            &file,
            "is a database in use; choose another file",
        );
    }
    assert!(ids(&other.url()).contains(&newest));
    // The server ends without closing anything: what it left beside its database is no part of the
    // new file.
    drop(server);
    assert!(other.path("register.db-wal").metadata().unwrap().len() > 0);
    let made = place.run(&["backup", "--force"], Some(&other.path("register.db")));
    assert_eq!(made.status(), 0, "{}", made.stderr());
    assert_eq!(ids(&other.url()), [""; 0]);
    assert_eq!(other.run(&["check"], None).status(), 0);
}

#[test]
fn a_folder_is_no_file_to_write_or_to_read() {
    let (place, backup) = with_backup();
    let folder = place.path("backups");
    std::fs::create_dir(&folder).unwrap();
    let told = "is a folder; name a file";
    for path in [
        folder.clone(),
        place.path("backups/"),
        place.path("absent/"),
    ] {
        for arguments in [
            &["backup"][..],
            &["backup", "--force"],
            &["restore", "--force"],
        ] {
            assert_refused(&place, arguments, &path, told);
        }
    }
    let on = format!("sqlite://{}", folder.display());
    let told = "is a folder: name the file of the database";
    assert_refused(
        &place,
        &["restore", "--force", "--database-url", &on],
        &backup,
        told,
    );
}

#[test]
fn a_link_is_followed_to_the_file_that_is_replaced() {
    let (place, _) = with_backup();
    place.run(
        &["provider", "add", "--ukprn", "10000002", "--name", "Beech"],
        None,
    );
    let (file, link) = (place.path("disk/backup.db"), place.path("link.db"));
    std::os::unix::fs::symlink("disk/backup.db", &link).unwrap();
    let refused = place.run(&["backup"], Some(&link));
    assert!(
        refused.stderr().contains("disk does not exist"),
        "{}",
        refused.stderr()
    );
    std::fs::create_dir(place.path("disk")).unwrap();
    // The first one is written where the link leads, although there is nothing yet.
    for arguments in [&["backup"][..], &["backup", "--force"]] {
        let made = place.run(arguments, Some(&link));
        assert_eq!(made.status(), 0, "{}", made.stderr());
        assert!(link.is_symlink() && file.is_file());
    }
    let other = Workplace::on_sqlite();
    let database = other.path("disk/register.db");
    std::fs::create_dir(other.path("disk")).unwrap();
    std::os::unix::fs::symlink(&database, other.path("register.db")).unwrap();
    let server = other.serve(&[], None);
    register(&server, 1);
    assert_refused(&other, &["restore", "--force"], &file, "is in use");
    drop(server);
    assert!(other.path("disk/register.db-wal").exists());
    let restored = other.run(&["restore", "--force"], Some(&file));
    assert_eq!(restored.status(), 0, "{}", restored.stderr());
    assert!(other.path("register.db").is_symlink());
    assert_eq!(ids(&format!("sqlite://{}", database.display())), [""; 0]);
    assert!(
        other
            .run(&["provider", "list"], None)
            .stdout()
            .contains("10000002")
    );
    assert_eq!(other.run(&["check"], None).status(), 0);
}

#[test]
fn unfinished_files_of_commands_that_were_ended_are_removed() {
    let (place, _) = with_backup();
    let left = [
        ".register-AbCd12.part",
        ".register-AbCd12.part-journal",
        ".register-Zz9999.part-journal",
    ];
    left.iter().for_each(|name| drop(place.write(name, "left")));
    let kept = [
        ".register-InUse1.part",
        ".register-InUse1.part-journal",
        ".register-notes.part",
        "register.part",
    ];
    let kept = kept.map(|name| place.write(name, "kept"));
    let in_use = std::fs::File::open(&kept[0]).unwrap();
    in_use.lock().unwrap();
    let made = place.run(&["backup"], Some(&place.path("next.db")));
    assert_eq!(made.status(), 0, "{}", made.stderr());
    assert!(
        left.iter().all(|name| !place.path(name).exists()),
        "leftovers were not removed"
    );
    assert!(
        kept.iter().all(|file| file.exists()),
        "a file of another process was removed"
    );
    // The other command has ended.
    drop(in_use);
    assert_eq!(
        place
            .run(&["backup"], Some(&place.path("third.db")))
            .status(),
        0
    );
    assert!(
        kept[..2].iter().all(|file| !file.exists()),
        "leftovers were not removed"
    );
}

#[test]
fn unsound_backup_is_not_restored() {
    let (place, file) = with_backup();
    let sound = std::fs::read(&file).unwrap();
    let url = |path: &Path| format!("sqlite://{}", path.display());

    let file = place.write("text.db", "hello ".repeat(1000));
    assert_refused(&place, &["restore", "--force"], &file, "is damaged");
    let file = place.write("cut.db", &sound[..sound.len() / 2]);
    assert_refused(&place, &["restore", "--force"], &file, "is damaged");
    let file = place.write("empty.db", "");
    assert_refused(
        &place,
        &["restore", "--force"],
        &file,
        "is not a database of this register",
    );
    let file = place.path("other.db");
    execute(&url(&file), "CREATE TABLE notes (text TEXT)");
    assert_refused(
        &place,
        &["restore", "--force"],
        &file,
        "is not a database of this register",
    );
    let file = place.write("newer.db", &sound);
    execute(
        &url(&file),
        "INSERT INTO __diesel_schema_migrations (version) VALUES ('99991231000001')",
    );
    assert_refused(
        &place,
        &["restore", "--force"],
        &file,
        "database has migration 99991231000001",
    );
    let file = place.write("orphans.db", &sound);
    execute(
        &url(&file),
        "PRAGMA foreign_keys = OFF; INSERT INTO tokens (provider_id, name, digest, created_by, created_at, expires_on)
         VALUES (9, 'n', 'd', 'o', '2026-01-05 09:00:00', '2026-07-05')",
    );
    assert_refused(
        &place,
        &["restore", "--force"],
        &file,
        "table tokens: provider_id is 9 in 1 rows",
    );
    let file = place.write("half.db", &sound);
    place.write("half.db-wal", "the rest");
    assert_refused(&place, &["restore", "--force"], &file, "is incomplete");
    assert_refused(
        &place,
        &["restore", "--force"],
        &place.path("absent.db"),
        "no such file",
    );
}

#[test]
fn postgresql_register_is_backed_up_and_restored_by_postgresql_tools() {
    if !kinds().contains(&Kind::Postgres) || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let programs = postgres_programs().unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let ran = Command::new(programs.join(program))
            .args(arguments)
            .output()
            .unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    let mut place = Workplace::on_sqlite();
    place.use_database(Database::fresh_on(Kind::Postgres));
    let add = |ukprn: &str| {
        let added = place.run(
            &["provider", "add", "--ukprn", ukprn, "--name", "Ashdown"],
            None,
        );
        assert_eq!(added.status(), 0, "{}", added.stderr());
    };
    add("10000001");
    let file = place.path("register.dump");
    for command in ["backup", "restore"] {
        assert_refused(
            &place,
            &[command],
            &file,
            "is backed up by `pg_dump` and restored by `pg_restore`",
        );
    }
    // As docs/operations/data-care.md says.
    let (dump, restored) = (file.to_str().unwrap(), Database::fresh_on(Kind::Postgres));
    run(
        "pg_dump",
        &["--format=custom", "--file", dump, &place.url()],
    );
    add("10000002");
    run(
        "pg_restore",
        &[
            "--no-owner",
            "--single-transaction",
            "--dbname",
            restored.url(),
            dump,
        ],
    );
    let on = ["--database-url", restored.url()];
    let listed = place.run(&[&["provider", "list"], &on[..]].concat(), None);
    assert!(
        listed.stdout().contains("10000001") && !listed.stdout().contains("10000002"),
        "{}",
        listed.stdout()
    );
    assert_eq!(place.run(&[&["check"], &on[..]].concat(), None).status(), 0);
}
