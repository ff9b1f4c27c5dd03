//! Runs look-ups by key on the calling thread, over separate connections to SQLite.
//!
//! A look-up takes about 10 µs, and a hop to another thread as long again. Each thread has its
//! connection, which does not write and does not wait. A look-up that would have to wait runs on
//! the pool.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;

use diesel::connection::SimpleConnection as _;

use crate::clock::{Clock, JobTime};
use crate::connection::{Access, Connections, DatabaseConnection, prepared};
use crate::error::{DatabaseError, JobError};
use crate::jobs::job_times::JobTimer;
use crate::jobs::transaction::{ConnectionMemory, Transaction};
use crate::metrics::StoreMetrics;

/// The next thread that looks something up has this number.
static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The connections of the threads that look something up.
#[derive(Debug)]
pub(crate) struct LookUps {
    connections: Connections,
    /// One for each thread, made when it is first needed, and again after a failure.
    places: Vec<Place>,
    clock: Clock,
    metrics: StoreMetrics,
}

/// A place for a connection. They are aligned apart, so that threads do not take them from each
/// other's caches.
#[repr(align(128))]
#[derive(Default)]
struct Place(Mutex<Option<LookUpConnection>>);

/// A connection, and what jobs keep beside it.
struct LookUpConnection {
    connection: DatabaseConnection,
    memory: ConnectionMemory,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Place")
    }
}

impl LookUps {
    pub(crate) fn new(
        connections: Connections,
        threads: u32,
        clock: Clock,
        metrics: StoreMetrics,
    ) -> Self {
        Self {
            connections,
            places: (0..threads).map(|_| Place::default()).collect(),
            clock,
            metrics,
        }
    }

    /// Runs a job on this thread; `None` when it must run elsewhere, because the connection is
    /// taken, cannot be made, or would have to wait.
    pub(crate) fn run<T, E>(
        &self,
        job: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Option<Result<T, E>>
    where
        E: JobError,
    {
        let mut place = self.place()?;
        // Taken out, so that a failure or a panic drops the connection with its transaction.
        let mut taken = match place.take() {
            Some(taken) => taken,
            None => LookUpConnection {
                connection: self.connect().ok()?,
                memory: ConnectionMemory::default(),
            },
        };
        let LookUpConnection { connection, memory } = &mut taken;
        let mut timer = JobTimer::start();
        timer.begin_run();
        let begun = Instant::now();
        let mut job = |session: &mut Transaction<'_>| timer.run(session, &mut *job);
        let answer = catch_unwind(AssertUnwindSafe(|| {
            self.run_in_transaction(connection, memory, &mut job)
        }));
        self.metrics.job_ended(Access::LookUp, begun);
        let (answer, is_usable) =
            answer.unwrap_or_else(|_| (Err(DatabaseError::JobPanicked.into()), false));
        if is_usable {
            *place = Some(taken);
        }
        let is_busy = |error: &E| matches!(error.database_error(), Some(DatabaseError::Busy));
        if answer.as_ref().is_err_and(is_busy) {
            return None;
        }
        timer.end_run();
        timer.report();
        Some(answer)
    }

    /// The place of this thread, unless another thread is in it, which has come here when there
    /// were none left.
    fn place(&self) -> Option<MutexGuard<'_, Option<LookUpConnection>>> {
        let thread = THREAD.get().unwrap_or_else(|| {
            let thread = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
            THREAD.set(Some(thread));
            thread
        });
        match self
            .places
            .get(thread.checked_rem(self.places.len())?)?
            .0
            .try_lock()
        {
            Ok(place) => Some(place),
            // No code that holds it panics; and the connection is out of it.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn connect(&self) -> Result<DatabaseConnection, DatabaseError> {
        let mut connection = self.connections.establish_for_pool()?;
        connection.batch_execute("PRAGMA busy_timeout = 0")?;
        Ok(connection)
    }

    /// The answer, and whether the connection can be used again.
    fn run_in_transaction<T, E>(
        &self,
        connection: &mut DatabaseConnection,
        memory: &mut ConnectionMemory,
        job: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> (Result<T, E>, bool)
    where
        E: JobError,
    {
        if let Err(error) = connection.run_prepared(prepared::Begin) {
            return (Err(DatabaseError::from(error).into()), false);
        }
        let time = JobTime::new_reading(self.clock.now());
        let transaction = Transaction::new(connection, Access::LookUp, time);
        let answer = job(&mut transaction.with_memory(memory));
        // diesel does not know of this transaction, and must know of none that the job left open.
        let ended = connection.require_depth(0).and_then(|()| {
            let end = if answer.is_ok() {
                connection.run_prepared(prepared::Commit)
            } else {
                connection.run_prepared(prepared::RollBack)
            };
            end.map_err(DatabaseError::from_lost_transaction)
        });
        let is_usable = ended.is_ok();
        (
            answer.and_then(|answer| ended.map(|()| answer).map_err(E::from)),
            is_usable,
        )
    }
}
