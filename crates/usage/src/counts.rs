//! What tokens ask for, counted: by day, token, version and endpoint, and by each name of other
//! versions that they send.
//!
//! Only a request with a valid token is counted, whatever was answered to it, except one beyond the
//! rate limit. What is kept of it is its place in those counts, and the identifier of the first and
//! of the last one; a client can choose that identifier, within the form that
//! [`http_kit::requests::request_id`] allows. A name is one that the versions themselves have: the
//! reader gives it ([`domain::UnrecognisedNames::of_other_versions`]), and never the text of a key.
//!
//! Counting is an addition in memory. What was counted is written every few seconds and when the
//! server ends, some rows in a job; while the store does not answer it is kept, as far as there is
//! room. A program that is killed loses what it has not written yet.

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

/// The most counts of a kind that are kept in memory. One more is dropped, and reported in the log.
const MAX_COUNTS: usize = 20_000;
/// The counts of a kind that are written in one job, so that no request waits for long.
const BATCH: usize = 200;
/// What stands for all requests, where a name could stand.
pub(crate) const NO_NAME: &str = "";

/// Counts that are not written yet. Cheap to clone; all clones count together.
#[derive(Debug, Clone, Default)]
pub struct Usage(Arc<Waiting>);

#[derive(Debug, Default)]
struct Waiting {
    counts: Mutex<Counts>,
    /// Locked during a flush, so that the last flush of a server waits for one that is under way.
    flush: tokio::sync::Mutex<()>,
}

/// A request that is counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// When it was.
    pub at: DateTime<Utc>,
    /// The number of its token.
    pub token: i64,
    /// The version that it was sent to.
    pub version: Label,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The identifier of the request.
    pub request_id: RequestId,
}

/// A write that was tried in another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// The day in UTC.
    pub day: NaiveDate,
    /// The number of its token.
    pub token: i64,
    /// The version that it was sent to.
    pub version: Label,
    /// The version in which it was tried.
    pub against: Label,
}

#[derive(Debug, Default)]
struct Counts {
    requests: HashMap<UsageKey, Tally>,
    checks: HashMap<Tried, (i64, i64)>,
    problems: HashMap<(Tried, Finding), i64>,
    /// What was not counted for want of room.
    dropped: u64,
}

/// What a request is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct UsageKey {
    day: NaiveDate,
    token: i64,
    version: Label,
    endpoint: Endpoint,
    name: &'static str,
}

#[derive(Debug, Clone)]
struct Tally {
    requests: i64,
    first: Seen,
    last: Seen,
}

/// What a write that was tried is counted under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Tried {
    day: NaiveDate,
    token: i64,
    version: Label,
    against: Label,
}

impl Usage {
    /// Counts a request, and the names of other versions in it.
    pub fn count(&self, request: &Counted, names: &[&'static str]) {
        let seen = Seen {
            at: request.at,
            request_id: Arc::clone(&request.request_id),
        };
        self.with(|counts| {
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

    /// Counts a write that was tried in another version, with what stands against it there, and
    /// with the names that are others.
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

    /// Writes what was counted so far. Waits for a flush that is under way.
    ///
    /// # Errors
    ///
    /// When the store does not take it. What it may take later is kept until then.
    pub async fn flush(&self, store: &Store) -> Result<(), StorageError> {
        let _flush = self.0.flush.lock().await;
        let Counts {
            requests,
            checks,
            problems,
            dropped,
        } = self.with(std::mem::take);
        if dropped > 0 {
            log::warn!("usage: {dropped} counts were dropped, since there was no room for them");
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
                // What the store will not take tomorrow either would stand in the way of the rest.
                // What it may have taken would be counted twice.
                if error.is_repeatable() {
                    self.with(|counts| counts.put_back(taken));
                }
                self.with(|counts| counts.put_back(left));
                return Err(error);
            }
        }
    }

    fn with<T>(&self, count: impl FnOnce(&mut Counts) -> T) -> T {
        // A poisoned lock is no harm: each count is changed in one step.
        count(&mut self.0.counts.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl UsageKey {
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

    fn add_check(&mut self, tried: Tried, more: (i64, i64)) {
        self.dropped += add_to(&mut self.checks, tried, more, |known, more| {
            *known = (known.0 + more.0, known.1 + more.1);
        });
    }

    fn add_problem(&mut self, problem: (Tried, Finding), writes: i64) {
        self.dropped += add_to(&mut self.problems, problem, writes, |known, more| {
            *known += more
        });
    }

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

/// Adds to a count, or makes one while there is room; says how many were dropped.
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

/// Counts on their way to the store.
struct PendingCounts {
    requests: Vec<(UsageKey, Tally)>,
    checks: Vec<(Tried, (i64, i64))>,
    problems: Vec<((Tried, Finding), i64)>,
}

impl PendingCounts {
    /// Takes so many counts of each kind away.
    fn take(&mut self, most: usize) -> Self {
        fn last<T>(counts: &mut Vec<T>, most: usize) -> Vec<T> {
            counts.split_off(counts.len().saturating_sub(most))
        }
        Self {
            requests: last(&mut self.requests, most),
            checks: last(&mut self.checks, most),
            problems: last(&mut self.problems, most),
        }
    }

    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.checks.is_empty() && self.problems.is_empty()
    }

    /// The same as the store takes it.
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
