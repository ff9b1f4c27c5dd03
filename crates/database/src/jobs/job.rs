//! A job in the store: its function, its answer, and the caller that waits for the answer.
//!
//! The job keeps its answer until the store confirms the commit.

use std::time::Duration;

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
    /// The change cannot have a date yet. The job must be rolled back and run again after this
    /// time.
    Wait(Duration),
}

/// A job with erased types, so that one queue holds jobs of all kinds.
pub(crate) trait Job: Send {
    /// Runs the job and keeps its answer.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> JobOutcome;

    /// Sends the caller the job's answer if `outcome` is `Ok`, otherwise the error of `outcome`.
    fn answer(self: Box<Self>, outcome: Result<(), DatabaseError>);

    /// Returns the job to its caller, which runs it alone. The changes of the job must have been
    /// rolled back.
    fn give_back(self: Box<Self>);
}

/// The message to the caller of a job, with the times of the job.
pub(crate) enum JobReply<T, E, F> {
    Answer(Result<T, E>, JobTimer),
    /// The job, which the caller must run alone.
    GivenBack(F, JobTimer),
}

/// The receiving end of the channel with the result of a job.
type ReplyReceiver<T, E, F> = oneshot::Receiver<JobReply<T, E, F>>;

/// Wraps a function as a job.
pub(crate) fn job<T, E, F>(function: F) -> (Box<dyn Job>, ReplyReceiver<T, E, F>)
where
    T: Send + 'static,
    E: JobError,
    F: FnMut(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
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

/// The answer of a job that is never given back, such as a job of the write thread. Reports the
/// times of the job.
pub(crate) fn answer_of<T, E: JobError, F>(
    reply: Result<JobReply<T, E, F>, oneshot::error::RecvError>,
) -> Result<T, E> {
    match reply {
        Ok(JobReply::Answer(answer, timer)) => {
            timer.report();
            answer
        }
        Ok(JobReply::GivenBack(..)) | Err(_) => Err(DatabaseError::Closed.into()),
    }
}

/// A job, its progress, and the sending end of the channel to its caller.
struct Pending<T, E, F> {
    function: F,
    progress: Progress<T, E>,
    caller: oneshot::Sender<JobReply<T, E, F>>,
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
        let answer = self.timer.run(transaction, &mut self.function);
        let outcome = match &answer {
            Ok(_) => JobOutcome::Keep,
            Err(error) => match error.database_error() {
                Some(DatabaseError::DateNotDue { wait }) => JobOutcome::Wait(*wait),
                Some(_) => JobOutcome::Fail,
                None => JobOutcome::Refuse,
            },
        };
        self.progress = Progress::Answered(answer);
        if let JobOutcome::Wait(_) = outcome {
            self.timer.end_run();
            self.progress = Progress::Waiting;
        }
        outcome
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
        let _ = self.caller.send(JobReply::Answer(answer, self.timer));
    }

    fn give_back(mut self: Box<Self>) {
        self.timer.end_run();
        // If the caller has stopped waiting, the job is dropped without a change.
        let _ = self
            .caller
            .send(JobReply::GivenBack(self.function, self.timer));
    }
}
