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
    /// The tokens that were valid, with their providers.
    pub(crate) tokens: Recent<TokenDigest, (Arc<Provider>, UsedToken)>,
    /// The schools, by URN.
    pub(crate) schools: Recent<String, School>,
    /// The training partners that have one of some URNs or one of some UKPRNs.
    pub(crate) partners: Recent<(Vec<String>, Vec<String>), Vec<TrainingPartner>>,
}

/// Rows of one kind: what was read, and the rows that the database answered.
pub(crate) struct Recent<K, V>(RwLock<HashMap<K, (V, RawRows)>>);

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    /// What was read, unless it was forgotten.
    pub(crate) fn find<Q: Eq + Hash + ?Sized>(&self, key: &Q) -> Option<(V, RawRows)>
    where
        K: Borrow<Q>,
    {
        // A poisoned lock is no harm: no code that holds it can panic half-way.
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    /// Keeps what was read.
    pub(crate) fn remember(&self, key: K, value: V, rows: RawRows) {
        let mut kept = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= MAX_ROWS {
            kept.clear();
        }
        kept.insert(key, (value, rows));
    }

    /// Forgets what was not found again.
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
