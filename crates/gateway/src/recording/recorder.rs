//! Records requests in the background: one row for each write and each refused request, and totals
//! of all requests.
//!
//! A request with a valid token is counted in memory, and its row enters a bounded queue; nothing of
//! this delays a reply. One thread takes the rows ten times a second, since a wake-up for each would
//! cost more than the row. If an accepted write of an older version is to be checked, the thread asks
//! what the newest version would have replied: it decides on the translated body and the state that
//! the write has found ([`version_tools::shadow`]), because the stored record already contains the
//! write. Once a second, and at a flush, the thread writes the rows and the totals in one
//! transaction.
//!
//! - When the queue is full, rows are dropped, counted and logged.
//! - Of requests over the rate limit, one row of each sender is kept in each transaction, because
//!   the equal requests of a client in a loop would fill the table.
//! - After a temporary failure of the store, rows and totals are kept up to a limit.
//! - A killed program loses what was not written yet.
//!
//! Limits of the checks: the client might send another body to the newest version, and rules that
//! depend on the time of the write, such as duplicates, are not checked.

use std::borrow::Cow;
use std::collections::hash_map::{Entry, RandomState};
use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};

use actix_web::http::StatusCode;
use adapter_kit::{Endpoint, Label, Served, Versions};
use chrono::{DateTime, NaiveDate, Utc};
use domain::Lists;
use http_kit::metrics;
use http_kit::requests::request_id::RequestId;
use storage::base::sender::Sender;
use storage::observations::requests::{RecordResult, RecordedProblem};
use storage::observations::totals::{Seen, TotalKind};
use storage::store::Store;
use tokio::sync::oneshot;
use version_tools::shadow::Finding;

use self::writer::Writer;
use crate::recording::observation::{ObservedWrite, RecordKey};

mod writer;

/// The time between two looks at the queue.
const LOOK: Duration = Duration::from_millis(100);
/// The capacity of the queue.
const QUEUE: usize = 8_192;
/// The most writes in the queue that wait for a check, because each holds a body and a record.
const MAX_CHECKS: usize = 1_000;
/// The most rows, and the most totals, that wait for the store.
const MAX_WAITING: usize = 20_000;

/// How requests are recorded.
#[derive(Clone, Copy)]
pub struct RecorderOptions {
    /// The versions that are served.
    pub versions: &'static Versions,
    /// The code lists.
    pub lists: &'static Lists,
    /// The share of accepted writes of older versions to check against the newest version, in
    /// percent.
    pub checked_share: u8,
    /// Whether there are rows of single requests, besides the totals.
    pub records_requests: bool,
    /// Whether the record is written once a second; otherwise only by [`Recorder::flush`].
    pub is_periodic: bool,
}

/// A request and its reply.
#[derive(Debug)]
pub struct ObservedRequest {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The number of the provider.
    pub provider_id: i64,
    /// The token, or the user of an upload.
    pub sender: Sender,
    /// When the request was answered.
    pub at: DateTime<Utc>,
    /// The identifier of the request.
    pub request_id: RequestId,
    /// The status of the reply.
    pub status: StatusCode,
    /// Whether the request was over the rate limit. Such requests are not counted.
    pub is_rate_limited: bool,
    /// The position in a batch or an upload, from 0, or `None` for a whole request.
    pub item: Option<u32>,
    /// The result for the record; `None` for an accepted request that only reads, or a batch whose
    /// items have their own results.
    pub result: Option<RecordResult>,
    /// The key of the record, if it is known.
    pub record: Option<RecordKey>,
    /// The distinct names of other versions in the body.
    pub names: Vec<&'static str>,
    /// The first problems.
    pub problems: Vec<RecordedProblem>,
    /// The number of further problems.
    pub problems_left_out: u32,
    /// The state that an accepted write has found, if it is to be checked.
    pub write: Option<Box<ObservedWrite>>,
}

/// Records requests. Cheap to clone; all clones share the queue. The thread ends with the last
/// clone.
#[derive(Clone)]
pub struct Recorder(Arc<Shared>);

struct Shared {
    options: RecorderOptions,
    queue: Arc<RecordQueue>,
    /// Hashes the number of a write, to select the writes to check.
    lot: RandomState,
    /// The number of writes that `lot` has hashed.
    drawn: AtomicU64,
}

/// What waits for the thread.
#[derive(Default)]
struct RecordQueue {
    waiting: Mutex<Waiting>,
    /// Notified when the thread must not wait longer.
    is_urgent: Condvar,
}

#[derive(Default)]
struct Waiting {
    totals: HashMap<TotalKey, Tally>,
    rows: Vec<ObservedRequest>,
    /// The number of rows with a write to check.
    checks: usize,
    /// The number of requests that were dropped and not logged yet.
    dropped: u64,
    /// The tasks to tell when all of this is written.
    flushes: Vec<oneshot::Sender<()>>,
    /// Whether the last recorder is gone.
    is_closed: bool,
}

/// The key of a total.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct TotalKey {
    day: NaiveDate,
    token: i64,
    version: Label,
    endpoint: Endpoint,
    status: u16,
    kind: TotalKind,
    detail: Cow<'static, str>,
}

/// A number of requests, with the first and the last one.
#[derive(Debug, Clone)]
struct Tally {
    requests: i64,
    first: Seen,
    last: Seen,
}

impl Recorder {
    /// Starts recording into the store.
    ///
    /// # Errors
    ///
    /// When the operating system cannot start a thread.
    pub fn start(store: Store, options: RecorderOptions) -> io::Result<Self> {
        let queue = Arc::new(RecordQueue::default());
        let writer = Writer::new(store, options, Arc::clone(&queue));
        thread::Builder::new()
            .name("recorder".to_owned())
            .spawn(move || writer.run())?;
        Ok(Self(Arc::new(Shared {
            options,
            queue,
            lot: RandomState::new(),
            drawn: AtomicU64::new(0),
        })))
    }

    /// Whether there are rows of single requests.
    #[must_use]
    pub fn records_requests(&self) -> bool {
        self.0.options.records_requests
    }

    /// Whether accepted writes are checked against the newest version.
    #[must_use]
    pub fn checks_writes(&self) -> bool {
        self.0.options.checked_share > 0
    }

    /// Whether to check the next write of the version. Selects the configured share at random;
    /// false for the newest version.
    #[must_use]
    pub fn selects_for_check(&self, served: &Served) -> bool {
        let Shared {
            options,
            lot,
            drawn,
            queue,
        } = &*self.0;
        let newest = options.versions.newest();
        if newest.is_none_or(|newest| newest.version.label == served.version.label) {
            return false;
        }
        let number = drawn.fetch_add(1, Ordering::Relaxed);
        lot.hash_one(number) % 100 < u64::from(options.checked_share)
            && queue.lock().checks < MAX_CHECKS
    }

    /// Counts a request, and queues its row if it has one.
    pub fn record(&self, mut request: ObservedRequest) {
        request.write = request.write.filter(|write| write.was_carried_out());
        let has_row = self.0.options.records_requests && request.result.is_some();
        let mut waiting = self.0.queue.lock();
        // The items of a batch and the rows of an upload are no requests of a token.
        if let (Sender::Token(token), None, false) =
            (request.sender, request.item, request.is_rate_limited)
        {
            waiting.count_request(token, &request);
        }
        if !has_row && request.write.is_none() {
            return;
        }
        if waiting.rows.len() >= QUEUE {
            return waiting.drop_requests(1);
        }
        waiting.checks += usize::from(request.write.is_some());
        waiting.rows.push(request);
    }

    /// Waits until everything that was recorded before is written, or could not be written.
    pub async fn flush(&self) {
        let (written, answer) = oneshot::channel();
        self.0.queue.lock().flushes.push(written);
        self.0.queue.is_urgent.notify_one();
        // The thread ends without a reply only when the program ends.
        let _ = answer.await;
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.queue.lock().is_closed = true;
        self.queue.is_urgent.notify_one();
    }
}

impl RecordQueue {
    /// Locks what waits. A panic while it is locked leaves whole counts.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a moment, or until a flush is requested or the last recorder is gone.
    fn wait(&self) {
        let waiting = self.lock();
        if waiting.flushes.is_empty() && !waiting.is_closed {
            // The returned lock is not needed. The thread looks at the queue in any case.
            drop(self.is_urgent.wait_timeout(waiting, LOOK));
        }
    }
}

impl fmt::Debug for Recorder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Recorder").finish_non_exhaustive()
    }
}

impl Waiting {
    /// Counts requests that are not recorded.
    fn drop_requests(&mut self, requests: u64) {
        metrics::request_log_dropped().increment(requests);
        self.dropped += requests;
    }

    /// Counts a request once as a whole, and once for each name of another version.
    fn count_request(&mut self, token: i64, request: &ObservedRequest) {
        self.count(
            token,
            request,
            (TotalKind::Request, "".into()),
            request.status,
        );
        for name in &request.names {
            let name = Cow::Borrowed(*name);
            self.count(token, request, (TotalKind::Name, name), request.status);
        }
    }

    /// Counts a checked write, and each finding of the check.
    fn count_check(
        &mut self,
        token: i64,
        request: &ObservedRequest,
        newest: Label,
        found: &BTreeSet<Finding>,
    ) {
        let status = if found.iter().any(Finding::is_obstacle) {
            StatusCode::UNPROCESSABLE_ENTITY
        } else {
            StatusCode::OK
        };
        let against = newest.to_string();
        for Finding { code, field } in found {
            let detail = format!("{against} {code} {field}").into();
            self.count(token, request, (TotalKind::Problem, detail), status);
        }
        self.count(token, request, (TotalKind::Check, against.into()), status);
    }

    fn count(
        &mut self,
        token: i64,
        request: &ObservedRequest,
        (kind, detail): (TotalKind, Cow<'static, str>),
        status: StatusCode,
    ) {
        let key = TotalKey {
            day: request.at.date_naive(),
            token,
            version: request.served.version.label,
            endpoint: request.endpoint,
            status: status.as_u16(),
            kind,
            detail,
        };
        let seen = Seen {
            at: request.at,
            request_id: Arc::clone(&request.request_id),
        };
        self.add(key, 1, seen.clone(), seen);
    }

    fn add(&mut self, key: TotalKey, requests: i64, first: Seen, last: Seen) {
        let is_full = self.totals.len() >= MAX_WAITING;
        match self.totals.entry(key) {
            Entry::Occupied(mut known) => {
                let tally = known.get_mut();
                tally.requests += requests;
                if first.at < tally.first.at {
                    tally.first = first;
                }
                if last.at >= tally.last.at {
                    tally.last = last;
                }
            }
            Entry::Vacant(_) if is_full => self.drop_requests(requests.unsigned_abs()),
            Entry::Vacant(place) => {
                place.insert(Tally {
                    requests,
                    first,
                    last,
                });
            }
        }
    }
}

#[cfg(test)]
mod tests;
