//! A unit of work on its way through the store: its function, its answer, and the caller that waits
//! for the answer.
//!
//! Knows nothing of groups and commits. The answer rests here until the store says that it is
//! final.

use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::{DatabaseError, JobError};
use crate::jobs::job_times::JobTimer;
use crate::jobs::transaction::Transaction;

/// What a run of a job came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JobOutcome {
    /// The changes of the job are to be kept.
    Keep,
    /// The job refused its request. Nothing of it is kept.
    Refuse,
    /// The store failed. Nothing of the job is kept.
    Fail,
    /// The job is to be undone and run again after this time: its change cannot have a date yet.
    Wait(Duration),
}

/// A job whose types are forgotten, so that jobs of all kinds can stand in one queue.
pub(crate) trait Job: Send {
    /// Runs the job and holds its answer back.
    fn run(&mut self, transaction: &mut Transaction<'_>) -> JobOutcome;

    /// Gives the caller the job's answer when `outcome` is good, otherwise the error.
    fn answer(self: Box<Self>, outcome: Result<(), DatabaseError>);

    /// Returns the job to its caller, which runs it alone. The changes of the job must be undone
    /// before.
    fn give_back(self: Box<Self>);
}

/// What the caller of a job gets, with the times of the job.
pub(crate) enum JobReply<T, E, F> {
    Answer(Result<T, E>, JobTimer),
    /// The job, to be run by itself.
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

/// The answer of a job that is never given back, such as one of the write thread. Reports the times
/// of the job.
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

struct Pending<T, E, F> {
    function: F,
    progress: Progress<T, E>,
    caller: oneshot::Sender<JobReply<T, E, F>>,
    timer: JobTimer,
}

enum Progress<T, E> {
    Waiting,
    /// Begun; a job that is still in this state after its run has panicked.
    Running,
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
        // The caller may be gone; the work is done nevertheless.
        let _ = self.caller.send(JobReply::Answer(answer, self.timer));
    }

    fn give_back(mut self: Box<Self>) {
        self.timer.end_run();
        // A caller that has gone away has done nothing.
        let _ = self
            .caller
            .send(JobReply::GivenBack(self.function, self.timer));
    }
}
