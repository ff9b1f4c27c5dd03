//! A database for one test.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, QueryableByName, RunQueryDsl as _, SqliteConnection};
use postgres_client::PostgresConnection;
use tempfile::TempDir;

use crate::kind::Kind;
use crate::postgres::Server;

/// The name of a SQLite file in its folder.
const FILE: &str = "register.db";

/// A database that goes away when this is dropped.
#[derive(Debug)]
pub struct Database {
    url: String,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Sqlite(TempDir),
    /// The name of a database of this process's server.
    Postgres(String),
}

/// What databases are copied from. It goes away with the process in any way that it may end.
enum Template {
    /// The bytes of a SQLite file.
    Sqlite(Vec<u8>),
    /// The name of a database of a server that ends with this process.
    Postgres(String),
}

/// The templates of this process.
static TEMPLATES: Mutex<Option<HashMap<&'static str, Template>>> = Mutex::new(None);

impl Database {
    /// An empty database of the kind of this run.
    ///
    /// # Panics
    ///
    /// When there is none to be had.
    pub fn fresh() -> Self {
        Self::fresh_on(Kind::from_environment())
    }

    /// An empty database of a particular kind, for tests that are about it.
    ///
    /// # Panics
    ///
    /// When there is none to be had.
    pub fn fresh_on(kind: Kind) -> Self {
        match kind {
            Kind::Sqlite => Self::in_folder(
                tempfile::tempdir().unwrap_or_else(|error| panic!("no folder: {error}")),
            ),
            Kind::Postgres => Self::on_server(Server::shared().create(None)),
        }
    }

    /// A database of the kind of this run with the content that `prepare` writes. `prepare` gets
    /// the URL of a database.
    ///
    /// Preparing is done once in a process for each `name`, and then copied.
    ///
    /// # Panics
    ///
    /// When there is no database to be had.
    pub fn fresh_from(name: &'static str, prepare: impl FnOnce(&str)) -> Self {
        let kind = Kind::from_environment();
        if kind == Kind::Postgres && !Server::shared().is_own() {
            // A template would stay behind on a server that outlives this process.
            let database = Self::fresh();
            prepare(database.url());
            return database;
        }
        // A poisoned lock is no harm: a template is there or not.
        let mut templates = TEMPLATES.lock().unwrap_or_else(PoisonError::into_inner);
        let template = templates
            .get_or_insert_default()
            .entry(name)
            .or_insert_with(|| Template::new(kind, prepare));
        match template {
            Template::Sqlite(bytes) => {
                let database = Self::fresh_on(Kind::Sqlite);
                if let Place::Sqlite(folder) = &database.place {
                    std::fs::write(folder.path().join(FILE), bytes)
                        .unwrap_or_else(|error| panic!("no copy can be made: {error}"));
                }
                database
            }
            Template::Postgres(name) => {
                let name = name.clone();
                drop(templates);
                Self::on_server(Server::shared().create(Some(&name)))
            }
        }
    }

    /// The URL for the register.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Which database it is.
    pub fn kind(&self) -> Kind {
        match self.place {
            Place::Sqlite(_) => Kind::Sqlite,
            Place::Postgres(_) => Kind::Postgres,
        }
    }

    /// The socket of its server and its name there; `None` on SQLite and where the environment
    /// names a server.
    pub(crate) fn socket(&self) -> Option<(PathBuf, String)> {
        match &self.place {
            Place::Sqlite(_) => None,
            Place::Postgres(name) => Some((Server::shared().socket()?, name.clone())),
        }
    }

    fn in_folder(folder: TempDir) -> Self {
        Self {
            url: format!("sqlite://{}", folder.path().join(FILE).display()),
            place: Place::Sqlite(folder),
        }
    }

    fn on_server(name: String) -> Self {
        Self {
            url: Server::shared().url(&name),
            place: Place::Postgres(name),
        }
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        match &self.place {
            // The folder goes by itself.
            Place::Sqlite(_) => {}
            Place::Postgres(name) => Server::shared().drop(name),
        }
    }
}

impl Template {
    fn new(kind: Kind, prepare: impl FnOnce(&str)) -> Self {
        let database = Database::fresh_on(kind);
        prepare(database.url());
        match &database.place {
            Place::Sqlite(folder) => Self::Sqlite(snapshot(folder.path())),
            Place::Postgres(name) => {
                let server = Server::shared();
                // Only a database without connections can be copied, and connections may take a
                // while to end.
                server.disconnect(name);
                Self::Postgres(server.create(Some(name)))
            }
        }
    }
}

/// Runs SQL on the database at an address, by a connection that no server knows of.
pub fn execute(url: &str, sql: &str) {
    let done = match url.strip_prefix("sqlite://") {
        Some(path) => open_sqlite(path).map(|mut opened| opened.batch_execute(sql)),
        None => PostgresConnection::establish(url).map(|mut opened| opened.batch_execute(sql)),
    };
    done.unwrap_or_else(|error| panic!("the database cannot be opened: {error}"))
        .unwrap_or_else(|error| panic!("the database refuses {sql}: {error}"));
}

/// The texts that a query gives, in one column called `text`.
///
/// # Panics
///
/// When the database does not answer.
#[must_use]
pub fn texts(url: &str, sql: &str) -> Vec<String> {
    #[derive(QueryableByName)]
    struct Row {
        #[diesel(sql_type = diesel::sql_types::Text)]
        text: String,
    }
    let query = diesel::sql_query(sql);
    let loaded = match url.strip_prefix("sqlite://") {
        Some(path) => open_sqlite(path).map(|mut opened| query.load::<Row>(&mut opened)),
        None => PostgresConnection::establish(url).map(|mut opened| query.load::<Row>(&mut opened)),
    };
    let loaded = loaded.unwrap_or_else(|error| panic!("the database cannot be opened: {error}"));
    let rows = loaded.unwrap_or_else(|error| panic!("the query fails: {error}"));
    rows.into_iter().map(|row| row.text).collect()
}

/// Opens a SQLite file, and waits for another connection that is about to close it: the last one locks the file.
fn open_sqlite(path: &str) -> diesel::ConnectionResult<SqliteConnection> {
    let mut connection = SqliteConnection::establish(path)?;
    connection
        .batch_execute("PRAGMA busy_timeout = 5000")
        .map_err(diesel::ConnectionError::CouldntSetupConfiguration)?;
    Ok(connection)
}

/// The database in a folder as one file, although a connection to it may not be closed yet.
fn snapshot(folder: &Path) -> Vec<u8> {
    let copy = folder.join("copy.db");
    let mut connection = open_sqlite(&folder.join(FILE).to_string_lossy())
        .unwrap_or_else(|error| panic!("what was prepared cannot be opened: {error}"));
    connection
        .batch_execute(&format!("VACUUM INTO '{}'", copy.display()))
        .unwrap_or_else(|error| panic!("what was prepared cannot be copied: {error}"));
    std::fs::read(copy).unwrap_or_else(|error| panic!("what was prepared cannot be read: {error}"))
}
