//! The command that serves the API.

mod limits;
pub(super) mod mail;
pub(super) mod openid;
pub(super) mod settings;

use std::net::TcpListener;
use std::num::NonZeroU32;
use std::time::Duration;

use chrono::TimeDelta;
use clap::{Args, ValueEnum};
use gateway::admission::Admission;
use gateway::long_polls::LongPolls;
use gateway::recording::recorder::{Recorder, RecorderOptions};
use gateway::request::authentication::AuthenticationError;
use gateway::request::idempotency_key::KeyDigests;
use gateway::state::GatewayState;
use http_kit::connections::Limits;
use http_kit::cursor::CursorKey;
use http_kit::error_chain::Causes;
use http_kit::limits::rate_limit::RateLimit;
use http_kit::limits::rate_limit::by_address::AddressRateLimit;
use http_kit::metrics;
use http_kit::paths::SETTINGS;
use http_kit::requests::client_address::TrustedProxies;
use metrics_exporter_prometheus::{BuildError, PrometheusHandle};
use registry::simulated;
use settings_pages::SettingsPages;
use storage::accounts::mails::MailKind;
use storage::base::token::Environment;
use storage::error::StorageError;
use storage::maintenance::served_addresses::ServedAddresses;
use storage::maintenance::server_lock;
use storage::store::Store;

use super::{CodeLists, CommandError, Database};
use crate::app_state::AppState;
use crate::cli::output;
use crate::cli::serve::limits::Bounds;
use crate::cli::serve::mail::{MailError, MailOptions, ServedPages};
use crate::cli::serve::openid::OpenIdOptions;
use crate::cli::serve::settings::SettingsOptions;
use crate::cli::values::{between, positive, whole};
use crate::mail::transport::MailServer;
use crate::mail::{self as mails, LinkSites, Mailer};
use crate::operations::operator_listener::OperatorListener;
use crate::operations::readiness::Readiness;
use crate::operations::shutdown::{self, StopSignals};
use crate::operations::startup::{self, clock};
use crate::operations::{large_blocks, maintenance, serve};
use crate::sandbox::demo::{self, DemoSites};

/// The default address and port for clients.
pub(super) const LISTEN: &str = "127.0.0.1:8080";
/// The default address and port for operators.
pub(super) const OPERATOR_LISTEN: &str = "127.0.0.1:9464";

// Headings of options in the help.
const REGISTER: &str = "Register";
const ADDRESSES: &str = "Addresses and TLS";
const LIMITS: &str = "Limits";
const TIMEOUTS: &str = "Timeouts";
const CONNECTIONS: &str = "Database connections";

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  trainee-register serve --demo
  trainee-register serve --environment production --listen 10.0.0.5:8080")]
pub(super) struct Serve {
    #[command(flatten)]
    database: Database,
    #[command(flatten)]
    bounds: Bounds,
    /// Address and port to listen on for clients
    #[arg(long, value_name = "ADDR", help_heading = ADDRESSES, default_value = LISTEN)]
    listen: String,
    /// Address and port for operators, with metrics and health checks; port 0 chooses a free port,
    /// "off" disables the listener
    #[arg(long, value_name = "ADDR|off", help_heading = ADDRESSES, default_value = OPERATOR_LISTEN)]
    operator_listen: String,
    /// API versions to serve, separated by commas [default: all]
    #[arg(long, value_name = "LABELS", help_heading = REGISTER, value_delimiter = ',')]
    versions: Vec<String>,
    #[command(flatten, next_help_heading = REGISTER)]
    code_lists: CodeLists,
    /// Maximum number of requests per token in each --rate-window; 0 for no limit [default: 100 in
    /// production, 0 in the sandbox]
    #[arg(long, value_name = "N", help_heading = LIMITS, value_parser = whole::<u32>)]
    rate_limit: Option<u32>,
    /// Time window of --rate-limit, in seconds
    #[arg(long, value_name = "SECONDS", help_heading = LIMITS, default_value = "60",
        value_parser = positive::<NonZeroU32>)]
    rate_window: NonZeroU32,
    /// Maximum number of requests per client address and minute to public pages, their files and
    /// documents; 0 for no limit
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value = "600",
        value_parser = whole::<u32>)]
    page_rate_limit: u32,
    /// Simulate the registry: issue TRNs and confirm awards (sandbox only) [default: on]
    #[arg(long, value_name = "on|off", help_heading = "Sandbox registry")]
    registry: Option<Switch>,
    /// Seconds until the simulated registry issues a TRN or confirms an award (sandbox only)
    /// [default: 10]
    #[arg(long, value_name = "SECONDS", help_heading = "Sandbox registry",
        value_parser = whole::<u32>)]
    registry_delay: Option<u32>,
    /// Percentage of accepted writes to older versions to re-check against the newest version; see
    /// `version readiness` [default: 10 in production, 100 in the sandbox]
    #[arg(long, value_name = "PERCENT", help_heading = "Monitoring",
        value_parser = between::<u8>(0, 100))]
    shadow_share: Option<u8>,
    /// Store each provider's writes and refused requests for 30 days, for `request list`
    #[arg(
        long,
        value_name = "on|off",
        help_heading = "Monitoring",
        default_value = "on"
    )]
    request_log: Switch,
    #[command(flatten)]
    settings: SettingsOptions,
    #[command(flatten)]
    openid: OpenIdOptions,
    #[command(flatten)]
    mail: MailOptions,
    /// Create a demo provider, and print a token, sign-in links and an example request (sandbox
    /// only)
    #[arg(long, help_heading = REGISTER)]
    demo: bool,
}

/// Whether a feature is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Switch {
    On,
    Off,
}

/// The default percentage of writes that are checked against the newest version in production.
const PRODUCTION_SHADOW_SHARE: u8 = 10;
/// The default percentage in the sandbox, where a developer sends few writes and expects to see
/// each of them in the readiness report.
const SANDBOX_SHADOW_SHARE: u8 = 100;
/// The default delay of the simulated registry in seconds.
const REGISTRY_DELAY: u32 = 10;
/// The default number of requests per token and window in production.
const PRODUCTION_RATE_LIMIT: u32 = 100;

impl Serve {
    /// The rate limit of each token, or `None` for no limit.
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

    /// The percentage of accepted writes that are checked against the newest version.
    fn shadow_share(&self, environment: Environment) -> u8 {
        self.shadow_share.unwrap_or(match environment {
            Environment::Production => PRODUCTION_SHADOW_SHARE,
            Environment::Sandbox => SANDBOX_SHADOW_SHARE,
        })
    }

    /// The rate limit of public pages by address.
    fn page_rate_limit(&self) -> AddressRateLimit {
        let requests = NonZeroU32::new(self.page_rate_limit);
        AddressRateLimit::with_limit(requests.map(|requests| RateLimit {
            requests,
            window: Duration::from_mins(1),
        }))
    }

    /// The delay of the simulated registry in seconds, or `None` if the simulation is off. Fails if
    /// the options do not fit the environment.
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

    /// The mail server, or `None` if no mails are sent.
    fn mail_server(&self, environment: Environment) -> Result<Option<MailServer>, MailError> {
        self.mail.server(ServedPages {
            environment,
            are_served: self.settings.are_served(environment),
            has_address: self.settings.has_address(),
        })
    }

    fn has_operator_listener(&self) -> bool {
        !["", "off"].contains(&self.operator_listen.as_str())
    }

    /// Listens for operators, unless `--operator-listen` is off.
    fn operator_listener(&self) -> Result<Option<TcpListener>, CommandError> {
        if !self.has_operator_listener() {
            return Ok(None);
        }
        let listener = startup::listen(
            &self.operator_listen,
            "--operator-listen (REGISTER_OPERATOR_LISTEN)",
        )?;
        log::info!(
            "listening for operators on http://{}",
            listener.local_addr().map_err(CommandError::Server)?
        );
        Ok(Some(listener))
    }

    pub(super) fn run(self) -> Result<(), CommandError> {
        // Contradictory options fail before the database is opened.
        if let Some(requested) = self.database.expected.environment {
            self.registry_delay(requested)?;
            self.settings
                .require_operator_pages(requested, self.has_operator_listener())?;
            self.openid
                .issuer(requested, self.settings.are_served(requested))?;
            self.mail_server(requested)?;
        }
        let versions = versions::select(&self.versions).map_err(CommandError::UnknownVersion)?;
        let lists = self.code_lists.read()?;
        let service = self.bounds.service()?;
        let operator = self.operator_listener()?;
        // Metrics are collected from here on, if operators can read them.
        let metrics = operator.is_some().then(collect_metrics).transpose()?;
        let (store, environment) = self.database.create(self.bounds.store())?;
        if server_lock::has_another_server(&self.database.database_url)? {
            log::warn!(
                "another server uses the SQLite database, which supports only one server: stop one \
                 server, or copy the register to PostgreSQL"
            );
        }
        let registry_delay = self.registry_delay(environment)?;
        self.settings
            .require_operator_pages(environment, self.has_operator_listener())?;
        log::info!("environment: {environment}");
        self.prepare(&store, environment)?;
        large_blocks::keep_large_blocks();
        let listener = startup::listen(&self.listen, "--listen (REGISTER_LISTEN)")?;
        let issuer = self
            .openid
            .issuer(environment, self.settings.are_served(environment))?;
        if let Some(issuer) = &issuer {
            log::info!("OpenID Connect sign-in enabled; issuer: {}", issuer.host());
        }
        let mail_server = self.mail_server(environment)?;
        if mail_server.is_some() {
            log::info!("mails enabled");
        }
        let sends_mail = mail_server.is_some();
        let with_sign_in =
            |pages: SettingsPages| pages.with_issuer(issuer.clone()).with_mail(sends_mail);
        let settings = self
            .settings
            .organisation_pages(environment)
            .map(with_sign_in);
        let address = listener.local_addr().map_err(CommandError::Server)?;
        let scheme = if service.certificate.is_some() {
            "https"
        } else {
            "http"
        };
        let base = format!("{scheme}://{address}");
        let settings_site = self.settings.site(startup::site(scheme, address));
        let operator_pages = self
            .settings
            .on_operator_listener(environment, &settings_site)
            .map(with_sign_in);
        let operator_site = match &operator {
            // The operator listener has no TLS.
            Some(listener) => Some(startup::site(
                "http",
                listener.local_addr().map_err(CommandError::Server)?,
            )),
            None => None,
        };
        let served =
            self.settings
                .served_addresses(environment, &settings_site, operator_site, sends_mail);
        let mailer = mail_server.map(|server| {
            let sites = LinkSites {
                organisations: served.settings.clone(),
                operators: served.operator_pages.clone(),
            };
            Mailer::new(server, sites, environment)
        });
        self.log_pages(environment, &served, service.certificate.is_some());
        record_served_addresses(&store, &served);
        let options = RecorderOptions {
            versions,
            lists,
            checked_share: self.shadow_share(environment),
            records_requests: self.request_log == Switch::On,
            is_periodic: true,
        };
        let recorder = Recorder::start(store.clone(), options).map_err(CommandError::Server)?;
        let state = AppState::new(store, environment, recorder);
        let gateway = state.gateway.with_versions(versions, lists);
        let state = AppState { gateway, ..state };
        let state = self.app_state(state, service.limits, settings)?;
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
            let reasons = AuthenticationError::ALL.map(AuthenticationError::name);
            let mail_kinds = MailKind::ALL.map(MailKind::name);
            metrics::start(state.gateway.versions, &reasons, &mail_kinds);
            metrics::tokens_expiring(expiring_tokens);
            let answering = OperatorListener::new(&state, readiness.clone(), metrics);
            let answering = match operator_pages {
                Some(pages) => answering.with_pages(&state, pages),
                None => answering,
            };
            (listener, answering)
        });
        actix_web::rt::System::new().block_on(async move {
            // Signals are handled from here on, before the server runs.
            let signals = StopSignals::listen().map_err(CommandError::Server)?;
            serve::reload_on_signal(service.certificate.clone()).map_err(CommandError::Server)?;
            log::info!("listening on {base}");
            start_background_tasks(&state, registry_delay, mailer);
            let operator = match operator {
                Some((listener, operator)) => {
                    Some(operator.start(listener).map_err(CommandError::Server)?)
                }
                None => None,
            };
            let server = service
                .server(state.clone(), listener)
                .map_err(CommandError::Server)?;
            if let Some(introduction) = introduction {
                output::line(introduction)?;
            }
            let served = shutdown::run(server, signals, readiness, shutdown_timeouts, &state).await;
            // The operator listener stops last, so that operators can follow the shutdown.
            if let Some(operator) = operator {
                operator.stop(true).await;
            }
            served.map_err(CommandError::Server)
        })
    }

    /// Logs the addresses of the settings pages. Warns if no browser can use these pages, because
    /// neither the server nor a trusted proxy has TLS.
    fn log_pages(&self, environment: Environment, served: &ServedAddresses, has_certificate: bool) {
        log::info!(
            "settings pages: {}; operators' pages: {}",
            pages_address(served.settings.as_deref()),
            pages_address(served.operator_pages.as_deref())
        );
        // In a sandbox, a browser on the same machine needs no TLS.
        let needs_https =
            environment == Environment::Production || self.settings.has_https_address();
        let trusted_proxies = self.bounds.trusted_proxies.clone().unwrap_or_default();
        let has_https = has_certificate || trusted_proxies != TrustedProxies::default();
        if self.settings.are_on(environment) && needs_https && !has_https {
            log::warn!(
                "the settings pages need HTTPS, and answer 403: set --tls-certificate \
                 (REGISTER_TLS_CERTIFICATE), or --trusted-proxies (REGISTER_TRUSTED_PROXIES) to the \
                 address of the proxy with TLS"
            );
        }
    }

    /// Checks the clock, adds the organisations of a sandbox, and warns if no schools or training
    /// partners were imported.
    fn prepare(&self, store: &Store, environment: Environment) -> Result<(), CommandError> {
        clock::check(store, self.bounds.clock_check)?;
        if environment == Environment::Sandbox {
            store.write_blocking::<_, StorageError>(|session| {
                session.ensure_sandbox_organisations()
            })?;
        }
        let (no_schools, no_partners) = store.read_blocking(|session| session.registers_empty())?;
        if no_schools {
            log::warn!(
                "no school imported; every well-formed school number is accepted, and a placement \
                 needs a name"
            );
        }
        if no_partners {
            log::warn!(
                "no training partner imported; every well-formed training partner number is accepted"
            );
        }
        Ok(())
    }

    /// Creates the state according to the options.
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
            ..state.gateway
        };
        let state = AppState {
            gateway,
            settings,
            ..state
        };
        Ok(state.with_trusted_proxies(self.bounds.trusted_proxies.clone().unwrap_or_default()))
    }
}

/// The address of the settings pages at a site, or `off` without a site.
fn pages_address(site: Option<&str>) -> String {
    site.map_or_else(|| "off".to_owned(), |site| format!("{site}{SETTINGS}"))
}

/// Records the addresses of the pages for the links of `user invite`, if they have changed. A
/// failure is only logged, so that a server starts while the database is read-only.
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
            "settings page addresses not recorded; `user invite` may print old links: {}",
            Causes(&error)
        );
    }
}

/// Installs the recorder of metrics, also for those of the database.
fn collect_metrics() -> Result<PrometheusHandle, BuildError> {
    let handle = metrics::collect(&database::metrics::BUCKETS)?;
    database::metrics::describe();
    Ok(handle)
}

/// Starts the background tasks, which run until the server stops.
fn start_background_tasks(state: &AppState, registry_delay: Option<u32>, mailer: Option<Mailer>) {
    maintenance::start(state.gateway.store.clone());
    settings_pages::start_uploads(state.gateway.clone(), state.long_jobs.clone());
    if let Some(mailer) = mailer {
        mails::start(state.gateway.store.clone(), mailer);
    }
    if let Some(seconds) = registry_delay {
        simulated::start(
            state.gateway.store.clone(),
            TimeDelta::seconds(seconds.into()),
        );
    }
}
