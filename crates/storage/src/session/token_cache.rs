//! The tokens that a connection to SQLite found valid.
//!
//! A connection that cannot write knows whether anything was committed to the file since it last
//! read. While nothing was, tokens are what they were.

use std::collections::HashMap;
use std::sync::Arc;

use crate::base::token::TokenDigest;
use crate::session::{Provider, UsedToken};

/// The most tokens that are kept for one connection. When there are more, all are forgotten.
const MAX_TOKENS: usize = 4_096;

/// The tokens that a connection to SQLite found valid in the present state of the database.
#[derive(Default)]
pub(crate) struct TokenCache {
    /// The number of that state, which means something on this connection only.
    data_version: i64,
    tokens: HashMap<TokenDigest, (Arc<Provider>, UsedToken)>,
}

impl TokenCache {
    /// Those of the state that the transaction of the connection sees, which has this number: none
    /// if it is a new one.
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
