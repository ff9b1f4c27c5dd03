//! State shared by the API, the documentation pages and the settings pages of one server.

use docs_pages::translation_limit;
use gateway::recording::recorder::Recorder;
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::limits::long_jobs::LongJobs;
use http_kit::limits::rate_limit::LimitClock;
use http_kit::requests::client_address::TrustedProxies;
use settings_pages::SettingsPages;
use storage::base::token::Environment;
use storage::store::Store;

/// State shared by the parts of one server. Cheap to clone; all clones share the store, counts and
/// caches.
#[derive(Debug, Clone)]
pub struct AppState {
    /// State of the API, also used by the pages.
    pub gateway: GatewayState,
    /// The limit of concurrent translations between versions.
    pub translations: ConcurrencyLimit,
    /// Jobs that take longer than a request should.
    pub long_jobs: LongJobs,
    /// State of the settings pages, if they are served.
    pub settings: Option<SettingsPages>,
}

impl AppState {
    /// Creates the state for serving a store with all versions and the built-in code lists, without
    /// a rate limit for tokens. Settings pages are served in the sandbox only.
    #[must_use]
    pub fn new(store: Store, environment: Environment, recorder: Recorder) -> Self {
        Self {
            gateway: GatewayState::new(store, environment, recorder),
            translations: translation_limit(),
            long_jobs: LongJobs::default(),
            settings: (environment == Environment::Sandbox).then(SettingsPages::default),
        }
    }

    /// Counts for all rate limits by this clock.
    #[must_use]
    pub fn with_limit_clock(self, clock: LimitClock) -> Self {
        let settings = self
            .settings
            .map(|settings| settings.with_limit_clock(clock.clone()));
        Self {
            gateway: self.gateway.with_limit_clock(clock),
            settings,
            ..self
        }
    }

    /// Sets the trusted reverse proxies, which may name the client.
    #[must_use]
    pub fn with_trusted_proxies(self, proxies: TrustedProxies) -> Self {
        let settings = self
            .settings
            .map(|settings| settings.with_trusted_proxies(proxies.clone()));
        Self {
            gateway: self.gateway.with_trusted_proxies(proxies),
            settings,
            ..self
        }
    }
}
