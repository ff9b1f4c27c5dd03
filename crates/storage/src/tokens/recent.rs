//! Tokens that were valid lately.
//!
//! On PostgreSQL a query is a round trip. A job that reads asks whether its token is valid together with its first query, as
//! if the token were what it was the last time; the answer is used only when it is. So nothing rests on what stands here.
//!
//! On SQLite a connection that cannot write knows whether anything was committed to the file since it last read. While nothing was,
//! tokens are what they were.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use postgres_client::RawRows;

use super::TokenDigest;
use crate::session::{Provider, UsedToken};

/// The most tokens that are remembered, and that are kept for one connection. When there are more, all are forgotten.
const MAX_TOKENS: usize = 4_096;

/// A token and its provider, as they were read.
#[derive(Clone)]
pub(crate) struct RecentToken {
    pub(crate) provider: Arc<Provider>,
    pub(crate) token: UsedToken,
    /// What the database answered.
    pub(crate) rows: RawRows,
}

/// The tokens of a process that were valid lately.
#[derive(Default)]
pub(crate) struct RecentTokens(RwLock<HashMap<TokenDigest, RecentToken>>);

impl RecentTokens {
    pub(crate) fn find(&self, digest: &TokenDigest) -> Option<RecentToken> {
        // A poisoned lock is no harm: no code that holds it can panic half-way.
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(digest).cloned()
    }

    pub(crate) fn remember(&self, digest: &TokenDigest, token: RecentToken) {
        let mut tokens = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if tokens.len() >= MAX_TOKENS {
            tokens.clear();
        }
        tokens.insert(digest.clone(), token);
    }

    /// Forgets all tokens.
    pub(crate) fn forget(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// The tokens that a connection to SQLite found valid in the present state of the database.
#[derive(Default)]
pub(crate) struct TokenCache {
    /// The number of that state, which means something on this connection only.
    data_version: i64,
    tokens: HashMap<TokenDigest, (Arc<Provider>, UsedToken)>,
}

impl TokenCache {
    /// Those of the state that the transaction of the connection sees, which has this number: none if it is a new one.
    pub(crate) fn at(&mut self, data_version: i64) -> &mut Self {
        if self.data_version != data_version {
            self.data_version = data_version;
            self.tokens.clear();
        }
        self
    }

    pub(crate) fn get(&self, digest: &TokenDigest) -> Option<&(Arc<Provider>, UsedToken)> {
        self.tokens.get(digest)
    }

    /// Adds a token that was found valid in this state.
    pub(crate) fn insert(&mut self, digest: &TokenDigest, provider: Arc<Provider>, token: UsedToken) {
        if self.tokens.len() >= MAX_TOKENS {
            self.tokens.clear();
        }
        self.tokens.insert(digest.clone(), (provider, token));
    }
}

impl fmt::Debug for RecentTokens {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RecentTokens")
    }
}
