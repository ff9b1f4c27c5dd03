//! Postponed jobs: jobs that wait until their changes can have a date, while other jobs run.

use std::time::{Duration, Instant};

use crate::clock::MAX_DATE_WAIT;
use crate::error::DatabaseError;
use crate::jobs::job::Job;

/// The time between two postponed changes of one trainee, which need different milliseconds.
const STEP: Duration = Duration::from_millis(1);

/// A job that the writer has taken from a queue.
pub(super) struct Taken {
    pub(super) job: Box<dyn Job>,
    /// When the job first ran; `None` unless it was postponed.
    since: Option<Instant>,
}

impl Taken {
    /// A job that has not run yet.
    pub(super) fn new(job: Box<dyn Job>) -> Self {
        Self { job, since: None }
    }
}

/// A postponed job.
struct Waiting {
    job: Box<dyn Job>,
    /// When the job first ran.
    since: Instant,
    /// When the job may run again.
    due: Instant,
    /// The row of the trainee that the job waits for.
    trainee: Option<i64>,
}

/// The postponed jobs, with the same limit as the queue of the writer.
pub(super) struct Postponed {
    jobs: Vec<Waiting>,
    limit: usize,
}

impl Postponed {
    /// No postponed jobs yet.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            jobs: Vec::new(),
            limit,
        }
    }

    /// Postpones a job by `wait`. Jobs that wait for the same trainee become due one after the
    /// other, since only one of them can have the next date.
    ///
    /// # Errors
    ///
    /// The job, and why it cannot wait.
    pub(super) fn add(
        &mut self,
        taken: Taken,
        wait: Duration,
        trainee: Option<i64>,
    ) -> Result<(), (Box<dyn Job>, DatabaseError)> {
        let now = Instant::now();
        let since = taken.since.unwrap_or(now);
        if now + wait > since + MAX_DATE_WAIT {
            return Err((taken.job, DatabaseError::DateNotDue { wait }));
        }
        if self.jobs.len() >= self.limit {
            return Err((taken.job, DatabaseError::QueueFull));
        }
        let before = self
            .jobs
            .iter()
            .filter(|other| trainee.is_some() && other.trainee == trainee);
        let earliest = before.map(|other| other.due + STEP).max().unwrap_or(now);
        self.jobs.push(Waiting {
            job: taken.job,
            since,
            due: earliest.max(now + wait),
            trainee,
        });
        Ok(())
    }

    /// The number of postponed jobs.
    pub(super) fn len(&self) -> usize {
        self.jobs.len()
    }

    /// When the next job is due; `None` if no job is postponed.
    pub(super) fn due(&self) -> Option<Instant> {
        self.jobs.iter().map(|waiting| waiting.due).min()
    }

    /// Removes the job that has been due for longest; `None` if no job is due.
    pub(super) fn take(&mut self) -> Option<Taken> {
        let due = self.due().filter(|due| *due <= Instant::now())?;
        let at = self.jobs.iter().position(|waiting| waiting.due == due)?;
        let waiting = self.jobs.remove(at);
        Some(Taken {
            job: waiting.job,
            since: Some(waiting.since),
        })
    }
}
