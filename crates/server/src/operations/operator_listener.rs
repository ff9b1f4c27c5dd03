//! The operator listener: metrics, health, and the operators' pages.
//!
//! The endpoints of clients and of operators are on different listeners. The operator listener has
//! its own worker, so that it answers while the other workers are busy or stopping. Its access log
//! contains only requests for pages.

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServerHandle, ServiceRequest, ServiceResponse};
use actix_web::guard::fn_guard;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::middleware::{Condition, Next, from_fn};
use actix_web::web::ServiceConfig;
use actix_web::{App, Error, HttpResponse, HttpServer, rt, web};
use docs_pages::{ListenerPages, with_error_pages};
use gateway::access_log;
use gateway::error::{ApiError, Missing, no_permit};
use gateway::routes::{home, read_only};
use gateway::state::GatewayState;
use http_kit::error_chain::Causes;
use http_kit::metrics::requests::RequestMetrics;
use http_kit::requests::client_address::ListenerAddress;
use http_kit::responses::sending::ReplySender;
use http_kit::{logging, metrics, paths};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;
use settings_pages::{Audience, SettingsPages};
use storage::error::StorageError;
use storage::maintenance::probe::Probe;
use storage::store::Store;

use crate::app_state::AppState;
use crate::operations::readiness::Readiness;
use crate::routes::configure_operator_pages;

/// The maximum time for a reply of the database before it counts as unavailable.
const DATABASE_PATIENCE: Duration = Duration::from_secs(2);
/// The interval for merging recorded values of metrics. Without it the values would use more and
/// more memory while nothing reads the metrics.
const MAINTENANCE: Duration = Duration::from_secs(5);
/// The time for running requests at shutdown, in seconds.
const STOP_PATIENCE_SECONDS: u64 = 1;
/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The endpoints for operators.
#[derive(Debug, Clone)]
pub struct OperatorListener {
    store: Store,
    probe: Probe,
    readiness: Readiness,
    metrics: PrometheusHandle,
    /// State of the operators' pages, if they are served.
    pages: Option<AppState>,
}

/// The reasons why the server should get no requests, or no writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotReady {
    /// The server is about to stop.
    Stopping,
    /// The database does not answer, or its file is no longer the open one.
    Database,
    /// The database does not accept writes: its server is a standby, or its synchronous standby
    /// does not acknowledge writes.
    Writes,
}

impl OperatorListener {
    /// Creates the endpoints for a register.
    #[must_use]
    pub fn new(state: &AppState, readiness: Readiness, metrics: PrometheusHandle) -> Self {
        Self {
            store: state.gateway.store.clone(),
            probe: state.gateway.store.probe(),
            readiness,
            metrics,
            pages: None,
        }
    }

    /// Adds the operators' pages.
    #[must_use]
    pub fn with_pages(self, state: &AppState, pages: SettingsPages) -> Self {
        let settings = Some(
            pages
                .with_audience(Audience::Operators)
                .with_trusted_proxies(state.gateway.proxies.clone()),
        );
        // Replies to operators do not use the permits of replies to clients.
        let reply_sender = ReplySender::new(no_permit);
        let gateway = GatewayState {
            reply_sender,
            ..state.gateway.clone()
        };
        Self {
            pages: Some(AppState {
                settings,
                gateway,
                ..state.clone()
            }),
            ..self
        }
    }

    /// Starts the listener, which answers until the handle is stopped. The server of the clients
    /// handles signals. Must be called on the `System` of that server.
    ///
    /// # Errors
    ///
    /// When the listener is unusable.
    pub fn start(self, listener: TcpListener) -> io::Result<ServerHandle> {
        let metrics = self.metrics.clone();
        let probe = self.probe.clone();
        rt::spawn(async move {
            // Opens the connections of the probe now, because the database may have no free
            // connection later.
            let _ = in_time(probe.ask()).await;
            let _ = in_time(probe.ask_to_write()).await;
            let mut time = rt::time::interval(MAINTENANCE);
            loop {
                time.tick().await;
                metrics.run_upkeep();
            }
        });
        let address = ListenerAddress {
            is_secure: false,
            host: listener.local_addr()?.to_string(),
        };
        let app = move || {
            let has_pages = self.pages.is_some();
            App::new()
                .app_data(address.clone())
                .wrap(Condition::new(has_pages, from_fn(show_errors)))
                .configure(|config| self.configure_routes(config))
        };
        let server = HttpServer::new(app)
            .workers(1)
            .disable_signals()
            .shutdown_timeout(STOP_PATIENCE_SECONDS)
            .listen(listener)?
            .run();
        let handle = server.handle();
        rt::spawn(server);
        Ok(handle)
    }

    /// Configures all routes of the operator listener.
    fn configure_routes(&self, config: &mut ServiceConfig) {
        let operator = Rc::new(self.clone());
        let listener = Rc::clone(&operator);
        config.service(read_only("/metrics", move || {
            std::future::ready(listener.metrics())
        }));
        config.service(read_only("/health/live", || {
            std::future::ready(health(StatusCode::OK, "live", None))
        }));
        let listener = Rc::clone(&operator);
        let ready = move || {
            let operator = Rc::clone(&listener);
            async move { answer(operator.ready().await, "ready", "not_ready") }
        };
        config.service(read_only("/health/ready", ready));
        let writable = move || {
            let operator = Rc::clone(&operator);
            async move { answer(operator.writable().await, "writable", "not_writable") }
        };
        config.service(read_only("/health/writable", writable));
        if let Some(state) = &self.pages {
            let state = state.clone();
            let reply_sender = state.gateway.reply_sender.clone();
            config.app_data(Rc::new(RequestMetrics::new(state.gateway.versions)));
            config.service(home(paths::SETTINGS));
            let is_page = |path: &str| {
                [paths::SETTINGS, paths::DOCS]
                    .iter()
                    .any(|pages| path.starts_with(pages))
            };
            let pages = web::scope("")
                .guard(fn_guard(move |request| is_page(request.head().uri.path())))
                .wrap(from_fn(move |request, next| {
                    reply_sender.clone().send(request, next)
                }))
                .wrap(from_fn(access_log::log))
                .configure(move |config| configure_operator_pages(config, &state));
            config.service(pages);
        }
        config.default_service(web::to(|| {
            std::future::ready(HttpResponse::from(
                ApiError::NotFound(Missing::Path).response_without_version(),
            ))
        }));
    }

    /// The reply with all metrics.
    fn metrics(&self) -> HttpResponse {
        self.store.publish_metrics();
        metrics::publish_lost_log_lines(logging::lines_lost());
        HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, PROMETHEUS))
            .insert_header((CACHE_CONTROL, "no-store"))
            .body(self.metrics.render())
    }

    /// Whether the server should get requests, because it can answer reads. A busy server stays
    /// ready: it rejects the requests that it cannot serve, and moving its requests elsewhere would
    /// overload other servers.
    async fn ready(&self) -> Result<(), NotReady> {
        if self.readiness.is_stopping() {
            return Err(NotReady::Stopping);
        }
        in_time(self.probe.ask())
            .await
            .map_err(|()| NotReady::Database)
    }

    /// Whether the server can store writes now.
    async fn writable(&self) -> Result<(), NotReady> {
        if self.readiness.is_stopping() {
            return Err(NotReady::Stopping);
        }
        // Both queries run at the same time, because each may take long.
        match futures_util::future::join(
            in_time(self.probe.ask_to_write()),
            in_time(self.probe.ask()),
        )
        .await
        {
            (Ok(()), _) => Ok(()),
            (Err(()), Ok(())) => Err(NotReady::Writes),
            (Err(()), Err(())) => Err(NotReady::Database),
        }
    }
}

/// Shows errors as pages to browsers.
async fn show_errors<B: MessageBody>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B>>, Error> {
    with_error_pages(ListenerPages::Settings, request, next).await
}

/// Waits for a query of the probe. Fails if the query fails or takes too long.
async fn in_time(query: impl Future<Output = Result<(), StorageError>>) -> Result<(), ()> {
    match rt::time::timeout(DATABASE_PATIENCE, query).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            log::debug!("health check: database unavailable: {}", Causes(&error));
            Err(())
        }
        Err(_) => Err(()),
    }
}

/// The reply to a health check, with the word `good` or the word `bad` and the reason.
fn answer(outcome: Result<(), NotReady>, good: &str, bad: &str) -> HttpResponse {
    match outcome {
        Ok(()) => health(StatusCode::OK, good, None),
        Err(reason) => health(StatusCode::SERVICE_UNAVAILABLE, bad, Some(reason)),
    }
}

impl NotReady {
    const fn name(self) -> &'static str {
        match self {
            Self::Stopping => "stopping",
            Self::Database => "database",
            Self::Writes => "writes",
        }
    }
}

/// A reply in JSON that must not be cached.
fn health(status: StatusCode, word: &str, reason: Option<NotReady>) -> HttpResponse {
    let body = match reason {
        Some(reason) => json!({ "status": word, "reason": reason.name() }),
        None => json!({ "status": word }),
    };
    HttpResponse::build(status)
        .insert_header((CACHE_CONTROL, "no-store"))
        .json(body)
}

#[cfg(test)]
mod tests {
    use actix_web::test::{TestRequest, call_service, init_service, read_body_json};
    use metrics_exporter_prometheus::PrometheusBuilder;
    use serde_json::Value;
    use storage::base::token::Environment;
    use storage::store::StoreOptions;
    use test_support::Database;

    use gateway::recording::recorder::{Recorder, RecorderOptions};

    use super::*;

    #[test]
    fn stopping_server_is_only_live() {
        let database = Database::fresh();
        let store = Store::open(database.url(), StoreOptions::default()).unwrap();
        store.migrate().unwrap();
        let answers = rt::System::new().block_on(answers_before_and_while_stopping(store));
        let live = (200, json!({ "status": "live" }));
        let good = |word: &str| (200, json!({ "status": word }));
        let stopping = |word: &str| (503, json!({ "status": word, "reason": "stopping" }));
        let expected = [good("ready"), good("writable"), live.clone()];
        assert_eq!(
            answers,
            [
                &expected[..],
                &[stopping("not_ready"), stopping("not_writable"), live]
            ]
            .concat()
        );
    }

    async fn answers_before_and_while_stopping(store: Store) -> Vec<(u16, Value)> {
        let readiness = Readiness::default();
        let options = RecorderOptions {
            versions: versions::all(),
            lists: domain::Lists::embedded(),
            checked_share: 0,
            records_requests: false,
            is_periodic: false,
        };
        let recorder = Recorder::start(store.clone(), options).unwrap();
        let state = AppState::new(store, Environment::Sandbox, recorder);
        let metrics = PrometheusBuilder::new().build_recorder().handle();
        let operator = OperatorListener::new(&state, readiness.clone(), metrics);
        let app =
            init_service(App::new().configure(|config| operator.configure_routes(config))).await;
        let mut answers = Vec::new();
        for is_stopping in [false, true] {
            if is_stopping {
                readiness.stop();
            }
            for path in ["/health/ready", "/health/writable", "/health/live"] {
                let answer = call_service(&app, TestRequest::get().uri(path).to_request()).await;
                let status = answer.status().as_u16();
                answers.push((status, read_body_json::<Value, _>(answer).await));
            }
        }
        answers
    }
}
