//! How often something may be done, counted for each of those who do it.
//!
//! Each begins with a full allowance, which comes back evenly over its window. Counts are kept in memory, by each server
//! for itself.

use std::fmt;
use std::hash::Hash;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use governor::clock::{Clock as _, MonotonicClock};
use governor::middleware::StateInformationMiddleware;
use governor::state::keyed::HashMapStateStore;
use governor::{Quota, RateLimiter};

pub mod by_address;

/// A number of requests in a window of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Allowance {
    /// The requests that can be sent at once, and that come back in each window.
    pub requests: NonZeroU32,
    /// The window.
    pub window: Duration,
}

impl Allowance {
    /// The time in which one request comes back.
    fn period(self) -> Duration {
        (self.window / self.requests.get()).max(Duration::from_nanos(1))
    }
}

/// What is left of an allowance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    /// The allowance.
    pub allowance: Allowance,
    /// The requests that can be sent at once.
    pub requests: u32,
    /// When the allowance is full again, in whole seconds.
    pub full_again: u64,
}

/// An allowance is used up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UsedUp {
    /// Nothing is left, and when all of it is back.
    pub left: Left,
    /// When there is some of it again, in whole seconds.
    pub retry_after: u64,
}

type Limiter<K> = RateLimiter<K, HashMapStateStore<K>, MonotonicClock, StateInformationMiddleware>;

/// Counts for each key. Cheap to clone; all clones count together.
pub struct Counter<K: Hash + Eq + Clone> {
    allowance: Allowance,
    most: usize,
    limiter: Arc<Limiter<K>>,
}

impl<K: Hash + Eq + Clone> Counter<K> {
    /// A counter that remembers so many keys at most. A key is forgotten once it has all of its allowance again.
    #[must_use]
    pub fn new(allowance: Allowance, most: usize) -> Self {
        let quota = Quota::with_period(allowance.period()).unwrap_or(Quota::per_second(allowance.requests));
        let limiter = RateLimiter::hashmap_with_clock(quota.allow_burst(allowance.requests), MonotonicClock);
        Self { allowance, most, limiter: Arc::new(limiter.with_middleware()) }
    }

    /// Counts a request.
    ///
    /// # Errors
    ///
    /// [`UsedUp`], also when there are more keys than can be remembered.
    pub fn take(&self, key: &K) -> Result<Left, UsedUp> {
        if self.limiter.len() >= self.most {
            self.limiter.retain_recent();
            if self.limiter.len() >= self.most {
                // Somebody else's allowance is in the way.
                return Err(self.used_up(Duration::from_secs(1), Duration::from_secs(1)));
            }
        }
        match self.limiter.check_key(key) {
            Ok(state) => {
                let requests = state.remaining_burst_capacity();
                let missing = self.allowance.requests.get() - requests;
                let full_again = whole_seconds(self.allowance.period() * missing);
                Ok(Left { allowance: self.allowance, requests, full_again })
            }
            Err(refused) => {
                let wait = refused.wait_time_from(MonotonicClock.now());
                // The first request is back after the wait, and the others one after the other.
                let others = self.allowance.period() * (self.allowance.requests.get() - 1);
                Err(self.used_up(wait, wait + others))
            }
        }
    }

    fn used_up(&self, wait: Duration, full_again: Duration) -> UsedUp {
        let left = Left { allowance: self.allowance, requests: 0, full_again: whole_seconds(full_again).max(1) };
        UsedUp { left, retry_after: whole_seconds(wait).max(1) }
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

impl<K: Hash + Eq + Clone> Clone for Counter<K> {
    fn clone(&self) -> Self {
        Self { allowance: self.allowance, most: self.most, limiter: Arc::clone(&self.limiter) }
    }
}

impl<K: Hash + Eq + Clone> fmt::Debug for Counter<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Counter").field("allowance", &self.allowance).field("keys", &self.len()).finish()
    }
}

/// The time in whole seconds, rounded up.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALLOWANCE: Allowance =
        Allowance { requests: NonZeroU32::new(3).unwrap(), window: Duration::from_secs(3_600) };

    #[test]
    fn an_allowance_is_used_up_by_its_own_key_alone() {
        let counter = Counter::new(ALLOWANCE, 10);
        let left: Vec<u32> = (0..3).map(|_| counter.take(&"one").unwrap().requests).collect();
        assert_eq!(left, [2, 1, 0]);
        let used_up = counter.take(&"one").unwrap_err();
        assert!((1_195..=1_200).contains(&used_up.retry_after), "{used_up:?}");
        assert!((3_595..=3_600).contains(&used_up.left.full_again), "{used_up:?}");
        assert_eq!((used_up.left.allowance, used_up.left.requests), (ALLOWANCE, 0));
        let other = counter.clone().take(&"other").unwrap();
        assert_eq!((other.requests, other.full_again), (2, 1_200));
    }

    #[test]
    fn no_more_keys_are_remembered_than_fit() {
        let counter = Counter::new(ALLOWANCE, 10);
        let refused = (0..15).filter(|key| counter.take(key).is_err()).count();
        assert_eq!((refused, counter.len()), (5, 10));
    }
}
