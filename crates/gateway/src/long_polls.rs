//! Long polls: requests that wait until there are changes (RFC 7240, `Prefer: wait`).
//!
//! A waiting request holds only its connection: each check for changes is a separate job in the
//! database pool. A change is found up to [`INTERVAL`] after it was written, by whichever server. A
//! client with too many waiting requests is answered at once.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::rt::time::{Instant, sleep_until};
use futures_util::future::{Either, select};
use storage::base::token::TokenDigest;
use tokio::sync::watch;

/// How often a request that waits looks for changes.
const INTERVAL: Duration = Duration::from_secs(1);
/// The longest time that a request waits.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
/// The most requests with one token that wait at the same time.
const MAX_PER_TOKEN: usize = 5;
/// The share of all connections that may wait: one in this number.
const SHARE_OF_CONNECTIONS: usize = 4;

/// The requests that wait. Cheap to clone; all clones count the same ones.
#[derive(Clone)]
pub struct LongPolls {
    /// The most requests that may wait at the same time.
    most: usize,
    waiting: Arc<Mutex<HashMap<TokenDigest, usize>>>,
    stopped: Arc<watch::Sender<bool>>,
}

/// A request that waits, until this is dropped.
pub struct LongPoll {
    polls: LongPolls,
    token: TokenDigest,
    longest_wait: Duration,
    deadline: Instant,
}

impl LongPolls {
    /// Limits for a server with at most `connections` connections.
    #[must_use]
    pub fn new(connections: usize) -> Self {
        let most = (connections / SHARE_OF_CONNECTIONS).max(1);
        Self {
            most,
            waiting: Arc::default(),
            stopped: Arc::new(watch::Sender::new(false)),
        }
    }

    /// Ends all waits, because the server stops. The requests are answered with the changes so far.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Begins to wait for up to `wait`; `None` if too many requests wait already or the server is
    /// stopping.
    #[must_use]
    pub fn begin(&self, token: &TokenDigest, wait: Duration) -> Option<LongPoll> {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if *self.stopped.borrow() || waiting.values().sum::<usize>() >= self.most {
            return None;
        }
        let of_token = waiting.entry(token.clone()).or_default();
        if *of_token >= MAX_PER_TOKEN {
            return None;
        }
        *of_token += 1;
        let longest_wait = wait.min(MAX_WAIT);
        let deadline = Instant::now() + longest_wait;
        Some(LongPoll {
            polls: self.clone(),
            token: token.clone(),
            longest_wait,
            deadline,
        })
    }
}

impl LongPoll {
    /// How long the request waits at most.
    #[must_use]
    pub fn longest_wait(&self) -> Duration {
        self.longest_wait
    }

    /// Waits until it is time to check for changes again. Returns false if there is no time left or
    /// the server is stopping.
    pub async fn wait(&self) -> bool {
        let now = Instant::now();
        if now >= self.deadline {
            return false;
        }
        let mut stopped = self.polls.stopped.subscribe();
        let stop = std::pin::pin!(stopped.wait_for(|stopped| *stopped));
        let next = std::pin::pin!(sleep_until((now + INTERVAL).min(self.deadline)));
        matches!(select(stop, next).await, Either::Right(_))
    }
}

impl Drop for LongPoll {
    fn drop(&mut self) {
        let mut waiting = self
            .polls
            .waiting
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(of_token) = waiting.get_mut(&self.token) {
            *of_token -= 1;
            // The map has only tokens with waiting requests, so that it stays small.
            if *of_token == 0 {
                waiting.remove(&self.token);
            }
        }
    }
}

impl fmt::Debug for LongPolls {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LongPolls")
            .field("most", &self.most)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_polls_are_limited_per_token_and_in_total() {
        let polls = LongPolls::new(32);
        let [one, other] = ["one", "other"].map(TokenDigest::from_text);
        let wait = Duration::from_secs(20);
        let mut begun: Vec<_> = (0..5).map(|_| polls.begin(&one, wait).unwrap()).collect();
        assert!(polls.begin(&one, wait).is_none());
        begun.extend((0..3).map(|_| polls.begin(&other, wait).unwrap()));
        assert!(
            polls.begin(&other, wait).is_none(),
            "more than a quarter of the connections"
        );
        begun.clear();
        assert!(polls.begin(&one, wait).is_some());
        polls.stop();
        assert!(
            polls.begin(&one, wait).is_none(),
            "begun although the server stops"
        );
    }
}
