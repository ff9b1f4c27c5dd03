//! One connection to either database, and how connections are made.
//!
//! Knows nothing of jobs or groups: only which database an address names, and how a transaction begins on it.

mod locks;
pub(crate) mod prepared;

use std::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use diesel::connection::{AnsiTransactionManager, SimpleConnection, TransactionManager};
use diesel::r2d2::R2D2Connection;
use diesel::result::Error as DieselError;
use diesel::{Connection as _, PgConnection, SqliteConnection};

use crate::error::StorageError;

/// How long a connection waits for another one to release what it needs.
const BUSY_TIMEOUT_MS: u32 = 5_000;

/// What the page caches of all connections of one use take together, at most, in KiB.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageCaches(u32);

impl PageCaches {
    /// Look-ups by key, which are most requests.
    pub(crate) const LOOK_UPS: Self = Self(8 * 1024);
    /// The pool, for lists.
    pub(crate) const POOL: Self = Self(16 * 1024);
    /// The writer, which reads what it changes.
    pub(crate) const WRITER: Self = Self(4 * 1024);
}

/// What the page cache of any other connection takes, at most, in KiB; as SQLite has it unless told otherwise.
const DEFAULT_PAGE_CACHE_KIB: u32 = 2_000;

/// How long a connection waits before it tries again to bring a new file into WAL mode.
const WAL_RETRY_PAUSE: Duration = Duration::from_millis(5);

/// A connection to one of the two databases.
///
/// PostgreSQL stands first: diesel tries the variants in order, and SQLite takes any string for a path.
#[derive(diesel::MultiConnection)]
pub(crate) enum DatabaseConnection {
    Postgres(PgConnection),
    Sqlite(SqliteConnection),
}

/// Runs a query on the connection that a [`DatabaseConnection`] holds, whichever it is:
/// `with_inner!(connection, |inner| query.get_result(inner))`.
///
/// The enum's connection builds the SQL of a query at every execution, to look for its prepared statement; a connection of
/// its own finds the statement of a static query by the type of the query. So the queries that every request makes are run
/// this way. Such a query is static, that is neither boxed nor with `sql(..)` in it, and on SQLite it has no `eq_any`.
///
/// The query stands in the program once for each database. It is made before, or in place.
macro_rules! with_inner {
    ($connection:expr, |$inner:ident| $query:expr) => {
        match $connection {
            $crate::connection::DatabaseConnection::Postgres($inner) => $query,
            $crate::connection::DatabaseConnection::Sqlite($inner) => $query,
        }
    };
}
pub(crate) use with_inner;

/// What diesel knows of both databases together.
pub(crate) type Backend = <DatabaseConnection as diesel::Connection>::Backend;

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

impl DatabaseConnection {
    /// Begins the outermost transaction.
    ///
    /// A reading one sees one snapshot, however many queries it makes. A writing one on SQLite takes the write lock at
    /// once, so that it never has to give up half-way because another process was faster.
    pub(crate) fn begin(&mut self, access: Access) -> Result<(), DieselError> {
        match (self, access) {
            (Self::Postgres(inner), Access::Read) => {
                AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            }
            (Self::Postgres(inner), Access::Write) => {
                AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
            }
            (Self::Sqlite(inner), Access::Read) => AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN"),
            (Self::Sqlite(inner), Access::Write) => {
                AnsiTransactionManager::begin_transaction_sql(inner, "BEGIN IMMEDIATE")
            }
        }
    }

    /// Commits the innermost transaction or savepoint that diesel counts.
    pub(crate) fn commit(&mut self) -> Result<(), DieselError> {
        // PostgreSQL answers the COMMIT of a failed transaction with a silent rollback, and a job may have swallowed the
        // failure. A failed transaction refuses every query, so one more query finds out.
        if let Self::Postgres(inner) = self {
            inner.batch_execute("SELECT 1")?;
        }
        Self::commit_transaction(self)
    }

    /// Rolls the innermost transaction or savepoint back that diesel counts.
    pub(crate) fn roll_back(&mut self) -> Result<(), DieselError> {
        Self::rollback_transaction(self)
    }

    /// What is meant for the database that is connected.
    pub(crate) fn either<T>(&self, postgres: T, sqlite: T) -> T {
        match self {
            Self::Postgres(_) => postgres,
            Self::Sqlite(_) => sqlite,
        }
    }

    /// Fails unless exactly `depth` transactions and savepoints are open.
    pub(crate) fn require_depth(&mut self, depth: u32) -> Result<(), StorageError> {
        match Self::transaction_manager_status_mut(self).transaction_depth() {
            Ok(open) if open.map_or(0, u32::from) == depth => Ok(()),
            Ok(_) | Err(_) => Err(StorageError::TransactionDepth),
        }
    }
}

/// Makes connections to the database that an address names; the manager of the pool.
#[derive(Clone)]
pub(crate) struct Connections {
    address: Arc<Address>,
    /// What the page cache of one connection to SQLite takes, at most, in KiB.
    page_cache_kib: u32,
}

enum Address {
    /// The whole URL, as libpq takes it. It may hold a password.
    Postgres(String),
    Sqlite(PathBuf),
}

impl Connections {
    /// Understands a database address.
    ///
    /// # Errors
    ///
    /// [`StorageError::UnknownAddress`] for any scheme but `sqlite`, `postgres` and `postgresql`, and for a SQLite
    /// address without a file: a database in memory would be another one for each connection.
    pub(crate) fn to(url: &str) -> Result<Self, StorageError> {
        let address = match url.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Address::Postgres(url.to_owned()),
            Some(("sqlite", path)) if !path.is_empty() && path != ":memory:" => {
                // SQLite reads a name that begins with "file:" as a URI; behind a folder it is a name like any other.
                Address::Sqlite(Path::new(".").join(path))
            }
            Some(_) | None => return Err(StorageError::UnknownAddress),
        };
        Ok(Self { address: Arc::new(address), page_cache_kib: DEFAULT_PAGE_CACHE_KIB })
    }

    /// The same, for so many connections at most, which share the page caches of their use.
    pub(crate) fn sharing(&self, PageCaches(together): PageCaches, connections: u32) -> Self {
        Self { page_cache_kib: together / connections.max(1), ..self.clone() }
    }

    /// Whether all writes must go through one connection.
    pub(crate) fn allow_one_writer(&self) -> bool {
        matches!(*self.address, Address::Sqlite(_))
    }

    /// The file of a SQLite database.
    pub(crate) fn file(&self) -> Option<&Path> {
        match &*self.address {
            Address::Postgres(_) => None,
            Address::Sqlite(path) => Some(path),
        }
    }

    /// What to call the database in a message. The address of a server is not shown: it may hold a password.
    pub(crate) fn display_name(&self) -> String {
        self.file().map_or_else(|| "the database".to_owned(), |path| path.display().to_string())
    }

    /// Makes a connection to a database that exists, and changes nothing in doing so.
    ///
    /// # Errors
    ///
    /// [`StorageError::Absent`] or [`StorageError::Connection`].
    pub(crate) fn establish_existing(&self) -> Result<DatabaseConnection, StorageError> {
        let Some(path) = self.file() else { return self.establish() };
        // SQLite creates an absent file, and WAL mode is a change of the file.
        if !path.is_file() {
            return Err(StorageError::Absent(path.to_owned()));
        }
        let mut connection = SqliteConnection::establish(&path.to_string_lossy()).map_err(StorageError::Connection)?;
        connection.batch_execute(&format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}"))?;
        Ok(DatabaseConnection::Sqlite(connection))
    }

    /// Makes a connection that may write.
    ///
    /// # Errors
    ///
    /// [`StorageError::Connection`] or [`StorageError::Folder`] with the cause.
    pub(crate) fn establish(&self) -> Result<DatabaseConnection, StorageError> {
        match &*self.address {
            Address::Postgres(url) => establish_postgres(url).map(DatabaseConnection::Postgres),
            Address::Sqlite(path) => establish_sqlite(path, self.page_cache_kib).map(DatabaseConnection::Sqlite),
        }
    }

    /// Makes a connection for the pool: on SQLite one that only reads, since a write through it would wait for, or starve,
    /// the writer's thread.
    ///
    /// # Errors
    ///
    /// As [`Connections::establish`].
    pub(crate) fn establish_for_pool(&self) -> Result<DatabaseConnection, StorageError> {
        let mut connection = self.establish()?;
        if let DatabaseConnection::Sqlite(inner) = &mut connection {
            inner.batch_execute("PRAGMA query_only = ON")?;
        }
        Ok(connection)
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
    type Connection = DatabaseConnection;
    type Error = PoolError;

    fn connect(&self) -> Result<DatabaseConnection, PoolError> {
        Ok(self.establish_for_pool()?)
    }

    fn is_valid(&self, connection: &mut DatabaseConnection) -> Result<(), PoolError> {
        match connection {
            DatabaseConnection::Postgres(inner) => Ok(inner.ping().map_err(StorageError::from)?),
            // There is no server to lose.
            DatabaseConnection::Sqlite(_) => Ok(()),
        }
    }

    fn has_broken(&self, connection: &mut DatabaseConnection) -> bool {
        connection.is_broken()
    }
}

/// Why the pool could not make or keep a connection. The pool passes on nothing but the text of an error, so the text
/// holds all causes.
#[derive(Debug, thiserror::Error)]
#[error("{}", with_causes(.0))]
pub(crate) struct PoolError(#[from] StorageError);

fn with_causes(error: &StorageError) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// A connection whose commits are on disk when they return, whatever the server's default is, and which waits for the
/// locks of others for as long as one to SQLite does.
fn establish_postgres(url: &str) -> Result<PgConnection, StorageError> {
    let mut connection = PgConnection::establish(url).map_err(StorageError::Connection)?;
    connection.batch_execute(&format!(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
         SET lock_timeout = {BUSY_TIMEOUT_MS}"
    ))?;
    Ok(connection)
}

fn establish_sqlite(path: &Path, page_cache_kib: u32) -> Result<SqliteConnection, StorageError> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(StorageError::Folder)?;
    }
    let mut connection = SqliteConnection::establish(&path.to_string_lossy()).map_err(StorageError::Connection)?;
    // The timeout stands first, so that the change of the journal mode waits too. One statement at a time: SQLite
    // otherwise compiles them all before the first has run.
    connection.batch_execute(&format!("PRAGMA busy_timeout = {BUSY_TIMEOUT_MS}"))?;
    enter_wal_mode(&mut connection)?;
    connection.batch_execute("PRAGMA synchronous = FULL")?;
    connection.batch_execute("PRAGMA foreign_keys = ON")?;
    // No memory map instead: what it takes is not bounded by this, and a file that is cut short under it ends the process.
    connection.batch_execute(&format!("PRAGMA cache_size = -{page_cache_kib}"))?;
    Ok(connection)
}

/// Brings a new file into WAL mode, where it then stays.
///
/// When several processes do so at once, SQLite refuses all but one without any regard to the busy timeout.
fn enter_wal_mode(connection: &mut SqliteConnection) -> Result<(), StorageError> {
    let deadline = Instant::now() + Duration::from_millis(u64::from(BUSY_TIMEOUT_MS));
    loop {
        match connection.batch_execute("PRAGMA journal_mode = WAL").map_err(StorageError::from) {
            Err(StorageError::Busy) if Instant::now() < deadline => thread::sleep(WAL_RETRY_PAUSE),
            outcome => return outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use diesel::prelude::*;
    use diesel::sql_types::BigInt;

    use super::*;

    #[test]
    fn an_address_of_no_known_form_is_refused_without_being_shown() {
        for url in ["mysql://me:secret@host/db", "register.db", "sqlite://", "sqlite://:memory:", "", "postgres:/host"]
        {
            let error = Connections::to(url).unwrap_err();
            assert!(matches!(error, StorageError::UnknownAddress), "{url}");
            assert!(!error.to_string().contains("secret"));
        }
    }

    #[test]
    fn the_debug_form_of_connections_hides_the_password() {
        let connections = Connections::to("postgres://me:secret@host/db").unwrap();
        assert_eq!(format!("{connections:?}"), "Connections(postgres)");
    }

    #[test]
    fn the_page_caches_of_all_connections_take_32_mib_together() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("register.db").display());
        let connections = Connections::to(&url).unwrap();
        let size = |connections: &Connections| {
            let size = diesel::sql_query("SELECT cache_size AS size FROM pragma_cache_size");
            let PageCache { size } = size.get_result(&mut connections.establish().unwrap()).unwrap();
            // A negative size is one in KiB.
            assert!(size < 0, "{size}");
            -size
        };
        // The probe and what is done once have a connection each that is like that of a command.
        let others = 2 * size(&connections);
        for count in [1_u32, 3, 13, 64] {
            let uses = [PageCaches::LOOK_UPS, PageCaches::POOL, PageCaches::WRITER];
            let caches = uses.map(|caches| size(&connections.sharing(caches, count)) * i64::from(count));
            assert!(caches.iter().sum::<i64>() + others <= 32 * 1024, "{caches:?} for {count} each");
        }
    }

    #[derive(QueryableByName)]
    struct PageCache {
        #[diesel(sql_type = BigInt)]
        size: i64,
    }

    #[test]
    fn the_cause_of_a_failed_connection_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let connections = Connections::to(&format!("sqlite://{}", folder.path().display())).unwrap();
        let error = connections.establish().err().unwrap();
        let StorageError::Connection(cause) = error else { panic!("{error:?}") };
        assert!(cause.to_string().contains("unable to open"), "{cause}");
    }

    #[test]
    fn the_pool_says_why_it_has_no_connection() {
        let folder = tempfile::tempdir().unwrap();
        let connections = Connections::to(&format!("sqlite://{}", folder.path().display())).unwrap();
        let text = r2d2::ManageConnection::connect(&connections).err().unwrap().to_string();
        assert!(text.contains("cannot be reached") && text.contains("unable to open"), "{text}");
    }

    #[test]
    fn a_sqlite_file_is_made_with_its_folders() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/register.db");
        Connections::to(&format!("sqlite://{}", path.display())).unwrap().establish().unwrap();
        assert!(path.exists());
    }
}
