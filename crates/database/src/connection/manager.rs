//! Opens connections with settings for their purpose. [`Connections`] is also the manager of the
//! pools.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::connection::{SimpleConnection, get_default_instrumentation};
use diesel::r2d2::R2D2Connection;
use diesel::{Connection as _, ConnectionError, SqliteConnection};
use postgres_client::{Node, PostgresConnection};

use super::connect_retry::connect_with_retry;
use super::database_connection::DatabaseConnection;
use super::database_file::{BUSY_TIMEOUT_MS, DatabaseFile, KeptOpen};
use super::watch::Watch;
use crate::error::DatabaseError;

/// How long a statement of a job waits for a lock on PostgreSQL. After that the job is rolled
/// back.
const JOB_LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// The time limit of each step of a probe of PostgreSQL.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a connection to a read-only server is used before the pool looks for a writable server
/// again.
const READ_ONLY_LIFETIME: Duration = Duration::from_secs(2);

/// How long PostgreSQL runs a statement or keeps an idle transaction of a job. This ends the work
/// of servers that stopped waiting.
const JOB_STATEMENT_TIMEOUT: Duration = Duration::from_secs(10);

/// A commit copies the write-ahead log into the database once the log has this size, in pages (16
/// MiB). Most changes affect the same pages, such as the ends of indexes, and a page is copied once
/// however often the log contains it. A larger log slows down look-ups in it.
const CHECKPOINT_PAGES: u32 = 4_000;

/// The total size of the page caches of all connections with one purpose, in KiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageCaches(u32);

impl PageCaches {
    /// For look-ups by key, which are most requests.
    pub(crate) const LOOK_UPS: Self = Self(8 * 1024);
    /// For the pool, which serves lists.
    pub(crate) const POOL: Self = Self(16 * 1024);
    /// For the writer, which reads what it changes.
    pub(crate) const WRITER: Self = Self(4 * 1024);
}

/// The size of the page cache of any other connection, in KiB; SQLite's default.
const DEFAULT_PAGE_CACHE_KIB: u32 = 2_000;

/// The required encoding of a PostgreSQL database.
const ENCODING: &str = "UTF8";

/// The SQLSTATE of a server without a free connection: `too_many_connections`.
const TOO_MANY_CONNECTIONS: &str = "53300";

/// Makes connections to the database at an address. Manages the connections of a pool.
#[derive(Clone)]
pub struct Connections {
    address: Arc<Address>,
    /// Which server the connections of a pool need.
    node: Node,
    /// The number of times that a connection was found to be lost. Pools drop connections of
    /// earlier generations.
    generation: Arc<AtomicU64>,
    /// The size of the page cache of one SQLite connection, in KiB.
    page_cache_kib: u32,
    /// How long [`Connections::establish`] waits for a PostgreSQL server without a free connection.
    wait: Duration,
}

/// The address of a database.
enum Address {
    Postgres(postgres_client::Address),
    Sqlite(DatabaseFile),
}

/// A connection of a pool.
pub struct PooledConnection {
    pub connection: DatabaseConnection,
    made: Instant,
    /// The generation when the connection was made.
    generation: u64,
    /// Notices when SQLite ends the transaction of a connection that writes.
    pub(crate) watch: Option<Watch>,
}

impl Connections {
    /// Parses a database address.
    ///
    /// # Errors
    ///
    /// - [`DatabaseError::UnknownAddress`] for any scheme but `sqlite`, `postgres` and
    ///   `postgresql`, and for a SQLite address without a file. Databases in memory are rejected,
    ///   because each connection would have its own.
    /// - [`DatabaseError::IsFolder`] for a folder.
    /// - [`DatabaseError::Connection`] for an invalid PostgreSQL address.
    pub fn from_url(url: &str) -> Result<Self, DatabaseError> {
        let address = match url.split_once("://") {
            Some(("postgres" | "postgresql", _)) => {
                Address::Postgres(url.parse().map_err(connection_error)?)
            }
            Some(("sqlite", path)) if !path.is_empty() && path != ":memory:" => {
                // SQLite parses a name that begins with "file:" as a URI, but not behind a folder.
                let path = Path::new(".").join(path);
                if path.is_dir() {
                    return Err(DatabaseError::IsFolder(path));
                }
                Address::Sqlite(DatabaseFile::new(path))
            }
            Some(_) | None => return Err(DatabaseError::UnknownAddress),
        };
        Ok(Self {
            address: Arc::new(address),
            node: Node::PreferWritable,
            generation: Arc::default(),
            page_cache_kib: DEFAULT_PAGE_CACHE_KIB,
            wait: Duration::ZERO,
        })
    }

    /// Divides the memory for page caches among this number of connections.
    pub(crate) fn sharing(&self, PageCaches(together): PageCaches, connections: u32) -> Self {
        Self {
            page_cache_kib: together / connections.max(1),
            ..self.clone()
        }
    }

    /// Makes [`Connections::establish`] wait up to this time for a PostgreSQL server without a free
    /// connection. Other servers of the register close their unused connections.
    pub fn waiting(&self, wait: Duration) -> Self {
        Self {
            wait,
            ..self.clone()
        }
    }

    /// Makes the pools connect for writing: on PostgreSQL only to a server that accepts writes.
    pub fn for_writing(&self) -> Self {
        Self {
            node: Node::Writable,
            ..self.clone()
        }
    }

    /// Makes pools drop all connections made before now. Call this when a connection was lost: the
    /// others may lead to the same server.
    pub fn invalidate(&self) {
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether all writes must go through one connection.
    pub fn allow_one_writer(&self) -> bool {
        matches!(*self.address, Address::Sqlite(_))
    }

    /// The file of a SQLite database; `None` on PostgreSQL.
    pub fn file(&self) -> Option<&Path> {
        match &*self.address {
            Address::Postgres(_) => None,
            Address::Sqlite(file) => Some(file.path()),
        }
    }

    /// The name of the database in messages. Omits the address of a server, because the address may
    /// contain a password.
    pub fn display_name(&self) -> String {
        self.file().map_or_else(
            || "the database".to_owned(),
            |path| path.display().to_string(),
        )
    }

    /// Makes a connection to an existing database, without creating or changing a file.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Absent`], [`DatabaseError::DatabaseGone`] or [`DatabaseError::Connection`].
    pub fn establish_existing(&self) -> Result<DatabaseConnection, DatabaseError> {
        let Address::Sqlite(file) = &*self.address else {
            return self.establish();
        };
        file.require_not_gone()?;
        let path = file.path();
        // SQLite would create a missing file, and enabling WAL mode would change the file.
        if !path.is_file() {
            return Err(DatabaseError::Absent(path.to_owned()));
        }
        let mut connection = SqliteConnection::establish(&path.to_string_lossy())
            .map_err(DatabaseError::Connection)?;
        connection.batch_execute(&format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}"))?;
        Ok(DatabaseConnection::Sqlite(connection))
    }

    /// Makes a connection that keeps the files of a SQLite database in use, and records their
    /// identity. Later connections to replaced files fail. `None` on PostgreSQL.
    ///
    /// # Errors
    ///
    /// Like [`Connections::establish`].
    pub(crate) fn keep_open(&self) -> Result<Option<KeptOpen>, DatabaseError> {
        let Address::Sqlite(file) = &*self.address else {
            return Ok(None);
        };
        file.keep_open().map(Some)
    }

    /// Fails while the files of a SQLite database differ from those of [`Connections::keep_open`].
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DatabaseFileChanged`].
    pub fn require_unchanged_files(&self) -> Result<(), DatabaseError> {
        match &*self.address {
            Address::Postgres(_) => Ok(()),
            Address::Sqlite(file) => file.require_unchanged(),
        }
    }

    /// Writes a marker beside a SQLite database, so that a lost database is not replaced by an
    /// empty one.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Marker`].
    pub fn mark_created(&self) -> Result<(), DatabaseError> {
        match &*self.address {
            Address::Postgres(_) => Ok(()),
            Address::Sqlite(file) => file.mark(),
        }
    }

    /// Makes a connection that may write. Creates a missing SQLite database, unless it existed
    /// before.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Connection`] or [`DatabaseError::Folder`] with the cause;
    /// [`DatabaseError::DatabaseGone`]; [`DatabaseError::DatabaseFileChanged`].
    pub fn establish(&self) -> Result<DatabaseConnection, DatabaseError> {
        match &*self.address {
            Address::Postgres(address) => {
                let lock_timeout = Some(Duration::from_millis(u64::from(BUSY_TIMEOUT_MS)));
                let session = postgres_client::Session {
                    lock_timeout,
                    ..postgres_client::Session::default()
                };
                connect_with_retry(self.wait, || {
                    establish_postgres(address, session, Node::PreferWritable)
                })
            }
            Address::Sqlite(file) => file
                .connect(self.page_cache_kib)
                .map(DatabaseConnection::Sqlite),
        }
    }

    /// Makes a connection with short time limits, to check that the database answers.
    ///
    /// # Errors
    ///
    /// Like [`Connections::establish`].
    pub fn establish_for_probe(&self) -> Result<DatabaseConnection, DatabaseError> {
        let Address::Postgres(address) = &*self.address else {
            return self.establish();
        };
        let session = postgres_client::Session {
            lock_timeout: Some(PROBE_TIMEOUT),
            statement_timeout: Some(PROBE_TIMEOUT),
            idle_in_transaction_timeout: Some(PROBE_TIMEOUT),
            connect_timeout: Some(PROBE_TIMEOUT),
            ..postgres_client::Session::default()
        };
        let mut connection = establish_postgres(address, session, Node::PreferWritable)?;
        connection.set_deadline(Some(Instant::now() + PROBE_TIMEOUT));
        Ok(connection)
    }

    /// Makes a connection for a pool, whose statements are counted. On SQLite it is read-only unless
    /// the pool writes, because a write through it would compete with the writer for the lock.
    ///
    /// # Errors
    ///
    /// Like [`Connections::establish`].
    pub fn establish_for_pool(&self) -> Result<DatabaseConnection, DatabaseError> {
        let mut connection = match &*self.address {
            Address::Postgres(address) => {
                let session = postgres_client::Session {
                    lock_timeout: Some(JOB_LOCK_TIMEOUT),
                    statement_timeout: Some(JOB_STATEMENT_TIMEOUT),
                    idle_in_transaction_timeout: Some(JOB_STATEMENT_TIMEOUT),
                    connect_timeout: None,
                    writes_only_in_transactions: true,
                };
                establish_postgres(address, session, self.node)?
            }
            Address::Sqlite(_) => {
                let mut connection = self.establish()?;
                if self.node == Node::Writable {
                    // The rollback journal of a savepoint fits into memory: a job changes little.
                    connection.batch_execute(&format!(
                        "PRAGMA temp_store = MEMORY; PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}"
                    ))?;
                } else {
                    connection.batch_execute("PRAGMA query_only = ON")?;
                }
                connection
            }
        };
        connection.count_statements(get_default_instrumentation());
        Ok(connection)
    }
}

/// Connects to PostgreSQL. [`DatabaseError::DatabaseEncoding`] for a database that is not in UTF-8.
fn establish_postgres(
    address: &postgres_client::Address,
    session: postgres_client::Session,
    node: Node,
) -> Result<DatabaseConnection, DatabaseError> {
    let connection =
        PostgresConnection::connect(address, &session, node).map_err(connection_error)?;
    // With another encoding, PostgreSQL would reject characters that it lacks, such as in a name,
    // only when a client sends one.
    if connection.encoding() != ENCODING {
        return Err(DatabaseError::DatabaseEncoding {
            encoding: connection.encoding().to_owned(),
        });
    }
    Ok(DatabaseConnection::Postgres(connection))
}

/// Converts an error of connecting. A server without a free connection is a separate error.
fn connection_error(error: postgres_client::ConnectError) -> DatabaseError {
    let cause = ConnectionError::BadConnection(error.to_string());
    match error.sqlstate() {
        Some(TOO_MANY_CONNECTIONS) => DatabaseError::NoConnectionLeft(cause),
        Some(_) | None => DatabaseError::Connection(cause),
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match *self.address {
            Address::Postgres(_) => "Connections(postgres)",
            Address::Sqlite(_) => "Connections(sqlite)",
        })
    }
}

impl r2d2::ManageConnection for Connections {
    type Connection = PooledConnection;
    type Error = PoolError;

    fn connect(&self) -> Result<PooledConnection, PoolError> {
        let generation = self.generation.load(Ordering::Relaxed);
        let mut connection = self.establish_for_pool()?;
        let writes_to_file = self.node == Node::Writable && self.allow_one_writer();
        let watch = writes_to_file.then(|| Watch::new(&mut connection));
        Ok(PooledConnection {
            connection,
            made: Instant::now(),
            generation,
            watch,
        })
    }

    /// Sends no query: if a connection fails at its first statement, the job gets another
    /// connection and runs again.
    fn is_valid(&self, pooled: &mut PooledConnection) -> Result<(), PoolError> {
        let is_old = pooled.generation != self.generation.load(Ordering::Relaxed);
        let is_old_and_read_only =
            pooled.connection.is_read_only() && pooled.made.elapsed() > READ_ONLY_LIFETIME;
        if is_old || is_old_and_read_only {
            Err(PoolError::Outdated)
        } else {
            Ok(())
        }
    }

    fn has_broken(&self, pooled: &mut PooledConnection) -> bool {
        let ended = pooled.watch.as_ref().map(Watch::require_open);
        pooled.connection.is_broken() || ended.is_some_and(|ended| ended.is_err())
    }
}

/// Failure to open or reuse a connection. The pool passes on only the text, so the text includes
/// all causes.
#[derive(Debug, thiserror::Error)]
pub enum PoolError {
    #[error("{}", .0.with_causes())]
    NotMade(#[from] DatabaseError),
    #[error("there may be a better connection")]
    Outdated,
}

/// Logs why a pool could not make a connection.
#[derive(Debug)]
pub(crate) struct LogPoolErrors;

impl r2d2::HandleError<PoolError> for LogPoolErrors {
    fn handle_error(&self, error: PoolError) {
        match error {
            PoolError::NotMade(_) => log::warn!("{error}"),
            PoolError::Outdated => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use diesel::prelude::*;
    use diesel::sql_types::BigInt;
    use tempfile::TempDir;

    use super::*;

    #[test]
    fn unknown_address_is_rejected_without_being_shown() {
        for url in [
            "mysql://me:secret@host/db",
            "register.db",
            "sqlite://",
            "sqlite://:memory:",
            "",
            "postgres:/host",
        ] {
            let error = Connections::from_url(url).unwrap_err();
            assert!(matches!(error, DatabaseError::UnknownAddress), "{url}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn debug_output_of_connections_hides_password() {
        let connections = Connections::from_url("postgres://me:secret@host/db").unwrap();
        assert_eq!(format!("{connections:?}"), "Connections(postgres)");
    }

    #[test]
    fn page_caches_of_all_connections_take_32_mib() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("register.db").display());
        let connections = Connections::from_url(&url).unwrap();
        let size = |connections: &Connections| {
            let size = diesel::sql_query("SELECT cache_size AS size FROM pragma_cache_size");
            let PageCache { size } = size
                .get_result(&mut connections.establish().unwrap())
                .unwrap();
            // SQLite reports a size in KiB as a negative number.
            assert!(size < 0, "{size}");
            -size
        };
        // The probe and one-off operations each have a connection like that of a command.
        let others = 2 * size(&connections);
        for count in [1_u32, 3, 13, 64] {
            let uses = [PageCaches::LOOK_UPS, PageCaches::POOL, PageCaches::WRITER];
            let caches =
                uses.map(|caches| size(&connections.sharing(caches, count)) * i64::from(count));
            assert!(
                caches.iter().sum::<i64>() + others <= 32 * 1024,
                "{caches:?} for {count} each"
            );
        }
    }

    #[derive(QueryableByName)]
    struct PageCache {
        #[diesel(sql_type = BigInt)]
        size: i64,
    }

    /// Connections to a file that was replaced by a folder.
    fn unopened(folder: &TempDir) -> Connections {
        let path = folder.path().join("register.db");
        let connections = Connections::from_url(&format!("sqlite://{}", path.display())).unwrap();
        std::fs::create_dir(path).unwrap();
        connections
    }

    #[test]
    fn failed_connection_keeps_its_cause() {
        let folder = tempfile::tempdir().unwrap();
        let error = unopened(&folder).establish().err().unwrap();
        let DatabaseError::Connection(cause) = error else {
            panic!("{error:?}")
        };
        assert!(cause.to_string().contains("unable to open"), "{cause}");
    }

    #[test]
    fn pool_error_names_cause() {
        let folder = tempfile::tempdir().unwrap();
        let text = r2d2::ManageConnection::connect(&unopened(&folder))
            .err()
            .unwrap()
            .to_string();
        assert!(
            text.contains("cannot be reached") && text.contains("unable to open"),
            "{text}"
        );
    }

    #[test]
    fn sqlite_file_is_created_with_its_folder_only() {
        let folder = tempfile::tempdir().unwrap();
        let establish = |name: &str| {
            let url = format!("sqlite://{}", folder.path().join(name).display());
            Connections::from_url(&url).unwrap().establish().map(drop)
        };
        let refused = establish("a/b/register.db");
        assert!(
            matches!(refused, Err(DatabaseError::Folder { .. })),
            "{refused:?}"
        );
        assert!(!folder.path().join("a").exists());
        establish("a/register.db").unwrap();
        establish("a/b/register.db").unwrap();
    }

    #[test]
    fn new_sqlite_database_is_readable_by_owner_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/register.db");
        let mut connection = Connections::from_url(&format!("sqlite://{}", path.display()))
            .unwrap()
            .establish()
            .unwrap();
        connection
            .batch_execute("CREATE TABLE written (id INTEGER)")
            .unwrap();
        let mode = |name: &str| {
            folder
                .path()
                .join(name)
                .metadata()
                .unwrap()
                .permissions()
                .mode()
                & 0o777
        };
        assert_eq!(mode("a"), 0o700);
        for name in ["a/register.db", "a/register.db-wal", "a/register.db-shm"] {
            assert_eq!(mode(name), 0o600, "{name}");
        }
    }
}
