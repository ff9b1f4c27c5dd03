//! The PostgreSQL server with the databases of this process.
//!
//! It is the one that the environment names, otherwise one of this process alone. It is started
//! with the first database that is asked for, and one connection makes and drops them all.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use diesel::connection::SimpleConnection as _;
use diesel::dsl::sql;
use diesel::sql_types::Bool;
use diesel::{Connection as _, RunQueryDsl as _};
use postgres_client::PostgresConnection;

use crate::cluster::{Cluster, Settings, Variant};
use crate::tools::{Tool, has_tools};

/// The environment variable with the URL of a server to use instead of one of this process alone.
/// Its user makes and drops databases.
pub const SERVER_VARIABLE: &str = "TEST_DATABASE_URL";

/// Whether the environment names a server.
#[must_use]
pub fn has_postgres_server() -> bool {
    std::env::var_os(SERVER_VARIABLE).is_some()
}

/// Returns whether tests can have a PostgreSQL database. Otherwise reports the calling test as
/// skipped, or the part of it that needs one.
///
/// # Panics
///
/// In continuous integration without PostgreSQL.
#[must_use]
pub fn has_postgres() -> bool {
    has_postgres_server() || has_tools(&[Tool::Postgresql])
}

/// Where the databases of this process are.
pub(crate) struct Server {
    place: Place,
    connection: Mutex<PostgresConnection>,
    /// What the names of this process's databases begin with.
    prefix: String,
    named: AtomicU64,
    /// How databases are copied.
    strategy: &'static str,
}

enum Place {
    /// Of this process alone.
    Own(Cluster),
    /// At this URL, which names a database that is left alone.
    Given(String),
}

impl Server {
    /// The server of this process.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: LazyLock<Result<Server, String>> = LazyLock::new(Server::open);
        SERVER.as_ref().unwrap_or_else(|reason| panic!("{reason}"))
    }

    fn open() -> Result<Self, String> {
        let (url, place) = match std::env::var(SERVER_VARIABLE) {
            Ok(url) => (url.clone(), Place::Given(url)),
            Err(_) => {
                let cluster = Cluster::try_start(Settings::Fast, &Variant::from_environment()?)?;
                (cluster.direct_url("postgres"), Place::Own(cluster))
            }
        };
        let mut connection = PostgresConnection::establish(&url)
            .map_err(|error| format!("no PostgreSQL server: {error}"))?;
        let knows_strategies = sql::<Bool>("current_setting('server_version_num')::int >= 150000");
        let knows_strategies = diesel::select(knows_strategies).get_result::<bool>(&mut connection);
        // Newer servers write each page of a copy into their log, unless they are configured to
        // copy the files as before. The files are faster where there is no waiting for the disk.
        let strategy = if knows_strategies.unwrap_or(false) {
            "STRATEGY file_copy"
        } else {
            ""
        };
        // The process's number alone would not do on a server that several machines use.
        let moment = std::time::UNIX_EPOCH
            .elapsed()
            .map_or(0, |since| since.as_nanos());
        let prefix = format!("register_test_{}_{moment:x}", std::process::id());
        Ok(Self {
            place,
            connection: Mutex::new(connection),
            prefix,
            named: AtomicU64::new(0),
            strategy,
        })
    }

    /// Whether the server, with all that is on it, ends with this process.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.place, Place::Own(_))
    }

    /// The socket of the server; `None` for one that the environment names.
    pub(crate) fn socket(&self) -> Option<PathBuf> {
        match &self.place {
            Place::Own(cluster) => Some(cluster.socket()),
            Place::Given(_) => None,
        }
    }

    /// Creates a database, empty or as a copy of another without connections. Returns its name.
    pub(crate) fn create(&self, copied: Option<&str>) -> String {
        let name = format!(
            "{}_{}",
            self.prefix,
            self.named.fetch_add(1, Ordering::Relaxed)
        );
        // Not `template1`: its content may have been changed.
        let template = copied.unwrap_or("template0");
        self.run(&format!(
            "CREATE DATABASE {name} TEMPLATE {template} {}",
            self.strategy
        ))
        .unwrap_or_else(|error| panic!("no database can be made: {error}"));
        name
    }

    /// Drops a database, and cuts its connections.
    pub(crate) fn drop(&self, name: &str) {
        if let Err(error) = self.run(&format!("DROP DATABASE {name} WITH (FORCE)")) {
            // Not a panic, since databases are also dropped where a test is panicking.
            eprintln!("the database {name} stays behind: {error}");
        }
    }

    /// Cuts all connections to a database.
    pub(crate) fn disconnect(&self, name: &str) {
        let sql = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
        );
        self.run(&sql)
            .unwrap_or_else(|error| panic!("{name} stays connected: {error}"));
    }

    /// The URL of a database.
    pub(crate) fn url(&self, name: &str) -> String {
        match &self.place {
            Place::Own(cluster) => cluster.url(name),
            Place::Given(url) => with_database(url, name),
        }
    }

    fn run(&self, sql: &str) -> diesel::QueryResult<()> {
        // A poisoned lock is no harm: between two statements nothing is half done.
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .batch_execute(sql)
    }
}

/// The URL with another database.
fn with_database(url: &str, name: &str) -> String {
    let (address, parameters) = url
        .split_once('?')
        .map_or((url, None), |(address, rest)| (address, Some(rest)));
    let (scheme, rest) = address.split_once("://").unwrap_or(("postgres", address));
    let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
    let parameters = parameters
        .map(|parameters| format!("?{parameters}"))
        .unwrap_or_default();
    format!("{scheme}://{host}/{name}{parameters}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_of_another_database_differs_in_name() {
        for (url, expected) in [
            (
                "postgres://me:secret@host:5433/postgres",
                "postgres://me:secret@host:5433/x",
            ),
            ("postgres://host", "postgres://host/x"),
            (
                "postgresql:///postgres?host=/run/socket",
                "postgresql:///x?host=/run/socket",
            ),
            (
                "postgres://host?sslmode=disable",
                "postgres://host/x?sslmode=disable",
            ),
        ] {
            assert_eq!(with_database(url, "x"), expected);
        }
    }
}
