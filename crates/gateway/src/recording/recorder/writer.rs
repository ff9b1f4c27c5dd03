//! The thread of the recorder: checks accepted writes against the newest version, and writes rows and
//! totals.

use std::collections::HashSet;
use std::mem;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use adapter_kit::Versions;
use domain::records::organisations::Organisations;
use http_kit::error_chain::Causes;
use storage::base::sender::Sender;
use storage::error::StorageError;
use storage::observations::requests::{NewRequest, RecordResult, RecordedRequest};
use storage::observations::totals::RequestTotal;
use storage::store::Store;
use version_tools::shadow::{AcceptedWrite, Finding, check};

use super::{MAX_WAITING, ObservedRequest, RecordQueue, RecorderOptions, Tally, TotalKey};
use crate::recording::observation::ObservedWrite;

/// The time between two transactions.
const PERIOD: Duration = Duration::from_secs(1);

/// The thread that checks and writes.
pub(super) struct Writer {
    store: Store,
    options: RecorderOptions,
    pub(super) queue: Arc<RecordQueue>,
    /// The rows that are not written yet.
    pub(super) rows: Vec<NewRequest>,
    /// The senders of these rows that were over the rate limit.
    rate_limited: HashSet<Sender>,
}

impl Writer {
    pub(super) fn new(store: Store, options: RecorderOptions, queue: Arc<RecordQueue>) -> Self {
        Self {
            store,
            options,
            queue,
            rows: Vec::new(),
            rate_limited: HashSet::new(),
        }
    }

    /// Takes what waits until the last recorder is gone.
    pub(super) fn run(mut self) {
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
    pub(super) fn take(&mut self, mut request: ObservedRequest) {
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
            return self.queue.lock().drop_requests(1);
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
        let none = Organisations::default();
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
            waiting.count_check(token, request, label, &found);
        }
        let obstacles = found.into_iter().filter(Finding::is_obstacle);
        Some(
            obstacles
                .map(|finding| (finding.code.to_owned(), finding.field))
                .collect(),
        )
    }

    /// Writes the rows and the totals in one transaction. Keeps them after a temporary failure.
    pub(super) fn write(&mut self) {
        self.rate_limited.clear();
        let rows = Arc::new(mem::take(&mut self.rows));
        let mut waiting = self.queue.lock();
        let totals = mem::take(&mut waiting.totals);
        let dropped = mem::take(&mut waiting.dropped);
        drop(waiting);
        if dropped > 0 {
            log::warn!("the record of requests is incomplete: {dropped} requests are missing");
        }
        if rows.is_empty() && totals.is_empty() {
            return;
        }
        let versions = self.options.versions;
        let counted: Vec<RequestTotal> = totals
            .iter()
            .map(|(key, tally)| stored(key, tally, versions))
            .collect();
        let written = Arc::clone(&rows);
        let outcome: Result<(), StorageError> = self
            .store
            .write_blocking(move |session| session.record_requests(&written, &counted));
        let Err(error) = outcome else { return };
        log::warn!("requests not recorded: {}", Causes(&error));
        // After a permanent failure the rows would block later ones. If the write may have
        // succeeded, writing again would count twice.
        let mut waiting = self.queue.lock();
        if !error.is_repeatable() {
            return waiting.drop_requests(u64::try_from(rows.len()).unwrap_or(u64::MAX));
        }
        self.rows = Arc::try_unwrap(rows).unwrap_or_else(|rows| rows.to_vec());
        for (key, tally) in totals {
            let Tally {
                requests,
                first,
                last,
            } = tally;
            waiting.add(key, requests, first, last);
        }
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
            endpoint: request.served.version.row(request.endpoint).name(),
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

/// A total in the form of the store.
fn stored(key: &TotalKey, tally: &Tally, versions: &Versions) -> RequestTotal {
    // Requests come only to served versions.
    let served = versions.find(key.version);
    let row = served.map_or_else(
        || key.endpoint.row(),
        |served| served.version.row(key.endpoint),
    );
    RequestTotal {
        day: key.day,
        token_id: key.token,
        version: key.version.to_string(),
        endpoint: row.name(),
        status: key.status,
        kind: key.kind,
        detail: key.detail.to_string(),
        requests: tally.requests,
        first: tally.first.clone(),
        last: tally.last.clone(),
    }
}
