//! A bulkhead: how many of one kind of work run at once, how many wait, and for how long.

use std::sync::Arc;
use std::time::Duration;

use actix_web::rt::time::timeout;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Limits work that runs at once. Cheap to clone; all clones share the limit.
#[derive(Debug, Clone)]
pub struct ConcurrencyLimit {
    /// One permit for each piece of work that runs.
    running: Arc<Semaphore>,
    /// One permit for each piece of work that runs or waits.
    admitted: Arc<Semaphore>,
    max_running: usize,
    max_wait: Duration,
}

/// The permission to run. Dropping it returns it to the limit.
#[derive(Debug)]
pub struct Permit {
    _running: OwnedSemaphorePermit,
    _admitted: OwnedSemaphorePermit,
}

impl ConcurrencyLimit {
    /// A limit of `max_running` pieces of work at once. Up to `max_waiting` more can wait for their
    /// turn, each for up to `max_wait`.
    #[must_use]
    pub fn new(max_running: usize, max_waiting: usize, max_wait: Duration) -> Self {
        let admitted = max_running
            .saturating_add(max_waiting)
            .min(Semaphore::MAX_PERMITS);
        Self {
            running: Arc::new(Semaphore::new(max_running)),
            admitted: Arc::new(Semaphore::new(admitted)),
            max_running,
            max_wait,
        }
    }

    /// Waits for a permit; `None` when too many wait already, or no permit becomes free in time.
    pub async fn acquire(&self) -> Option<Permit> {
        let admitted = Arc::clone(&self.admitted).try_acquire_owned().ok()?;
        let running = timeout(self.max_wait, Arc::clone(&self.running).acquire_owned());
        let running = running.await.ok()?.ok()?;
        Some(Permit {
            _running: running,
            _admitted: admitted,
        })
    }

    /// Waits until no work runs.
    pub async fn idle(&self) {
        let all = u32::try_from(self.max_running).unwrap_or(u32::MAX);
        // Fails only for a closed semaphore. This one is never closed.
        drop(self.running.acquire_many(all).await);
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::poll_immediate;

    use super::*;

    #[actix_web::test]
    async fn requests_beyond_running_and_waiting_limits_are_rejected_at_once() {
        let limit = ConcurrencyLimit::new(2, 1, Duration::from_mins(10));
        let (first, second) = (
            limit.acquire().await.unwrap(),
            limit.acquire().await.unwrap(),
        );
        let mut third = pin!(limit.acquire());
        assert!(poll_immediate(third.as_mut()).await.is_none());
        assert!(limit.acquire().await.is_none());
        drop(first);
        assert!(third.await.is_some());
        drop(second);
        assert!(limit.acquire().await.is_some());
    }

    #[actix_web::test]
    async fn nobody_waits_for_longer_than_that() {
        let limit = ConcurrencyLimit::new(1, 1, Duration::from_millis(1));
        let permit = limit.acquire().await.unwrap();
        assert!(limit.acquire().await.is_none());
        drop(permit);
        assert!(limit.acquire().await.is_some());
    }
}
