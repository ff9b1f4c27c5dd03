//! What the database refused last of what the register needs, such as a permission.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{DatabaseError, JobError};

/// How long a fault that a request met counts. Whether an operator has mended it is known when a
/// request meets it no more.
const FAULT_TIME: Duration = Duration::from_secs(60);

/// The last fault of the database that a job met. All clones are the same.
#[derive(Debug, Clone, Default)]
pub struct LastFault(Arc<Mutex<Option<Met>>>);

/// A fault that a job met.
#[derive(Debug)]
struct Met {
    at: Instant,
    reason: Arc<str>,
}

impl LastFault {
    fn lock(&self) -> MutexGuard<'_, Option<Met>> {
        // A poisoned lock is no harm: the value is written in one step.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes note of the answer of a job, and returns it.
    pub(crate) fn note<T, E: JobError>(&self, answer: Result<T, E>) -> Result<T, E> {
        if let Some(DatabaseError::DatabaseFault(reason)) =
            answer.as_ref().err().and_then(JobError::database_error)
        {
            *self.lock() = Some(Met {
                at: Instant::now(),
                reason: Arc::clone(reason),
            });
        }
        answer
    }

    /// Fails while a fault that a job met counts.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DatabaseFault`].
    pub fn require_none(&self) -> Result<(), DatabaseError> {
        self.require_none_at(Instant::now())
    }

    fn require_none_at(&self, now: Instant) -> Result<(), DatabaseError> {
        match &*self.lock() {
            Some(Met { at, reason }) if now.duration_since(*at) < FAULT_TIME => {
                Err(DatabaseError::DatabaseFault(Arc::clone(reason)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Forgets the fault, once the database answers again.
    pub fn forget(&self) {
        *self.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_that_a_job_met_counts_for_a_minute() {
        let last_fault = LastFault::default();
        let other: Result<(), _> = last_fault.note(Err(DatabaseError::Busy));
        assert!(other.is_err() && last_fault.require_none().is_ok());
        let met: Result<(), _> = last_fault.note(Err(DatabaseError::DatabaseFault(
            "permission denied".into(),
        )));
        assert!(met.is_err() && last_fault.clone().require_none().is_err());
        assert!(
            last_fault
                .require_none_at(Instant::now() + FAULT_TIME)
                .is_ok()
        );
        last_fault.forget();
        assert!(last_fault.require_none().is_ok());
    }
}
