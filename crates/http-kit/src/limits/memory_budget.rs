//! A memory budget: how many bytes are held in all, and by each owner.
//!
//! Each owner has a share of the budget, so that one client cannot use up what others need. A
//! permit is acquired before memory is allocated. Nothing waits: an owner without budget is refused
//! at once and can try again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use storage::accounts::users::SecretDigest;
use storage::base::token::TokenDigest;

/// Client that holds memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BudgetOwner {
    /// A valid token.
    Token(TokenDigest),
    /// A session of a signed-in user.
    Session(SecretDigest),
    /// An address, for requests without a valid token or session.
    Address(IpAddr),
}

/// Bytes that can be held at once. Cheap to clone; all clones share the same bytes.
#[derive(Debug, Clone)]
pub struct MemoryBudget {
    total: usize,
    share: usize,
    held: Arc<Mutex<Held>>,
}

/// The bytes that are held now.
#[derive(Debug, Default)]
struct Held {
    total: usize,
    by_owner: HashMap<BudgetOwner, usize>,
}

/// Permission to hold memory. The bytes are released when this is dropped.
#[derive(Debug)]
pub struct MemoryPermit {
    budget: MemoryBudget,
    owner: BudgetOwner,
    bytes: usize,
}

impl MemoryBudget {
    /// A budget of `total` bytes. Each owner can hold up to `share` of them.
    #[must_use]
    pub fn new(total: usize, share: usize) -> Self {
        Self {
            total,
            share,
            held: Arc::default(),
        }
    }

    /// An empty permit for an owner, to be grown before memory is allocated.
    #[must_use]
    pub fn permit(&self, owner: BudgetOwner) -> MemoryPermit {
        MemoryPermit {
            budget: self.clone(),
            owner,
            bytes: 0,
        }
    }

    /// Locks the counts of held bytes and passes them to `use_held`.
    fn with_held<T>(&self, use_held: impl FnOnce(&mut Held) -> T) -> T {
        // The counts under a poisoned lock are right: each change is made in one step.
        use_held(&mut self.held.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl MemoryPermit {
    /// The number of bytes that the permit covers.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Grows the permit to `bytes` and returns whether it covers them. Without budget the permit
    /// stays as it is.
    pub fn grow_to(&mut self, bytes: usize) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        if more == 0 {
            return true;
        }
        let MemoryBudget { total, share, .. } = self.budget;
        let is_granted = self.budget.with_held(|held| {
            let by_owner = held.by_owner.get(&self.owner).copied().unwrap_or_default();
            if held.total + more > total || by_owner + more > share {
                return false;
            }
            held.total += more;
            held.by_owner.insert(self.owner.clone(), by_owner + more);
            true
        });
        if is_granted {
            self.bytes = bytes;
        }
        is_granted
    }
}

impl Drop for MemoryPermit {
    fn drop(&mut self) {
        if self.bytes == 0 {
            return;
        }
        self.budget.with_held(|held| {
            held.total -= self.bytes;
            if let Some(by_owner) = held.by_owner.get_mut(&self.owner) {
                *by_owner -= self.bytes;
                // The map has only owners that hold memory, so that it stays small.
                if *by_owner == 0 {
                    held.by_owner.remove(&self.owner);
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn owner(last: u8) -> BudgetOwner {
        BudgetOwner::Address(Ipv4Addr::new(192, 0, 2, last).into())
    }

    #[test]
    fn owners_are_limited_by_their_share_and_the_total() {
        let budget = MemoryBudget::new(100, 40);
        let mut permits: Vec<_> = (0..3).map(|last| budget.permit(owner(last))).collect();
        assert!(permits[0].grow_to(40) && !permits[0].grow_to(41));
        assert!(
            !budget.permit(owner(0)).grow_to(1),
            "the share is counted over all permits of the owner"
        );
        assert!(permits[1].grow_to(40) && permits[2].grow_to(20));
        assert!(!permits[2].grow_to(21), "the total is used up");
        permits.remove(0);
        assert!(permits[1].grow_to(40));
    }

    #[test]
    fn released_bytes_are_reusable_and_unused_owners_are_forgotten() {
        let budget = MemoryBudget::new(100, 100);
        let mut permit = budget.permit(owner(1));
        assert!(permit.grow_to(60) && permit.grow_to(100) && permit.grow_to(80));
        assert!(!budget.permit(owner(2)).grow_to(1));
        drop(permit);
        budget.with_held(|held| assert!(held.total == 0 && held.by_owner.is_empty(), "{held:?}"));
    }
}
