//! Restored backups from before an erasure: no erased trainee comes back, and the list of erasures
//! stays.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::{fs, thread};

use test_support::Process;

use super::erasing::{
    GROUND, assert_nothing_in_files, done, erase, provider_of_demo, register, require_clean,
};
use super::privacy::CANARY;
use super::support::{Workplace, execute};

/// A place with the backup of a trainee who was erased since, and the identifier. No server runs.
fn with_backup_of_erased() -> (Workplace, PathBuf, String) {
    let place = Workplace::on_sqlite();
    let server = place.serve(&[], None);
    let id = register(&server, CANARY);
    let backup = place.path("backup.db");
    done(place.run(&["backup"], Some(&backup)));
    done(place.run(&erase(&[], &provider_of_demo(&place.url()), &[&id]), None));
    server.stop();
    (place, backup, id)
}

fn assert_erased(place: &Workplace, id: &str) {
    let listed = done(place.run(&["trainee", "erasures", "--output", "csv"], None));
    assert!(
        listed.contains(id) && listed.contains(GROUND),
        "the list of erasures is lost: {listed}"
    );
    require_clean(place, &[]);
    assert!(done(place.run(&["audit", id], None)).contains("\nerased "));
    assert_nothing_in_files(&place.url());
}

#[test]
fn a_restored_backup_brings_nobody_back() {
    let (place, backup, id) = with_backup_of_erased();
    assert!(
        fs::read(&backup)
            .unwrap()
            .windows(CANARY.len())
            .any(|bytes| bytes == CANARY.as_bytes())
    );
    let restored = place.run(&["restore", "--force"], Some(&backup));
    assert!(done(restored).starts_with("erased     1\n"));
    assert_erased(&place, &id);
    let audit = done(place.run(&["audit", &id], None));
    assert!(audit.contains(GROUND), "{audit}");
    // What is damaged cannot say whom it had erased.
    fs::write(
        place.url().strip_prefix("sqlite://").unwrap(),
        "no database",
    )
    .unwrap();
    let restored = place.run(&["restore", "--force"], Some(&backup));
    assert!(
        restored.stderr().contains("trainee erase --again"),
        "{}",
        restored.stderr()
    );
    done(restored);
}

#[test]
fn a_killed_restore_brings_nobody_back() {
    let (place, backup, id) = with_backup_of_erased();
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
            let mut restore = Process::start(
                place
                    .command(&["restore", "--force"], Some(&backup))
                    .stderr(Stdio::null()),
            );
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
    done(place.run(&["restore", "--force"], Some(&backup)));
    assert_erased(&place, &id);
    assert_eq!(unfinished(), 0);
}

#[test]
fn a_restore_that_would_lose_an_erasure_replaces_nothing() {
    let (place, backup, id) = with_backup_of_erased();
    // An erasure of another provider than the one that the backup has the trainee of.
    done(place.run(
        &["provider", "add", "--ukprn", "10000009", "--name", "Beech"],
        None,
    ));
    let other = "(SELECT id FROM providers WHERE ukprn = '10000009')";
    execute(
        &place.url(),
        &format!("UPDATE erasures SET provider_id = {other}"),
    );
    let refused = place.run(&["restore", "--force"], Some(&backup));
    assert_eq!(
        (refused.status(), refused.stdout()),
        (1, ""),
        "{}",
        refused.stderr()
    );
    let reason = format!(
        "trainee {id} of provider 10000009: the provider has no trainee with this identifier"
    );
    assert!(
        refused.stderr().contains(&reason) && refused.stderr().contains("nothing was replaced"),
        "{}",
        refused.stderr()
    );
    assert!(done(place.run(&["provider", "list"], None)).contains("10000009"));
}

#[test]
fn erasure_of_a_provider_missing_from_the_backup_is_recorded() {
    let place = Workplace::on_sqlite();
    done(place.run(&["migrate"], None));
    let backup = place.path("backup.db");
    done(place.run(&["backup"], Some(&backup)));
    let server = place.serve(&[], None);
    let id = register(&server, CANARY);
    server.stop();
    let provider = provider_of_demo(&place.url());
    done(place.run(&erase(&[], &provider, &[&id]), None));
    assert_eq!(
        done(place.run(&["restore", "--force"], Some(&backup))),
        "erased     0\nunchanged  1\nrefused    0\n"
    );
    assert_erased(&place, &id);
    assert!(done(place.run(&["provider", "list"], None)).contains(&provider));
}
