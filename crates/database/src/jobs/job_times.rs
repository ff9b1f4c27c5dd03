//! Measures jobs: the waiting time, the running time, the number of statements and the number of
//! runs.
//!
//! The code that runs a job fills a [`JobTimer`]. When the caller gets the answer, its task adds
//! the times to those of the request, if the task runs under [`timed`].

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::futures::TaskLocalFuture;

use crate::jobs::transaction::Transaction;

/// The total times of the jobs of one request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct JobTimes {
    /// How long jobs waited: for a permit, a connection or their writer, and before further
    /// runs.
    pub wait: Duration,
    /// How long jobs ran, from their first statement to the end of their transaction.
    pub database: Duration,
    /// The number of statements that jobs sent, without those that begin and end transactions.
    pub statements: u64,
    /// The highest number of runs of a job; 0 if no job was run.
    pub runs: u32,
}

/// The times of a request, filled while it is answered; `None` until one of its jobs has ended.
pub type RequestTimes = Rc<Cell<Option<JobTimes>>>;

tokio::task_local! {
    /// The times of the request that the current task answers.
    static CURRENT: RequestTimes;
}

/// Runs a task and adds the times of its jobs to `times`.
pub fn timed<F: Future>(times: RequestTimes, task: F) -> TaskLocalFuture<RequestTimes, F> {
    CURRENT.scope(times, task)
}

/// Measures one job from its arrival in the store.
#[derive(Debug)]
pub(crate) struct JobTimer {
    times: JobTimes,
    /// When the job last began to wait or to run.
    since: Instant,
    is_running: bool,
}

impl JobTimer {
    /// Starts to measure a job that waits.
    pub(crate) fn start() -> Self {
        Self {
            times: JobTimes::default(),
            since: Instant::now(),
            is_running: false,
        }
    }

    /// Ends the waiting time: the job has a connection and begins to run.
    pub(crate) fn begin_run(&mut self) {
        self.add_elapsed();
        self.is_running = true;
    }

    /// The job, which counts its runs and its statements.
    pub(crate) fn timed<T>(
        &mut self,
        mut job: impl FnMut(&mut Transaction<'_>) -> T,
    ) -> impl FnMut(&mut Transaction<'_>) -> T {
        move |transaction| {
            let before = transaction.connection.statements();
            let answer = job(transaction);
            let statements = transaction.connection.statements().saturating_sub(before);
            self.times.statements += statements;
            self.times.runs += 1;
            answer
        }
    }

    /// Ends the running time, or a wait without result. From now on the job waits again.
    pub(crate) fn end_run(&mut self) {
        self.add_elapsed();
        self.is_running = false;
    }

    /// Adds the time since the last call to the running time or to the waiting time.
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

    /// Adds the times to those of the current task's request, if there is one.
    pub(crate) fn report(&self) {
        let job = self.times;
        // Jobs of commands and of background tasks belong to no request.
        let _ = CURRENT.try_with(|request| {
            let before = request.get().unwrap_or_default();
            request.set(Some(JobTimes {
                wait: before.wait + job.wait,
                database: before.database + job.database,
                statements: before.statements + job.statements,
                runs: before.runs.max(job.runs),
            }));
        });
    }
}
