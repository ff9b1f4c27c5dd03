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
use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{fmt, io, mem, thread};

use actix_web::http::StatusCode;
use adapter_kit::{Endpoint, Label, Served, Versions};
use chrono::{DateTime, NaiveDate, Utc};
use domain::Lists;
use http_kit::error_chain::Causes;
use http_kit::metrics;
use http_kit::requests::request_id::RequestId;
use storage::base::sender::Sender;
use storage::error::StorageError;
use storage::observations::requests::{NewRequest, RecordResult, RecordedProblem, RecordedRequest};
use storage::observations::totals::{RequestTotal, Seen, TotalKind};
use storage::store::Store;
use tokio::sync::oneshot;
use version_tools::shadow::{AcceptedWrite, Finding, check};

use crate::recording::observation::{ObservedWrite, RecordKey};

/// The time between two transactions.
const PERIOD: Duration = Duration::from_secs(1);
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
    queue: Arc<Queue>,
    /// Hashes the number of a write, to select the writes to check.
    lot: RandomState,
    /// The number of writes that `lot` has hashed.
    drawn: AtomicU64,
}

/// What waits for the thread.
#[derive(Default)]
struct Queue {
    waiting: Mutex<Waiting>,
    /// Notified when the thread must not wait longer.
    is_urgent: Condvar,
}

#[derive(Default)]
struct Waiting {
    totals: Totals,
    rows: Vec<ObservedRequest>,
    /// The number of rows with a write to check.
    checks: usize,
    /// The number of rows that were dropped and not reported yet.
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

/// The totals that are not written yet.
#[derive(Debug, Default)]
struct Totals(HashMap<TotalKey, Tally>);

impl Recorder {
    /// Starts recording into the store.
    ///
    /// # Errors
    ///
    /// When the operating system cannot start a thread.
    pub fn start(store: Store, options: RecorderOptions) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let writer = Writer {
            store,
            options,
            queue: Arc::clone(&queue),
            rows: Vec::new(),
            rate_limited: HashSet::new(),
        };
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
            waiting.totals.count_request(token, &request);
        }
        if !has_row && request.write.is_none() {
            return;
        }
        if waiting.rows.len() >= QUEUE {
            waiting.dropped += 1;
            return;
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

impl Queue {
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

impl Totals {
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
        let is_full = self.0.len() >= MAX_WAITING;
        match self.0.entry(key) {
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
            Entry::Vacant(_) if is_full => metrics::request_log_dropped().increment(1),
            Entry::Vacant(place) => {
                place.insert(Tally {
                    requests,
                    first,
                    last,
                });
            }
        }
    }

    /// The totals in the form of the store.
    fn stored(&self) -> Vec<RequestTotal> {
        let total = |(key, tally): (&TotalKey, &Tally)| RequestTotal {
            day: key.day,
            token_id: key.token,
            version: key.version.to_string(),
            endpoint: key.endpoint.to_string(),
            status: key.status,
            kind: key.kind,
            detail: key.detail.to_string(),
            requests: tally.requests,
            first: tally.first.clone(),
            last: tally.last.clone(),
        };
        self.0.iter().map(total).collect()
    }
}

/// The thread that checks and writes.
struct Writer {
    store: Store,
    options: RecorderOptions,
    queue: Arc<Queue>,
    /// The rows that are not written yet.
    rows: Vec<NewRequest>,
    /// The senders of these rows that were over the rate limit.
    rate_limited: HashSet<Sender>,
}

impl Writer {
    fn run(mut self) {
        let mut due = Instant::now() + PERIOD;
        loop {
            self.queue.wait();
            let mut waiting = self.queue.lock();
            let requests = mem::take(&mut waiting.rows);
            waiting.checks = 0;
            let flushes = mem::take(&mut waiting.flushes);
            let is_closed = waiting.is_closed;
            drop(waiting);
            requests.into_iter().for_each(|request| self.take(request));
            let is_due = self.options.is_periodic && Instant::now() >= due;
            if is_due || is_closed || !flushes.is_empty() {
                self.write();
                due = Instant::now() + PERIOD;
            }
            for flush in flushes {
                // A failure is ignored: the waiting task may have been cancelled.
                let _ = flush.send(());
            }
            if is_closed {
                return;
            }
        }
    }

    /// Checks a request if that is to be done, and keeps its row.
    fn take(&mut self, mut request: ObservedRequest) {
        let write = request.write.take();
        let newest_problems = write.and_then(|write| self.check(&request, &write));
        let is_repeated = request.is_rate_limited && !self.rate_limited.insert(request.sender);
        let Some(result) = request.result.filter(|_| self.options.records_requests) else {
            return;
        };
        if is_repeated {
            return;
        }
        if self.rows.len() >= MAX_WAITING {
            self.queue.lock().dropped += 1;
            return;
        }
        self.rows
            .push(new_request(request, result, newest_problems));
    }

    /// The codes and fields that the newest version would report for an accepted write; `None` if it
    /// cannot be checked. A panic is logged and does not stop the thread.
    fn check(
        &self,
        request: &ObservedRequest,
        write: &ObservedWrite,
    ) -> Option<Vec<(String, String)>> {
        let newest = self.options.versions.newest()?;
        let none = Default::default();
        let accepted = AcceptedWrite {
            endpoint: request.endpoint,
            trainee: write.trainee.as_deref(),
            part_id: &write.part_id,
            organisations: write.organisations.as_ref().unwrap_or(&none),
            now: request.at,
            lists: self.options.lists,
        };
        let found = catch_unwind(AssertUnwindSafe(|| {
            check(&write.body, request.served, newest, &accepted)
        }));
        let label = newest.version.label;
        let Ok(found) = found else {
            let endpoint = request.endpoint;
            log::error!("check against {label} panicked; endpoint: {endpoint}");
            return None;
        };
        let found = found?;
        if let Sender::Token(token) = request.sender {
            let mut waiting = self.queue.lock();
            waiting.totals.count_check(token, request, label, &found);
        }
        let obstacles = found.into_iter().filter(Finding::is_obstacle);
        Some(
            obstacles
                .map(|finding| (finding.code.to_owned(), finding.field))
                .collect(),
        )
    }

    /// Writes the rows and the totals in one transaction. Keeps them after a temporary failure.
    fn write(&mut self) {
        self.rate_limited.clear();
        let rows = Arc::new(mem::take(&mut self.rows));
        let mut waiting = self.queue.lock();
        let totals = mem::take(&mut waiting.totals);
        let dropped = mem::take(&mut waiting.dropped);
        drop(waiting);
        report_dropped(dropped);
        if rows.is_empty() && totals.0.is_empty() {
            return;
        }
        let (written, counted) = (Arc::clone(&rows), totals.stored());
        let outcome: Result<(), StorageError> = self
            .store
            .write_blocking(move |session| session.record_requests(&written, &counted));
        let Err(error) = outcome else { return };
        log::warn!("requests not recorded: {}", Causes(&error));
        // After a permanent failure the rows would block later ones. If the write may have
        // succeeded, writing again would count twice.
        if !error.is_repeatable() {
            return report_dropped(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        }
        self.rows = Arc::try_unwrap(rows).unwrap_or_else(|rows| rows.to_vec());
        let mut waiting = self.queue.lock();
        for (key, tally) in totals.0 {
            let Tally {
                requests,
                first,
                last,
            } = tally;
            waiting.totals.add(key, requests, first, last);
        }
    }
}

/// Counts and logs rows that were dropped.
fn report_dropped(dropped: u64) {
    if dropped > 0 {
        metrics::request_log_dropped().increment(dropped);
        log::warn!("the record of requests is incomplete: {dropped} requests are missing");
    }
}

/// The row of a request.
fn new_request(
    request: ObservedRequest,
    result: RecordResult,
    newest_problems: Option<Vec<(String, String)>>,
) -> NewRequest {
    let (record_key, trainee_id) = request
        .record
        .map_or((None, None), |record| (Some(record.key), record.trainee_id));
    NewRequest {
        provider_id: request.provider_id,
        trainee_id,
        request: RecordedRequest {
            answered_at: request.at,
            sender: request.sender,
            version: request.served.version.label.to_string(),
            endpoint: request.endpoint.to_string(),
            status: request.status.as_u16(),
            result,
            request_id: request.request_id.to_string(),
            in_batch: request.item.is_some() || request.endpoint.row().is_batch(),
            item: request.item,
            record_key,
            names: request.names.iter().map(ToString::to_string).collect(),
            problems: request.problems,
            problems_left_out: request.problems_left_out,
            newest_problems,
        },
    }
}

#[cfg(test)]
mod tests;
