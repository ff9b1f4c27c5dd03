//! Rate limits: how often something may be done, counted for each key, such as a token.
//!
//! Each key begins with the full limit. Used requests come back evenly over the window of the
//! limit. Each server counts for itself, in memory.

use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::{Duration, Instant};

use governor::clock::Clock as _;
use governor::middleware::{StateInformationMiddleware, StateSnapshot};
use governor::state::keyed::HashMapStateStore;
use governor::{InsufficientCapacity, Quota, RateLimiter};

pub mod by_address;

/// What requests are counted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateLimitScope {
    /// The address of the client.
    Address,
    /// The token of the request.
    Token,
}

impl RateLimitScope {
    /// The scope in one word, for the policy in the reply and for metrics.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::Token => "token",
        }
    }
}

/// A number of requests in a window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The requests that can be sent at once, and that come back in each window.
    pub requests: NonZeroU32,
    /// The window.
    pub window: Duration,
}

impl RateLimit {
    /// The time until one more request is allowed.
    fn period(self) -> Duration {
        (self.window / self.requests.get()).max(Duration::from_nanos(1))
    }
}

/// The rest of a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemainingQuota {
    /// The limit.
    pub limit: RateLimit,
    /// The requests that can be sent at once.
    pub requests: u32,
    /// When the limit is full again, in whole seconds.
    pub full_again: u64,
}

/// Error: a limit is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaExceeded {
    /// The rest of the limit, which is not enough for the request.
    pub left: RemainingQuota,
    /// When the request is worth another try, in whole seconds.
    pub retry_after: u64,
}

/// The clock of a limit: tells the time since some moment, which never decreases in a server. Tests
/// set it, so that a limit refills only when they say so. Cheap to clone.
#[derive(Clone)]
pub struct LimitClock(Arc<dyn Fn() -> Duration + Send + Sync>);

impl LimitClock {
    /// A clock that calls `tell`.
    pub fn from_fn(tell: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(tell))
    }
}

impl Default for LimitClock {
    fn default() -> Self {
        let begun = Instant::now();
        Self::from_fn(move || begun.elapsed())
    }
}

impl governor::clock::Clock for LimitClock {
    type Instant = Duration;

    fn now(&self) -> Duration {
        (self.0)()
    }
}

type Limiter<K> = RateLimiter<K, HashMapStateStore<K>, LimitClock, StateInformationMiddleware>;

/// Counts requests for each key. Cheap to clone; all clones count together.
pub struct KeyedRateLimiter<K: Hash + Eq + Clone> {
    limit: RateLimit,
    /// The most keys that are remembered.
    most: usize,
    clock: LimitClock,
    limiter: Arc<Limiter<K>>,
}

impl<K: Hash + Eq + Clone> KeyedRateLimiter<K> {
    /// A limiter for at most `most` keys. A key is evicted once its limit is restored.
    #[must_use]
    pub fn new(limit: RateLimit, most: usize) -> Self {
        Self::build(limit, most, LimitClock::default())
    }

    /// Counts from now on by another clock, with the full limit for each key.
    #[must_use]
    pub fn with_clock(self, clock: LimitClock) -> Self {
        Self::build(self.limit, self.most, clock)
    }

    fn build(limit: RateLimit, most: usize, clock: LimitClock) -> Self {
        // `with_period` is `None` only for a period of zero, which `RateLimit::period` excludes.
        let quota = Quota::with_period(limit.period()).unwrap_or(Quota::per_second(limit.requests));
        let limiter =
            RateLimiter::hashmap_with_clock(quota.allow_burst(limit.requests), clock.clone());
        Self {
            limit,
            most,
            clock,
            limiter: Arc::new(limiter.with_middleware()),
        }
    }

    /// Counts a request.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] when the limit of the key is used up, or no further key can be remembered.
    pub fn take(&self, key: &K) -> Result<RemainingQuota, QuotaExceeded> {
        if self.limiter.len() >= self.most {
            self.limiter.retain_recent();
            if self.limiter.len() >= self.most {
                // All slots hold keys with used requests. One may be evicted in a second.
                return Err(self.used_up(Duration::from_secs(1), Duration::from_secs(1)));
            }
        }
        match self.limiter.check_key(key) {
            Ok(state) => Ok(self.remaining(&state)),
            Err(refused) => {
                let wait = refused.wait_time_from(self.clock.now());
                // One request is back after the wait, and the others at intervals of a period.
                let others = self.limit.period() * (self.limit.requests.get() - 1);
                Err(self.used_up(wait, wait + others))
            }
        }
    }

    /// Counts `more` requests for one that was counted once already: all of them or none. `left` is
    /// the rest of the limit when the request was counted.
    ///
    /// # Errors
    ///
    /// [`QuotaExceeded`] when the limit has fewer than `more` requests left.
    pub fn take_more(
        &self,
        key: &K,
        left: RemainingQuota,
        more: NonZeroU32,
    ) -> Result<RemainingQuota, QuotaExceeded> {
        let wait = match self.limiter.check_key_n(key, more) {
            Ok(Ok(state)) => return Ok(self.remaining(&state)),
            Ok(Err(refused)) => refused.wait_time_from(self.clock.now()),
            Err(InsufficientCapacity(_)) => self.limit.window,
        };
        // Another try is itself counted once more, so it must wait for one more period.
        Err(QuotaExceeded {
            left,
            retry_after: whole_seconds(wait + self.limit.period()).max(1),
        })
    }

    /// The rest of the limit after a request was counted.
    fn remaining(&self, state: &StateSnapshot) -> RemainingQuota {
        let requests = state.remaining_burst_capacity();
        let missing = self.limit.requests.get() - requests;
        RemainingQuota {
            limit: self.limit,
            requests,
            full_again: whole_seconds(self.limit.period() * missing),
        }
    }

    /// The error for a request that must wait for `wait`, and a limit that is full after
    /// `full_again`.
    fn used_up(&self, wait: Duration, full_again: Duration) -> QuotaExceeded {
        let left = RemainingQuota {
            limit: self.limit,
            requests: 0,
            full_again: whole_seconds(full_again).max(1),
        };
        QuotaExceeded {
            left,
            retry_after: whole_seconds(wait).max(1),
        }
    }

    /// How many keys are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.limiter.len()
    }

    /// Whether no key is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.limiter.is_empty()
    }
}

impl<K: Hash + Eq + Clone> Clone for KeyedRateLimiter<K> {
    fn clone(&self) -> Self {
        Self {
            limit: self.limit,
            most: self.most,
            clock: self.clock.clone(),
            limiter: Arc::clone(&self.limiter),
        }
    }
}

impl<K: Hash + Eq + Clone> fmt::Debug for KeyedRateLimiter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyedRateLimiter")
            .field("limit", &self.limit)
            .field("keys", &self.len())
            .finish_non_exhaustive()
    }
}

/// The time in whole seconds, rounded up.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RateLimit = RateLimit {
        requests: NonZeroU32::new(3).unwrap(),
        window: Duration::from_hours(1),
    };

    #[test]
    fn rate_limit_is_used_up_only_by_its_key() {
        let limiter = KeyedRateLimiter::new(LIMIT, 10);
        let left: Vec<u32> = (0..3)
            .map(|_| limiter.take(&"one").unwrap().requests)
            .collect();
        assert_eq!(left, [2, 1, 0]);
        let used_up = limiter.take(&"one").unwrap_err();
        assert!(
            (1_195..=1_200).contains(&used_up.retry_after),
            "{used_up:?}"
        );
        assert!(
            (3_595..=3_600).contains(&used_up.left.full_again),
            "{used_up:?}"
        );
        assert_eq!((used_up.left.limit, used_up.left.requests), (LIMIT, 0));
        let other = limiter.clone().take(&"other").unwrap();
        assert_eq!((other.requests, other.full_again), (2, 1_200));
    }

    #[test]
    fn request_that_counts_as_several_is_counted_whole_or_once() {
        let limiter = KeyedRateLimiter::new(LIMIT, 10);
        let two = NonZeroU32::new(2).unwrap();
        let left = limiter.take(&"one").unwrap();
        assert_eq!(limiter.take_more(&"one", left, two).unwrap().requests, 0);
        let left = limiter.take(&"other").unwrap();
        let left = limiter.take_more(&"other", left, NonZeroU32::MIN).unwrap();
        let exceeded = limiter.take_more(&"other", left, two).unwrap_err();
        assert_eq!((exceeded.left, left.requests), (left, 1));
        // One of the two has to come back, and one for the request itself.
        assert!(
            (2_395..=2_400).contains(&exceeded.retry_after),
            "{exceeded:?}"
        );
        assert_eq!(limiter.take(&"other").unwrap().requests, 0);
    }

    #[test]
    fn no_more_keys_are_remembered_than_fit() {
        let limiter = KeyedRateLimiter::new(LIMIT, 10);
        let refused = (0..15).filter(|key| limiter.take(key).is_err()).count();
        assert_eq!((refused, limiter.len()), (5, 10));
    }
}
