//! The times of jobs: how long a job waited and ran, how many statements it sent, and how often it
//! was run.
//!
//! The place that runs a job fills a [`JobTimer`]. When the caller gets the answer, its task adds
//! the times to those of the request, if it runs under [`timed`].

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::futures::TaskLocalFuture;

use crate::jobs::transaction::Transaction;

/// The times of the jobs of one request. Those of several jobs are added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobTimes {
    /// How long jobs waited before they were run: for a permit, a connection or the write thread,
    /// and to be run again.
    pub wait: Duration,
    /// How long jobs ran, from their first statement to the end of their transaction.
    pub database: Duration,
    /// How many statements jobs sent to the database, without those that begin and end
    /// transactions.
    pub statements: u64,
    /// How often the job was run that was run most often; 0 if no job was run.
    pub runs: u32,
}

/// The times of a request, filled while it is answered; `None` until one of its jobs has ended.
pub type RequestTimes = Rc<Cell<Option<JobTimes>>>;

tokio::task_local! {
    /// Where the jobs of the present task add their times.
    static CURRENT: RequestTimes;
}

/// Runs a task whose jobs add their times to these.
pub fn timed<F: Future>(times: RequestTimes, task: F) -> TaskLocalFuture<RequestTimes, F> {
    CURRENT.scope(times, task)
}

/// Measures one job, from when it is given to the store.
#[derive(Debug)]
pub(crate) struct JobTimer {
    times: JobTimes,
    /// When the job last began to wait or to run.
    since: Instant,
    is_running: bool,
}

impl JobTimer {
    /// For a job that is given to the store now, and waits.
    pub(crate) fn start() -> Self {
        Self {
            times: JobTimes::default(),
            since: Instant::now(),
            is_running: false,
        }
    }

    /// The job has its connection, and begins to run.
    pub(crate) fn begin_run(&mut self) {
        self.add_elapsed();
        self.is_running = true;
    }

    /// Calls the job, and counts this as one run with the statements that it sends.
    pub(crate) fn run<T>(
        &mut self,
        transaction: &mut Transaction<'_>,
        job: impl FnOnce(&mut Transaction<'_>) -> T,
    ) -> T {
        self.times.runs += 1;
        let before = transaction.connection.statements();
        let answer = job(transaction);
        self.times.statements += transaction.connection.statements().saturating_sub(before);
        answer
    }

    /// The transaction of the run has ended, or the job has waited for nothing. From now on the job
    /// waits again.
    pub(crate) fn end_run(&mut self) {
        self.add_elapsed();
        self.is_running = false;
    }

    fn add_elapsed(&mut self) {
        let now = Instant::now();
        let elapsed = now - std::mem::replace(&mut self.since, now);
        let total = if self.is_running {
            &mut self.times.database
        } else {
            &mut self.times.wait
        };
        *total += elapsed;
    }

    /// Adds the times of a job that has ended to those of the request that the present task
    /// answers, if it answers one.
    pub(crate) fn report(&self) {
        let job = self.times;
        let add = |request: &RequestTimes| {
            let before = request.get().unwrap_or_default();
            request.set(Some(JobTimes {
                wait: before.wait + job.wait,
                database: before.database + job.database,
                statements: before.statements + job.statements,
                runs: before.runs.max(job.runs),
            }));
        };
        // Jobs of commands and of background tasks belong to no request.
        let _ = CURRENT.try_with(add);
    }
}
