//! A cache of valid tokens for one read connection to SQLite.
//!
//! `PRAGMA data_version` tells a read connection whether the file has changed since its last read.
//! Cached tokens stay valid until the file changes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::token::TokenDigest;
use crate::session::{Provider, UsedToken};

/// The maximum number of cached tokens for one connection. A full cache is cleared.
const MAX_TOKENS: usize = 4_096;

/// The valid tokens of one data version of a SQLite database.
#[derive(Default)]
pub(crate) struct TokenCache {
    /// The data version of the cached tokens. Comparable on this connection only.
    data_version: i64,
    tokens: HashMap<TokenDigest, (Arc<Provider>, UsedToken)>,
}

impl TokenCache {
    /// Clears the cache when the data version has changed. `data_version` is that of the current
    /// transaction.
    pub(crate) fn for_data_version(&mut self, data_version: i64) -> &mut Self {
        if self.data_version != data_version {
            self.data_version = data_version;
            self.tokens.clear();
        }
        self
    }

    /// The cached token with this digest and its provider.
    pub(crate) fn get(&self, digest: &TokenDigest) -> Option<&(Arc<Provider>, UsedToken)> {
        self.tokens.get(digest)
    }

    /// Adds a token that is valid in the current data version.
    pub(crate) fn insert(
        &mut self,
        digest: &TokenDigest,
        provider: Arc<Provider>,
        token: UsedToken,
    ) {
        if self.tokens.len() >= MAX_TOKENS {
            self.tokens.clear();
        }
        self.tokens.insert(digest.clone(), (provider, token));
    }
}
