//! Which jobs are run again, and when.

use std::time::{Duration, Instant};

use crate::clock::MAX_DATE_WAIT;
use crate::connection::Access;
use crate::error::{JobError, StorageError};

/// How long a job waits after its first collision.
const COLLISION_PAUSE: Duration = Duration::from_millis(5);
/// How long it waits after any, at most.
const LONGEST_COLLISION_PAUSE: Duration = Duration::from_millis(100);
/// How long a job waits before it tries another connection.
const RECONNECT_PAUSE: Duration = Duration::from_millis(20);

/// How a job is run again.
#[derive(Debug, Clone, Copy)]
pub(super) enum Retry {
    /// After so long, when the one that it collided with may have ended.
    AfterContention(Duration),
    /// After so long, on another connection.
    OnAnotherConnection(Duration),
}

impl Retry {
    /// Whether a job on PostgreSQL with this answer is to be run again, and how. It has collided so often before.
    pub(super) fn after<T, E: JobError>(access: Access, answer: &Result<T, E>, collisions: u32) -> Option<Self> {
        let error = storage_error(answer)?;
        // A row of another transaction that was not there when the job looked: run again, it finds the row.
        let was_overtaken = collisions == 0 && access == Access::Write && error.is_unique_violation();
        if was_overtaken || is_contention(answer) {
            // The other one gets a little time, and more each time.
            let pause = COLLISION_PAUSE * (collisions + 1);
            return Some(Self::AfterContention(pause.min(LONGEST_COLLISION_PAUSE)));
        }
        let is_elsewhere = match access {
            // It has tried to write, which is a defect.
            Access::LookUp | Access::Read => matches!(error, StorageError::ConnectionLost(_)),
            Access::Write => matches!(error, StorageError::ConnectionLost(_) | StorageError::ReadOnly(_)),
        };
        is_elsewhere.then_some(Self::OnAnotherConnection(RECONNECT_PAUSE))
    }
}

/// The error of the store with which a job failed, if it was one.
pub(super) fn storage_error<T, E: JobError>(answer: &Result<T, E>) -> Option<&StorageError> {
    answer.as_ref().err().and_then(JobError::of_the_store)
}

/// Whether a job failed because another one held what it needs.
pub(super) fn is_contention<T, E: JobError>(answer: &Result<T, E>) -> bool {
    matches!(storage_error(answer), Some(StorageError::Collided | StorageError::Busy))
}

/// How long a job waits before it is run again, when the date of its change is not due and it has not waited too long.
pub(super) fn wait_for_date<T, E: JobError>(answer: &Result<T, E>, begun: Instant) -> Option<Duration> {
    let Some(StorageError::DateNotDue { wait }) = storage_error(answer) else { return None };
    Some(*wait).filter(|wait| begun.elapsed() + *wait <= MAX_DATE_WAIT)
}
