//! State shared by all requests for settings pages.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_kit::limits::concurrency_limit::{ConcurrencyLimit, Permit};
use http_kit::limits::long_jobs::LongJobs;
use http_kit::limits::permits::Client;
use http_kit::limits::rate_limit::by_address::AddressRateLimit;
use http_kit::limits::rate_limit::{KeyedRateLimiter, LimitClock, RateLimit};
use http_kit::requests::client_address::TrustedProxies;
use storage::accounts::users::SecretDigest;
use storage::base::token::Environment;

use crate::signing_in::openid::issuer::Issuer;

/// Pages created at once, and waiting requests. The limit leaves capacity of the store to the API.
const PAGES: (usize, usize) = (4, 16);
/// Like `PAGES`, but per user, so that one user cannot use up the limit.
const PAGES_OF_USER: (usize, usize) = (2, 6);
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Requests to the issuer at once, and waiting requests.
const FETCHES: (usize, usize) = (4, 16);
const MAX_SESSIONS: usize = 10_000;
/// Per session.
const FORMS: RateLimit = RateLimit {
    requests: NonZeroU32::new(30).unwrap(),
    window: Duration::from_mins(1),
};

/// Users outside the audience of a listener are not signed in there and cannot use their links
/// there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    #[default]
    All,
    /// Users of organisations.
    Organisations,
    /// Operators of the service.
    Operators,
}

impl Audience {
    /// Whether operators, or else users of organisations, belong to the audience.
    pub(crate) fn includes(self, operators: bool) -> bool {
        match self {
            Self::All => true,
            Self::Organisations => !operators,
            Self::Operators => operators,
        }
    }
}

/// Properties of a listener that every page shows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    pub(crate) audience: Audience,
}

/// State shared by all requests. Cheap to clone; all clones share the limits.
#[derive(Debug, Clone)]
pub struct SettingsPages {
    /// Of requests without a known session.
    pub(crate) by_address: AddressRateLimit,
    pub(crate) concurrency_limit: ConcurrencyLimit,
    /// By session.
    pub(crate) forms: KeyedRateLimiter<SecretDigest>,
    known: Arc<Mutex<HashMap<SecretDigest, KnownSession>>>,
    pub(crate) issuer: Option<Issuer>,
    pub(crate) sends_mail: bool,
    /// Requests to the issuer. A slow issuer does not delay other pages.
    pub(crate) fetches: ConcurrencyLimit,
    pub(crate) audience: Audience,
    /// Scheme and host of the settings of organisations, if they differ from those of the request.
    pub(crate) organisations_site: Option<Arc<str>>,
    /// Whether the API has the same scheme and host.
    pub(crate) is_site_of_api: bool,
    /// Files sent by operators, and uploads.
    pub(crate) long_jobs: LongJobs,
}

/// A session that was valid at its last use.
#[derive(Debug)]
struct KnownSession {
    user_id: i64,
    /// Shared by all sessions of the user.
    concurrency_limit: ConcurrencyLimit,
}

/// Released on drop.
#[derive(Debug)]
pub(crate) struct PagePermit {
    _of_all: Permit,
    _of_user: Option<Permit>,
}

impl Default for SettingsPages {
    fn default() -> Self {
        let (running, waiting) = PAGES;
        let (fetching, waiting_to_fetch) = FETCHES;
        Self {
            by_address: AddressRateLimit::default(),
            concurrency_limit: ConcurrencyLimit::new(running, waiting, MAX_WAIT),
            forms: KeyedRateLimiter::new(FORMS, MAX_SESSIONS),
            known: Arc::default(),
            issuer: None,
            sends_mail: false,
            fetches: ConcurrencyLimit::new(fetching, waiting_to_fetch, MAX_WAIT),
            audience: Audience::default(),
            organisations_site: None,
            is_site_of_api: true,
            long_jobs: LongJobs::default(),
        }
    }
}

impl SettingsPages {
    #[must_use]
    pub fn with_trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self {
            by_address: self.by_address.with_trusted_proxies(proxies),
            ..self
        }
    }

    #[must_use]
    pub fn with_limit_clock(self, clock: LimitClock) -> Self {
        Self {
            by_address: self.by_address.with_clock(clock.clone()),
            forms: self.forms.with_clock(clock),
            ..self
        }
    }

    /// With `None`, users sign in with links only.
    #[must_use]
    pub fn with_issuer(self, issuer: Option<Issuer>) -> Self {
        Self { issuer, ..self }
    }

    #[must_use]
    pub fn with_mail(self, sends_mail: bool) -> Self {
        Self { sends_mail, ..self }
    }

    #[must_use]
    pub fn with_long_jobs(self, long_jobs: LongJobs) -> Self {
        Self { long_jobs, ..self }
    }

    #[must_use]
    pub fn with_audience(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// Sets the base address of links, such as `https://register.example`.
    #[must_use]
    pub fn with_organisations_at(self, site: &str) -> Self {
        Self {
            organisations_site: Some(site.trim_end_matches('/').into()),
            ..self
        }
    }

    /// Marks that the API has another scheme or host.
    #[must_use]
    pub fn apart_from_api(self) -> Self {
        Self {
            is_site_of_api: false,
            ..self
        }
    }

    /// Whether a session was valid at its last use. Callers must validate it again.
    pub(crate) fn is_known(&self, session: &SecretDigest) -> bool {
        self.look_at_sessions(|known| known.contains_key(session))
    }

    /// Returns the client that holds the permits of a session: its user, if the session is known.
    pub(crate) fn identify_client(&self, session: &SecretDigest) -> Client {
        let known = self.look_at_sessions(|known| known.get(session).map(|known| known.user_id));
        known.map_or(Client::Unknown, |id| Client::Known { kind: "user", id })
    }

    pub(crate) fn remember(&self, session: SecretDigest, user_id: i64) {
        self.look_at_sessions(|known| {
            if known.contains_key(&session) {
                return;
            }
            if known.len() >= MAX_SESSIONS {
                // The sessions are remembered again at their next request.
                known.clear();
            }
            // All sessions of a user share one limit.
            let of_user = known.values().find(|other| other.user_id == user_id);
            let concurrency_limit = of_user.map(|other| other.concurrency_limit.clone());
            let (running, waiting) = PAGES_OF_USER;
            let concurrency_limit = concurrency_limit
                .unwrap_or_else(|| ConcurrencyLimit::new(running, waiting, MAX_WAIT));
            known.insert(
                session,
                KnownSession {
                    user_id,
                    concurrency_limit,
                },
            );
        });
    }

    /// Waits for a permit to create a page. Returns `None` when too many requests wait, or after a
    /// timeout.
    pub(crate) async fn acquire(&self, session: Option<&SecretDigest>) -> Option<PagePermit> {
        // The wait for the limit of the user does not use up the common limit.
        let of_user = session.and_then(|session| {
            self.look_at_sessions(|known| {
                known
                    .get(session)
                    .map(|known| known.concurrency_limit.clone())
            })
        });
        let of_user = match of_user {
            Some(limit) => Some(limit.acquire().await?),
            None => None,
        };
        Some(PagePermit {
            _of_all: self.concurrency_limit.acquire().await?,
            _of_user: of_user,
        })
    }

    pub(crate) fn forget(&self, session: &SecretDigest) {
        self.look_at_sessions(|known| known.remove(session));
    }

    fn look_at_sessions<T>(
        &self,
        look: impl FnOnce(&mut HashMap<SecretDigest, KnownSession>) -> T,
    ) -> T {
        // A poisoned lock is harmless: a missing session only counts one more request.
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::poll_immediate;

    use super::*;

    #[actix_web::test]
    async fn one_user_with_several_sessions_leaves_permits_to_others() {
        let settings = SettingsPages::default();
        let sessions = ["one", "another", "other user"].map(SecretDigest::from_text);
        let [one, another, other_user] = &sessions;
        for (session, user_id) in sessions.iter().zip([1, 1, 2]) {
            settings.remember(session.clone(), user_id);
        }
        let first = settings.acquire(Some(one)).await.unwrap();
        let second = settings.acquire(Some(another)).await.unwrap();
        let mut third = pin!(settings.acquire(Some(one)));
        assert!(poll_immediate(third.as_mut()).await.is_none());
        let of_others = (
            settings.acquire(Some(other_user)).await,
            settings.acquire(None).await,
        );
        assert!(of_others.0.is_some() && of_others.1.is_some());
        drop((first, of_others));
        assert!(third.await.is_some());
        drop(second);
    }
}
