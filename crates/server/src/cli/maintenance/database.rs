//! Opens the database of a command. Only some commands create a register or change its schema. All
//! commands refuse an environment other than the one recorded in the database.

use std::path::{Path, PathBuf};

use clap::Args;
use http_kit::error_chain::Causes;
use storage::base::token::{Environment, UnknownEnvironment};
use storage::error::StorageError;
use storage::maintenance::environment::require_same;
use storage::maintenance::migrations::SetUp;
use storage::store::{Store, StoreOptions};

use crate::operations::startup::remedy;

/// The options with the database and its environment.
#[derive(Debug, Clone, Args)]
pub(crate) struct Database {
    /// Database URL: sqlite://PATH or postgres://USER@HOST/NAME
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

/// The option with the expected environment of the register.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Expected {
    /// Environment, sandbox or production; must match the database's environment [default: the
    /// database's environment; sandbox for a new database]
    #[arg(long, help_heading = "Register", env = "REGISTER_ENVIRONMENT", value_parser = environment)]
    pub(crate) environment: Option<Environment>,
}

/// The reasons why a command cannot use the database, with their remedies.
#[derive(Debug, thiserror::Error)]
pub enum DatabaseError {
    /// This user cannot write the file.
    #[error(
        "{}: {}; check --database-url (REGISTER_DATABASE_URL), and run the command as the service user, who needs write access to the file and its folder",
        .path.display(), Causes(.source)
    )]
    NotWritable {
        /// The file.
        path: PathBuf,
        /// The error of the store.
        source: StorageError,
    },
    /// The file is not a SQLite database.
    #[error("{}: {}; check --database-url (REGISTER_DATABASE_URL)", .path.display(), Causes(.source))]
    NotADatabase {
        /// The file.
        path: PathBuf,
        /// The error of the store.
        source: StorageError,
    },
    /// The database is unusable for another reason.
    #[error("{}{}", Causes(.0), remedy(.0))]
    Other(#[source] StorageError),
}

impl DatabaseError {
    /// Converts an error of the store. For SQLite the result contains the path. Other URLs are left
    /// out, because they may contain passwords.
    fn from_storage(url: &str, source: StorageError) -> Self {
        let Some(path) = url
            .strip_prefix("sqlite://")
            .map(|path| Path::new(path).to_owned())
        else {
            return Self::Other(source);
        };
        // SQLite and diesel report these errors only as texts.
        let text = Causes(&source).to_string();
        if ["readonly database", "unable to open database file"]
            .iter()
            .any(|message| text.contains(message))
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
    /// Opens an existing register.
    pub(crate) fn open(&self) -> Result<Store, DatabaseError> {
        Ok(self.open_with_environment()?.0)
    }

    /// Like [`Database::open`], but for a command that writes: also fails if SQLite cannot write
    /// the file.
    pub(crate) fn open_to_write(&self) -> Result<Store, DatabaseError> {
        Ok(self.open_to_write_with_environment()?.0)
    }

    /// Like [`Database::open_to_write`], but also returns the environment.
    pub(crate) fn open_to_write_with_environment(
        &self,
    ) -> Result<(Store, Environment), DatabaseError> {
        let (store, environment) = self.open_with_environment()?;
        store
            .require_writable()
            .map_err(|error| self.open_error(error))?;
        Ok((store, environment))
    }

    /// Opens an existing register, and returns its environment. Fails if another one is expected.
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

    /// Converts an error of opening the database. The message of the result says what to do.
    pub(crate) fn open_error(&self, error: StorageError) -> DatabaseError {
        DatabaseError::from_storage(&self.database_url, error)
    }

    /// Opens or creates the register, and migrates its schema. Fails if SQLite cannot write the
    /// file, even if the schema is up to date.
    pub(crate) fn set_up(&self, options: StoreOptions) -> Result<(Store, SetUp), DatabaseError> {
        let set_up = || -> Result<_, StorageError> {
            let store = Store::open(&self.database_url, options)?;
            let set_up = store.set_up(self.expected.environment)?;
            store.require_writable()?;
            Ok((store, set_up))
        };
        set_up().map_err(|error| self.open_error(error))
    }

    /// Like [`Database::set_up`], but returns the store and the environment.
    pub(crate) fn create(
        &self,
        options: StoreOptions,
    ) -> Result<(Store, Environment), DatabaseError> {
        let (store, set_up) = self.set_up(options)?;
        Ok((store, set_up.environment))
    }
}

/// Parses an environment.
fn environment(text: &str) -> Result<Environment, String> {
    text.parse()
        .map_err(|error: UnknownEnvironment| error.to_string())
}
