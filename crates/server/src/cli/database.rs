//! The database that a command opens, and how: only some commands create a register or change its schema, and all of them
//! refuse another environment than the recorded one.

use clap::Args;
use storage::environment::{Unrecorded, require_same};
use storage::error::{Refusal, StorageError};
use storage::store::{Goal, SetUp, Store, StoreOptions};
use storage::tokens::Environment;

use super::CommandError;

/// Which database to use, and as what.
#[derive(Debug, Clone, Args)]
pub(super) struct Database {
    /// Database to use: sqlite://PATH or postgres://USER@HOST/NAME
    #[arg(
        long,
        value_name = "URL",
        env = "REGISTER_DATABASE_URL",
        default_value = "sqlite://var/register.db",
        hide_env_values = true
    )]
    pub(super) database_url: String,
    #[command(flatten)]
    pub(super) expected: Expected,
}

/// The environment of which the register must be.
#[derive(Debug, Clone, Copy, Args)]
pub(super) struct Expected {
    /// Environment of the register, sandbox or production; another one is refused [default: as the database records it;
    /// sandbox for a new one]
    #[arg(long, env = "REGISTER_ENVIRONMENT", value_parser = environment)]
    pub(super) environment: Option<Environment>,
}

impl Database {
    /// Opens the register, which must exist and record its environment.
    pub(super) fn open(&self) -> Result<Store, CommandError> {
        Ok(self.open_with_environment()?.0)
    }

    /// As [`Database::open`], with the environment.
    pub(super) fn open_with_environment(&self) -> Result<(Store, Environment), CommandError> {
        let (store, recorded) = self.open_with_any_record()?;
        Ok((store, recorded.ok_or(StorageError::EnvironmentNotRecorded)?))
    }

    /// As [`Database::open`], for what can be done while the register does not record its environment.
    pub(super) fn open_unrecorded(&self) -> Result<Store, CommandError> {
        Ok(self.open_with_any_record()?.0)
    }

    fn open_with_any_record(&self) -> Result<(Store, Option<Environment>), StorageError> {
        let store = Store::open_existing(&self.database_url, StoreOptions::default())?;
        let recorded = store.read_blocking(|session| session.environment())?;
        require_same(recorded, self.expected.environment)?;
        Ok((store, recorded))
    }

    /// Opens the register, or creates one, and brings its schema to the goal.
    pub(super) fn set_up(
        &self,
        goal: Goal<'_>,
        unrecorded: Unrecorded,
        options: StoreOptions,
    ) -> Result<(Store, SetUp), StorageError> {
        let store = Store::open(&self.database_url, options)?;
        let set_up = store.set_up(goal, self.expected.environment, unrecorded)?;
        Ok((store, set_up))
    }

    /// As [`Database::set_up`] to the newest schema, with the environment.
    pub(super) fn create(
        &self,
        unrecorded: Unrecorded,
        options: StoreOptions,
    ) -> Result<(Store, Environment), StorageError> {
        let (store, set_up) = self.set_up(Goal::Newest, unrecorded, options)?;
        Ok((store, set_up.environment.ok_or(StorageError::EnvironmentNotRecorded)?))
    }
}

/// Reads the name of an environment.
fn environment(text: &str) -> Result<Environment, String> {
    text.parse().map_err(|error: Refusal| error.to_string())
}
