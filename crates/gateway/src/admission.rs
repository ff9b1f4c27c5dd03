//! Admits requests with a valid token, within its rate limit.
//!
//! Admission comes before the transaction of a request. The transaction authenticates the token
//! again, so a revoked token is refused from the next request on.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use actix_web::HttpRequest;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::limits::permits::Client;
use http_kit::limits::rate_limit::by_address::AddressRateLimit;
use http_kit::limits::rate_limit::{
    KeyedRateLimiter, LimitClock, RateLimit, RateLimitScope, RemainingQuota,
};
use http_kit::metrics;
use http_kit::requests::client_address::TrustedProxies;
use http_kit::requests::request_id;
use storage::base::cause::Cause;
use storage::base::token::TokenDigest;
use storage::error::StorageError;
use storage::session::ValidToken;
use storage::store::Store;

use crate::error::ApiError;
use crate::outcome::Outcome;
use crate::request::authentication::AuthenticationError;

/// The maximum number of tokens that are remembered.
const MAX_TOKENS: usize = 100_000;
/// The number of unknown tokens that are looked up at once, and of those that wait, for addresses
/// within their rate limit.
const LOOK_UPS: (usize, usize) = (2, 256);
/// The number of unknown tokens that are looked up at once, and of those that wait, for addresses
/// beyond their rate limit.
const LOOK_UPS_BEYOND_LIMIT: (usize, usize) = (1, 64);
/// The maximum time that an unknown token waits to be looked up.
const LOOK_UP_WAIT: Duration = Duration::from_secs(1);

/// Counts the requests of each token, and the requests of each address without a valid token. Cheap
/// to clone; all clones share their counts.
#[derive(Debug, Clone)]
pub struct Admission {
    /// Requests by token; `None` without a limit.
    tokens: Option<KeyedRateLimiter<TokenDigest>>,
    /// Requests without a known token, by client address.
    by_address: AddressRateLimit,
    /// Tokens that were valid when they were last used.
    known: Arc<Mutex<HashMap<TokenDigest, ValidToken>>>,
    /// Look-ups of unknown tokens for addresses within their limit.
    look_ups: ConcurrencyLimit,
    /// Look-ups of unknown tokens for addresses beyond their limit, so that a client with many
    /// invented tokens delays only these.
    look_ups_beyond_limit: ConcurrencyLimit,
}

impl Default for Admission {
    fn default() -> Self {
        Self::with_limit(None)
    }
}

impl Admission {
    /// Limits the requests of each token; `None` admits any number.
    #[must_use]
    pub fn with_limit(limit: Option<RateLimit>) -> Self {
        let concurrency =
            |(running, waiting)| ConcurrencyLimit::new(running, waiting, LOOK_UP_WAIT);
        Self {
            tokens: limit.map(|limit| KeyedRateLimiter::new(limit, MAX_TOKENS)),
            by_address: AddressRateLimit::default(),
            known: Arc::default(),
            look_ups: concurrency(LOOK_UPS),
            look_ups_beyond_limit: concurrency(LOOK_UPS_BEYOND_LIMIT),
        }
    }

    /// Trusts these proxies to name the client.
    #[must_use]
    pub fn with_trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self {
            by_address: self.by_address.with_trusted_proxies(proxies),
            ..self
        }
    }

    /// Counts by another clock.
    #[must_use]
    pub fn with_clock(self, clock: LimitClock) -> Self {
        Self {
            tokens: self.tokens.map(|limiter| limiter.with_clock(clock.clone())),
            by_address: self.by_address.with_clock(clock),
            ..self
        }
    }

    /// Admits a request with a token. An unknown token counts against the limit of its client's
    /// address. Only a few unknown tokens are looked up at once, so that invented tokens fill no
    /// queue of the database.
    ///
    /// # Errors
    ///
    /// The outcome with [`ApiError::Unauthorized`], [`ApiError::TooManyRequests`] or
    /// [`ApiError::TooManyLookUps`].
    pub(crate) async fn admit(
        &self,
        store: &Store,
        request: &HttpRequest,
        token: TokenDigest,
    ) -> Result<Admitted, Outcome> {
        let valid = match self.valid_token(&token) {
            Some(valid) => valid,
            None => self.look_up(store, request, &token).await?,
        };
        let whose = RateLimitScope::Token;
        let refuse = |used_up| {
            let error = ApiError::TooManyRequests { whose, used_up };
            Outcome::refused(error, Some(valid))
        };
        let remaining = match &self.tokens {
            Some(tokens) => Some(tokens.take(&token).map_err(refuse)?),
            None => None,
        };
        Ok(Admitted {
            token,
            valid,
            remaining,
        })
    }

    /// Counts an admitted batch as `requests` requests instead of one, if the limit allows it.
    /// `left` is the rest of the limit when the batch was admitted.
    ///
    /// # Errors
    ///
    /// [`ApiError::TooManyRequests`]; [`ApiError::BatchBeyondLimit`].
    pub fn count_batch(
        &self,
        token: &TokenDigest,
        left: Option<RemainingQuota>,
        requests: u32,
    ) -> Result<Option<RemainingQuota>, ApiError> {
        let (Some(tokens), Some(left), Some(more)) = (
            &self.tokens,
            left,
            NonZeroU32::new(requests.saturating_sub(1)),
        ) else {
            return Ok(left);
        };
        if requests > left.limit.requests.get() {
            return Err(ApiError::BatchBeyondLimit { requests, left });
        }
        let whose = RateLimitScope::Token;
        tokens
            .take_more(token, left, more)
            .map(Some)
            .map_err(|used_up| ApiError::TooManyRequests { whose, used_up })
    }

    /// Returns the error of a request without a valid token, and counts the request against the
    /// limit of its address. `token` is a token that was valid before: it is forgotten.
    pub fn reject(
        &self,
        request: &HttpRequest,
        token: Option<&TokenDigest>,
        failure: AuthenticationError,
    ) -> ApiError {
        report(failure);
        if let Some(token) = token {
            self.known(|known| known.remove(token));
        }
        self.by_address.count(request).err().map_or(
            ApiError::Unauthorized(failure),
            ApiError::from_address_quota,
        )
    }

    /// Looks up an unknown token and remembers a valid one. A valid token is accepted even from an
    /// address beyond its limit, because other clients may share the address. All other tokens from
    /// such an address get the same reply.
    async fn look_up(
        &self,
        store: &Store,
        request: &HttpRequest,
        token: &TokenDigest,
    ) -> Result<ValidToken, ApiError> {
        let counted = self.by_address.count(request);
        let limit = if counted.is_ok() {
            &self.look_ups
        } else {
            &self.look_ups_beyond_limit
        };
        let Some(permit) = limit.acquire().await else {
            return Err(counted
                .err()
                .map_or(ApiError::TooManyLookUps, ApiError::from_address_quota));
        };
        let digest = token.clone();
        let found = store.read::<_, StorageError>(move |session| {
            // The job owns the permit, because it runs to its end even if the client disconnects.
            let _held = &permit;
            let valid = session
                .authenticate(&digest, Cause::new("admission"))?
                .and_then(|provider| provider.token());
            valid.map_or_else(
                || session.refusal_of(&digest).map(Err),
                |valid| Ok(Ok(valid)),
            )
        });
        match found.await? {
            Ok(valid) => {
                self.remember(token, valid);
                Ok(valid)
            }
            Err(refusal) => {
                let failure = AuthenticationError::Refused(refusal);
                report(failure);
                Err(counted.err().map_or(
                    ApiError::Unauthorized(failure),
                    ApiError::from_address_quota,
                ))
            }
        }
    }

    /// The data of a token that was valid when it was last used; `None` for an unknown token.
    #[must_use]
    pub fn valid_token(&self, token: &TokenDigest) -> Option<ValidToken> {
        self.known(|known| known.get(token).copied())
    }

    /// Remembers the data of a valid token.
    pub fn remember(&self, token: &TokenDigest, valid: ValidToken) {
        self.known(|known| match known.get_mut(token) {
            Some(earlier) => *earlier = valid,
            None => {
                // A forgotten token is looked up again.
                if known.len() >= MAX_TOKENS {
                    known.clear();
                }
                known.insert(token.clone(), valid);
            }
        });
    }

    /// Runs a function on the known tokens.
    fn known<T>(&self, run: impl FnOnce(&mut HashMap<TokenDigest, ValidToken>) -> T) -> T {
        // A poisoned lock does no harm: if the map lacks a token, the token is looked up again.
        run(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A request with a valid token within its rate limit.
#[derive(Debug)]
pub(crate) struct Admitted {
    /// The digest of the token.
    pub token: TokenDigest,
    /// The token.
    pub valid: ValidToken,
    /// The rest of its rate limit, if it has one.
    pub remaining: Option<RemainingQuota>,
}

/// The client that holds the permits of a token.
pub(crate) const fn client_of_token(token: ValidToken) -> Client {
    Client::Known {
        kind: "token",
        id: token.id,
    }
}

/// Logs and counts a request without a valid token.
fn report(failure: AuthenticationError) {
    let request_id = request_id::for_the_log();
    log::info!(request_id, reason:% = failure; "request without valid token");
    metrics::token_failures(failure.name()).increment(1);
}
