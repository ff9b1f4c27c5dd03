//! Runs look-ups by key on the calling thread, over separate connections to SQLite.
//!
//! A look-up takes about 10 µs, and switching to another thread takes as long again. Each thread
//! has its own connection, which does not write and does not wait. A look-up that would have to
//! wait runs on the pool.

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

/// The number of the next thread that runs a look-up.
static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of this thread; `None` before its first look-up.
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The connections of the threads that run look-ups.
#[derive(Debug)]
pub(crate) struct LookUps {
    connections: Connections,
    /// One slot for each thread. Connections are made on demand, and again after a failure.
    slots: Vec<ConnectionSlot>,
    clock: Clock,
    metrics: StoreMetrics,
}

/// A slot for a connection. The alignment prevents false sharing between threads.
#[repr(align(128))]
#[derive(Default)]
struct ConnectionSlot(Mutex<Option<LookUpConnection>>);

/// A connection, and the values that jobs keep beside it.
struct LookUpConnection {
    connection: DatabaseConnection,
    memory: ConnectionMemory,
}

impl std::fmt::Debug for ConnectionSlot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("ConnectionSlot")
    }
}

impl LookUps {
    /// Slots for this number of threads. No connection is made yet.
    pub(crate) fn new(
        connections: Connections,
        threads: u32,
        clock: Clock,
        metrics: StoreMetrics,
    ) -> Self {
        Self {
            connections,
            slots: (0..threads).map(|_| ConnectionSlot::default()).collect(),
            clock,
            metrics,
        }
    }

    /// Runs a job on this thread; `None` if it must run elsewhere, because the connection is in
    /// use, cannot be made, or would have to wait.
    pub(crate) fn run<T, E>(
        &self,
        job: &mut impl FnMut(&mut Transaction<'_>) -> Result<T, E>,
    ) -> Option<Result<T, E>>
    where
        E: JobError,
    {
        let mut slot = self.lock_slot()?;
        // Takes the connection out of the slot, so that a failure or a panic drops it with its
        // transaction.
        let mut taken = match slot.take() {
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
        let mut timed_job = timer.timed(&mut *job);
        let answer = catch_unwind(AssertUnwindSafe(|| {
            self.run_in_transaction(connection, memory, &mut timed_job)
        }));
        drop(timed_job);
        self.metrics.job_ended(Access::LookUp, begun);
        let (answer, is_usable) =
            answer.unwrap_or_else(|_| (Err(DatabaseError::JobPanicked.into()), false));
        if is_usable {
            *slot = Some(taken);
        }
        let is_busy = |error: &E| matches!(error.database_error(), Some(DatabaseError::Busy));
        if answer.as_ref().is_err_and(is_busy) {
            // A connection of the pool can wait for the lock.
            return None;
        }
        timer.end_run();
        timer.report();
        Some(answer)
    }

    /// Locks the slot of this thread; `None` if another thread uses it, because there are more
    /// threads than slots.
    fn lock_slot(&self) -> Option<MutexGuard<'_, Option<LookUpConnection>>> {
        let thread = THREAD.get().unwrap_or_else(|| {
            let thread = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
            THREAD.set(Some(thread));
            thread
        });
        // More threads than slots share the slots.
        let index = thread.checked_rem(self.slots.len())?;
        match self.slots.get(index)?.0.try_lock() {
            Ok(slot) => Some(slot),
            // After a panic the slot is empty, because `run` takes the connection out.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Makes a connection that does not wait for locks.
    fn connect(&self) -> Result<DatabaseConnection, DatabaseError> {
        let mut connection = self.connections.establish_for_pool()?;
        connection.batch_execute("PRAGMA busy_timeout = 0")?;
        Ok(connection)
    }

    /// Runs a job in a transaction. Returns its answer, and whether the connection can be used
    /// again.
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
        let time = JobTime::new(self.clock.now());
        let transaction = Transaction::new(connection, Access::LookUp, time);
        let answer = job(&mut transaction.with_memory(memory));
        // diesel does not count this transaction. A count above 0 means that the job left one open.
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
