//! What all requests for pages of the settings share.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_kit::limits::concurrency_limit::{ConcurrencyLimit, Permit};
use http_kit::limits::long_jobs::LongJobs;
use http_kit::limits::rate_limit::by_address::AddressRateLimit;
use http_kit::limits::rate_limit::{KeyedRateLimiter, RateLimit};
use http_kit::requests::client_address::TrustedProxies;
use storage::accounts::users::SecretDigest;
use storage::base::token::Environment;

use crate::signing_in::openid::issuer::Issuer;

/// Pages that are made at once, and how many more wait: the API keeps the store for itself.
const PAGES: (usize, usize) = (4, 16);
/// The same for the pages of one user, so that nobody takes the places of all others.
const PAGES_OF_USER: (usize, usize) = (2, 6);
/// How long a page waits for its turn.
const MAX_WAIT: Duration = Duration::from_secs(2);
/// Pages that fetch from the issuer at once, and how many more wait.
const FETCHES: (usize, usize) = (4, 16);
/// The most sessions that are remembered.
const MAX_SESSIONS: usize = 10_000;
/// The forms that a session can send.
const FORMS: RateLimit = RateLimit {
    requests: NonZeroU32::new(30).unwrap(),
    window: Duration::from_secs(60),
};

/// Whom the pages of a listener are for. Whoever else has a session is not signed in there, and a
/// link that is not for them is of no use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Audience {
    /// Organisations and operators.
    #[default]
    Everybody,
    /// The users of organisations.
    Organisations,
    /// The operators of the service.
    Operators,
}

impl Audience {
    /// Whether operators are among them, or, otherwise, users of organisations.
    pub(crate) fn includes(self, operators: bool) -> bool {
        match self {
            Self::Everybody => true,
            Self::Organisations => !operators,
            Self::Operators => operators,
        }
    }
}

/// What each page of a listener says of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    pub(crate) environment: Environment,
    pub(crate) audience: Audience,
}

/// What all requests for pages of the settings share. Cheap to clone; all clones count together.
#[derive(Debug, Clone)]
pub struct SettingsPages {
    /// Requests without a known session, by client address.
    pub(crate) by_address: AddressRateLimit,
    pub(crate) concurrency_limit: ConcurrencyLimit,
    /// Forms, by session.
    pub(crate) forms: KeyedRateLimiter<SecretDigest>,
    /// Sessions that were valid when they were last used.
    known: Arc<Mutex<HashMap<SecretDigest, KnownSession>>>,
    /// Where people sign in besides by links.
    pub(crate) issuer: Option<Issuer>,
    /// Whatever is fetched from the issuer: one that is slow keeps no other page waiting.
    pub(crate) fetches: ConcurrencyLimit,
    pub(crate) audience: Audience,
    /// Scheme and host at which organisations have their settings, where it is not that of the
    /// request.
    pub(crate) organisations_site: Option<Arc<str>>,
    /// Whether the API has the scheme and the host of the organisations' settings.
    pub(crate) is_site_of_api: bool,
    /// The rows of files that operators send.
    pub(crate) long_jobs: LongJobs,
}

/// A session that was valid when it was last used.
#[derive(Debug)]
struct KnownSession {
    user_id: i64,
    /// The pages of the user, whatever the session.
    concurrency_limit: ConcurrencyLimit,
}

/// The permission to make a page. It ends when this is dropped.
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
            fetches: ConcurrencyLimit::new(fetching, waiting_to_fetch, MAX_WAIT),
            audience: Audience::default(),
            organisations_site: None,
            is_site_of_api: true,
            long_jobs: LongJobs::default(),
        }
    }
}

impl SettingsPages {
    /// The same for clients that may come through these proxies.
    #[must_use]
    pub fn with_trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self {
            by_address: self.by_address.with_trusted_proxies(proxies),
            ..self
        }
    }

    /// The same with an issuer of identities, or with links alone.
    #[must_use]
    pub fn with_issuer(self, issuer: Option<Issuer>) -> Self {
        Self { issuer, ..self }
    }

    /// Uses the long jobs of the whole server.
    #[must_use]
    pub fn with_long_jobs(self, long_jobs: LongJobs) -> Self {
        Self { long_jobs, ..self }
    }

    /// The same for these people alone.
    #[must_use]
    pub fn with_audience(self, audience: Audience) -> Self {
        Self { audience, ..self }
    }

    /// The same with links for organisations that begin with this address, such as
    /// `https://register.example`.
    #[must_use]
    pub fn with_organisations_at(self, site: &str) -> Self {
        Self {
            organisations_site: Some(site.trim_end_matches('/').into()),
            ..self
        }
    }

    /// The same where the settings of organisations have a listener of their own, and perhaps a
    /// host.
    #[must_use]
    pub fn apart_from_api(self) -> Self {
        Self {
            is_site_of_api: false,
            ..self
        }
    }

    /// Whether a session was valid when it was last used. Whether it still is, is asked again in
    /// any case.
    pub(crate) fn is_known(&self, session: &SecretDigest) -> bool {
        self.sessions(|known| known.contains_key(session))
    }

    pub(crate) fn remember(&self, session: SecretDigest, user_id: i64) {
        self.sessions(|known| {
            if known.contains_key(&session) {
                return;
            }
            if known.len() >= MAX_SESSIONS {
                known.clear();
            }
            // A user with several sessions has no more places than one with a single one.
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

    /// Waits for a place for a page: among those of the user first, where the session is known, so
    /// that whoever waits there takes no place from others. Nothing when too many wait already, or
    /// none comes in time.
    pub(crate) async fn acquire(&self, session: Option<&SecretDigest>) -> Option<PagePermit> {
        let of_user = session.and_then(|session| {
            self.sessions(|known| {
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
        self.sessions(|known| known.remove(session));
    }

    fn sessions<T>(&self, look: impl FnOnce(&mut HashMap<SecretDigest, KnownSession>) -> T) -> T {
        // A poisoned lock is no harm: a map that lacks a session counts one request more.
        look(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::future::poll_immediate;

    use super::*;

    #[actix_web::test]
    async fn one_user_leaves_places_to_others_whatever_the_session() {
        let settings = SettingsPages::default();
        let sessions = ["one", "another", "of somebody else"].map(SecretDigest::from_text);
        let [one, another, of_somebody_else] = &sessions;
        for (session, user_id) in sessions.iter().zip([1, 1, 2]) {
            settings.remember(session.clone(), user_id);
        }
        let first = settings.acquire(Some(one)).await.unwrap();
        let second = settings.acquire(Some(another)).await.unwrap();
        let mut third = pin!(settings.acquire(Some(one)));
        assert!(poll_immediate(third.as_mut()).await.is_none());
        let of_others = (
            settings.acquire(Some(of_somebody_else)).await,
            settings.acquire(None).await,
        );
        assert!(of_others.0.is_some() && of_others.1.is_some());
        drop((first, of_others));
        assert!(third.await.is_some());
        drop(second);
    }
}
