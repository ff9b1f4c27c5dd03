//! The database that a command opens, and how: only some commands create a register or change its
//! schema, and all of them refuse another environment than the recorded one.

use std::path::{Path, PathBuf};

use clap::Args;
use http_kit::error_chain::Causes;
use storage::base::token::{Environment, UnknownEnvironment};
use storage::error::StorageError;
use storage::maintenance::environment::require_same;
use storage::maintenance::migrations::{Goal, SetUp};
use storage::store::{Store, StoreOptions};

use crate::operations::startup::remedy;

/// Which database to use, and as what.
#[derive(Debug, Clone, Args)]
pub(crate) struct Database {
    /// Database to use: sqlite://PATH or postgres://USER@HOST/NAME
    #[arg(
        long,
        help_heading = "Register",
        value_name = "URL",
        env = "REGISTER_DATABASE_URL",
        default_value = "sqlite://var/register.db",
        hide_env_values = true
    )]
    pub(crate) database_url: String,
    #[command(flatten)]
    pub(crate) expected: Expected,
}

/// The environment of which the register must be.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Expected {
    /// Environment of the register, sandbox or production; another one is refused [default: as the
    /// database records it; sandbox for a new one]
    #[arg(long, help_heading = "Register", env = "REGISTER_ENVIRONMENT", value_parser = environment)]
    pub(crate) environment: Option<Environment>,
}

/// Why a command cannot use the database, with what to do.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// The file is not one that this user can write.
    #[error(
        "{}: {}; check --database-url, and run the command as the user of the service, who can write the file and its folder",
        .path.display(), Causes(.source)
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: StorageError,
    },
    /// The file is no database of SQLite.
    #[error("{}: {}; check --database-url", .path.display(), Causes(.source))]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// Why.
        source: StorageError,
    },
    /// The database cannot be used for another reason.
    #[error("{}{}", Causes(.0), remedy(.0))]
    Other(#[source] StorageError),
}

impl DatabaseError {
    /// Why the database at an address, of which only the file of SQLite is shown, cannot be used.
    fn from_storage(url: &str, source: StorageError) -> Self {
        let Some(path) = url
            .strip_prefix("sqlite://")
            .map(|path| Path::new(path).to_owned())
        else {
            return Self::Other(source);
        };
        // SQLite and diesel have no other sign of these.
        let text = Causes(&source).to_string();
        if ["readonly database", "unable to open database file"]
            .iter()
            .any(|sign| text.contains(sign))
        {
            Self::NotWritable { path, source }
        } else if text.contains("file is not a database") {
            Self::NotADatabase { path, source }
        } else {
            Self::Other(source)
        }
    }
}

impl Database {
    /// Opens the register, which must exist.
    pub(crate) fn open(&self) -> Result<Store, DatabaseError> {
        Ok(self.open_with_environment()?.0)
    }

    /// As [`Database::open`], for a command that writes; fails where SQLite cannot write the file.
    pub(crate) fn open_to_write(&self) -> Result<Store, DatabaseError> {
        Ok(self.open_to_write_with_environment()?.0)
    }

    /// As [`Database::open_to_write`], with the environment.
    pub(crate) fn open_to_write_with_environment(
        &self,
    ) -> Result<(Store, Environment), DatabaseError> {
        let (store, environment) = self.open_with_environment()?;
        store
            .require_writable()
            .map_err(|error| self.open_error(error))?;
        Ok((store, environment))
    }

    fn open_with_environment(&self) -> Result<(Store, Environment), DatabaseError> {
        let open = || -> Result<_, StorageError> {
            let store = Store::open_existing(&self.database_url, StoreOptions::default())?;
            let recorded =
                store.read_blocking::<_, StorageError>(|session| session.environment())?;
            require_same(Some(recorded), self.expected.environment)?;
            Ok((store, recorded))
        };
        open().map_err(|error| self.open_error(error))
    }

    /// Why the database cannot be used, with what to do.
    pub(crate) fn open_error(&self, error: StorageError) -> DatabaseError {
        DatabaseError::from_storage(&self.database_url, error)
    }

    /// Opens the register, or creates one, and brings its schema to the goal. Fails where SQLite
    /// cannot write the file, also when the schema is up to date.
    pub(crate) fn set_up(
        &self,
        goal: Goal<'_>,
        options: StoreOptions,
    ) -> Result<(Store, SetUp), DatabaseError> {
        let set_up = || -> Result<_, StorageError> {
            let store = Store::open(&self.database_url, options)?;
            let set_up = store.set_up(goal, self.expected.environment)?;
            store.require_writable()?;
            Ok((store, set_up))
        };
        set_up().map_err(|error| self.open_error(error))
    }

    /// As [`Database::set_up`] to the newest schema, with the environment.
    pub(crate) fn create(
        &self,
        options: StoreOptions,
    ) -> Result<(Store, Environment), DatabaseError> {
        let (store, set_up) = self.set_up(Goal::Newest, options)?;
        Ok((store, set_up.environment))
    }
}

/// Reads the name of an environment.
fn environment(text: &str) -> Result<Environment, String> {
    text.parse()
        .map_err(|error: UnknownEnvironment| error.to_string())
}
