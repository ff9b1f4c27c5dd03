//! The command that serves the API.

mod limits;
pub(super) mod openid;
pub(super) mod settings;

use std::net::TcpListener;
use std::num::NonZeroU32;
use std::time::Duration;

use actix_web::rt;
use chrono::TimeDelta;
use clap::{Args, ValueEnum};
use gateway::admission::Admission;
use gateway::request::idempotency_key::KeyDigests;
use gateway::settled_changes;
use gateway::state::GatewayState;
use http_kit::connections::Limits;
use http_kit::cursor::CursorKey;
use http_kit::error_chain::Causes;
use http_kit::limits::long_poll::LongPolls;
use http_kit::limits::rate_limit::RateLimit;
use http_kit::limits::rate_limit::by_address::AddressRateLimit;
use http_kit::metrics;
use registry::simulated;
use settings_pages::SettingsPages;
use storage::base::token::Environment;
use storage::error::StorageError;
use storage::maintenance::served_addresses::ServedAddresses;
use storage::maintenance::server_lock;
use storage::store::Store;
use usage::request_log::{self, RequestLog};
use usage::shadow_checks::ShadowChecks;

use super::{CodeLists, CommandError, Database};
use crate::app_state::AppState;
use crate::cli::output;
use crate::cli::serve::limits::Bounds;
use crate::cli::serve::openid::OpenIdOptions;
use crate::cli::serve::settings::SettingsOptions;
use crate::cli::values::{between, positive, whole};
use crate::operations::operator_listener::OperatorListener;
use crate::operations::readiness::Readiness;
use crate::operations::shutdown::{self, StopSignals};
use crate::operations::startup::{self, clock};
use crate::operations::{maintenance, serve};
use crate::sandbox::demo::{self, DemoSites};

/// The default address and port for clients.
pub(super) const LISTEN: &str = "127.0.0.1:8080";
/// The default address and port for operators.
pub(super) const OPERATOR_LISTEN: &str = "127.0.0.1:9464";

#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    bounds: Bounds,
    /// Address and port to listen on
    #[arg(long, value_name = "ADDR", env = "REGISTER_LISTEN", default_value = LISTEN)]
    listen: String,
    /// Address and port for operators alone, with metrics and health; port 0 for a free one, "off"
    /// for none
    #[arg(long, value_name = "ADDR|off", env = "REGISTER_OPERATOR_LISTEN", default_value = OPERATOR_LISTEN)]
    operator_listen: String,
    /// Versions to serve, separated by commas [default: all]
    #[arg(
        long,
        value_name = "LABELS",
        env = "REGISTER_VERSIONS",
        value_delimiter = ','
    )]
    versions: Vec<String>,
    #[command(flatten)]
    code_lists: CodeLists,
    /// Requests that a token can send in each window; 0 for as many as it likes [default: 100 in
    /// production, 0 in the sandbox]
    #[arg(long, value_name = "N", env = "REGISTER_RATE_LIMIT", value_parser = whole::<u32>)]
    rate_limit: Option<u32>,
    /// The window of --rate-limit, in seconds
    #[arg(long, value_name = "SECONDS", env = "REGISTER_RATE_WINDOW", default_value = "60",
        value_parser = positive::<NonZeroU32>)]
    rate_window: NonZeroU32,
    /// Requests for public pages, their files and documents that an address can send each minute; 0
    /// for as many as it likes
    #[arg(long, value_name = "N", env = "REGISTER_PAGE_RATE_LIMIT", default_value = "600", value_parser = whole::<u32>)]
    page_rate_limit: u32,
    /// Whether the server plays the registry: issues TRNs and confirms awards (sandbox only)
    /// [default: on]
    #[arg(long, value_name = "on|off", env = "REGISTER_REGISTRY")]
    registry: Option<Switch>,
    /// Seconds from the submission to the TRN, and from the recommendation to the award (sandbox
    /// only) [default: 10]
    #[arg(long, value_name = "SECONDS", env = "REGISTER_REGISTRY_DELAY", value_parser = whole::<u32>)]
    registry_delay: Option<u32>,
    /// Share of the accepted writes to older versions, in percent, of which is found out behind the
    /// reply whether the newest version would accept them too; see `version readiness`
    #[arg(long, value_name = "PERCENT", env = "REGISTER_SHADOW_SHARE", default_value = "10",
        value_parser = between::<u8>(0, 100))]
    shadow_share: u8,
    /// Whether the server logs the requests of each provider, for `request list`: refused ones for
    /// 30 days, and the last accepted ones
    #[arg(
        long,
        value_name = "on|off",
        env = "REGISTER_REQUEST_LOG",
        default_value = "on"
    )]
    request_log: Switch,
    #[command(flatten)]
    settings: SettingsOptions,
    #[command(flatten)]
    openid: OpenIdOptions,
    /// Create a demo provider and print a token, sign-in links and a first request (sandbox only)
    #[arg(long, env = "REGISTER_DEMO")]
    demo: bool,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// Seconds that the registry takes in the sandbox, unless said otherwise.
const REGISTRY_DELAY: u32 = 10;
/// Requests that a token can send in each window in production, unless said otherwise.
const PRODUCTION_RATE_LIMIT: u32 = 100;

impl Serve {
    /// What each token may send.
    fn rate_limit(&self, environment: Environment) -> Option<RateLimit> {
        let usual = match environment {
            Environment::Production => PRODUCTION_RATE_LIMIT,
            Environment::Sandbox => 0,
        };
        let requests = NonZeroU32::new(self.rate_limit.unwrap_or(usual))?;
        Some(RateLimit {
            requests,
            window: Duration::from_secs(self.rate_window.get().into()),
        })
    }

    /// How often each address may ask for public pages.
    fn page_rate_limit(&self) -> AddressRateLimit {
        let requests = NonZeroU32::new(self.page_rate_limit);
        AddressRateLimit::with_limit(requests.map(|requests| RateLimit {
            requests,
            window: Duration::from_secs(60),
        }))
    }

    /// Seconds that the registry takes; nothing where nobody plays it. Refuses what belongs to the
    /// other environment.
    fn registry_delay(&self, environment: Environment) -> Result<Option<u32>, CommandError> {
        if self.demo && environment != Environment::Sandbox {
            return Err(CommandError::DemoOutsideSandbox);
        }
        match (environment, self.registry) {
            (Environment::Production, None) if self.registry_delay.is_none() => Ok(None),
            (Environment::Production, _) => Err(CommandError::RegistryOutsideSandbox),
            (Environment::Sandbox, Some(Switch::Off)) => Ok(None),
            (Environment::Sandbox, Some(Switch::On) | None) => {
                Ok(Some(self.registry_delay.unwrap_or(REGISTRY_DELAY)))
            }
        }
    }

    fn has_operator_listener(&self) -> bool {
        !["", "off"].contains(&self.operator_listen.as_str())
    }

    /// Listens for operators, unless there is to be no such thing.
    fn operator_listener(&self) -> Result<Option<TcpListener>, CommandError> {
        if !self.has_operator_listener() {
            return Ok(None);
        }
        let listener = startup::listen(&self.operator_listen, "--operator-listen")?;
        log::info!(
            "operators are answered on http://{}",
            listener.local_addr().map_err(CommandError::Server)?
        );
        Ok(Some(listener))
    }

    pub(super) fn run(self) -> Result<(), CommandError> {
        // A request that contradicts itself does not get as far as the database.
        if let Some(requested) = self.database.expected.environment {
            self.registry_delay(requested)?;
            self.settings
                .require_operator_pages(requested, self.has_operator_listener())?;
            self.openid
                .issuer(requested, self.settings.are_served(requested))?;
        }
        let versions = versions::select(&self.versions).map_err(CommandError::UnknownVersion)?;
        let lists = self.code_lists.read()?;
        let service = self.bounds.service()?;
        let operator = self.operator_listener()?;
        // Whatever is opened from here on is measured, if anybody can ask.
        let metrics = operator.is_some().then(metrics::collect).transpose()?;
        let (store, environment) = self.database.create(self.bounds.store())?;
        if server_lock::has_another_server(&self.database.database_url)? {
            log::warn!(
                "another server has the SQLite database open, which is for one server: stop one of the two, or copy the \
                 register to PostgreSQL"
            );
        }
        let registry_delay = self.registry_delay(environment)?;
        self.settings
            .require_operator_pages(environment, self.has_operator_listener())?;
        log::info!("the environment of this register is {environment}");
        self.prepare(&store, environment)?;
        let listener = startup::listen(&self.listen, "--listen")?;
        let placement = self.settings.placement(environment);
        let issuer = self
            .openid
            .issuer(environment, self.settings.are_served(environment))?;
        if let Some(issuer) = &issuer {
            log::info!("people sign in to the settings at {}", issuer.host());
        }
        let settings_listener = placement.listen()?;
        let settings = self
            .settings
            .organisation_pages(&placement)
            .with_issuer(issuer.clone());
        let address = listener.local_addr().map_err(CommandError::Server)?;
        let scheme = if service.certificate.is_some() {
            "https"
        } else {
            "http"
        };
        let base = format!("{scheme}://{address}");
        let mut settings_address = address;
        if let Some(listener) = &settings_listener {
            settings_address = listener.local_addr().map_err(CommandError::Server)?;
            log::info!("settings are at {scheme}://{settings_address}");
        }
        let settings_site = self.settings.site(startup::site(scheme, settings_address));
        let operator_pages = self
            .settings
            .on_operator_listener(&placement, &settings_site);
        let operator_site = match &operator {
            // The listener for operators has no TLS.
            Some(listener) => Some(startup::site(
                "http",
                listener.local_addr().map_err(CommandError::Server)?,
            )),
            None => None,
        };
        let served = self
            .settings
            .served_addresses(&placement, &settings_site, operator_site);
        record_served_addresses(&store, &served);
        let state = AppState::new(store, environment);
        let gateway = state.gateway.with_versions(versions, lists);
        let state = AppState { gateway, ..state };
        let settings_with_api = placement.is_with_api().then(|| settings.clone());
        let state = self.app_state(state, service.limits, settings_with_api)?;
        let introduction = if self.demo {
            let api_site = startup::site(scheme, address);
            let sites = DemoSites {
                api: &api_site,
                settings: served.settings.as_deref(),
                operators: served.operator_pages.as_deref(),
            };
            Some(demo::prepare(
                &state.gateway,
                sites,
                &self.database.database_url,
            )?)
        } else {
            None
        };
        let expiring_tokens = state
            .gateway
            .store
            .read_blocking(maintenance::count_expiring_tokens)?;
        let (shutdown_timeouts, readiness) =
            (self.bounds.shutdown_timeouts(), Readiness::default());
        let operator = operator.zip(metrics).map(|(listener, metrics)| {
            metrics::start(state.gateway.versions);
            metrics::tokens_expiring(expiring_tokens);
            let answering = OperatorListener::new(&state, readiness.clone(), metrics);
            let answering = match operator_pages {
                Some(pages) => answering.with_pages(&state, pages.with_issuer(issuer)),
                None => answering,
            };
            (listener, answering)
        });
        actix_web::rt::System::new().block_on(async move {
            // A signal that comes before the server runs is not lost.
            let signals = StopSignals::listen().map_err(CommandError::Server)?;
            serve::reload_on_signal(service.certificate.clone()).map_err(CommandError::Server)?;
            log::info!("listening on {base}");
            start_background_tasks(&state, registry_delay);
            let operator = match operator {
                Some((listener, operator)) => {
                    Some(operator.start(listener).map_err(CommandError::Server)?)
                }
                None => None,
            };
            let settings = match settings_listener {
                Some(listener) => {
                    let server = service.settings_server(state.clone(), settings, listener);
                    let server = server.map_err(CommandError::Server)?;
                    let handle = server.handle();
                    rt::spawn(server);
                    Some(handle)
                }
                None => None,
            };
            let server = service
                .server(state.clone(), listener)
                .map_err(CommandError::Server)?;
            if let Some(introduction) = introduction {
                output::line(introduction)?;
            }
            let served = shutdown::run(
                server,
                settings,
                signals,
                readiness,
                shutdown_timeouts,
                &state,
            )
            .await;
            // Last of all: while the others are still answered, somebody may ask how it goes.
            if let Some(operator) = operator {
                operator.stop(true).await;
            }
            served.map_err(CommandError::Server)
        })
    }

    /// Checks the clock, adds the organisations of a sandbox, and warns when no schools or training
    /// partners were loaded.
    fn prepare(&self, store: &Store, environment: Environment) -> Result<(), CommandError> {
        clock::check(store, self.bounds.clock_check)?;
        if environment == Environment::Sandbox {
            store.write_blocking::<_, StorageError>(|session| {
                session.ensure_sandbox_organisations()
            })?;
        }
        let (no_schools, no_partners) = store.read_blocking(|session| session.registers_empty())?;
        for (empty, what) in [(no_schools, "school"), (no_partners, "training partner")] {
            if empty {
                log::warn!(
                    "no {what} has been loaded: every well-formed number counts as that of a known {what}"
                );
            }
        }
        Ok(())
    }

    /// The state as the options set it. Starts the shadow checks.
    fn app_state(
        &self,
        state: AppState,
        limits: Limits,
        settings: Option<SettingsPages>,
    ) -> Result<AppState, CommandError> {
        let key = state
            .gateway
            .store
            .read_blocking(|session| session.cursor_key())?;
        let gateway = GatewayState {
            admission: Admission::with_limit(self.rate_limit(state.gateway.environment)),
            page_rate_limit: self.page_rate_limit(),
            cursors: CursorKey::new(&key),
            key_digests: KeyDigests::new(&key),
            long_polls: LongPolls::new(limits.max_connections.get()),
            request_log: match self.request_log {
                Switch::On => RequestLog::with_bounds(request_log::Bounds::default()),
                Switch::Off => RequestLog::off(),
            },
            ..state.gateway
        };
        let state = AppState {
            gateway,
            settings,
            ..state
        };
        let state =
            state.with_trusted_proxies(self.bounds.trusted_proxies.clone().unwrap_or_default());
        let GatewayState {
            versions,
            lists,
            usage,
            ..
        } = &state.gateway;
        let shadow = ShadowChecks::start(self.shadow_share, versions, lists, usage.clone());
        let gateway = GatewayState {
            shadow: shadow.map_err(CommandError::Server)?,
            ..state.gateway
        };
        Ok(AppState { gateway, ..state })
    }
}

/// Records where the pages are served, for the links of `user invite`, unless the register has it
/// so already. A server starts also where nothing can be written now.
fn record_served_addresses(store: &Store, served: &ServedAddresses) {
    let recorded = store
        .read_blocking::<_, StorageError>(|session| session.served_addresses())
        .and_then(|last| {
            if last.as_ref() == Some(served) {
                return Ok(());
            }
            let served = served.clone();
            store.write_blocking(move |session| session.record_served_addresses(&served))
        });
    if let Err(error) = recorded {
        log::warn!(
            "the addresses of the pages were not recorded, so `user invite` may print older ones: {}",
            Causes(&error)
        );
    }
}

/// Starts what runs next to the requests, until the server stops.
fn start_background_tasks(state: &AppState, registry_delay: Option<u32>) {
    maintenance::start(state.gateway.store.clone());
    settled_changes::start(
        state.gateway.store.clone(),
        state.gateway.settled_changes.clone(),
    );
    if let Some(seconds) = registry_delay {
        simulated::start(
            state.gateway.store.clone(),
            TimeDelta::seconds(seconds.into()),
        );
    }
    usage::flush::start(
        state.gateway.usage.clone(),
        state.gateway.shadow.clone(),
        state.gateway.store.clone(),
    );
    request_log::start(
        state.gateway.request_log.clone(),
        state.gateway.store.clone(),
    );
}
