//! Tests of a store, and of the next start, after its SQLite file was deleted, moved or replaced.

#![expect(
    clippy::disallowed_methods,
    reason = "a test waits on a thread of its own"
)]

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use database::connection::Connections;
use tempfile::TempDir;

use crate::error::{DatabaseError, StorageError};
use crate::maintenance::copy::{CopyError, copy};
use crate::store::{Store, StoreOptions};
use crate::testing::block_on;

/// Opens the file and sets up a register in it.
fn set_up(file: &Path) -> Result<Store, StorageError> {
    let store = Store::open(
        &format!("sqlite://{}", file.display()),
        StoreOptions::default(),
    )?;
    store.set_up(None)?;
    Ok(store)
}

fn write(store: &Store, ukprn: &'static str) -> Result<(), StorageError> {
    store.write_blocking(move |session| session.add_provider(ukprn, "Ashdown University").map(drop))
}

/// Waits until this process has no file of the folder open. Connections of a dropped store close on
/// other threads, and the last one deletes `-wal` and `-shm` by their names.
fn wait_until_closed(folder: &Path) {
    let begun = Instant::now();
    let is_open = || {
        let open = fs::read_dir("/proc/self/fd").unwrap();
        let mut files = open.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
        files.any(|file| file.starts_with(folder))
    };
    while is_open() {
        assert!(begun.elapsed() < Duration::from_secs(20), "still open");
        thread::sleep(Duration::from_millis(5));
    }
}

fn count(store: &Store) -> usize {
    store
        .read_blocking(|session| session.list_providers())
        .unwrap()
        .len()
}

fn probe(store: &Store) -> [Result<(), StorageError>; 2] {
    let probe = store.probe();
    [block_on(probe.ask()), block_on(probe.ask_to_write())]
}

/// Requires that the store refuses writes and probes, and accepts both again after `put_back`.
fn require_refusal_until(store: &Store, case: &str, put_back: impl FnOnce()) {
    for refused in probe(store).into_iter().chain([write(store, "10000002")]) {
        let error = refused.unwrap_err();
        assert!(
            matches!(
                error,
                StorageError::Database(DatabaseError::DatabaseFileChanged(_))
            ) && error.is_temporary(),
            "{case}: {error:?}"
        );
    }
    // Open connections still read.
    assert_eq!(count(store), 1, "{case}");
    put_back();
    for answer in probe(store) {
        answer.unwrap();
    }
    write(store, "10000003").unwrap();
    assert_eq!(count(store), 2, "{case}");
}

/// A folder with an open register, with one provider, in its subfolder `data`.
fn opened() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let store = set_up(&folder.path().join("data/register.db")).unwrap();
    write(&store, "10000001").unwrap();
    assert_eq!(count(&store), 1);
    (folder, store)
}

#[test]
fn writes_are_refused_while_file_is_moved() {
    let files = ["register.db", "register.db-wal", "register.db-shm"];
    let files = files.map(|name| format!("data/{name}"));
    let moved = files.iter().map(|name| (&**name, false));
    let replaced = files.iter().map(|name| (&**name, true));
    for (name, is_replaced) in moved.chain(replaced).chain([("data", false)]) {
        let (folder, store) = opened();
        let [file, moved] = [name, "moved"].map(|name| folder.path().join(name));
        fs::rename(&file, &moved).unwrap();
        if is_replaced {
            fs::copy(&moved, &file).unwrap();
        }
        require_refusal_until(&store, name, || fs::rename(&moved, &file).unwrap());
    }
}

#[test]
fn running_write_is_refused_after_move() {
    let (folder, store) = opened();
    let file = folder.path().join("data/register.db");
    let moved = folder.path().join("moved");
    let (from, to) = (file.clone(), moved.clone());
    let refused = store.write_blocking(move |session| {
        session.add_provider("10000002", "Ashdown University")?;
        fs::rename(&from, &to).unwrap();
        Ok::<_, StorageError>(())
    });
    assert!(
        matches!(
            refused,
            Err(StorageError::Database(DatabaseError::DatabaseFileChanged(
                _
            )))
        ),
        "{refused:?}"
    );
    fs::rename(&moved, &file).unwrap();
    assert_eq!(count(&store), 1);
    write(&store, "10000002").unwrap();
    assert_eq!(count(&store), 2);
}

#[test]
fn writes_are_refused_while_link_leads_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let link_folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one.db");
    let other = folder.path().join("other.db");
    drop(set_up(&other).unwrap());
    let link = link_folder.path().join("register.db");
    symlink(&one, &link).unwrap();
    let store = set_up(&link).unwrap();
    write(&store, "10000001").unwrap();
    assert_eq!(count(&store), 1);
    let lead_to = |file: &Path| {
        fs::remove_file(&link).unwrap();
        symlink(file, &link).unwrap();
    };
    lead_to(&other);
    require_refusal_until(&store, "link", || lead_to(&one));
    drop(store);
    // Opening a link with a missing target does not create a new register.
    fs::remove_file(&one).unwrap();
    assert!(matches!(
        set_up(&link).err(),
        Some(StorageError::Database(DatabaseError::DatabaseGone { .. }))
    ));
}

#[test]
fn connecting_to_another_file_is_refused() {
    let (folder, store) = opened();
    let file = folder.path().join("data/register.db");
    fs::rename(&file, folder.path().join("moved")).unwrap();
    assert!(matches!(
        store.own_connection().err(),
        Some(StorageError::Database(DatabaseError::DatabaseFileChanged(
            _
        )))
    ));
    assert!(!file.exists());
    fs::write(&file, "").unwrap();
    assert!(matches!(
        store.own_connection().err(),
        Some(StorageError::Database(DatabaseError::DatabaseFileChanged(
            _
        )))
    ));
    // The refused connections wrote nothing.
    assert_eq!(fs::metadata(&file).unwrap().len(), 0);
}

#[test]
fn checkpoint_and_vacuum_keep_open_store_usable() {
    let (_folder, store) = opened();
    let reclaim = |store: &Store| {
        diesel::connection::SimpleConnection::batch_execute(
            &mut store.own_connection().unwrap(),
            "VACUUM; PRAGMA wal_checkpoint(TRUNCATE)",
        )
    };
    reclaim(&store).unwrap();
    write(&store, "10000002").unwrap();
    for answer in probe(&store) {
        answer.unwrap();
    }
    assert_eq!(count(&store), 2);
}

#[test]
fn missing_register_is_not_recreated() {
    let (folder, store) = opened();
    drop(store);
    let file = folder.path().join("data/register.db");
    let marker = folder.path().join("data/register.db.marker");
    assert_eq!(
        fs::metadata(&marker).unwrap().permissions().mode() & 0o777,
        0o600
    );
    assert!(
        fs::read_to_string(&marker)
            .unwrap()
            .contains("register.db was created")
    );
    // Setting up an existing register again succeeds, with its marker present.
    drop(set_up(&file).unwrap());
    let url = format!("sqlite://{}", file.display());
    for empty in [false, true] {
        wait_until_closed(folder.path());
        for name in ["register.db", "register.db-wal", "register.db-shm"] {
            let _ = fs::remove_file(folder.path().join("data").join(name));
        }
        if empty {
            fs::write(&file, "").unwrap();
        }
        let connections = Connections::from_url(&url).unwrap();
        for refused in [
            set_up(&file).err(),
            Store::open_existing(&url, StoreOptions::default()).err(),
            connections.establish().map_err(StorageError::from).err(),
        ] {
            let error = refused.unwrap();
            assert!(
                matches!(
                    error,
                    StorageError::Database(DatabaseError::DatabaseGone { .. })
                ) && !error.is_temporary(),
                "{error:?}"
            );
            let text = error.to_string();
            assert!(
                text.contains(&marker.display().to_string()) && text.contains("restore"),
                "{text}"
            );
        }
        let copied = copy(&url, "sqlite://unused", None, |_| {});
        assert!(
            matches!(
                copied,
                Err(CopyError::Source(StorageError::Database(
                    DatabaseError::DatabaseGone { .. }
                )))
            ),
            "{copied:?}"
        );
        assert_eq!(file.exists(), empty);
    }
    wait_until_closed(folder.path());
    fs::remove_file(&marker).unwrap();
    assert_eq!(count(&set_up(&file).unwrap()), 0);
    assert!(marker.exists());
}
