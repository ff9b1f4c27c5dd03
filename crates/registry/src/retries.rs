//! Retries of writes after temporary failures. A failed attempt has changed nothing.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use storage::error::{DatabaseError, JobError, StorageError};
use storage::session::Session;
use storage::store::Store;

/// The maximum number of attempts after conflicts with other writes.
const ATTEMPTS: usize = 5;
/// The maximum time that a command waits, over all attempts, until the date of a change is due.
const MAX_DATE_WAIT_OF_COMMANDS: Duration = Duration::from_secs(300);
/// The maximum time that a page waits until the date of a change is due.
const MAX_DATE_WAIT_OF_PAGES: Duration = Duration::from_secs(5);

/// The state of the attempts at one write.
struct Attempts {
    /// The number of attempts, without those that waited for a date.
    made: usize,
    begun: Instant,
    max_date_wait: Duration,
}

impl Attempts {
    /// The state at the first attempt.
    fn begin(max_date_wait: Duration) -> Self {
        Self {
            made: 1,
            begun: Instant::now(),
            max_date_wait,
        }
    }

    /// The pause before the next attempt, or `None` to give up.
    fn wait_after(&mut self, error: &impl JobError) -> Option<Duration> {
        match error.storage_error() {
            Some(
                StorageError::Database(DatabaseError::Busy)
                | StorageError::Database(DatabaseError::Collided)
                | StorageError::Stale,
            ) if self.made < ATTEMPTS => {
                self.made += 1;
                Some(Duration::ZERO)
            }
            Some(StorageError::Database(DatabaseError::DateNotDue { wait }))
                if self.begun.elapsed() + *wait <= self.max_date_wait =>
            {
                Some(*wait)
            }
            Some(_) | None => None,
        }
    }
}

/// Runs a job of a command in a transaction. Retries while another process keeps the database busy,
/// when data changed after the job had read it, and when the date of a change is not due yet.
/// Blocks.
///
/// # Errors
///
/// Errors of the job or the store; nothing has changed then.
pub fn write_blocking_with_retries<T, E>(
    store: &Store,
    job: impl Fn(&mut Session<'_>) -> Result<T, E> + Send + Sync + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: JobError,
{
    let job = Arc::new(job);
    let mut attempts = Attempts::begin(MAX_DATE_WAIT_OF_COMMANDS);
    loop {
        let job = Arc::clone(&job);
        match store.write_blocking(move |session| job(session)) {
            Ok(outcome) => return Ok(outcome),
            Err(error) => thread::sleep(attempts.wait_after(&error).ok_or(error)?),
        }
    }
}

/// Like [`write_blocking_with_retries`], but for a page: async, and with a shorter limit for
/// waiting.
///
/// # Errors
///
/// Errors of the job or the store; nothing has changed then.
pub async fn write_with_retries<T, E>(
    store: &Store,
    job: impl Fn(&mut Session<'_>) -> Result<T, E> + Send + Sync + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: JobError,
{
    let job = Arc::new(job);
    let mut attempts = Attempts::begin(MAX_DATE_WAIT_OF_PAGES);
    loop {
        let job = Arc::clone(&job);
        match store
            .write(move |session: &mut Session<'_>| job(session))
            .await
        {
            Ok(outcome) => return Ok(outcome),
            Err(error) => tokio::time::sleep(attempts.wait_after(&error).ok_or(error)?).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use storage::store::StoreOptions;
    use test_support::Database;

    use super::*;

    fn store(database: &Database) -> Store {
        let store = Store::open(database.url(), StoreOptions::default()).unwrap();
        store.migrate().unwrap();
        store
    }

    /// A job that fails the given number of times, and the counter of its runs.
    fn failing(
        error: fn() -> StorageError,
        times: usize,
    ) -> (
        Arc<AtomicUsize>,
        impl Fn(&mut Session<'_>) -> Result<(), StorageError> + Send + Sync + 'static,
    ) {
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&runs);
        let job = move |_: &mut Session<'_>| match counted.fetch_add(1, Ordering::SeqCst) < times {
            true => Err(error()),
            false => Ok(()),
        };
        (runs, job)
    }

    #[test]
    fn write_with_temporary_error_is_retried_up_to_limit() {
        let database = Database::fresh();
        let store = store(&database);
        let due = || {
            StorageError::Database(DatabaseError::DateNotDue {
                wait: Duration::from_millis(1),
            })
        };
        let errors: [fn() -> StorageError; 4] = [
            || StorageError::Database(DatabaseError::Busy),
            || StorageError::Database(DatabaseError::Collided),
            || StorageError::Stale,
            due,
        ];
        for error in errors {
            let (runs, job) = failing(error, ATTEMPTS - 1);
            actix_web::rt::System::new()
                .block_on(write_with_retries(&store, job))
                .unwrap();
            assert_eq!(runs.load(Ordering::SeqCst), ATTEMPTS, "{}", error());
        }
        let given_up: [(fn() -> StorageError, usize); 3] = [
            (|| StorageError::Stale, ATTEMPTS),
            (|| StorageError::Database(DatabaseError::Closed), 1),
            (
                || {
                    StorageError::Database(DatabaseError::DateNotDue {
                        wait: Duration::from_secs(6),
                    })
                },
                1,
            ),
        ];
        for (error, expected) in given_up {
            let (runs, job) = failing(error, usize::MAX);
            actix_web::rt::System::new()
                .block_on(write_with_retries(&store, job))
                .unwrap_err();
            assert_eq!(runs.load(Ordering::SeqCst), expected, "{}", error());
        }
    }

    #[test]
    fn command_after_stale_read_is_retried() {
        let database = Database::fresh();
        let store = store(&database);
        let (runs, job) = failing(|| StorageError::Stale, 2);
        write_blocking_with_retries(&store, job).unwrap();
        assert_eq!(runs.load(Ordering::SeqCst), 3);
    }
}
