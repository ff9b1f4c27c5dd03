//! Counts the requests of tokens by day, token, version and endpoint, and by the names of other
//! versions in their bodies.
//!
//! Only requests with a valid token within the rate limit are counted, whatever their reply. The
//! store gets the counts, and the identifiers of the first and the last request. Clients can choose
//! these identifiers within the form that [`http_kit::requests::request_id`] allows. Counted names
//! come from the versions ([`domain::UnrecognisedNames::of_other_versions`]), never from the text
//! of a key.
//!
//! Counting is an addition in memory. A background task writes the counts in small batches every
//! few seconds and at shutdown. While the store does not answer, counts stay in memory up to a
//! limit. A killed program loses the unwritten counts.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;
use std::sync::{Arc, Mutex, PoisonError};

use adapter_kit::{Endpoint, Label};
use chrono::{DateTime, NaiveDate, Utc};
use storage::error::StorageError;
use storage::observations::usage::{
    CheckCount, ProblemCount, Seen, UsageBatch, UsageCount, UsageTotal,
};
use storage::store::Store;
use version_tools::shadow::Finding;

use http_kit::requests::request_id::RequestId;

/// The maximum number of counts of each kind in memory. Further counts are dropped and logged.
const MAX_COUNTS: usize = 20_000;
/// The maximum number of counts of each kind per write, so that requests do not wait long.
const BATCH: usize = 200;
/// The value of `name` for the count of all requests.
pub(crate) const NO_NAME: &str = "";

/// Unwritten counts. Cheap to clone; all clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct Usage(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    counts: Mutex<Counts>,
    /// Locked during a flush, so that the final flush waits for a running one.
    flush: tokio::sync::Mutex<()>,
}

/// A request to count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// The time of the request.
    pub at: DateTime<Utc>,
    /// The number of the token.
    pub token: i64,
    /// The version of the request.
    pub version: Label,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The identifier of the request.
    pub request_id: RequestId,
}

/// An accepted write that was checked against another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of the token.
    pub token: i64,
    /// The version of the request.
    pub version: Label,
    /// The version of the check.
    pub against: Label,
}

/// The counts in memory.
#[derive(Debug, Default)]
struct Counts {
    requests: HashMap<UsageKey, Tally>,
    /// The numbers of checked writes, and of those without a problem.
    checks: HashMap<Tried, (i64, i64)>,
    /// The numbers of writes with each problem or renamed field.
    problems: HashMap<(Tried, Finding), i64>,
    /// Counts dropped because the limit was reached.
    dropped: u64,
}

/// The key of a count of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct UsageKey {
    day: NaiveDate,
    token: i64,
    version: Label,
    endpoint: Endpoint,
    name: &'static str,
}

/// A count of requests, with the first and the last one.
#[derive(Debug, Clone)]
struct Tally {
    requests: i64,
    first: Seen,
    last: Seen,
}

/// The key of a count of checked writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Tried {
    day: NaiveDate,
    token: i64,
    version: Label,
    against: Label,
}

impl Usage {
    /// Counts a request and the names of other versions in it.
    pub fn count(&self, request: &Counted, names: &[&'static str]) {
        let seen = Seen {
            at: request.at,
            request_id: Arc::clone(&request.request_id),
        };
        self.with(|counts| {
            // The request counts once as a whole, and once for each name.
            for name in [NO_NAME].iter().chain(names) {
                counts.add_request(
                    UsageKey::new(request, name),
                    Tally {
                        requests: 1,
                        first: seen.clone(),
                        last: seen.clone(),
                    },
                );
            }
        });
    }

    /// Counts a checked write, its problems in the other version, and its renamed fields.
    pub fn count_check(&self, checked: Checked, found: impl IntoIterator<Item = Finding>) {
        let Checked {
            day,
            token,
            version,
            against,
        } = checked;
        let tried = Tried {
            day,
            token,
            version,
            against,
        };
        self.with(|counts| {
            let mut valid = 1;
            for finding in found {
                valid = if finding.is_obstacle() { 0 } else { valid };
                counts.add_problem((tried, finding), 1);
            }
            counts.add_check(tried, (1, valid));
        });
    }

    /// Writes all counts so far. Waits for a running flush.
    ///
    /// # Errors
    ///
    /// When the store fails. After a temporary failure the counts are kept for the next flush.
    pub async fn flush(&self, store: &Store) -> Result<(), StorageError> {
        let _flush = self.0.flush.lock().await;
        let Counts {
            requests,
            checks,
            problems,
            dropped,
        } = self.with(std::mem::take);
        if dropped > 0 {
            log::warn!("usage counts dropped: {dropped}; limit of counts in memory: {MAX_COUNTS}");
        }
        let mut left = PendingCounts {
            requests: requests.into_iter().collect(),
            checks: checks.into_iter().collect(),
            problems: problems.into_iter().collect(),
        };
        loop {
            let taken = left.take(BATCH);
            if taken.is_empty() {
                return Ok(());
            }
            let batch = taken.batch();
            let written = store
                .write::<_, StorageError>(move |session| session.add_usage(&batch))
                .await;
            if let Err(error) = written {
                // After a permanent failure, the counts would block later ones. If the write may
                // have succeeded, writing again would count twice.
                if error.is_repeatable() {
                    self.with(|counts| counts.put_back(taken));
                }
                self.with(|counts| counts.put_back(left));
                return Err(error);
            }
        }
    }

    /// Calls a function with the counts, under their lock.
    fn with<T>(&self, change: impl FnOnce(&mut Counts) -> T) -> T {
        // A poisoned lock is harmless: each count is changed in one step.
        change(&mut self.0.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl UsageKey {
    /// The key of a request, for all requests ([`NO_NAME`]) or for a name of another version.
    fn new(request: &Counted, name: &'static str) -> Self {
        let Counted {
            at,
            token,
            version,
            endpoint,
            ..
        } = *request;
        Self {
            day: at.date_naive(),
            token,
            version,
            endpoint,
            name,
        }
    }
}

impl Counts {
    /// Adds requests to their count.
    fn add_request(&mut self, key: UsageKey, more: Tally) {
        let add = |known: &mut Tally, more: Tally| {
            known.requests += more.requests;
            if more.first.at < known.first.at {
                known.first = more.first;
            }
            if more.last.at >= known.last.at {
                known.last = more.last;
            }
        };
        self.dropped += add_to(&mut self.requests, key, more, add);
    }

    /// Adds numbers of checked and of valid writes.
    fn add_check(&mut self, tried: Tried, more: (i64, i64)) {
        self.dropped += add_to(&mut self.checks, tried, more, |known, more| {
            *known = (known.0 + more.0, known.1 + more.1);
        });
    }

    /// Adds a number of writes with a problem or a renamed field.
    fn add_problem(&mut self, problem: (Tried, Finding), writes: i64) {
        self.dropped += add_to(&mut self.problems, problem, writes, |known, more| {
            *known += more
        });
    }

    /// Adds counts again that were not written.
    fn put_back(&mut self, left: PendingCounts) {
        left.requests
            .into_iter()
            .for_each(|(key, tally)| self.add_request(key, tally));
        left.checks
            .into_iter()
            .for_each(|(tried, counts)| self.add_check(tried, counts));
        left.problems
            .into_iter()
            .for_each(|(problem, writes)| self.add_problem(problem, writes));
    }
}

/// Adds to a count, or inserts it while the limit allows. Returns the number of dropped counts.
fn add_to<K: Eq + Hash, V>(
    counts: &mut HashMap<K, V>,
    key: K,
    more: V,
    add: impl FnOnce(&mut V, V),
) -> u64 {
    let is_full = counts.len() >= MAX_COUNTS;
    match counts.entry(key) {
        Entry::Occupied(mut known) => add(known.get_mut(), more),
        Entry::Vacant(_) if is_full => return 1,
        Entry::Vacant(new) => drop(new.insert(more)),
    }
    0
}

/// Counts taken out for writing.
struct PendingCounts {
    requests: Vec<(UsageKey, Tally)>,
    /// The numbers of checked and of valid writes.
    checks: Vec<(Tried, (i64, i64))>,
    problems: Vec<((Tried, Finding), i64)>,
}

impl PendingCounts {
    /// Takes up to `most` counts of each kind.
    fn take(&mut self, most: usize) -> Self {
        fn take_last<T>(counts: &mut Vec<T>, most: usize) -> Vec<T> {
            counts.split_off(counts.len().saturating_sub(most))
        }
        Self {
            requests: take_last(&mut self.requests, most),
            checks: take_last(&mut self.checks, most),
            problems: take_last(&mut self.problems, most),
        }
    }

    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.checks.is_empty() && self.problems.is_empty()
    }

    /// Converts the counts to the form of the store.
    fn batch(&self) -> UsageBatch {
        let request = |(key, tally): &(UsageKey, Tally)| UsageCount {
            day: key.day,
            total: UsageTotal {
                token_id: key.token,
                version: key.version.to_string(),
                endpoint: key.endpoint.to_string(),
                name: key.name.to_owned(),
                requests: tally.requests,
                first: tally.first.clone(),
                last: tally.last.clone(),
            },
        };
        let check = |(tried, (checked, valid)): &(Tried, (i64, i64))| CheckCount {
            day: tried.day,
            token_id: tried.token,
            version: tried.version.to_string(),
            against: tried.against.to_string(),
            checked: *checked,
            valid: *valid,
        };
        let problem = |((tried, finding), writes): &((Tried, Finding), i64)| ProblemCount {
            day: tried.day,
            token_id: tried.token,
            version: tried.version.to_string(),
            against: tried.against.to_string(),
            field: finding.field.clone(),
            code: finding.code.to_owned(),
            writes: *writes,
        };
        UsageBatch {
            requests: self.requests.iter().map(request).collect(),
            checks: self.checks.iter().map(check).collect(),
            problems: self.problems.iter().map(problem).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
