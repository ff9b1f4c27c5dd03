//! Work that takes longer than a request should, such as the rows of a file that an operator sends
//! or a user uploads. Few of these jobs run at once. When the server stops, each job ends at its
//! next step, and the server waits for that.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::limits::concurrency_limit::{ConcurrencyLimit, Permit};

/// The number of concurrent jobs of operators, and how many more may wait.
const AT_ONCE: (usize, usize) = (1, 0);
/// Like `AT_ONCE`, for uploads. Each holds a file in memory.
const UPLOADS_AT_ONCE: (usize, usize) = (2, 0);
/// How long a job waits for its turn. Jobs do not wait, so this is zero.
const MAX_WAIT: Duration = Duration::ZERO;

/// The long jobs of a server. Cheap to clone; all clones count the same ones.
#[derive(Debug, Clone)]
pub struct LongJobs {
    running: ConcurrencyLimit,
    uploads: ConcurrencyLimit,
    is_stopping: Arc<AtomicBool>,
}

/// A running job. The job counts as ended when this is dropped.
#[derive(Debug)]
pub struct LongJob {
    _permit: Permit,
    is_stopping: Arc<AtomicBool>,
}

impl Default for LongJobs {
    fn default() -> Self {
        let limit = |(running, waiting)| ConcurrencyLimit::new(running, waiting, MAX_WAIT);
        Self {
            running: limit(AT_ONCE),
            uploads: limit(UPLOADS_AT_ONCE),
            is_stopping: Arc::default(),
        }
    }
}

impl LongJobs {
    /// Begins a job of an operator; `None` if another one runs or the server is stopping.
    pub async fn begin(&self) -> Option<LongJob> {
        self.begin_within(&self.running).await
    }

    /// Begins the work on an upload; `None` if too many others run or the server is stopping.
    pub async fn begin_upload(&self) -> Option<LongJob> {
        self.begin_within(&self.uploads).await
    }

    /// Begins a job within a limit; `None` if the limit is reached or the server is stopping.
    async fn begin_within(&self, limit: &ConcurrencyLimit) -> Option<LongJob> {
        let permit = limit.acquire().await?;
        let job = LongJob {
            _permit: permit,
            is_stopping: Arc::clone(&self.is_stopping),
        };
        // Checked after the permit is held: a job that misses the stop is waited for.
        (!job.is_stopping()).then_some(job)
    }

    /// Rejects new jobs from now on, and asks the running ones to end.
    pub fn stop(&self) {
        self.is_stopping.store(true, Ordering::SeqCst);
    }

    /// Waits until no job runs.
    pub async fn finished(&self) {
        self.running.idle().await;
        self.uploads.idle().await;
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
