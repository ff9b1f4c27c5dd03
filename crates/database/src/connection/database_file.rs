//! The file of a SQLite database. Detects that the file was deleted, moved or replaced, and that it
//! is missing.
//!
//! A connection keeps working on a file that was deleted, moved or replaced, and its later commits
//! are lost. The store therefore compares device and inode of the paths with those at its start,
//! for the database and the two files that SQLite keeps beside it: before each commit of a writer,
//! at each probe and for each new connection.
//!
//! A marker file beside the database records that a register was created there. If a later start
//! finds the marker without the database, it must not create an empty database.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, Instant};
use std::{fmt, io, thread};

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, ConnectionError, SqliteConnection};

use crate::error::DatabaseError;
use crate::owner_only;

/// How long a connection waits for a lock.
pub(super) const BUSY_TIMEOUT_MS: u32 = 5_000;
/// The suffix of the marker file.
const MARKER_SUFFIX: &str = ".marker";
/// The suffixes of the files that SQLite keeps beside a database in WAL mode.
const WAL_SUFFIXES: [&str; 2] = ["-wal", "-shm"];

/// The pause before another attempt to enable WAL mode.
const WAL_RETRY_PAUSE: Duration = Duration::from_millis(5);
/// The size of the page cache of [`KeptOpen`], in KiB.
const KEPT_OPEN_CACHE_KIB: u32 = 8;

/// The file of a SQLite database. All connections of a store share it.
pub(super) struct DatabaseFile {
    path: PathBuf,
    /// The database and the files beside it, as they were when the store was opened. Unset for
    /// connections without a store.
    opened: OnceLock<Vec<OpenedFile>>,
    /// Whether the last comparison found a difference.
    has_changed: AtomicBool,
}

/// An unused connection that keeps the files beside the database: SQLite removes them when the last
/// connection is closed.
pub(crate) struct KeptOpen {
    _connection: Mutex<SqliteConnection>,
}

/// A file, identified by its device and inode.
struct OpenedFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl DatabaseFile {
    /// The file at a path. Nothing is opened.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            opened: OnceLock::new(),
            has_changed: AtomicBool::new(false),
        }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a connection that may write. Creates a missing database and its folder, unless a
    /// marker shows that the database existed before.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Connection`], [`DatabaseError::Folder`], [`DatabaseError::DatabaseGone`] or
    /// [`DatabaseError::DatabaseFileChanged`].
    pub(super) fn connect(&self, page_cache_kib: u32) -> Result<SqliteConnection, DatabaseError> {
        self.require_unchanged()?;
        self.require_not_gone()?;
        if let Some(folder) = self.path.parent() {
            owner_only::create_folder(folder).map_err(|source| DatabaseError::Folder {
                path: folder.to_owned(),
                source,
            })?;
        }
        // SQLite would create the file with the mode that the umask leaves. It gives the files
        // beside the database the same mode as the database.
        owner_only::create_file(&self.path).map_err(|error| connection_error(error.to_string()))?;
        let mut connection = SqliteConnection::establish(&self.path.to_string_lossy())
            .map_err(DatabaseError::Connection)?;
        // The timeout comes first, so that the change of the journal mode waits too. The statements
        // are executed one at a time, because SQLite would otherwise compile them all before the
        // first has run.
        connection.batch_execute(&format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}"))?;
        enter_wal_mode(&mut connection)?;
        connection.batch_execute("PRAGMA synchronous = FULL")?;
        connection.batch_execute("PRAGMA foreign_keys = ON")?;
        // A memory map would not be limited by this size, and truncating a mapped file crashes the
        // process.
        connection.batch_execute(&format!("PRAGMA cache_size = -{page_cache_kib}"))?;
        // The file may have been replaced while it was opened.
        self.require_unchanged()?;
        Ok(connection)
    }

    /// Makes a connection that keeps the files in use, and records the identity of the files for
    /// later comparisons.
    ///
    /// # Errors
    ///
    /// Like [`DatabaseFile::connect`].
    pub(super) fn keep_open(&self) -> Result<KeptOpen, DatabaseError> {
        let mut connection = self.connect(KEPT_OPEN_CACHE_KIB)?;
        // The first read creates the files beside the database.
        connection.batch_execute("SELECT count(*) FROM sqlite_schema")?;
        self.record_opened()
            .map_err(|error| connection_error(format!("{}: {error}", self.path.display())))?;
        Ok(KeptOpen {
            _connection: Mutex::new(connection),
        })
    }

    /// Records the identity of the database and of the files beside it, which must exist.
    fn record_opened(&self) -> io::Result<()> {
        // SQLite keeps its files beside the target of a symbolic link.
        let database = self.path.canonicalize()?;
        let beside = WAL_SUFFIXES.map(|suffix| with_suffix(&database, suffix));
        let opened = [self.path.clone()]
            .into_iter()
            .chain(beside)
            .map(OpenedFile::find)
            .collect::<io::Result<_>>()?;
        // A store records the files once.
        let _ = self.opened.set(opened);
        Ok(())
    }

    /// Fails while the path of the database, or of a file beside it, does not lead to the recorded
    /// file. Logs when this begins and when it ends.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DatabaseFileChanged`].
    pub(super) fn require_unchanged(&self) -> Result<(), DatabaseError> {
        let Some(opened) = self.opened.get() else {
            // Nothing to compare with: the connection belongs to no store.
            return Ok(());
        };
        let changed = opened.iter().find(|file| !file.is_unchanged());
        let had_changed = self.has_changed.swap(changed.is_some(), Ordering::Relaxed);
        match changed {
            None => {
                if had_changed {
                    log::warn!(
                        "database file {} is back; accepting writes again",
                        self.path.display()
                    );
                }
                Ok(())
            }
            Some(file) => {
                if !had_changed {
                    log::error!(
                        "database file {} was deleted, moved or replaced; refusing writes until \
                         the same file is back. Before you stop the server or restore a backup, \
                         read \"The database file is gone\" in \
                         docs/operations/troubleshooting.md",
                        file.path.display()
                    );
                }
                Err(DatabaseError::DatabaseFileChanged(file.path.clone()))
            }
        }
    }

    /// Fails if there is a marker and the database file is missing or empty.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DatabaseGone`].
    pub(super) fn require_not_gone(&self) -> Result<(), DatabaseError> {
        let is_gone = match self.path.metadata() {
            Ok(file) => file.len() == 0,
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        let marker = self.marker();
        if is_gone && marker.exists() {
            return Err(DatabaseError::DatabaseGone {
                path: self.path.clone(),
                marker,
            });
        }
        Ok(())
    }

    /// Writes the marker, unless it exists.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Marker`].
    pub(super) fn mark(&self) -> Result<(), DatabaseError> {
        let marker = self.marker();
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let text = format!(
            "The database {name} was created beside this file. While this file is here and {name} is not, no command creates an\n\
             empty database in its place. To start with an empty register on purpose, delete this file.\n"
        );
        match owner_only::write_new_file(&marker, &text) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            outcome => outcome.map_err(|source| DatabaseError::Marker {
                path: marker,
                source,
            }),
        }
    }

    /// The path of the marker.
    fn marker(&self) -> PathBuf {
        with_suffix(&self.path, MARKER_SUFFIX)
    }
}

impl OpenedFile {
    /// Looks up the identity of the file at a path.
    fn find(path: PathBuf) -> io::Result<Self> {
        let found = path.metadata()?;
        Ok(Self {
            path,
            device: found.dev(),
            inode: found.ino(),
        })
    }

    /// Whether the path still leads to the same file.
    fn is_unchanged(&self) -> bool {
        let is_same = |found: &Metadata| (found.dev(), found.ino()) == (self.device, self.inode);
        self.path.metadata().as_ref().is_ok_and(is_same)
    }
}

impl fmt::Debug for KeptOpen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("KeptOpen")
    }
}

/// The error of a failed connection with this text.
fn connection_error(text: String) -> DatabaseError {
    DatabaseError::Connection(ConnectionError::BadConnection(text))
}

/// Enables WAL mode. The mode is a property of the file.
///
/// Retries for the busy timeout, which SQLite does not apply here: if several processes enable WAL
/// mode at once, it refuses all but one at once.
#[expect(
    clippy::disallowed_methods,
    reason = "a file is opened on the thread of its job"
)]
fn enter_wal_mode(connection: &mut SqliteConnection) -> Result<(), DatabaseError> {
    let deadline = Instant::now() + Duration::from_millis(u64::from(BUSY_TIMEOUT_MS));
    loop {
        match connection
            .batch_execute("PRAGMA journal_mode = WAL")
            .map_err(DatabaseError::from)
        {
            Err(DatabaseError::Busy) if Instant::now() < deadline => thread::sleep(WAL_RETRY_PAUSE),
            outcome => return outcome,
        }
    }
}

/// The path with a suffix appended to the file name.
fn with_suffix(file: &Path, suffix: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
