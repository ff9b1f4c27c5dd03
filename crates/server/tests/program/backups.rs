//! Backups beside a server, and their way back.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use test_support::{Kind, Tool, has_tools, postgres_programs};

use super::support::{Server, Workplace, execute, kinds};

/// Registers a trainee of that number and gives its identifier.
fn register(server: &Server, number: usize) -> String {
    let digits = format!("{number:04}");
    let letters = digits.bytes().map(|digit| char::from(digit + 49));
    server.register(&format!("Example{}", letters.collect::<String>()))
}

fn ids(place: &Workplace) -> Vec<String> {
    place.texts("SELECT trainee_id AS text FROM trainees ORDER BY id")
}

/// A place with a database, and a backup of it.
fn with_backup() -> (Workplace, String) {
    let place = Workplace::on_sqlite();
    place.done("provider add --ukprn 10000001 --name Ashdown");
    assert_eq!(place.done("backup backup.db"), "");
    let file = place.path("backup.db").display().to_string();
    (place, file)
}

/// Asks for a refusal, and for nothing to have happened.
fn assert_refused(place: &Workplace, line: &str, told: &str) {
    let before = fs::read(place.path("register.db")).ok();
    let refused = place.run(line);
    refused.ends(1, &[told]);
    assert_eq!(refused.stdout(), "", "{line}");
    let after = fs::read(place.path("register.db")).ok();
    assert!(after == before, "the database was changed");
    let left = fs::read_dir(place.path(".")).unwrap();
    let left = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let left: Vec<_> = left.filter(|name| name.ends_with(".part")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn backup_during_writes_has_everything_acknowledged_before() {
    let (place, other) = (Workplace::on_sqlite(), Workplace::on_sqlite());
    let server = place.serve("");
    let written = AtomicUsize::new(0);
    let is_backed_up = AtomicUsize::new(0);
    let acknowledged = thread::scope(|scope| {
        scope.spawn(|| {
            while is_backed_up.load(Ordering::SeqCst) == 0 {
                register(&server, written.fetch_add(1, Ordering::SeqCst));
            }
        });
        while written.load(Ordering::SeqCst) < 3 {
            thread::yield_now();
        }
        let acknowledged = ids(&place);
        let made = place.run("backup backup.db");
        is_backed_up.store(1, Ordering::SeqCst);
        made.done();
        acknowledged
    });
    drop(server);

    other.done(format!("restore {}", place.path("backup.db").display()));
    let held = ids(&other);
    let (count, all) = (held.len(), acknowledged.len());
    assert!(held.starts_with(&acknowledged), "{count} of {all}");
    assert!(ids(&place).starts_with(&held));
    other.done("check");
    let server = other.serve("");
    assert_eq!(server.get(&format!("/trainees/{}", held[0])).0, 200);
}

#[test]
fn database_in_use_is_not_replaced() {
    let (place, file) = with_backup();
    let server = place.serve("");
    let newest = register(&server, 1);
    for (command, told) in [
        ("restore", "already exists"),
        ("restore --force", "is in use"),
    ] {
        place.run(format!("{command} {file}")).ends(1, &[told]);
        assert!(ids(&place).contains(&newest));
    }
    register(&server, 2);
    // The server ends without closing anything, so what it wrote last is in the file beside the
    // database.
    drop(server);
    assert!(place.path("register.db-wal").metadata().unwrap().len() > 0);
    place.done(format!("restore --force {file}"));
    assert_eq!(ids(&place), [""; 0]);
    place.done("check");
    assert!(place.done("provider list").contains("10000001"));
}

#[test]
fn damaged_database_in_use_is_not_replaced() {
    let (place, file) = with_backup();
    let server = place.serve("");
    register(&server, 1);
    place.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    // The server continues with what it has read; opening the file now finds no database.
    let mut damaged = fs::File::options()
        .write(true)
        .open(place.path("register.db"))
        .unwrap();
    damaged.write_all(&[b'x'; 4096]).unwrap();
    drop(damaged);
    let restore = format!("restore --force {file}");
    assert_refused(&place, &restore, "is in use");
    drop(server);
    place.done(restore);
    place.done("check");
}

#[test]
fn database_moved_from_server_is_not_replaced() {
    let (place, file) = with_backup();
    let server = place.serve("");
    fs::rename(place.path("register.db"), place.path("moved.db")).unwrap();
    let restore = format!("restore {file}");
    assert_refused(&place, &restore, "is in use");
    assert!(!place.path("register.db").exists());
    drop(server);
    place.done(restore);
}

#[test]
fn database_of_unknown_use_is_not_replaced() {
    let (place, file) = with_backup();
    // A file that no user can lock.
    fs::create_dir(place.path("register.db-shm")).unwrap();
    let restore = format!("restore --force {file}");
    assert_refused(&place, &restore, "cannot tell whether");
    fs::remove_dir(place.path("register.db-shm")).unwrap();
    place.done(restore);
}

#[test]
fn leftover_database_files_do_not_survive_restore() {
    let (place, file) = with_backup();
    fs::remove_file(place.path("register.db")).unwrap();
    for ending in ["-wal", "-shm", "-journal"] {
        place.write(&format!("register.db{ending}"), "of another database");
    }
    place.done(format!("restore {file}"));
    assert!(!place.path("register.db-journal").exists());
    place.done("check");
}

#[test]
fn database_files_are_readable_by_owner_only() {
    let (place, file) = with_backup();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    let (database, backup) = (place.path("register.db"), place.path("backup.db"));
    assert_eq!((mode(&database), mode(&backup)), (0o600, 0o600));
    fs::set_permissions(&database, Permissions::from_mode(0o644)).unwrap();
    place.done("check");
    assert_eq!(mode(&database), 0o644);
    place.done(format!("restore --force {file}"));
    assert_eq!((mode(&database), mode(&backup)), (0o600, 0o600));
}

#[test]
fn backup_is_not_overwritten_without_a_confirmation() {
    let (place, file) = with_backup();
    let first = fs::read(&file).unwrap();
    let told = "already exists; use --force to replace it";
    assert_refused(&place, "backup backup.db", told);
    place.done("provider add --ukprn 10000002 --name Beech");
    place.done("backup --force backup.db");
    assert!(fs::read(&file).unwrap() != first);
    let nothing = Workplace::on_sqlite();
    assert_refused(&nothing, "backup backup.db", "no such file");
    assert!(!nothing.path("register.db").exists());
}

#[test]
fn backup_does_not_replace_its_source_database() {
    let (place, _) = with_backup();
    symlink(place.path("register.db"), place.path("link.db")).unwrap();
    fs::hard_link(place.path("register.db"), place.path("hard-link.db")).unwrap();
    let server = place.serve("");
    let first = register(&server, 1);
    let told = "belongs to the database to back up";
    for file in [
        "register.db",
        "./register.db",
        "register.db-wal",
        "link.db",
        "hard-link.db",
    ] {
        assert_refused(&place, &format!("backup --force {file}"), told);
    }
    let second = register(&server, 2);
    drop(server);
    assert_refused(&place, "backup --force register.db", told);
    assert!(ids(&place).ends_with(&[first, second]));
    place.done("check");
}

#[test]
fn backup_does_not_replace_database_in_use() {
    let (place, _) = with_backup();
    let other = Workplace::on_sqlite();
    let server = other.serve("");
    let newest = register(&server, 1);
    symlink(other.path("register.db"), place.path("link.db")).unwrap();
    let database = other.path("register.db").display().to_string();
    for file in [database.as_str(), "link.db"] {
        let told = "is a database in use; choose another file";
        assert_refused(&place, &format!("backup --force {file}"), told);
    }
    assert!(ids(&other).contains(&newest));
    // The server ends without closing anything: what it left beside its database is no part of the
    // new file.
    drop(server);
    assert!(other.path("register.db-wal").metadata().unwrap().len() > 0);
    place.done(format!("backup --force {database}"));
    assert_eq!(ids(&other), [""; 0]);
    other.done("check");
}

#[test]
fn folder_as_backup_file_is_refused() {
    let (place, backup) = with_backup();
    fs::create_dir(place.path("backups")).unwrap();
    for path in ["backups", "backups/", "absent/"] {
        for command in ["backup", "backup --force", "restore --force"] {
            let told = "is a folder; name a file";
            assert_refused(&place, &format!("{command} {path}"), told);
        }
    }
    let folder = place.path("backups");
    let onto = format!(
        "restore --force {backup} --database-url sqlite://{}",
        folder.display()
    );
    assert_refused(&place, &onto, "is a folder: name the file of the database");
}

#[test]
fn link_is_followed_to_replaced_file() {
    let (place, _) = with_backup();
    place.done("provider add --ukprn 10000002 --name Beech");
    let (file, link) = (place.path("disk/backup.db"), place.path("link.db"));
    symlink("disk/backup.db", &link).unwrap();
    let refused = place.run("backup link.db");
    refused.ends(1, &["disk does not exist"]);
    fs::create_dir(place.path("disk")).unwrap();
    // The first one is written where the link leads, although there is nothing yet.
    for command in ["backup", "backup --force"] {
        place.done(format!("{command} link.db"));
        assert!(link.is_symlink() && file.is_file());
    }
    let other = Workplace::on_sqlite();
    let database = other.path("disk/register.db");
    fs::create_dir(other.path("disk")).unwrap();
    symlink(&database, other.path("register.db")).unwrap();
    let server = other.serve("");
    register(&server, 1);
    let restore = format!("restore --force {}", file.display());
    assert_refused(&other, &restore, "is in use");
    drop(server);
    assert!(other.path("disk/register.db-wal").exists());
    other.done(restore);
    assert!(other.path("register.db").is_symlink());
    assert_eq!(ids(&other), [""; 0]);
    assert!(other.done("provider list").contains("10000002"));
    other.done("check");
}

#[test]
fn unfinished_files_of_ended_commands_are_removed() {
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
    let in_use = fs::File::open(&kept[0]).unwrap();
    in_use.lock().unwrap();
    place.done("backup next.db");
    let is_left = left.iter().any(|name| place.path(name).exists());
    assert!(!is_left, "leftovers were not removed");
    let is_kept = kept.iter().all(|file| file.exists());
    assert!(is_kept, "a file of another process was removed");
    // The other command has ended.
    drop(in_use);
    place.done("backup third.db");
    let is_left = kept[..2].iter().any(|file| file.exists());
    assert!(!is_left, "leftovers were not removed");
}

#[test]
fn unsound_backup_is_not_restored() {
    let (place, file) = with_backup();
    let sound = fs::read(&file).unwrap();
    let orphan = "PRAGMA foreign_keys = OFF; INSERT INTO tokens (provider_id, name, digest, created_by, created_at, expires_on)
                  VALUES (9, 'n', 'd', 'o', '2026-01-05 09:00:00', '2026-07-05')";
    place.write("half.db-wal", "the rest");
    for (name, content, sql, told) in [
        ("text.db", &b"hello ".repeat(1000)[..], "", "is damaged"),
        ("cut.db", &sound[..sound.len() / 2], "", "is damaged"),
        ("empty.db", b"", "", "is not a database of this register"),
        (
            "other.db",
            b"",
            "CREATE TABLE notes (text TEXT)",
            "is not a database of this register",
        ),
        (
            "newer.db",
            &sound,
            super::opening::UNKNOWN,
            "database has migration 99991231000001",
        ),
        (
            "orphans.db",
            &sound,
            orphan,
            "table tokens: provider_id is 9 in 1 rows",
        ),
        ("half.db", &sound, "", "is incomplete"),
    ] {
        let file = place.write(name, content);
        if !sql.is_empty() {
            execute(&format!("sqlite://{}", file.display()), sql);
        }
        assert_refused(&place, &format!("restore --force {name}"), told);
    }
    assert_refused(&place, "restore --force absent.db", "no such file");
}

#[test]
fn postgresql_register_is_restored_by_postgresql_tools() {
    if !kinds().contains(&Kind::Postgres) || !has_tools(&[Tool::Postgresql]) {
        return;
    }
    let programs = postgres_programs().unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let ran = Command::new(programs.join(program))
            .args(arguments)
            .output();
        let ran = ran.unwrap();
        assert!(
            ran.status.success(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
    };
    let [place, restored] = [(); 2].map(|()| Workplace::on(Kind::Postgres));
    place.done("provider add --ukprn 10000001 --name Ashdown");
    for command in ["backup", "restore"] {
        let told = "is backed up by `pg_dump` and restored by `pg_restore`";
        assert_refused(&place, &format!("{command} register.dump"), told);
    }
    // As docs/operations/data-care.md says.
    let dump = place.path("register.dump").display().to_string();
    run(
        "pg_dump",
        &["--format=custom", "--file", &dump, &place.url()],
    );
    place.done("provider add --ukprn 10000002 --name Ashdown");
    let into = format!("--dbname={}", restored.url());
    run(
        "pg_restore",
        &["--no-owner", "--single-transaction", &into, &dump],
    );
    let listed = restored.done("provider list");
    assert!(
        listed.contains("10000001") && !listed.contains("10000002"),
        "{listed}"
    );
    restored.done("check");
}
