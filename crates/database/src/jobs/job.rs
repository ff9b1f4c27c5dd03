//! A job in the store: its function, its answer, and the caller that waits for the answer.
//!
//! The job keeps its answer until the store confirms the commit.

use tokio::sync::oneshot;

use crate::error::{DatabaseError, JobError};
use crate::jobs::job_times::JobTimer;
use crate::jobs::transaction::Transaction;

/// The result of a run of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobOutcome {
    /// The changes of the job must be committed.
    Keep,
    /// The job refused its request. Its changes must be rolled back.
    Refuse,
    /// The store failed. The changes of the job must be rolled back.
    Fail,
}

/// A job with erased types, so that one queue holds jobs of all kinds.
pub(crate) trait Job: Send {
    /// Runs the job and keeps its answer.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> JobOutcome;

    /// The failure of the store in the last run; `None` if the store did not fail.
    fn failure(&self) -> Option<&DatabaseError>;

    /// Whether the last run has panicked.
    fn has_panicked(&self) -> bool;

    /// Drops the answer of the last run, so that the job can run again.
    fn wait_again(&mut self);

    /// Sends the caller the job's answer if `outcome` is `Ok`, otherwise the error of `outcome`.
    fn answer(self: Box<Self>, outcome: Result<(), DatabaseError>);
}

/// The answer of a job, with the times of the job.
type JobReply<T, E> = (Result<T, E>, JobTimer);

/// Wraps a function as a job.
pub(crate) fn job<T, E>(
    function: impl FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
) -> (Box<dyn Job>, oneshot::Receiver<JobReply<T, E>>)
where
    T: Send + 'static,
    E: JobError,
{
    let (caller, receiver) = oneshot::channel();
    let job = Pending {
        function,
        progress: Progress::Waiting,
        caller,
        timer: JobTimer::start(),
    };
    (Box::new(job), receiver)
}

/// The answer of a job. Reports the times of the job.
pub(crate) fn answer_of<T, E: JobError>(
    reply: Result<JobReply<T, E>, oneshot::error::RecvError>,
) -> Result<T, E> {
    let (answer, timer) = reply.map_err(|_| DatabaseError::Closed)?;
    timer.report();
    answer
}

/// A job, its progress, and the sending end of the channel to its caller.
struct Pending<T, E, F> {
    function: F,
    progress: Progress<T, E>,
    caller: oneshot::Sender<JobReply<T, E>>,
    timer: JobTimer,
}

/// The progress of a job.
enum Progress<T, E> {
    /// The job has not begun, or must run again.
    Waiting,
    /// The job has begun. If it stays in this state, it has panicked.
    Running,
    /// The job has ended with this answer, which is not sent yet.
    Answered(Result<T, E>),
}

impl<T, E, F> Job for Pending<T, E, F>
where
    T: Send,
    E: JobError,
    F: FnMut(&mut Transaction<'_>) -> Result<T, E> + Send,
{
    fn run(&mut self, transaction: &mut Transaction<'_>) -> JobOutcome {
        self.progress = Progress::Running;
        self.timer.begin_run();
        let answer = self.timer.timed(&mut self.function)(transaction);
        let outcome = match &answer {
            Ok(_) => JobOutcome::Keep,
            Err(error) if error.database_error().is_some() => JobOutcome::Fail,
            Err(_) => JobOutcome::Refuse,
        };
        self.progress = Progress::Answered(answer);
        outcome
    }

    fn failure(&self) -> Option<&DatabaseError> {
        if let Progress::Answered(Err(error)) = &self.progress {
            error.database_error()
        } else {
            None
        }
    }

    fn has_panicked(&self) -> bool {
        matches!(self.progress, Progress::Running)
    }

    fn wait_again(&mut self) {
        self.timer.end_run();
        self.progress = Progress::Waiting;
    }

    fn answer(mut self: Box<Self>, outcome: Result<(), DatabaseError>) {
        self.timer.end_run();
        let answer = match (self.progress, outcome) {
            (Progress::Running, _) => Err(E::from(DatabaseError::JobPanicked)),
            (Progress::Answered(answer), Ok(())) => answer,
            (Progress::Answered(_) | Progress::Waiting, Err(error)) => Err(E::from(error)),
            (Progress::Waiting, Ok(())) => Err(E::from(DatabaseError::Closed)),
        };
        // The caller may have stopped waiting.
        let _ = self.caller.send((answer, self.timer));
    }
}
