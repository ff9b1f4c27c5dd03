//! A unit of work on its way through the store: what it does, what it answered, and who waits for the answer.
//!
//! Knows nothing of groups and commits. The answer rests here until the store says that it is final.

use std::mem;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::error::{JobError, StorageError};
use crate::job_times::JobTimer;
use crate::session::Session;

/// Whether what a job did is to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Keep,
    Undo,
    /// It is to be undone, and the job run again after so long: its change cannot have a date yet.
    Wait(Duration),
}

/// A job whose types are forgotten, so that jobs of all kinds can stand in one queue.
pub(crate) trait Job: Send {
    /// Runs the job and holds its answer back. It is run once, unless it must wait.
    fn run(&mut self, session: &mut Session<'_>) -> Verdict;

    /// Gives the caller the job's answer when `outcome` is good, otherwise the error.
    fn answer(self: Box<Self>, outcome: Result<(), StorageError>);
}

/// What the caller of a job gets: its answer and its times.
type Answer<T, E> = (Result<T, E>, JobTimer);

/// Wraps a function as a job, and returns it with the receiver of its answer.
pub(crate) fn job<T, E, F>(function: F) -> (Box<dyn Job>, oneshot::Receiver<Answer<T, E>>)
where
    T: Send + 'static,
    E: JobError,
    F: FnMut(&mut Session<'_>) -> Result<T, E> + Send + 'static,
{
    let (caller, receiver) = oneshot::channel();
    (Box::new(Pending { progress: Progress::Waiting(function), caller, timer: JobTimer::start() }), receiver)
}

struct Pending<T, E, F> {
    progress: Progress<T, E, F>,
    caller: oneshot::Sender<Answer<T, E>>,
    timer: JobTimer,
}

enum Progress<T, E, F> {
    Waiting(F),
    /// Begun; a job that is still in this state after its run has panicked.
    Running,
    Answered(Result<T, E>),
}

impl<T, E, F> Job for Pending<T, E, F>
where
    T: Send,
    E: JobError,
    F: FnMut(&mut Session<'_>) -> Result<T, E> + Send,
{
    fn run(&mut self, session: &mut Session<'_>) -> Verdict {
        if let Progress::Waiting(mut function) = mem::replace(&mut self.progress, Progress::Running) {
            self.timer.begin_run();
            let answer = self.timer.run(session, &mut function);
            let refusal = answer.as_ref().err().and_then(JobError::of_the_store);
            if let Some(StorageError::DateNotDue { wait }) = refusal {
                let wait = *wait;
                self.timer.end_run();
                self.progress = Progress::Waiting(function);
                return Verdict::Wait(wait);
            }
            self.progress = Progress::Answered(answer);
        }
        match self.progress {
            Progress::Answered(Ok(_)) => Verdict::Keep,
            Progress::Waiting(_) | Progress::Answered(Err(_)) | Progress::Running => Verdict::Undo,
        }
    }

    fn answer(mut self: Box<Self>, outcome: Result<(), StorageError>) {
        self.timer.end_run();
        let answer = match (self.progress, outcome) {
            (Progress::Running, _) => Err(E::from(StorageError::JobPanicked)),
            (Progress::Answered(answer), Ok(())) => answer,
            (Progress::Answered(_) | Progress::Waiting(_), Err(error)) => Err(E::from(error)),
            (Progress::Waiting(_), Ok(())) => Err(E::from(StorageError::Closed)),
        };
        // A caller that has gone away has no use for the answer; the work is done all the same.
        let _ = self.caller.send((answer, self.timer));
    }
}
