//! Replaces a database by a backup, in two steps. First, a copy of the backup is brought up to date
//! beside the database. Then the copy is renamed to the database. Callers change the copy between
//! the two steps, such as by repeating erasures.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{io, thread};

use database::connection::Connections;
use database::owner_only;
use diesel::connection::SimpleConnection as _;

use super::part::Part;
use super::{
    BackupError, exclusive, folder_of, follow_links, open, part, put_in_place, require_no_folder,
    require_sound, sibling_file,
};
use crate::accounts::providers;
use crate::base::token::Environment;
use crate::error::{DatabaseError, StorageError};
use crate::maintenance::migrations::{SetUp, set_up};
use crate::maintenance::{copy, environment};
use crate::records::erasure::Erasure;
use crate::records::{change_generation, erasure};
use crate::store::{Store, StoreOptions};

/// How long to wait until the connections of a dropped store are closed.
const CLOSING_TIME: Duration = Duration::from_secs(10);
/// The pause between two checks.
const CLOSING_PAUSE: Duration = Duration::from_millis(10);

/// A restored register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    /// The names of the migrations that the backup lacked.
    pub applied: Vec<String>,
    /// The environment of the register.
    pub environment: Environment,
}

/// A copy of a backup that will replace a database. Dropping it removes the copy and leaves the
/// database unchanged.
#[derive(Debug)]
pub struct PreparedRestore {
    copy: Part,
    /// The address of the database; symbolic links are not followed.
    connections: Connections,
    database: PathBuf,
    replace: bool,
    restored: Restored,
    /// The erasures recorded in the database, which the backup may lack. An error if they cannot be
    /// read, also if the database has disappeared. Empty if there never was a database.
    pub erasures: Result<Vec<Erasure>, StorageError>,
}

/// Prepares to replace the SQLite database at `url` by a backup: copies the backup and brings the
/// schema of the copy up to date. An existing database is replaced only if `replace` is set.
/// Blocks. No server may be started before the restore has ended.
///
/// The restored register has the environment of the backup. Providers with erasures that the backup
/// lacks are added.
///
/// # Errors
///
/// [`BackupError`].
pub fn prepare_restore(
    url: &str,
    from: &Path,
    replace: bool,
    requested: Option<Environment>,
) -> Result<PreparedRestore, BackupError> {
    let connections = Connections::from_url(url)?;
    let Some(database) = connections.file() else {
        return Err(BackupError::OtherTool);
    };
    require_no_folder(from)?;
    require_no_folder(database)?;
    if !from.is_file() {
        return Err(BackupError::Absent(from.to_owned()));
    }
    for journal in ["-wal", "-journal"].map(|ending| sibling_file(from, ending)) {
        if journal.metadata().is_ok_and(|file| file.len() > 0) {
            return Err(BackupError::NotWhole(from.to_owned(), journal));
        }
    }
    if database.exists() && !replace {
        return Err(BackupError::Exists(database.to_owned()));
    }
    let database = follow_links(database);
    let folder = folder_of(&database);
    owner_only::create_folder(folder)
        .map_err(|source| BackupError::File(folder.to_owned(), source).with_folder(&database))?;
    let mut copy = part::create_beside(&database).map_err(|error| error.with_folder(&database))?;
    let prepared = prepare_copy(&mut copy, &connections, &database, from, requested);
    let (restored, erasures) = prepared.map_err(|error| error.with_folder(&database))?;
    Ok(PreparedRestore {
        copy,
        connections,
        database,
        replace,
        restored,
        erasures,
    })
}

/// Checks a copy of the backup and brings it up to date; the backup itself is not changed. Also
/// returns the erasures of the replaced database.
fn prepare_copy(
    copy: &mut Part,
    connections: &Connections,
    database: &Path,
    from: &Path,
    requested: Option<Environment>,
) -> Result<(Restored, Result<Vec<Erasure>, StorageError>), BackupError> {
    let failed = BackupError::file_error(from);
    io::copy(&mut File::open(from).map_err(&failed)?, &mut copy.file).map_err(&failed)?;
    require_sound(copy.file.path(), from)?;
    let mut restored = Connections::from_url(&url_of(copy))?.establish()?;
    if copy::is_unfinished(&mut restored)? {
        return Err(StorageError::UnfinishedCopy.into());
    }
    let mut in_use = connections.establish_existing();
    let recorded = in_use.as_mut().map(environment::recorded);
    if let Ok(Err(StorageError::Database(DatabaseError::Busy))) = recorded {
        return Err(StorageError::Database(DatabaseError::Busy).into());
    }
    // An unreadable database does not restrict the environment.
    let replaced = recorded.ok().and_then(Result::ok).flatten();
    environment::require_same(replaced, requested)?;
    if let (Some(backup), Some(replaced)) = (environment::recorded(&mut restored)?, replaced)
        && backup != replaced
    {
        return Err(BackupError::OtherEnvironment {
            file: from.to_owned(),
            backup,
            database: database.to_owned(),
            replaced,
        });
    }
    let SetUp {
        applied,
        environment,
    } = set_up(&mut restored, requested.or(replaced))?;
    // Invalidates the cursors of the replaced database.
    change_generation::renew(&mut restored)?;
    let erasures = match in_use {
        Ok(mut in_use) => {
            let erasures = erasure::recorded_in(&mut in_use);
            if erasures.as_ref().is_ok_and(|erasures| !erasures.is_empty()) {
                providers::add_providers_with_erasures(&mut restored, &mut in_use)?;
            }
            erasures
        }
        Err(DatabaseError::Absent(_)) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    };
    match erasures {
        Err(StorageError::Database(DatabaseError::Busy)) => {
            Err(StorageError::Database(DatabaseError::Busy).into())
        }
        erasures => Ok((
            Restored {
                applied,
                environment,
            },
            erasures,
        )),
    }
}

impl PreparedRestore {
    /// Opens the copy as a register. Drop the store before [`PreparedRestore::put_in_place`].
    ///
    /// # Errors
    ///
    /// The errors of [`Store::open_existing`].
    pub fn open(&self) -> Result<Store, StorageError> {
        Store::open_existing(&url_of(&self.copy), StoreOptions::default())
    }

    /// Renames the copy to the database, or to the target of its symbolic link, if no process has
    /// it open. Only the owner can read the new file, whatever the mode of the replaced one.
    /// Blocks.
    ///
    /// # Errors
    ///
    /// [`BackupError`].
    pub fn put_in_place(self) -> Result<Restored, BackupError> {
        let Self {
            copy,
            connections,
            database,
            replace,
            restored,
            erasures,
        } = self;
        close(copy.file.path())?;
        // Held until the copy is renamed, so that no process opens the old file.
        let mut held = exclusive::acquire(&database)?;
        if let (Ok(known), Some(connection)) = (erasures, &mut held.connection)
            && erasure::recorded_in(connection)? != known
        {
            // A trainee was erased during the restore.
            return Err(BackupError::InUse(database));
        }
        put_in_place(copy, &database, replace).map_err(|error| error.with_folder(&database))?;
        connections.mark_created()?;
        Ok(restored)
    }
}

/// The address of a temporary file as a database.
fn url_of(copy: &Part) -> String {
    format!("sqlite://{}", copy.file.path().display())
}

/// Moves all changes of a database into its main file. Waits up to [`CLOSING_TIME`] for the
/// connections of a dropped store, which may still be closing on other threads.
#[expect(
    clippy::disallowed_methods,
    reason = "a restore waits on its own thread"
)]
fn close(database: &Path) -> Result<(), StorageError> {
    let mut connection = open(database)?;
    let deadline = Instant::now() + CLOSING_TIME;
    loop {
        // SQLite refuses this mode while another connection is open, and does not wait.
        match connection
            .batch_execute("PRAGMA journal_mode = DELETE")
            .map_err(StorageError::from)
        {
            Err(StorageError::Database(DatabaseError::Busy)) if Instant::now() < deadline => {
                thread::sleep(CLOSING_PAUSE);
            }
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use test_support::Kind;

    use super::*;
    use crate::maintenance::backup::back_up;
    use crate::testing::filled::{connect, filled};

    #[test]
    fn database_in_use_is_not_replaced() {
        let database = filled(Kind::Sqlite, 3);
        let folder = tempfile::tempdir().unwrap();
        let backup = folder.path().join("backup.db");
        back_up(database.url(), &backup, false, None).unwrap();
        let mut holding = connect(database.url());
        holding
            .batch_execute("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE")
            .unwrap();
        let refused = prepare_restore(database.url(), &backup, true, None);
        assert!(
            matches!(
                refused,
                Err(BackupError::Storage(StorageError::Database(
                    DatabaseError::Busy
                )))
            ),
            "{refused:?}"
        );
        holding.batch_execute("COMMIT").unwrap();
        drop(holding);
        assert_ne!(
            prepare_restore(database.url(), &backup, true, None)
                .unwrap()
                .erasures
                .unwrap(),
            []
        );
    }

    #[test]
    fn database_with_concurrent_erasure_is_not_replaced() {
        let database = filled(Kind::Sqlite, 3);
        let folder = tempfile::tempdir().unwrap();
        let backup = folder.path().join("backup.db");
        back_up(database.url(), &backup, false, None).unwrap();
        let prepare = || prepare_restore(database.url(), &backup, true, None).unwrap();
        let prepared = prepare();
        let mut connection = connect(database.url());
        connection
            .batch_execute("UPDATE erasures SET trainee_id = trainee_id || 'x'")
            .unwrap();
        drop(connection);
        let erasures = erasure::recorded_in(&mut connect(database.url())).unwrap();
        assert_ne!(erasures, []);
        assert!(matches!(
            prepared.put_in_place().unwrap_err(),
            BackupError::InUse(_)
        ));
        assert_eq!(
            erasure::recorded_in(&mut connect(database.url())).unwrap(),
            erasures
        );
        prepare().put_in_place().unwrap();
    }
}
