//! Opens registers and brings their schema up to date.

use database::connection::{Connections, DatabaseConnection};
use database::options::StoreOptions;

use crate::base::token::Environment;
use crate::error::StorageError;
use crate::maintenance::copy;
use crate::maintenance::migrations::{self, Migrator, Pending, SetUp};
use crate::store::Store;

impl Store {
    /// Opens an existing register. Fails unless it has the schema of this program, and does not
    /// change the schema.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Absent`], [`StorageError::NoRegister`], [`StorageError::SchemaOlder`],
    /// [`StorageError::SchemaNewer`] or [`StorageError::UnfinishedCopy`]; otherwise an error of
    /// [`Store::open`].
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

    /// The changes that [`Store::set_up`] would make to an existing register. Changes nothing, takes
    /// only read locks, and blocks.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::Absent`], [`StorageError::NoRegister`], [`StorageError::SchemaNewer`],
    /// [`StorageError::RecordsNewer`], [`StorageError::OtherEnvironment`] or
    /// [`StorageError::UnfinishedCopy`]; otherwise when the database does not answer.
    pub fn pending(url: &str, requested: Option<Environment>) -> Result<Pending, StorageError> {
        let connections = Connections::from_url(url)?;
        let mut connection = connections.establish_existing()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        migrations::require_register(&mut connection, &connections.display_name())?;
        Migrator::new(&mut connection).pending(requested)
    }

    /// Like [`Store::set_up`], without a requested environment. Returns the number of applied
    /// migrations.
    ///
    /// # Errors
    ///
    /// Like [`Store::set_up`].
    pub fn migrate(&self) -> Result<usize, StorageError> {
        Ok(self.set_up(None)?.applied.len())
    }

    /// Applies the pending migrations, and records the environment of a new register: the requested
    /// one, or sandbox by default. Writes a marker beside a SQLite file. Blocks.
    ///
    /// Several servers may start at the same time on one database: one migrates, and the others
    /// wait and then find nothing to do. The wait is up to 10 minutes and is logged; it includes
    /// waiting for transactions that hold a required lock. Without pending changes, no lock is
    /// taken.
    ///
    /// # Errors
    ///
    /// [`StorageError::SchemaNewer`], [`StorageError::UnfinishedCopy`], [`StorageError::Migration`],
    /// [`StorageError::BrokenReferences`], [`StorageError::OtherEnvironment`] or
    /// [`StorageError::CorruptSetting`], without any change; [`DatabaseError::Connection`],
    /// [`DatabaseError::Busy`] or [`DatabaseError::Marker`].
    pub fn set_up(&self, requested: Option<Environment>) -> Result<SetUp, StorageError> {
        let mut connection = self.connection_to_set_up()?;
        let set_up = migrations::set_up(&mut connection, requested)?;
        self.database.connections().mark_created()?;
        Ok(set_up)
    }

    /// A new connection. [`StorageError::UnfinishedCopy`] for the target of an unfinished copy.
    fn connection_to_set_up(&self) -> Result<DatabaseConnection, StorageError> {
        let mut connection = self.database.connections().establish()?;
        if copy::is_unfinished(&mut connection)? {
            return Err(StorageError::UnfinishedCopy);
        }
        Ok(connection)
    }
}
