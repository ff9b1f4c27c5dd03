//! Rows that were read lately and seldom change: tokens, schools and training partners.
//!
//! On PostgreSQL a query is a round trip. A job queries such a row together with what follows, as if it were what it was the
//! last time; its answer is used only when it is. So nothing rests on what stands here.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::sync::{Arc, PoisonError, RwLock};

use domain::organisations::{School, TrainingPartner};
use postgres_client::RawRows;

use crate::session::{Provider, UsedToken};
use crate::tokens::TokenDigest;

/// The most rows of a kind that are remembered. When there are more, all of the kind are forgotten.
const MAX_ROWS: usize = 4_096;

/// What the jobs of a pool have read lately.
#[derive(Debug, Default)]
pub(crate) struct RecentRows {
    /// The tokens that were valid.
    pub(crate) tokens: Recent<TokenDigest, RecentToken>,
    /// The schools, by URN.
    pub(crate) schools: Recent<String, RecentSchool>,
    /// The training partners, by what was searched for.
    pub(crate) partners: Recent<PartnerNumbers, RecentPartners>,
}

/// The URNs and the UKPRNs of which training partners have one.
pub(crate) type PartnerNumbers = (Vec<String>, Vec<String>);

/// Training partners, as they were read.
#[derive(Clone)]
pub(crate) struct RecentPartners {
    pub(crate) partners: Vec<TrainingPartner>,
    /// What the database answered.
    pub(crate) rows: RawRows,
}

/// A token and its provider, as they were read.
#[derive(Clone)]
pub(crate) struct RecentToken {
    pub(crate) provider: Arc<Provider>,
    pub(crate) token: UsedToken,
    /// What the database answered.
    pub(crate) rows: RawRows,
}

/// A school, as it was read.
#[derive(Clone)]
pub(crate) struct RecentSchool {
    pub(crate) school: School,
    /// What the database answered.
    pub(crate) row: RawRows,
}

/// Rows of one kind.
pub(crate) struct Recent<K, V>(RwLock<HashMap<K, V>>);

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    pub(crate) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        // A poisoned lock is no harm: no code that holds it can panic half-way.
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub(crate) fn remember(&self, key: K, value: V) {
        let mut rows = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if rows.len() >= MAX_ROWS {
            rows.clear();
        }
        rows.insert(key, value);
    }

    pub(crate) fn forget<Q: Eq + Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.0.write().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<K, V> fmt::Debug for Recent<K, V> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Recent")
    }
}
