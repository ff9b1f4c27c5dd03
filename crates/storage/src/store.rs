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

use chrono::{DateTime, Utc};
use database::connection::Connections;
use database::database::Database;
use database::jobs::transaction::Transaction;
use database::last_fault::LastFault;
pub use database::options::StoreOptions;
pub use database::stats::{Queue, StoreStats, WriterStats};
use database::writer::WriteScope;

use crate::base::provider_lock::POSITIONS;
use crate::error::{DatabaseError, JobError, StorageError};
use crate::session::Session;

/// The register's database. Cheap to clone; all clones share the same connections.
#[derive(Debug, Clone)]
pub struct Store {
    pub(crate) database: Database,
}

/// Wraps the error of a job over a session for the database crate.
struct SessionError<E>(E);

impl<E: JobError> From<DatabaseError> for SessionError<E> {
    fn from(error: DatabaseError) -> Self {
        Self(StorageError::from(error).into())
    }
}

impl<E: JobError> database::error::JobError for SessionError<E> {
    fn database_error(&self) -> Option<&DatabaseError> {
        match self.0.storage_error() {
            Some(StorageError::Database(error)) => Some(error),
            Some(_) | None => None,
        }
    }
}

/// Converts a job over a session to a job over a transaction.
fn in_session<T, E>(
    mut job: impl FnMut(&mut Session<'_>) -> Result<T, E>,
) -> impl FnMut(&mut Transaction<'_>) -> Result<T, SessionError<E>> {
    move |transaction| job(&mut Session::new(transaction)).map_err(SessionError)
}

/// Returns the error of the job itself.
fn take_job_error<T, E>(answer: Result<T, SessionError<E>>) -> Result<T, E> {
    answer.map_err(|SessionError(error)| error)
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
        Ok(self.database.connections().establish()?)
    }

    /// The current time. Do not use it for records: jobs use [`Session::now`].
    #[must_use]
    pub fn now(&self) -> DateTime<Utc> {
        self.database.now()
    }

    /// Like [`Database::read`], for a job over a session.
    ///
    /// # Errors
    ///
    /// What the job returns, or why it could not run. Must be called within a tokio runtime.
    pub async fn read<T, E>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        take_job_error(self.database.read(in_session(job)).await)
    }

    /// Like [`Database::look_up`], for a job over a session.
    ///
    /// # Errors
    ///
    /// Like [`Store::read`].
    pub async fn look_up<T, E>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        take_job_error(self.database.look_up(in_session(job)).await)
    }

    /// Like [`Database::write`], for a job over a session.
    ///
    /// # Errors
    ///
    /// What the job returns, or why it could not run or be kept. Must be called within a tokio
    /// runtime.
    pub async fn write<T, E>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let scope = WriteScope::NoProvider;
        take_job_error(self.database.write(scope, in_session(job)).await)
    }

    /// Like [`Store::write`], for a job that changes records of the provider with this number. Jobs
    /// of one provider run one after the other and may share a commit.
    ///
    /// # Errors
    ///
    /// Like [`Store::write`].
    pub async fn write_records<T, E>(
        &self,
        provider_id: i64,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let scope = WriteScope::Provider(provider_id);
        take_job_error(self.database.write(scope, in_session(job)).await)
    }

    /// Like [`Store::read`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Store::read`].
    pub fn read_blocking<T, E>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        take_job_error(self.database.read_blocking(in_session(job)))
    }

    /// Like [`Store::write`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Store::write`].
    pub fn write_blocking<T, E>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let scope = WriteScope::NoProvider;
        take_job_error(self.database.write_blocking(scope, in_session(job)))
    }

    /// Like [`Store::write_records`], for callers outside any tokio runtime.
    ///
    /// # Errors
    ///
    /// Like [`Store::write`].
    pub fn write_records_blocking<T, E>(
        &self,
        provider_id: i64,
        job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let scope = WriteScope::Provider(provider_id);
        take_job_error(self.database.write_blocking(scope, in_session(job)))
    }

    /// Like [`Database::drain`].
    pub async fn drain(&self) {
        self.database.drain().await;
    }

    /// Statistics of the writes since the store was opened.
    pub fn writer_stats(&self) -> WriterStats {
        self.database.writer_stats()
    }

    /// Statistics of queues, connections and jobs.
    pub fn stats(&self) -> StoreStats {
        self.database.stats()
    }

    /// The last database fault of a job.
    pub(crate) fn last_fault(&self) -> &LastFault {
        self.database.last_fault()
    }

    /// Publishes the statistics of the store as metrics.
    pub fn publish_metrics(&self) {
        self.database.publish_metrics();
    }
}

#[cfg(test)]
mod tests;
