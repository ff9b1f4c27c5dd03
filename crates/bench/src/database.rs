//! Databases: registers that were filled once and are kept, and copies of them for one run.

use std::fs;
use std::path::{Path, PathBuf};

use diesel::connection::SimpleConnection as _;
use diesel::{Connection as _, SqliteConnection};
use postgres_client::PostgresConnection;
use test_support::{Cluster, Settings};

use crate::outcome::Outcome;
use crate::process::{SERVER, family, pin};

/// All databases of one kind.
pub(crate) enum Databases {
    /// Files in a folder.
    Sqlite(PathBuf),
    /// A PostgreSQL server.
    Postgres(Cluster),
}

impl Databases {
    pub(crate) fn open(kind: &str, folder: &Path) -> Outcome<Self> {
        let folder = std::path::absolute(folder.join(kind))?;
        fs::create_dir_all(&folder)?;
        match kind {
            "sqlite" => Ok(Self::Sqlite(folder)),
            "postgres" => Ok(Self::Postgres(Cluster::start_in(&folder, Settings::Large))),
            _ => Err(format!("unknown database kind: {kind}").into()),
        }
    }

    /// Moves the database server, if there is one, to the processor of what is measured.
    pub(crate) fn pin(&self) -> Outcome<()> {
        let processes = self.server().map(family).unwrap_or_default();
        processes
            .into_iter()
            .try_for_each(|process| pin(process, SERVER))
    }

    /// The process of the database server, if there is one.
    pub(crate) fn server(&self) -> Option<u32> {
        match self {
            Self::Sqlite(_) => None,
            Self::Postgres(cluster) => cluster.process(),
        }
    }

    pub(crate) fn url(&self, name: &str) -> String {
        match self {
            Self::Sqlite(folder) => format!("sqlite://{}", file(folder, name).display()),
            Self::Postgres(cluster) => cluster.url(name),
        }
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        match self {
            Self::Sqlite(folder) => file(folder, name).exists(),
            Self::Postgres(cluster) => PostgresConnection::establish(&cluster.url(name)).is_ok(),
        }
    }

    /// Creates an empty database, and replaces another of that name.
    pub(crate) fn create(&self, name: &str) -> Outcome<()> {
        self.remove(name)?;
        match self {
            Self::Sqlite(_) => Ok(()),
            Self::Postgres(cluster) => run(cluster, "postgres", &format!("CREATE DATABASE {name}")),
        }
    }

    pub(crate) fn remove(&self, name: &str) -> Outcome<()> {
        match self {
            Self::Sqlite(folder) => {
                let file = file(folder, name);
                for path in
                    ["", "-wal", "-shm", ".marker"].map(|end| format!("{}{end}", file.display()))
                {
                    if Path::new(&path).exists() {
                        fs::remove_file(path)?;
                    }
                }
                Ok(())
            }
            Self::Postgres(cluster) => run(
                cluster,
                "postgres",
                &format!("DROP DATABASE IF EXISTS {name} WITH (FORCE)"),
            ),
        }
    }

    /// Gives a database that was filled its name, and puts it in order as it will be some time
    /// after.
    pub(crate) fn finish(&self, filled: &str, name: &str) -> Outcome<()> {
        match self {
            Self::Sqlite(_) => {
                self.copy(filled, name)?;
                self.remove(filled)
            }
            Self::Postgres(cluster) => {
                // What autovacuum does within minutes.
                run(cluster, filled, "VACUUM (ANALYZE)")?;
                run(
                    cluster,
                    "postgres",
                    &format!("ALTER DATABASE {filled} RENAME TO {name}"),
                )
            }
        }
    }

    /// Copies a database without connections. The copy is synced to the disk.
    pub(crate) fn copy(&self, name: &str, copy: &str) -> Outcome<()> {
        self.remove(copy)?;
        match self {
            Self::Sqlite(folder) => {
                let mut connection =
                    SqliteConnection::establish(&file(folder, name).display().to_string())?;
                connection.batch_execute("PRAGMA wal_checkpoint(TRUNCATE)")?;
                drop(connection);
                fs::copy(file(folder, name), file(folder, copy))?;
                Ok(fs::File::open(file(folder, copy))?.sync_all()?)
            }
            Self::Postgres(cluster) => {
                run(
                    cluster,
                    "postgres",
                    &format!("CREATE DATABASE {copy} TEMPLATE {name} STRATEGY file_copy"),
                )?;
                run(cluster, "postgres", "CHECKPOINT")
            }
        }
    }
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.db"))
}

fn run(cluster: &Cluster, database: &str, sql: &str) -> Outcome<()> {
    Ok(PostgresConnection::establish(&cluster.url(database))?.batch_execute(sql)?)
}
