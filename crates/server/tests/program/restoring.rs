//! Restored backups from before an erasure: no erased trainee comes back, and the list of erasures
//! stays.

use std::os::unix::fs::MetadataExt as _;
use std::process::Stdio;
use std::{fs, thread};

use test_support::Process;

use super::erasing::{GROUND, assert_nothing_in_files, erase};
use super::privacy::CANARY;
use super::support::{DEMO, Workplace};

const RESTORE: &str = "restore --force backup.db";

/// A place with the backup of a trainee who was erased since, and the identifier. No server runs.
fn with_backup_of_erased() -> (Workplace, String) {
    let place = Workplace::on_sqlite();
    let server = place.serve("");
    let id = server.register(CANARY);
    place.done("backup backup.db");
    place.done(erase(DEMO, &[&id]));
    server.stop();
    (place, id)
}

fn assert_erased(place: &Workplace, id: &str) {
    let listed = place.done("trainee erasures --output csv");
    assert!(
        listed.contains(id) && listed.contains(GROUND),
        "the list of erasures is lost: {listed}"
    );
    place.done("check");
    assert!(place.done(format!("audit {id}")).contains("\nerased "));
    assert_nothing_in_files(&place.url());
}

#[test]
fn restored_backup_brings_no_erased_trainee_back() {
    let (place, id) = with_backup_of_erased();
    let backup = fs::read(place.path("backup.db")).unwrap();
    let canary = CANARY.as_bytes();
    assert!(backup.windows(canary.len()).any(|bytes| bytes == canary));
    assert!(place.done(RESTORE).starts_with("erased     1\n"));
    assert_erased(&place, &id);
    let audit = place.done(format!("audit {id}"));
    assert!(audit.contains(GROUND), "{audit}");
    // What is damaged cannot say whom it had erased.
    place.write("register.db", "no database");
    place.run(RESTORE).ends(0, &["trainee erase --again"]);
}

#[test]
fn killed_restore_brings_no_erased_trainee_back() {
    let (place, id) = with_backup_of_erased();
    let database = place.path("register.db");
    let unfinished = || {
        let names = fs::read_dir(place.path("."))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".part-wal")).count()
    };
    let inode = || database.metadata().unwrap().ino();
    // While the copy is written, and as soon as it has the name of the database.
    for until in [
        &(|_| unfinished() > 0) as &dyn Fn(u64) -> bool,
        &|replaced| inode() != replaced,
    ] {
        // One that is over before that was seen is begun again.
        let is_killed_then = (0..20).any(|_| {
            let replaced = inode();
            let mut restore = Process::start(place.command(RESTORE).stderr(Stdio::null()));
            while !until(replaced) && inode() == replaced {
                assert!(
                    !restore.has_ended() || inode() != replaced,
                    "the restore has failed"
                );
                thread::yield_now();
            }
            let is_met = until(replaced);
            restore.kill();
            assert_erased(&place, &id);
            is_met
        });
        assert!(is_killed_then, "twenty restores were over too early");
    }
    place.done(RESTORE);
    assert_erased(&place, &id);
    assert_eq!(unfinished(), 0);
}

#[test]
fn restore_that_loses_erasure_replaces_nothing() {
    let (place, id) = with_backup_of_erased();
    // An erasure of another provider than the one that the backup has the trainee of.
    place.done("provider add --ukprn 10000009 --name Beech");
    place.execute(
        "UPDATE erasures SET provider_id = (SELECT id FROM providers WHERE ukprn = '10000009')",
    );
    let refused = place.run(RESTORE);
    let reason = format!(
        "trainee {id} of provider 10000009: the provider has no trainee with this identifier"
    );
    refused.ends(1, &[&reason, "nothing was replaced"]);
    assert_eq!(refused.stdout(), "");
    assert!(place.done("provider list").contains("10000009"));
}

#[test]
fn erasure_of_provider_missing_in_backup_stays() {
    let place = Workplace::on_sqlite();
    place.done("migrate");
    place.done("backup backup.db");
    let server = place.serve("");
    let id = server.register(CANARY);
    server.stop();
    place.done(erase(DEMO, &[&id]));
    let restored = place.run(RESTORE);
    restored.prints(0, "erased     0\nunchanged  1\nrefused    0\n");
    assert_erased(&place, &id);
    assert!(place.done("provider list").contains(DEMO));
}
