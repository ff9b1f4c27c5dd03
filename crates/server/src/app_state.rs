//! What the parts of one server share: the API, the documentation pages and the settings.

use docs_pages::translation_limit;
use gateway::state::GatewayState;
use http_kit::limits::concurrency_limit::ConcurrencyLimit;
use http_kit::limits::long_jobs::LongJobs;
use http_kit::requests::client_address::TrustedProxies;
use settings_pages::SettingsPages;
use storage::base::token::Environment;
use storage::store::Store;

/// What the parts of one server share. Cheap to clone; all clones share the same store, counts and
/// caches.
#[derive(Debug, Clone)]
pub struct AppState {
    /// What requests for the API share; the pages use it too.
    pub gateway: GatewayState,
    /// Translations between versions that run at once.
    pub translations: ConcurrencyLimit,
    /// What goes on for longer than a request should take.
    pub long_jobs: LongJobs,
    /// What the pages of the settings share, where they are served.
    pub settings: Option<SettingsPages>,
}

impl AppState {
    /// The state to serve a store with all versions and the code lists of the program, without a
    /// rate limit for tokens. In the sandbox, the pages of the settings are served.
    #[must_use]
    pub fn new(store: Store, environment: Environment) -> Self {
        Self {
            gateway: GatewayState::new(store, environment),
            translations: translation_limit(),
            long_jobs: LongJobs::default(),
            settings: (environment == Environment::Sandbox).then(SettingsPages::default),
        }
    }

    /// The same behind reverse proxies that are trusted to name the client.
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
