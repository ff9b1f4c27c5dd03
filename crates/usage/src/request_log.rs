//! The log of requests, so that a provider finds out what was refused and why: the endpoint, the
//! status, and the codes and fields of problems. [`storage::observations::request_log`] keeps it.
//!
//! Only requests for an endpoint of a version, with a valid token, belong to a provider. No path,
//! no body and no value is logged, and of what clients choose the identifier of the request alone,
//! within the form that [`http_kit::requests::request_id`] allows.
//!
//! A request is added to a list in memory, which is written every few seconds and when the server
//! ends, some rows in a job. No request waits for that: where the list is full, a refused request
//! is dropped and counted. Of the accepted ones only the newest of each provider wait, so a busy
//! provider does not write all that it asks. Of the requests over the rate limit only the first of
//! each token wait: they are all alike, and a client in a loop would displace the rest. A program
//! that is killed loses what it has not written yet.

use std::collections::{HashMap, VecDeque};
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
use storage::error::StorageError;
use storage::observations::request_log::{LogLimits, LoggedRequest, NewLoggedRequest, Outcome};
use storage::session::{Session, ValidToken};
use storage::store::Store;

use self::problems::RequestProblems;

pub mod filter;
pub mod problems;
pub mod report;

/// How often requests are written.
const PAUSE: Duration = Duration::from_secs(5);
/// Requests that are written, and removed, in one job, so that no request waits for long.
const BATCH: usize = 200;
/// Providers whose requests wait behind different locks.
const SHARDS: usize = 16;
/// What is over a limit is removed when a hundredth of the limit was written, or [`Bounds::slack`]
/// where that is more.
const SLACK: u32 = 100;
/// How many requests were written before this server did.
const UNKNOWN: u32 = u32::MAX;

/// How much is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Refused requests that wait to be written, of all providers.
    pub waiting: usize,
    /// Refused requests of one provider that wait, so that it leaves room for others.
    pub waiting_of_provider: usize,
    /// Accepted requests of one provider that wait; the newest.
    pub accepted_of_provider: usize,
    /// Requests over the rate limit of one token that wait; the first.
    pub rate_limited_of_token: usize,
    /// Requests of one provider that are kept.
    pub kept: LogLimits,
    /// How many requests of a provider a server writes, at least, before it removes the surplus
    /// again.
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

/// Requests that are not written yet. Cheap to clone; all clones log together.
#[derive(Debug, Clone)]
pub struct RequestLog(Option<Arc<Waiting>>);

/// What was asked, and what was answered.
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
    /// The position in a batch, from 0; nothing for a request as a whole.
    pub item: Option<u32>,
}

#[derive(Debug)]
struct Waiting {
    bounds: Bounds,
    shards: [Mutex<HashMap<i64, OfProvider>>; SHARDS],
    /// How many refused requests wait.
    refused: AtomicUsize,
    /// How many were written since the surplus was last removed.
    written: Mutex<HashMap<(i64, Outcome), u32>>,
    /// Locked during a flush, so that the last flush of a server waits for one that is under way.
    flush: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct OfProvider {
    refused: Vec<Observed>,
    accepted: VecDeque<Observed>,
    /// How many of the refused ones each token sent over the rate limit.
    rate_limited: HashMap<i64, usize>,
}

#[derive(Debug)]
struct Observed {
    at: DateTime<Utc>,
    token: i64,
    version: Label,
    endpoint: Endpoint,
    method: Method,
    status: StatusCode,
    item: Option<u32>,
    request_id: RequestId,
    problems: RequestProblems,
}

impl Default for RequestLog {
    fn default() -> Self {
        Self::with_bounds(Bounds::default())
    }
}

impl RequestLog {
    /// A log within these bounds.
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

    /// A log that logs nothing.
    #[must_use]
    pub const fn off() -> Self {
        Self(None)
    }

    /// Whether requests are logged.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// Adds a request that came with the token, or an item of it.
    pub fn record(
        &self,
        store: &Store,
        token: ValidToken,
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
        } = observed;
        let version = served.version.label;
        let (at, request_id) = (store.now(), request_id::for_the_log());
        let observed = Observed {
            at,
            token: token.id,
            version,
            endpoint,
            method,
            status,
            item,
            request_id,
            problems,
        };
        if !waiting.add(token.provider_id, observed) {
            metrics::request_log_dropped().increment(1);
        }
    }

    /// Writes what waits, and removes what is then over the limits of its provider. Waits for a
    /// flush that is under way.
    ///
    /// # Errors
    ///
    /// When the store does not take it. What it may take later is kept until then, as far as there
    /// is room.
    pub async fn flush(&self, store: &Store) -> Result<(), StorageError> {
        let Some(waiting) = &self.0 else {
            return Ok(());
        };
        let _flush = waiting.flush.lock().await;
        let mut left = waiting.take();
        while !left.is_empty() {
            let rest = left.split_off(left.len().min(BATCH));
            let batch: Vec<_> = left
                .iter()
                .map(|(provider, observed)| observed.logged(*provider))
                .collect();
            let written = store
                .write::<_, StorageError>(move |session| session.add_requests(&batch))
                .await;
            if let Err(error) = written {
                // What the store will not take tomorrow either would stand in the way of the rest.
                // What it may have taken would stand there twice.
                let given_up = if error.is_repeatable() {
                    Vec::new()
                } else {
                    std::mem::take(&mut left)
                };
                let given_up = given_up
                    .iter()
                    .filter(|(_, one)| one.outcome() == Outcome::Refused)
                    .count();
                left.extend(rest);
                count_dropped(given_up + waiting.put_back(left));
                return Err(error);
            }
            waiting.count_written(&left);
            left = rest;
        }
        waiting.remove_surplus(store).await
    }
}

/// Writes what waits every few seconds, as long as the server runs. Must be called where the server
/// runs.
pub fn start(log: RequestLog, store: Store) {
    rt::spawn(async move {
        let mut time = rt::time::interval(PAUSE);
        loop {
            time.tick().await;
            write(&log, &store).await;
        }
    });
}

/// Writes what waits, and says in the log what did not succeed. Stands at the end of a server too,
/// behind its last request.
pub async fn write(log: &RequestLog, store: &Store) {
    if let Err(error) = log.flush(store).await {
        log::warn!(
            "requests were not written to the log of requests: {}",
            Causes(&error)
        );
    }
}

fn count_dropped(requests: usize) {
    if requests > 0 {
        metrics::request_log_dropped().increment(u64::try_from(requests).unwrap_or(u64::MAX));
        log::warn!("{requests} refused requests are missing from the log of requests");
    }
}

impl Observed {
    fn outcome(&self) -> Outcome {
        Outcome::from_status(self.status.as_u16())
    }

    /// The same as the store takes it.
    fn logged(&self, provider_id: i64) -> NewLoggedRequest {
        let request = LoggedRequest {
            answered_at: self.at,
            token_id: self.token,
            version: self.version.to_string(),
            endpoint: self.endpoint.to_string(),
            method: self.method.to_string(),
            status: self.status.as_u16(),
            item: self.item,
            request_id: self.request_id.to_string(),
            problems: self.problems.logged(),
            problems_left_out: self.problems.left_out(),
        };
        NewLoggedRequest {
            provider_id,
            request,
        }
    }
}

impl Waiting {
    /// Adds a request, unless its token has sent too many over the rate limit; says whether there
    /// was room for it.
    fn add(&self, provider_id: i64, observed: Observed) -> bool {
        let Bounds {
            waiting,
            waiting_of_provider,
            accepted_of_provider,
            rate_limited_of_token,
            ..
        } = self.bounds;
        // No number is negative.
        let shard = usize::try_from(provider_id).unwrap_or_default() % SHARDS;
        let Some(shard) = self.shards.get(shard) else {
            return false;
        };
        // A poisoned lock is no harm: each list is changed in one step.
        let mut shard = shard.lock().unwrap_or_else(PoisonError::into_inner);
        let own = shard.entry(provider_id).or_default();
        match observed.outcome() {
            Outcome::Accepted => {
                if own.accepted.len() >= accepted_of_provider {
                    own.accepted.pop_front();
                }
                own.accepted.push_back(observed);
                true
            }
            Outcome::Refused => {
                let (token, is_rate_limited) = (
                    observed.token,
                    observed.status == StatusCode::TOO_MANY_REQUESTS,
                );
                let rate_limited = own.rate_limited.get(&token).copied().unwrap_or_default();
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
                        own.rate_limited.insert(token, rate_limited + 1);
                    }
                }
                has_room
            }
        }
    }

    /// Takes all away that waits.
    fn take(&self) -> Vec<(i64, Observed)> {
        let mut taken = Vec::new();
        for shard in &self.shards {
            let providers =
                std::mem::take(&mut *shard.lock().unwrap_or_else(PoisonError::into_inner));
            for (
                provider,
                OfProvider {
                    refused, accepted, ..
                },
            ) in providers
            {
                self.refused.fetch_sub(refused.len(), Ordering::Relaxed);
                taken.extend(
                    refused
                        .into_iter()
                        .chain(accepted)
                        .map(|observed| (provider, observed)),
                );
            }
        }
        taken
    }

    /// Adds the refused requests again that were not written, and says for how many there was no
    /// room. Accepted ones would take the place of newer ones.
    fn put_back(&self, left: Vec<(i64, Observed)>) -> usize {
        let refused = left
            .into_iter()
            .filter(|(_, one)| one.outcome() == Outcome::Refused);
        refused
            .map(|(provider, observed)| usize::from(!self.add(provider, observed)))
            .sum()
    }

    fn count_written(&self, requests: &[(i64, Observed)]) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        for (provider, observed) in requests {
            let count = written
                .entry((*provider, observed.outcome()))
                .or_insert(UNKNOWN);
            *count = count.saturating_add(1);
        }
    }

    /// Removes the surplus of the providers of which enough was written since the last time.
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
