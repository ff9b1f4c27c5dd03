//! Who gets to the records, and how often: valid tokens, each within its allowance.
//!
//! Here it is only said who may knock. Whether a token is valid is asked again in the transaction of every request, so a
//! token that is revoked is refused from the next request on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use actix_web::HttpRequest;
use storage::error::StorageError;
use storage::history::Cause;
use storage::store::Store;
use storage::tokens::TokenDigest;

use crate::allowance::{Allowance, Counter, Left};
use crate::failure::{Failure, Whose};
use crate::proxies::TrustedProxies;
use crate::token_failure::TokenFailure;
use crate::visitors::Visitors;

/// The most tokens that are remembered.
const MAX_TOKENS: usize = 100_000;

/// Counts the requests of each token, and those of each address that come without a valid one. Cheap to clone; all clones
/// count together.
#[derive(Debug, Clone, Default)]
pub struct Admission {
    /// Requests by token, where they are limited.
    tokens: Option<Counter<TokenDigest>>,
    /// Requests without a valid token, by address.
    strangers: Visitors,
    /// Tokens that were valid when they were last used.
    known: Arc<Mutex<HashSet<TokenDigest>>>,
}

impl Admission {
    /// Admits each token within an allowance, or as often as it asks.
    #[must_use]
    pub fn within(allowance: Option<Allowance>) -> Self {
        let tokens = allowance.map(|allowance| Counter::new(allowance, MAX_TOKENS));
        Self { tokens, ..Self::default() }
    }

    /// The same, with clients that may come through these proxies.
    #[must_use]
    pub fn behind(self, proxies: TrustedProxies) -> Self {
        Self { strangers: Visitors::behind(proxies), ..self }
    }

    /// Admits a request with a token. One that is seen for the first time is looked up beforehand, where it holds nobody
    /// up: whoever invents tokens must not stand in the queue of those who write, and is not counted as one of them.
    ///
    /// # Errors
    ///
    /// [`Failure::Unauthorized`]; [`Failure::TooManyRequests`].
    pub async fn admit(&self, store: &Store, token: &TokenDigest) -> Result<Option<Left>, Failure> {
        if !self.known(|known| known.contains(token)) {
            let asked = token.clone();
            let refusal = store.read::<_, StorageError>(move |session| {
                let is_valid = session.authenticate(&asked, Cause::of("admission"))?.is_some();
                if is_valid { Ok(None) } else { session.refusal_of(&asked).map(Some) }
            });
            if let Some(refusal) = refusal.await? {
                return Err(Failure::Unauthorized(TokenFailure::Refused(refusal)));
            }
            self.known(|known| {
                if known.len() >= MAX_TOKENS {
                    known.clear();
                }
                known.insert(token.clone())
            });
        }
        let Some(tokens) = &self.tokens else { return Ok(None) };
        tokens.take(token).map(Some).map_err(|used_up| Failure::TooManyRequests { whose: Whose::Token, used_up })
    }

    /// Counts a request that came without a valid token. A provider at the same address, with a valid one, does not
    /// notice.
    ///
    /// # Errors
    ///
    /// [`Failure::TooManyRequests`] when there were too many from its address.
    pub fn turn_away(&self, request: &HttpRequest, token: Option<&TokenDigest>) -> Result<(), Failure> {
        if let Some(token) = token {
            self.known(|known| known.remove(token));
        }
        self.strangers.count(request)
    }

    fn known<T>(&self, look: impl FnOnce(&mut HashSet<TokenDigest>) -> T) -> T {
        // A poisoned lock is no harm: a set that lacks a token costs one look-up.
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
