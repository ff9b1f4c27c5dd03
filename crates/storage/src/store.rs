//! The store: runs jobs from any thread, each with a session in one database transaction.

#[cfg(test)]
mod database_file_tests;
#[cfg(test)]
mod dates;
#[cfg(test)]
mod durability;
#[cfg(test)]
mod job_times_tests;
#[cfg(test)]
mod look_up_tests;
#[cfg(test)]
mod opening;
#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod writer_tests;

use std::ops::Deref;

use database::connection::Connections;
use database::database::{Database, SessionKind};
pub use database::jobs::job_times::{RequestTimes, timed};
use database::jobs::transaction::Transaction;
pub use database::options::StoreOptions;
pub use database::stats::{Queue, StoreStats, WriterStats};
pub use database::writer::WriteScope;

use crate::base::provider_lock::POSITIONS;
use crate::error::StorageError;
use crate::session::Session;

/// The sessions of the register.
#[derive(Debug, Clone, Copy)]
pub struct RegisterSessions;

impl SessionKind for RegisterSessions {
    type Session<'a> = Session<'a>;

    fn open<'a>(transaction: &'a mut Transaction<'_>) -> Session<'a> {
        Session::new(transaction)
    }
}

/// The register's database. Cheap to clone; all clones share the same connections.
///
/// Use [`Session::now`] instead of [`Database::now`] for records.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) database: Database<RegisterSessions>,
}

impl Deref for Store {
    type Target = Database<RegisterSessions>;

    fn deref(&self) -> &Self::Target {
        &self.database
    }
}

impl Store {
    /// Opens the database that `url` names: `sqlite://PATH`, `postgres://...` or
    /// `postgresql://...`.
    ///
    /// Creates a SQLite file and its folder when they are absent. Does not create or change the
    /// schema: see [`Store::set_up`].
    ///
    /// # Errors
    ///
    /// [`DatabaseError::UnknownAddress`], [`DatabaseError::Folder`], [`DatabaseError::Connection`]
    /// or [`DatabaseError::Unavailable`].
    ///
    /// [`DatabaseError::UnknownAddress`]: crate::error::DatabaseError::UnknownAddress
    /// [`DatabaseError::Folder`]: crate::error::DatabaseError::Folder
    /// [`DatabaseError::Connection`]: crate::error::DatabaseError::Connection
    /// [`DatabaseError::Unavailable`]: crate::error::DatabaseError::Unavailable
    pub fn open(url: &str, options: StoreOptions) -> Result<Self, StorageError> {
        let connections = Connections::from_url(url)?;
        Ok(Self {
            database: Database::open(&connections, options, POSITIONS)?,
        })
    }

    /// Opens a connection outside the pool.
    #[cfg(test)]
    pub(crate) fn own_connection(
        &self,
    ) -> Result<database::connection::DatabaseConnection, StorageError> {
        Ok(self.connections().establish()?)
    }
}

#[cfg(test)]
mod tests;
