//! Work that goes on for longer than a request should take, such as the rows of a file that an
//! operator sends: one at once, it ends at its next step when the server stops, and the server
//! waits for that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::limits::concurrency_limit::{ConcurrencyLimit, Permit};

/// The number of concurrent jobs, and how many more may wait.
const AT_ONCE: (usize, usize) = (1, 0);
/// How long one waits for its turn; with none that waits, not at all.
const MAX_WAIT: Duration = Duration::ZERO;

/// The long jobs of a server. Cheap to clone; all clones count the same ones.
#[derive(Debug, Clone)]
pub struct LongJobs {
    running: ConcurrencyLimit,
    is_stopping: Arc<AtomicBool>,
}

/// A job that has begun, until this is dropped.
#[derive(Debug)]
pub struct LongJob {
    _permit: Permit,
    is_stopping: Arc<AtomicBool>,
}

impl Default for LongJobs {
    fn default() -> Self {
        let (running, waiting) = AT_ONCE;
        Self {
            running: ConcurrencyLimit::new(running, waiting, MAX_WAIT),
            is_stopping: Arc::default(),
        }
    }
}

impl LongJobs {
    /// Begins one; nothing where another one runs, or the server stops.
    pub async fn begin(&self) -> Option<LongJob> {
        let permit = self.running.acquire().await?;
        let job = LongJob {
            _permit: permit,
            is_stopping: Arc::clone(&self.is_stopping),
        };
        (!job.is_stopping()).then_some(job)
    }

    /// Lets none begin from now on, and asks the one that runs to end.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Waits until none runs.
    pub async fn finished(&self) {
        self.running.idle().await;
    }
}

impl LongJob {
    /// Whether the server stops, and the job should end.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::poll_immediate;

    use super::*;

    #[actix_web::test]
    async fn one_job_runs_at_once_and_shutdown_waits_for_it() {
        let jobs = LongJobs::default();
        jobs.finished().await;
        let job = jobs.begin().await.unwrap();
        assert!(jobs.begin().await.is_none() && !job.is_stopping());
        jobs.stop();
        assert!(job.is_stopping());
        let mut finished = pin!(jobs.finished());
        assert!(poll_immediate(finished.as_mut()).await.is_none());
        drop(job);
        finished.await;
        assert!(jobs.begin().await.is_none());
    }
}
