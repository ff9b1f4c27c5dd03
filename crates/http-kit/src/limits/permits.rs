//! Permits for large bodies and large replies: how many of them are in memory at once.
//!
//! A client can open many connections for free, and stop each large body just before its end, or
//! leave each large reply unread. So one client has a quarter of the permits at most, and all
//! clients without a valid token or session have an eighth.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use actix_web::rt::time::timeout;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A client that holds permits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Client {
    /// A client with a valid token or session.
    Known {
        /// What the number counts, such as tokens.
        kind: &'static str,
        /// The number of the client.
        id: i64,
    },
    /// A client without a valid token or session.
    Unknown,
}

/// Permits that clients hold. Cheap to clone; all clones share them.
#[derive(Debug, Clone)]
pub struct Permits {
    total: usize,
    free: Arc<Semaphore>,
    /// The free permits of each client that holds one or waits for one.
    shares: Arc<Mutex<HashMap<Client, Weak<Semaphore>>>>,
}

/// A permit, returned when the last clone is dropped.
#[derive(Debug, Clone)]
pub struct Permit {
    _held: Arc<[OwnedSemaphorePermit; 2]>,
}

impl Permits {
    /// `total` permits for all clients.
    #[must_use]
    pub fn new(total: usize) -> Self {
        Self {
            total,
            free: Arc::new(Semaphore::new(total)),
            shares: Arc::default(),
        }
    }

    /// The share of a client, which lives as long as a permit or a wait for one.
    fn share(&self, client: Client) -> Arc<Semaphore> {
        // A poisoned lock does no harm: each change is made in one step.
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = shares.get(&client).and_then(Weak::upgrade) {
            return share;
        }
        shares.retain(|_, share| share.strong_count() > 0);
        let most = match client {
            Client::Known { .. } => self.total / 4,
            Client::Unknown => self.total / 8,
        };
        let share = Arc::new(Semaphore::new(most.max(1)));
        shares.insert(client, Arc::downgrade(&share));
        share
    }

    /// A permit for a client; `None` if its share or all permits are in use.
    #[must_use]
    pub fn try_acquire(&self, client: Client) -> Option<Permit> {
        let of_client = self.share(client).try_acquire_owned().ok()?;
        let of_all = Arc::clone(&self.free).try_acquire_owned().ok()?;
        Some(Permit {
            _held: Arc::new([of_client, of_all]),
        })
    }

    /// Like [`Permits::try_acquire`], but waits for up to `patience`. A client waits for its share
    /// first, so that it keeps no permit from others.
    pub async fn acquire(&self, client: Client, patience: Duration) -> Option<Permit> {
        if let Some(permit) = self.try_acquire(client) {
            return Some(permit);
        }
        let acquire = async {
            let of_client = self.share(client).acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.free).acquire_owned().await.ok()?;
            Some(Permit {
                _held: Arc::new([of_client, of_all]),
            })
        };
        timeout(patience, acquire).await.ok().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(id: i64) -> Client {
        Client::Known { kind: "token", id }
    }

    #[test]
    fn clients_share_the_permits_and_unused_shares_are_forgotten() {
        let permits = Permits::new(16);
        let take = |client| -> Vec<Permit> {
            std::iter::from_fn(|| permits.try_acquire(client)).collect()
        };
        let unknown = take(Client::Unknown);
        let held = [1, 2, 3, 4].map(|id| take(known(id)));
        assert_eq!(unknown.len(), 2);
        assert_eq!(held.each_ref().map(Vec::len), [4, 4, 4, 2]);
        drop((unknown, held));
        assert_eq!(take(known(5)).len(), 4);
        assert_eq!(permits.shares.lock().unwrap().len(), 1);
    }

    #[actix_web::test]
    async fn client_waits_for_its_share_and_keeps_none_from_others() {
        let permits = Permits::new(4);
        let held = permits.try_acquire(known(1)).unwrap();
        let short = Duration::from_millis(1);
        assert!(permits.acquire(known(1), short).await.is_none());
        assert!(permits.acquire(known(2), short).await.is_some());
        let patience = Duration::from_mins(1);
        let again = held.clone();
        let waiting = permits.acquire(known(1), patience);
        drop((held, again));
        assert!(waiting.await.is_some());
    }
}
