//! The log of requests. It shows a provider its refused requests and the reasons: the endpoint, the
//! status, and the codes and fields of problems. [`storage::observations::request_log`] stores it.
//!
//! The log contains only requests with a valid token to an endpoint of a version, and the sent rows
//! of a file that a user uploads. The log contains no path or body, and only one value: the key of
//! the record, unless the provider has switched that off. The only other text that clients can
//! choose is the identifier of the request, within the form that
//! [`http_kit::requests::request_id`] allows.
//!
//! Requests that write, and refused requests, also count in a run ([`runs`]).
//!
//! Requests are added to a list in memory. A background task writes the list in small batches every
//! few seconds and at shutdown, so requests never wait for the log. When the list is full:
//!
//! - Refused requests are dropped and counted.
//! - Of accepted requests, only the newest of each provider are kept, so that a busy provider does
//!   not write all its requests.
//! - Of requests over the rate limit, only the first of each token are kept. Otherwise the equal
//!   requests of a client in a loop would displace all others.
//!
//! A killed program loses the unwritten requests.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::http::{Method, StatusCode};
use actix_web::rt;
use adapter_kit::{Endpoint, Label, Served};
use chrono::{DateTime, Utc};
use http_kit::error_chain::Causes;
use http_kit::metrics;
use http_kit::requests::request_id::{self, RequestId};
use storage::base::sender::Sender;
use storage::error::StorageError;
use storage::observations::request_log::{
    LogLimits, LoggedRequest, NewLogEntries, NewLoggedRequest, Outcome,
};
use storage::session::Session;
use storage::store::Store;

use self::problems::RequestProblems;
use self::runs::{OpenRun, OpenRunKey};
use crate::observation::RecordKey;

pub mod filter;
pub mod problems;
pub mod report;
pub mod run_report;
mod runs;

pub use self::runs::RecordResult;

/// The time between two flushes.
const PAUSE: Duration = Duration::from_secs(5);
/// The number of requests written or removed per job, so that other requests do not wait long.
const BATCH: usize = 200;
/// The number of locks for the requests in memory. Each provider belongs to one lock.
const SHARDS: usize = 16;
/// The surplus of a provider is removed after each hundredth of its limit of stored requests, or
/// after [`Bounds::slack`] requests if that is more.
const SLACK: u32 = 100;
/// The maximum number of runs of one provider in memory. A run is a batch, an upload, or the single
/// requests of a token.
const MAX_RUNS: usize = 1_000;
/// Marks that the number of requests written before the start of this server is unknown.
const UNKNOWN: u32 = u32::MAX;

/// The limits of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Refused requests of all providers in memory.
    pub waiting: usize,
    /// Refused requests of one provider in memory, so that one provider cannot fill the list.
    pub waiting_of_provider: usize,
    /// Accepted requests of one provider in memory; the newest are kept.
    pub accepted_of_provider: usize,
    /// Requests over the rate limit of one token in memory; the first are kept.
    pub rate_limited_of_token: usize,
    /// Stored requests of one provider.
    pub kept: LogLimits,
    /// The minimum number of requests of a provider that a server writes before it removes the
    /// surplus again.
    pub slack: u32,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            waiting: 5_000,
            waiting_of_provider: 1_000,
            accepted_of_provider: 100,
            rate_limited_of_token: 10,
            kept: LogLimits::default(),
            slack: 400,
        }
    }
}

/// Unwritten requests. Cheap to clone; all clones share the list.
#[derive(Debug, Clone)]
pub struct RequestLog(Option<Arc<Waiting>>);

/// A request and its reply.
#[derive(Debug, Clone)]
pub struct ObservedRequest {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The method.
    pub method: Method,
    /// The status of the reply.
    pub status: StatusCode,
    /// The position in a batch or an upload, from 0, or `None` for a whole request.
    pub item: Option<u32>,
    /// The result for the record.
    pub result: RecordResult,
    /// The key of the record, if it is known.
    pub record: Option<RecordKey>,
}

/// The requests of all providers in memory.
#[derive(Debug)]
struct Waiting {
    bounds: Bounds,
    shards: [Mutex<HashMap<i64, OfProvider>>; SHARDS],
    /// The number of refused requests in memory.
    refused: AtomicUsize,
    /// Requests written since the last removal of surplus, by provider and outcome.
    written: Mutex<HashMap<(i64, Outcome), u32>>,
    /// Locked during a flush, so that the final flush waits for a running one.
    flush: tokio::sync::Mutex<()>,
}

/// The requests of one provider in memory.
#[derive(Debug, Default)]
struct OfProvider {
    refused: Vec<Observed>,
    accepted: VecDeque<Observed>,
    /// The number of refused requests over the rate limit, by sender.
    rate_limited: HashMap<Sender, usize>,
    runs: HashMap<OpenRunKey, OpenRun>,
}

/// The runs and requests taken out of memory, each with the number of its provider.
#[derive(Debug, Default)]
struct Taken {
    runs: Vec<(i64, OpenRunKey, OpenRun)>,
    requests: Vec<(i64, Observed)>,
}

/// A request in memory.
#[derive(Debug)]
struct Observed {
    at: DateTime<Utc>,
    sender: Sender,
    version: Label,
    endpoint: Endpoint,
    method: Method,
    status: StatusCode,
    item: Option<u32>,
    request_id: RequestId,
    problems: RequestProblems,
    result: RecordResult,
    record: Option<RecordKey>,
}

impl Default for RequestLog {
    fn default() -> Self {
        Self::with_bounds(Bounds::default())
    }
}

impl RequestLog {
    /// Creates a log with these limits.
    #[must_use]
    pub fn with_bounds(bounds: Bounds) -> Self {
        let (shards, refused, written, flush) = Default::default();
        Self(Some(Arc::new(Waiting {
            bounds,
            shards,
            refused,
            written,
            flush,
        })))
    }

    /// Creates a log that ignores all requests.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// Whether requests are logged.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a request of a provider, or an item of it.
    pub fn record(
        &self,
        store: &Store,
        (provider_id, sender): (i64, Sender),
        observed: ObservedRequest,
        problems: RequestProblems,
    ) {
        let Some(waiting) = &self.0 else { return };
        let ObservedRequest {
            served,
            endpoint,
            method,
            status,
            item,
            result,
            record,
        } = observed;
        let version = served.version.label;
        let at = store.now();
        let request_id = request_id::for_the_log();
        let observed = Observed {
            at,
            sender,
            version,
            endpoint,
            method,
            status,
            item,
            request_id,
            problems,
            result,
            record,
        };
        if !waiting.add(provider_id, observed) {
            metrics::request_log_dropped().increment(1);
        }
    }

    /// Writes all requests in memory, and removes the surplus over the limits of their providers.
    /// Waits for a running flush.
    ///
    /// # Errors
    ///
    /// When the store fails. After a temporary failure the requests are kept for the next flush, up
    /// to the limits.
    pub async fn flush(&self, store: &Store) -> Result<(), StorageError> {
        let Some(waiting) = &self.0 else {
            return Ok(());
        };
        let _flush = waiting.flush.lock().await;
        let Taken {
            mut runs,
            mut requests,
        } = waiting.take();
        // Runs are written first, because each request refers to its run.
        while !runs.is_empty() {
            let rest = runs.split_off(runs.len().min(BATCH));
            if let Err(error) = waiting.write_runs(store, &runs).await {
                let mut given_up = 0;
                if error.is_repeatable() {
                    waiting.put_back_runs(runs);
                } else {
                    given_up = remove_lost(&runs, &mut requests);
                }
                waiting.put_back_runs(rest);
                count_dropped(given_up + waiting.put_back(requests));
                return Err(error);
            }
            runs = rest;
        }
        while !requests.is_empty() {
            let rest = requests.split_off(requests.len().min(BATCH));
            if let Err(error) = waiting.write_requests(store, &requests).await {
                // After a permanent failure, the requests would block later ones. If the write may
                // have succeeded, writing again would log twice.
                let given_up = if error.is_repeatable() {
                    Vec::new()
                } else {
                    std::mem::take(&mut requests)
                };
                let given_up = given_up
                    .iter()
                    .filter(|(_, request)| request.outcome() == Outcome::Refused)
                    .count();
                requests.extend(rest);
                count_dropped(given_up + waiting.put_back(requests));
                return Err(error);
            }
            requests = rest;
        }
        waiting.remove_surplus(store).await
    }
}

/// Starts a task that writes the requests every few seconds, as long as the server runs. Must be
/// called on a `LocalSet`.
pub fn start(log: RequestLog, store: Store) {
    rt::spawn(async move {
        let mut time = rt::time::interval(PAUSE);
        loop {
            time.tick().await;
            write(&log, &store).await;
        }
    });
}

/// Writes all requests in memory and logs failures. The server also calls this function at
/// shutdown, after its last request.
pub async fn write(log: &RequestLog, store: &Store) {
    if let Err(error) = log.flush(store).await {
        log::warn!("request log entries not written: {}", Causes(&error));
    }
}

/// Removes the requests of the runs, and returns how many of them were refused.
fn remove_lost(runs: &[(i64, OpenRunKey, OpenRun)], requests: &mut Vec<(i64, Observed)>) -> usize {
    let lost: HashSet<_> = runs
        .iter()
        .map(|(provider, key, _)| (provider, key))
        .collect();
    let mut refused = 0;
    requests.retain(|(provider, request)| {
        let is_lost = request
            .run_key()
            .is_some_and(|key| lost.contains(&(provider, &key)));
        if is_lost && request.outcome() == Outcome::Refused {
            refused += 1;
        }
        !is_lost
    });
    refused
}

/// Counts and logs refused requests that were not written to the log.
fn count_dropped(requests: usize) {
    if requests > 0 {
        metrics::request_log_dropped().increment(u64::try_from(requests).unwrap_or(u64::MAX));
        log::warn!(
            "the request log is incomplete: {requests} refused requests were not written to it"
        );
    }
}

impl OfProvider {
    /// Counts a request in its run. Returns `false` if there are too many runs.
    fn count_in_run(&mut self, observed: &Observed) -> bool {
        let Some(key) = observed.run_key() else {
            return true;
        };
        let mut run = OpenRun::empty(observed.at);
        run.count(observed.result);
        self.add_run(key, &run)
    }

    /// Adds counts to a run. Returns `false` if there are too many runs.
    fn add_run(&mut self, key: OpenRunKey, added: &OpenRun) -> bool {
        let is_full = self.runs.len() >= MAX_RUNS;
        match self.runs.entry(key) {
            Entry::Occupied(mut run) => run.get_mut().add(added),
            Entry::Vacant(_) if is_full => return false,
            Entry::Vacant(place) => {
                place.insert(added.clone());
            }
        }
        true
    }
}

impl Observed {
    fn outcome(&self) -> Outcome {
        Outcome::from_status(self.status.as_u16())
    }

    /// Converts the request to the form of the store.
    fn logged(&self, provider_id: i64) -> NewLoggedRequest {
        let request = LoggedRequest {
            answered_at: self.at,
            sender: self.sender,
            version: self.version.to_string(),
            endpoint: self.endpoint.to_string(),
            method: self.method.to_string(),
            status: self.status.as_u16(),
            item: self.item,
            request_id: self.request_id.to_string(),
            problems: self.problems.logged(),
            problems_left_out: self.problems.left_out(),
            record_key: self.record.as_ref().map(|record| record.key.clone()),
        };
        NewLoggedRequest {
            provider_id,
            request,
            run: self.run_key().map(|key| key.stored(provider_id)),
            trainee_id: self
                .record
                .as_ref()
                .and_then(|record| record.trainee_id.clone()),
        }
    }

    /// The run of the request; `None` if it counts in none.
    fn run_key(&self) -> Option<OpenRunKey> {
        let is_batch = self.item.is_some() || self.endpoint.row().is_batch();
        let counts = self.result != RecordResult::Read;
        counts.then(|| OpenRunKey {
            sender: self.sender,
            version: self.version,
            batch: is_batch.then(|| Arc::clone(&self.request_id)),
        })
    }
}

impl Waiting {
    /// Counts a request in its run and adds it, unless its token has reached the limit of requests
    /// over the rate limit. Returns `false` if the request is dropped.
    fn add(&self, provider_id: i64, observed: Observed) -> bool {
        self.with_provider(provider_id, |own| {
            let is_counted = own.count_in_run(&observed);
            // Of a batch, only refused items are logged.
            if observed.item.is_some() && observed.outcome() == Outcome::Accepted {
                return is_counted;
            }
            self.keep(own, observed) && is_counted
        })
    }

    /// Calls a function with the requests in memory of a provider, under their lock.
    fn with_provider<T>(&self, provider_id: i64, change: impl FnOnce(&mut OfProvider) -> T) -> T {
        // Identifiers are never negative, so the conversion does not fail.
        let number = usize::try_from(provider_id).unwrap_or_default();
        let [first, ..] = &self.shards;
        let shard = self.shards.get(number % SHARDS).unwrap_or(first);
        // A poisoned lock is harmless: each list is changed in one step.
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        change(shard.entry(provider_id).or_default())
    }

    /// Keeps a request in memory, as far as the limits allow. Returns `false` if it is dropped.
    fn keep(&self, own: &mut OfProvider, observed: Observed) -> bool {
        let Bounds {
            waiting,
            waiting_of_provider,
            accepted_of_provider,
            rate_limited_of_token,
            ..
        } = self.bounds;
        match observed.outcome() {
            Outcome::Accepted => {
                if own.accepted.len() >= accepted_of_provider {
                    own.accepted.pop_front();
                }
                own.accepted.push_back(observed);
                true
            }
            Outcome::Refused => {
                let sender = observed.sender;
                let is_rate_limited = observed.status == StatusCode::TOO_MANY_REQUESTS;
                let rate_limited = own.rate_limited.get(&sender).copied().unwrap_or_default();
                if is_rate_limited && rate_limited >= rate_limited_of_token {
                    return true;
                }
                let has_room = own.refused.len() < waiting_of_provider
                    && self
                        .refused
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |count| {
                            (count < waiting).then_some(count + 1)
                        })
                        .is_ok();
                if has_room {
                    own.refused.push(observed);
                    if is_rate_limited {
                        own.rate_limited.insert(sender, rate_limited + 1);
                    }
                }
                has_room
            }
        }
    }

    /// Takes all requests and counts out of memory.
    fn take(&self) -> Taken {
        let mut taken = Taken::default();
        for shard in &self.shards {
            let providers =
                std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            for (provider, own) in providers {
                self.refused.fetch_sub(own.refused.len(), Ordering::Relaxed);
                let requests = own.refused.into_iter().chain(own.accepted);
                taken
                    .requests
                    .extend(requests.map(|observed| (provider, observed)));
                let runs = own.runs.into_iter();
                taken
                    .runs
                    .extend(runs.map(|(key, run)| (provider, key, run)));
            }
        }
        taken
    }

    /// Adds refused requests again after a failed write, and returns the number of dropped ones.
    /// Accepted requests are not added again, because they would displace newer ones.
    fn put_back(&self, left: Vec<(i64, Observed)>) -> usize {
        let refused = left
            .into_iter()
            .filter(|(_, request)| request.outcome() == Outcome::Refused);
        let kept = refused.map(|(provider, observed)| {
            self.with_provider(provider, |own| self.keep(own, observed))
        });
        kept.filter(|is_kept| !is_kept).count()
    }

    /// Adds counts again after a failed write.
    fn put_back_runs(&self, left: Vec<(i64, OpenRunKey, OpenRun)>) {
        for (provider, key, run) in left {
            self.with_provider(provider, |own| own.add_run(key, &run));
        }
    }

    /// Adds counts to the stored runs.
    async fn write_runs(
        &self,
        store: &Store,
        runs: &[(i64, OpenRunKey, OpenRun)],
    ) -> Result<(), StorageError> {
        let stored = runs
            .iter()
            .map(|(provider, key, run)| run.stored(key, *provider));
        let entries = NewLogEntries {
            runs: stored.collect(),
            requests: Vec::new(),
        };
        store
            .write::<_, StorageError>(move |session| session.add_requests(&entries))
            .await
    }

    /// Adds requests to the stored log. Their runs are counted already.
    async fn write_requests(
        &self,
        store: &Store,
        requests: &[(i64, Observed)],
    ) -> Result<(), StorageError> {
        let runs: HashMap<_, _> = requests
            .iter()
            .filter_map(|(provider, request)| Some(((*provider, request.run_key()?), request.at)))
            .collect();
        // The store adds runs to the stored ones: empty counts only identify the runs.
        let entries = NewLogEntries {
            runs: runs
                .iter()
                .map(|((provider, key), at)| OpenRun::empty(*at).stored(key, *provider))
                .collect(),
            requests: requests
                .iter()
                .map(|(provider, request)| request.logged(*provider))
                .collect(),
        };
        store
            .write::<_, StorageError>(move |session| session.add_requests(&entries))
            .await?;
        self.count_written(requests);
        Ok(())
    }

    /// Counts written requests by provider and outcome. A new count starts at its maximum, because
    /// the number of requests written before the start of this server is unknown.
    fn count_written(&self, requests: &[(i64, Observed)]) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for (provider, observed) in requests {
            let count = written
                .entry((*provider, observed.outcome()))
                .or_insert(UNKNOWN);
            *count = count.saturating_add(1);
        }
    }

    /// Removes the surplus of providers with enough requests written since the last removal.
    async fn remove_surplus(&self, store: &Store) -> Result<(), StorageError> {
        let Bounds { kept, slack, .. } = self.bounds;
        let due: Vec<_> = {
            let written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
            let due = written.iter().filter(|((_, outcome), count)| {
                **count > (kept.limit(*outcome) / SLACK).max(slack)
            });
            due.map(|(key, _)| *key).collect()
        };
        for (provider, outcome) in due {
            let limit = kept.limit(outcome);
            let find = move |session: &mut Session<'_>| {
                session.newest_surplus_request(provider, outcome, limit)
            };
            if let Some(newest) = store.read::<_, StorageError>(find).await? {
                let most = i64::try_from(BATCH).unwrap_or(i64::MAX);
                let remove = move |session: &mut Session<'_>| {
                    session.remove_surplus_requests(provider, outcome, newest, most)
                };
                // One batch per transaction, until a batch is incomplete.
                while store.write::<_, StorageError>(remove).await? >= BATCH {}
            }
            self.written
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .insert((provider, outcome), 0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
