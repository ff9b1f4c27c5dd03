//! Runs jobs side by side, each on a connection of the pool and in a transaction of its own.
//!
//! Knows nothing of the writer's thread: it takes the writing jobs that it is given.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use r2d2::{Pool, State};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::clock::{Clock, JobTime, MAX_DATE_WAIT, WriteClock};
use crate::connection::{Access, Connections, DatabaseConnection};
use crate::error::{JobError, StorageError};
use crate::measures::Measures;
use crate::session::Session;
use crate::store::{Queue, StoreOptions};
use crate::writer::WriteCounters;

/// How long a job waits for a connection before it is told that none is available.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a job that collided with another one is run again.
const MAX_COLLISIONS: u32 = 4;
/// How long a job waits after its first collision.
const COLLISION_PAUSE: Duration = Duration::from_millis(5);

#[derive(Debug)]
pub(super) struct JobPool {
    connections: Pool<Connections>,
    read_clock: Clock,
    write_clock: Arc<WriteClock>,
    counters: Arc<WriteCounters>,
    measures: Measures,
    /// The most jobs that wait.
    queue: usize,
    /// One permit for each job that runs, so that no thread is spent on waiting for a connection.
    places: Arc<Semaphore>,
    /// One permit for each job that runs or waits to.
    admitted: Semaphore,
}

impl JobPool {
    pub(super) fn open(
        connections: &Connections,
        options: &StoreOptions,
        write_clock: Arc<WriteClock>,
        counters: Arc<WriteCounters>,
        measures: Measures,
    ) -> Result<Self, StorageError> {
        let size = options.readers.max(1);
        let pool = Pool::builder()
            .max_size(size)
            .min_idle(Some(1))
            .connection_timeout(CONNECTION_TIMEOUT)
            .build(connections.clone())
            .map_err(StorageError::Unavailable)?;
        let places = usize::try_from(size).unwrap_or(Semaphore::MAX_PERMITS);
        Ok(Self {
            connections: pool,
            read_clock: options.clock.clone(),
            write_clock,
            counters,
            measures,
            queue: options.queue,
            places: Arc::new(Semaphore::new(places)),
            admitted: Semaphore::new(places.saturating_add(options.queue).min(Semaphore::MAX_PERMITS)),
        })
    }

    /// The connections that there are.
    pub(super) fn state(&self) -> State {
        self.connections.state()
    }

    /// The most connections.
    pub(super) fn size(&self) -> u32 {
        self.connections.max_size()
    }

    /// The jobs that wait for a place.
    pub(super) fn queue(&self) -> Queue {
        let places = usize::try_from(self.size()).unwrap_or(Semaphore::MAX_PERMITS);
        // A job is admitted first and then gets its place, so between the two looks there may be one more or less.
        let running = places.saturating_sub(self.places.available_permits());
        let admitted = places.saturating_add(self.queue).saturating_sub(self.admitted.available_permits());
        Queue { length: admitted.saturating_sub(running), limit: self.queue }
    }

    /// Runs a job on a thread where it may block, when one of the places is free. A job that must wait for a date leaves
    /// its place to others meanwhile.
    pub(super) async fn run<T, E>(
        self: Arc<Self>,
        access: Access,
        mut job: impl FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: JobError,
    {
        let _admitted = self.admitted.try_acquire().map_err(|_| StorageError::QueueFull)?;
        let begun = Instant::now();
        loop {
            let place = Arc::clone(&self.places).acquire_owned().await.map_err(|_| StorageError::Closed)?;
            let pool = Arc::clone(&self);
            let running = spawn_blocking(move || {
                // The place goes into the thread, which runs on when its caller stops waiting.
                let _place = place;
                let answer = pool.run_until_it_ends(access, &mut job);
                (job, answer)
            });
            let Ok((again, answer)) = running.await else { return Err(StorageError::Closed.into()) };
            let Some(wait) = wait_for_date(&answer, begun) else { return answer };
            job = again;
            sleep(wait).await;
        }
    }

    /// Waits until the jobs that were given before have ended.
    pub(super) async fn settle(&self) {
        // Places are given in the order in which they are asked for. A closed pool runs nothing.
        let _all = self.places.acquire_many(self.size()).await;
    }

    /// Runs a job on this thread.
    pub(super) fn run_here<T, E>(
        &self,
        access: Access,
        mut job: impl FnMut(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        let begun = Instant::now();
        loop {
            let answer = self.run_until_it_ends(access, &mut job);
            let Some(wait) = wait_for_date(&answer, begun) else { return answer };
            thread::sleep(wait);
        }
    }

    /// Runs a job, and again when it collided with another one.
    fn run_until_it_ends<T, E>(
        &self,
        access: Access,
        job: &mut impl FnMut(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        let mut collisions = 0;
        loop {
            let mut connection = self.connections.get().map_err(StorageError::Unavailable)?;
            let begun = Instant::now();
            let answer = catch_unwind(AssertUnwindSafe(|| self.run_in_transaction(&mut connection, access, job)));
            self.measures.job_ended(access, begun);
            // The pool drops a connection that comes back with an open transaction, as it does after a panic.
            let answer = answer.unwrap_or_else(|_| Err(StorageError::JobPanicked.into()));
            let collided = |error: &E| matches!(error.of_the_store(), Some(StorageError::Collided));
            if collisions == MAX_COLLISIONS || !answer.as_ref().is_err_and(collided) {
                return answer;
            }
            drop(connection);
            collisions += 1;
            self.counters.collided();
            // The other one gets a little time, and more each time.
            thread::sleep(COLLISION_PAUSE * collisions);
        }
    }

    fn run_in_transaction<T, E>(
        &self,
        connection: &mut DatabaseConnection,
        access: Access,
        job: &mut impl FnMut(&mut Session<'_>) -> Result<T, E>,
    ) -> Result<T, E>
    where
        E: JobError,
    {
        connection.begin(access).map_err(StorageError::from)?;
        let time = match access {
            Access::Read => JobTime::of_reading(self.read_clock.now()),
            Access::Write => JobTime::of_writing(&self.write_clock),
        };
        match job(&mut Session::new(connection, access, time)) {
            Ok(answer) => {
                connection.require_depth(1)?;
                connection.commit().map_err(StorageError::of_lost_transaction)?;
                connection.require_depth(0)?;
                if let Access::Write = access {
                    self.counters.committed(1);
                }
                Ok(answer)
            }
            Err(refusal) => {
                // What cannot be rolled back is never committed either: the pool drops the connection.
                let _ = connection.roll_back();
                Err(refusal)
            }
        }
    }
}

/// How long a job waits before it is run again, when the date of its change is not due and it has not waited too long.
fn wait_for_date<T, E: JobError>(answer: &Result<T, E>, begun: Instant) -> Option<Duration> {
    let Err(error) = answer else { return None };
    let Some(StorageError::DateNotDue { wait }) = error.of_the_store() else { return None };
    Some(*wait).filter(|wait| begun.elapsed() + *wait <= MAX_DATE_WAIT)
}
