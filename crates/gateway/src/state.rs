//! The state that all requests share: the store, the versions, the code lists, the limits and the
//! caches.

use std::fmt;
use std::sync::Arc;

use adapter_kit::Versions;
use domain::Lists;
use http_kit::connections::Limits;
use http_kit::cursor::CursorKey;
use http_kit::limits::rate_limit::LimitClock;
use http_kit::limits::rate_limit::by_address::AddressRateLimit;
use http_kit::requests::body::BodyReader;
use http_kit::requests::client_address::TrustedProxies;
use http_kit::responses::sending::ReplySender;
use http_kit::responses::shared_content::SharedContentCache;
use storage::base::token::Environment;
use storage::records::trainees::ListTotals;
use storage::store::Store;

use crate::admission::Admission;
use crate::error::no_permit;
use crate::long_polls::LongPolls;
use crate::recording::recorder::Recorder;
use crate::rendered_lists::RenderedLists;
use crate::request::idempotency_key::KeyDigests;

/// The state that the handlers of all requests share. Cheap to clone; all clones share one store,
/// and the same counts and caches.
#[derive(Clone)]
pub struct GatewayState {
    /// The store of the records.
    pub store: Store,
    /// The versions that are served.
    pub versions: &'static Versions,
    /// The code lists.
    pub lists: &'static Lists,
    /// The code lists as JSON for replies.
    pub rendered_lists: RenderedLists,
    /// The environment whose tokens are valid here.
    pub environment: Environment,
    /// Seals and opens cursors.
    pub cursors: CursorKey,
    /// The totals of lists.
    pub list_totals: Arc<ListTotals>,
    /// Makes the digests of idempotency keys.
    pub key_digests: KeyDigests,
    /// The requests that wait for changes.
    pub long_polls: LongPolls,
    /// Admits requests with valid tokens, within the rate limits.
    pub admission: Admission,
    /// Rate limit of addresses for requests that need no token, such as translations.
    pub address_rate_limit: AddressRateLimit,
    /// The proxies that are trusted to name the client.
    pub proxies: TrustedProxies,
    /// Rate limit of addresses for public pages.
    pub page_rate_limit: AddressRateLimit,
    /// Cache of content that is the same for all clients.
    pub contents: SharedContentCache,
    /// Sends replies, with a permit for each large one.
    pub reply_sender: ReplySender,
    /// Receives the bodies of requests.
    pub bodies: BodyReader,
    /// Records requests.
    pub recorder: Recorder,
}

impl GatewayState {
    /// The state to serve a store with all versions and the code lists of the program, without a
    /// rate limit for tokens.
    #[must_use]
    pub fn new(store: Store, environment: Environment, recorder: Recorder) -> Self {
        Self {
            store,
            versions: versions::all(),
            lists: Lists::embedded(),
            rendered_lists: RenderedLists::new(Lists::embedded(), versions::all()),
            environment,
            cursors: CursorKey::generate(),
            list_totals: Arc::default(),
            key_digests: KeyDigests::with_random_secret(),
            long_polls: LongPolls::new(Limits::default().max_connections.get()),
            admission: Admission::default(),
            address_rate_limit: AddressRateLimit::default(),
            proxies: TrustedProxies::default(),
            page_rate_limit: AddressRateLimit::with_limit(None),
            contents: SharedContentCache::default(),
            reply_sender: ReplySender::new(no_permit),
            bodies: BodyReader::new(Limits::default().body_timeout),
            recorder,
        }
    }

    /// Trusts these reverse proxies to name the client.
    #[must_use]
    pub fn with_trusted_proxies(self, proxies: TrustedProxies) -> Self {
        Self {
            admission: self.admission.with_trusted_proxies(proxies.clone()),
            address_rate_limit: self
                .address_rate_limit
                .with_trusted_proxies(proxies.clone()),
            page_rate_limit: self.page_rate_limit.with_trusted_proxies(proxies.clone()),
            proxies,
            ..self
        }
    }

    /// Counts the requests of tokens and addresses by this clock.
    #[must_use]
    pub fn with_limit_clock(self, clock: LimitClock) -> Self {
        Self {
            admission: self.admission.with_clock(clock.clone()),
            address_rate_limit: self.address_rate_limit.with_clock(clock.clone()),
            page_rate_limit: self.page_rate_limit.with_clock(clock),
            ..self
        }
    }

    /// Serves these versions with these code lists.
    #[must_use]
    pub fn with_versions(self, versions: &'static Versions, lists: &'static Lists) -> Self {
        let rendered_lists = RenderedLists::new(lists, versions);
        Self {
            versions,
            lists,
            rendered_lists,
            contents: SharedContentCache::default(),
            ..self
        }
    }
}

impl fmt::Debug for GatewayState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("GatewayState")
            .field("environment", &self.environment)
            .finish_non_exhaustive()
    }
}
