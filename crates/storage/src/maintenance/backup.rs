//! Makes and restores backups of a SQLite register.
//!
//! A backup is a normal database file. It is made while a server may run, with one SQLite statement
//! that sees one snapshot. Backups and restored databases never appear incomplete: each is written
//! under a temporary name, checked, synced to the disk, and renamed as the last step.
//!
//! PostgreSQL has its own tools; `docs/operations/data-care.md` has the commands.

mod exclusive;
mod part;
mod restoring;

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use database::catalog;
use database::clock::Clock;
use database::connection::{Connections, DatabaseConnection};
use diesel::sql_types::Text;
use diesel::{Connection as _, RunQueryDsl as _, SqliteConnection};

use self::exclusive::Exclusive;
use self::part::Part;
pub use self::restoring::{PreparedRestore, Restored, prepare_restore};
use crate::base::token::Environment;
use crate::error::{DatabaseError, StorageError};
use crate::maintenance::copy::tables;
use crate::maintenance::environment;
use crate::maintenance::migrations::{MIGRATIONS_TABLE, refuse_unknown};
use crate::maintenance::register_state::record_backup;

/// The suffixes of the files that SQLite keeps beside a database.
const JOURNALS: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The first table of the schema.
const FIRST_TABLE: &str = "providers";

/// The most symbolic links that are followed in a row, as on Linux.
const MAX_LINKS: usize = 40;

/// Failure of a backup or a restore. Existing files are unchanged.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The database failed, or this program cannot use it.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The database is not a file.
    #[error(
        "a PostgreSQL database is backed up by `pg_dump` and restored by `pg_restore`; docs/operations/data-care.md has the commands"
    )]
    OtherTool,
    /// The file to read does not exist.
    #[error("{}: no such file", .0.display())]
    Absent(PathBuf),
    /// The file to write exists.
    #[error("{} already exists; use --force to replace it", .0.display())]
    Exists(PathBuf),
    /// The folder of the file to write does not exist. It is not created, because it might be on
    /// another disk than intended.
    #[error("the folder {} does not exist; make it, or name another file", .0.display())]
    NoFolder(PathBuf),
    /// The path is a folder.
    #[error("{} is a folder; name a file", .0.display())]
    IsFolder(PathBuf),
    /// The disk of the folder to write to is full.
    #[error("{}: the disk of this folder has no space left; make room there", .0.display())]
    NoSpace(PathBuf),
    /// The file cannot be read or written.
    #[error("{}: {}", .0.display(), .1)]
    File(PathBuf, #[source] io::Error),
    /// The file is a database, but not a register.
    #[error("{} is not a database of this register", .0.display())]
    NotARegister(PathBuf),
    /// The first file is a database in use, or was copied from one. The second file contains a part
    /// of the database.
    #[error("{} is incomplete: {} contains a part of it; use `trainee-register backup` to make a backup", .0.display(), .1.display())]
    NotWhole(PathBuf, PathBuf),
    /// The file is damaged; the text is the first fault.
    #[error("{} is damaged: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// The file to write is the database to read, or a file beside it.
    #[error("{} belongs to the database to back up; choose another file", .0.display())]
    TargetIsSource(PathBuf),
    /// The file to write is a database that another program, such as a server, has open.
    #[error("{} is a database in use; choose another file", .0.display())]
    TargetInUse(PathBuf),
    /// Another program, such as a server, has the database open.
    #[error("{} is in use; stop the server first", .0.display())]
    InUse(PathBuf),
    /// The file cannot be locked, so another program, such as a server, may have the database open.
    #[error(
        "cannot tell whether {} is in use: {}; stop the server, and move the database with the files beside it away \
         or give this program the right to lock them",
        .0.display(), .1
    )]
    UseUnknown(PathBuf, #[source] io::Error),
    /// The backup has another environment than the database that it would replace.
    #[error(
        "{} is a backup of a {backup} register, and {} is a {replaced} register: restore it to another database, or move \
         the present one away",
        .file.display(), .database.display()
    )]
    OtherEnvironment {
        /// The backup.
        file: PathBuf,
        /// The environment of the backup.
        backup: Environment,
        /// The database.
        database: PathBuf,
        /// The environment of the database.
        replaced: Environment,
    },
}

impl From<DatabaseError> for BackupError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl BackupError {
    /// If the disk is full, replaces the file in the error by the folder of the written file.
    fn with_folder(self, written: &Path) -> Self {
        let is_full = matches!(&self, Self::File(_, source) if source.kind() == io::ErrorKind::StorageFull)
            || matches!(
                self,
                Self::Storage(StorageError::Database(DatabaseError::NoSpace(_)))
            );
        if is_full {
            Self::NoSpace(folder_of(written).to_owned())
        } else {
            self
        }
    }

    /// Returns a function that converts the error of reading or writing a file.
    fn file_error(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File(path.to_owned(), source)
    }
}

/// Writes a backup of the SQLite database at `url` to a file. Returns the size of the file in
/// bytes. An existing file is replaced only if `replace` is set and no process has it open. The
/// schema may be older, and is not changed. Blocks; a server may run.
///
/// # Errors
///
/// [`BackupError`]; also if the requested environment differs from the recorded one.
pub fn back_up(
    url: &str,
    to: &Path,
    replace: bool,
    requested: Option<Environment>,
) -> Result<u64, BackupError> {
    let connections = Connections::from_url(url)?;
    let Some(database) = connections.file() else {
        return Err(BackupError::OtherTool);
    };
    if !database.is_file() {
        return Err(BackupError::Absent(database.to_owned()));
    }
    // Even with --force: a server would keep using the replaced file, and its later writes would be
    // lost.
    if is_part_of(to, database) {
        return Err(BackupError::TargetIsSource(to.to_owned()));
    }
    require_no_folder(to)?;
    if to.exists() && !replace {
        return Err(BackupError::Exists(to.to_owned()));
    }
    let target = follow_links(to);
    if !folder_of(&target).exists() {
        return Err(BackupError::NoFolder(folder_of(&target).to_owned()));
    }
    // `write` locks the target again. This check fails before the backup is written, which may take
    // minutes.
    drop(lock_target(&target, to)?);
    let mut connection = connections.establish_existing()?;
    require_register(&mut connection, database)?;
    environment::require_same(environment::recorded(&mut connection)?, requested)?;
    let bytes =
        write(&mut connection, to, &target, replace).map_err(|error| error.with_folder(&target))?;
    // The backup is complete. A register that cannot be written, or has an older schema, only does
    // not show its time.
    if let Err(error) = record_backup(&mut connection, Clock::system().now()) {
        log::warn!("time of the backup not recorded: {error}");
    }
    Ok(bytes)
}

/// Writes the backup to its target. `shown` is its name in messages.
fn write(
    connection: &mut DatabaseConnection,
    shown: &Path,
    target: &Path,
    replace: bool,
) -> Result<u64, BackupError> {
    let part = part::create_beside(target)?;
    let vacuum = diesel::sql_query("VACUUM INTO ?")
        .bind::<Text, _>(part.file.path().to_string_lossy().into_owned());
    vacuum.execute(connection).map_err(StorageError::from)?;
    remove_short_lived(part.file.path())?;
    require_sound(part.file.path(), shown)?;
    // Held until the backup has replaced the target.
    let _held = lock_target(target, shown)?;
    put_in_place(part, target, replace)
}

/// Removes the rows that are not in backups, and their remains in the file.
fn remove_short_lived(file: &Path) -> Result<(), BackupError> {
    let mut connection = DatabaseConnection::Sqlite(open(file)?);
    // A backup of an older schema lacks some of the tables.
    let existing = catalog::tables(&mut connection)?;
    let mut removed = 0;
    for table in tables::OF_UPLOADS {
        if existing.iter().any(|name| name == table) {
            removed += diesel::sql_query(format!("DELETE FROM {table}"))
                .execute(&mut connection)
                .map_err(StorageError::from)?;
        }
    }
    if removed > 0 {
        diesel::sql_query("VACUUM")
            .execute(&mut connection)
            .map_err(StorageError::from)?;
    }
    Ok(())
}

/// Fails if a path is an existing folder or ends with a slash.
fn require_no_folder(path: &Path) -> Result<(), BackupError> {
    let is_folder = path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if is_folder {
        Err(BackupError::IsFolder(path.to_owned()))
    } else {
        Ok(())
    }
}

/// Follows symbolic links to their target, which need not exist. SQLite keeps its files beside the
/// target, and replacing a link would not change the target.
fn follow_links(path: &Path) -> PathBuf {
    let mut file = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = file.read_link() else { break };
        file = folder_of(&file).join(next);
    }
    file
}

/// Whether a file to write is the database or one of the files beside it. Compares device and
/// inode, so that other names of the same file count.
fn is_part_of(file: &Path, database: &Path) -> bool {
    let Ok(written) = file.metadata() else {
        return false;
    };
    // SQLite keeps its files beside the target of a symbolic link.
    let database = database
        .canonicalize()
        .unwrap_or_else(|_| database.to_owned());
    let mut parts = JOURNALS
        .map(|ending| sibling_file(&database, ending))
        .into_iter()
        .chain([database]);
    parts.any(|part| {
        part.metadata()
            .is_ok_and(|part| (part.dev(), part.ino()) == (written.dev(), written.ino()))
    })
}

/// Locks the file that a backup will replace. Fails if a process has it open. `shown` is its name
/// in messages.
fn lock_target(target: &Path, shown: &Path) -> Result<Exclusive, BackupError> {
    exclusive::acquire(target).map_err(|error| {
        if let BackupError::InUse(_) = error {
            BackupError::TargetInUse(shown.to_owned())
        } else {
            error
        }
    })
}

/// The folder of a file; `.` for a name without a folder.
fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        Some(_) | None => Path::new("."),
    }
}

/// The path with a suffix appended to the file name.
fn sibling_file(file: &Path, ending: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Renames a finished file, after its content is on the disk, and syncs the folder. Returns the
/// size of the file in bytes.
fn put_in_place(part: Part, to: &Path, replace: bool) -> Result<u64, BackupError> {
    let failed = BackupError::file_error(to);
    // Dropping the journals at the end removes the files that SQLite kept beside `file`.
    let Part {
        file,
        journals: _journals,
    } = part;
    file.as_file().sync_all().map_err(&failed)?;
    // Otherwise SQLite would read the files beside the replaced database as parts of the new one.
    for journal in JOURNALS.map(|ending| sibling_file(to, ending)) {
        match std::fs::remove_file(&journal) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(BackupError::File(journal, error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let persisted = if replace {
        file.persist(to)
    } else {
        file.persist_noclobber(to)
    };
    let file = persisted.map_err(|error| {
        let exists = error.error.kind() == io::ErrorKind::AlreadyExists;
        if exists {
            BackupError::Exists(to.to_owned())
        } else {
            failed(error.error)
        }
    })?;
    File::open(folder_of(to))
        .and_then(|folder| folder.sync_all())
        .map_err(&failed)?;
    Ok(file.metadata().map_err(&failed)?.len())
}

/// Fails unless the database is a register with a schema that this program knows.
fn require_register(connection: &mut DatabaseConnection, file: &Path) -> Result<(), BackupError> {
    let found = catalog::tables(connection)?;
    let is_missing = |table: &str| !found.iter().any(|name| name == table);
    if is_missing(MIGRATIONS_TABLE) || is_missing(FIRST_TABLE) {
        return Err(BackupError::NotARegister(file.to_owned()));
    }
    // The error must name the file as the user knows it.
    refuse_unknown(connection).map_err(|error| {
        if let StorageError::LayoutBeforeRelease { .. } = error {
            StorageError::LayoutBeforeRelease {
                database: file.display().to_string(),
            }
            .into()
        } else {
            error.into()
        }
    })
}

/// Fails unless the file is an undamaged register. `shown` is its name in messages.
fn require_sound(file: &Path, shown: &Path) -> Result<(), BackupError> {
    let damaged = |fault: String| BackupError::Damaged(shown.to_owned(), fault);
    let mut connection = DatabaseConnection::Sqlite(open(file)?);
    // SQLite reports here that a file is not a database, or that its first page is invalid.
    let faults = catalog::damage(&mut connection).map_err(|error| {
        if let DatabaseError::DatabaseFault(reason) = error {
            damaged(reason.to_string())
        } else {
            error.into()
        }
    })?;
    if let Some(first) = faults.into_iter().next() {
        return Err(damaged(first));
    }
    require_register(&mut connection, shown)?;
    for reference in catalog::references(&mut connection)? {
        if let Some(orphan) = catalog::orphans(&mut connection, &reference)?.first() {
            return Err(damaged(orphan.to_string()));
        }
    }
    Ok(())
}

/// Opens a database file without changing it.
fn open(file: &Path) -> Result<SqliteConnection, StorageError> {
    Ok(SqliteConnection::establish(&file.to_string_lossy()).map_err(DatabaseError::Connection)?)
}

#[cfg(test)]
mod tests {
    use diesel::result::{DatabaseErrorKind, Error as DieselError};

    use super::*;

    #[test]
    fn full_disk_is_reported_with_folder() {
        let full = DieselError::DatabaseError(
            DatabaseErrorKind::Unknown,
            Box::new("database or disk is full".to_owned()),
        );
        let path = PathBuf::from("/var/backups/register.db");
        let of_file = |kind: io::ErrorKind| BackupError::File(path.clone(), kind.into());
        for error in [
            StorageError::from(full).into(),
            of_file(io::ErrorKind::StorageFull),
        ] {
            let BackupError::NoSpace(folder) = error.with_folder(&path) else {
                panic!("not reported as a full disk")
            };
            assert_eq!(folder, Path::new("/var/backups"));
        }
        let other = of_file(io::ErrorKind::PermissionDenied).with_folder(&path);
        assert!(matches!(other, BackupError::File(..)));
    }
}
