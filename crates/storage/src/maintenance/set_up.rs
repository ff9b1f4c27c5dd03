//! Brings the schema of a register to what the program needs.

use database::connection::{Connections, DatabaseConnection};
use database::options::StoreOptions;

use crate::base::token::Environment;
use crate::error::StorageError;
use crate::maintenance::copy;
use crate::maintenance::migrations::{self, Goal, Migrator, Pending, SetUp};
use crate::store::Store;

impl Store {
    /// Opens a register that exists and has the schema of this program. Otherwise the database is
    /// left as it is.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Absent`], [`StorageError::NoRegister`], [`StorageError::SchemaOlder`],
    /// [`StorageError::SchemaNewer`] or [`StorageError::UnfinishedCopy`]; otherwise as [`Store::open`].
    pub fn open_existing(url: &str, options: StoreOptions) -> Result<Self, StorageError> {
        let connections = Connections::from_url(url)?;
        let mut connection = connections.establish_existing()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        migrations::require_current(&mut connection, &connections.display_name())?;
        drop(connection);
        Self::open(url, options)
    }

    /// What [`Store::set_up`] to the newest schema would do to a register that exists. Changes
    /// nothing, takes no lock but those of reading, and blocks.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Absent`], [`StorageError::NoRegister`], [`StorageError::SchemaNewer`],
    /// [`StorageError::RecordsNewer`], [`StorageError::OtherEnvironment`] or [`StorageError::UnfinishedCopy`];
    /// otherwise when the database does not answer.
    pub fn pending(url: &str, requested: Option<Environment>) -> Result<Pending, StorageError> {
        let connections = Connections::from_url(url)?;
        let mut connection = connections.establish_existing()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        migrations::require_register(&mut connection, &connections.display_name())?;
        Migrator::new(&mut connection).pending(requested)
    }

    /// Like [`Store::set_up`] to the newest schema, without a request for an environment. Returns
    /// how many migrations were applied.
    ///
    /// # Errors
    ///
    /// Like [`Store::set_up`].
    pub fn migrate(&self) -> Result<usize, StorageError> {
        Ok(self.set_up(Goal::Newest, None)?.schema.applied.len())
    }

    /// Brings the schema to the goal, forwards or back, and records the environment of a new
    /// register: the requested one, otherwise sandbox. Records beside a SQLite file that there is a
    /// register. Blocks.
    ///
    /// Two servers that start together over one database are safe: one of them waits and then finds
    /// nothing to do. It waits up to ten minutes, also for a transaction that holds what a
    /// migration needs, and says so in the log. Where nothing is to be done, nothing is locked.
    ///
    /// # Errors
    ///
    /// [`StorageError::SchemaNewer`], [`StorageError::UnfinishedCopy`], [`StorageError::UnknownMigration`],
    /// [`StorageError::Migration`], [`StorageError::BrokenReferences`], [`StorageError::OtherEnvironment`] or
    /// [`StorageError::CorruptSetting`], without any change; [`DatabaseError::Connection`];
    /// [`DatabaseError::Busy`]; [`DatabaseError::Marker`].
    pub fn set_up(
        &self,
        goal: Goal<'_>,
        requested: Option<Environment>,
    ) -> Result<SetUp, StorageError> {
        let mut connection = self.connection_to_set_up()?;
        let set_up = Migrator::with_connections(&mut connection, self.database.connections())
            .set_up(goal, requested)?;
        self.database.connections().mark_created()?;
        Ok(set_up)
    }

    fn connection_to_set_up(&self) -> Result<DatabaseConnection, StorageError> {
        let mut connection = self.database.connections().establish()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        Ok(connection)
    }
}
