//! The last fault of the database, such as a missing permission.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::{DatabaseError, JobError};

/// How long a fault is reported after a request encountered it. The register cannot see that an
/// operator has fixed the fault; it only sees that requests no longer fail.
const FAULT_TIME: Duration = Duration::from_mins(1);

/// The last fault of the database that a job encountered. All clones share it.
#[derive(Debug, Clone, Default)]
pub struct LastFault(Arc<Mutex<Option<Met>>>);

/// A fault that a job encountered.
#[derive(Debug)]
struct Met {
    at: Instant,
    reason: Arc<str>,
}

impl LastFault {
    /// Locks the fault. The value is written in one step, so a poisoned lock guards a complete
    /// value.
    fn lock(&self) -> MutexGuard<'_, Option<Met>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records the fault in the answer of a job, if there is one, and returns the answer.
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

    /// Fails if a job encountered a fault in the last minute.
    ///
    /// # Errors
    ///
    /// [`DatabaseError::DatabaseFault`].
    pub fn require_none(&self) -> Result<(), DatabaseError> {
        self.require_none_at(Instant::now())
    }

    /// Like [`LastFault::require_none`], at a given time.
    fn require_none_at(&self, now: Instant) -> Result<(), DatabaseError> {
        match &*self.lock() {
            Some(Met { at, reason }) if now.duration_since(*at) < FAULT_TIME => {
                Err(DatabaseError::DatabaseFault(Arc::clone(reason)))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Clears the fault. Call this when the database works again.
    pub fn forget(&self) {
        *self.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fault_is_reported_for_a_minute() {
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
