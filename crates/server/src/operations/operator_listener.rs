//! What operators and their machines ask: metrics, health, and the pages of operators, on a
//! listener of its own.
//!
//! None of it is on the listener of the clients, and none of the clients' requests is answered
//! here. One worker is kept for it, so that it answers however busy the others are, and while they
//! stop. Of it, only requests for pages are in the access log.

use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::time::Duration;

use actix_web::dev::ServerHandle;
use actix_web::guard::fn_guard;
use actix_web::http::StatusCode;
use actix_web::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use actix_web::middleware::from_fn;
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpResponse, HttpServer, rt, web};
use gateway::error::{ApiError, Missing, no_memory};
use gateway::routes::{home, read_only};
use gateway::state::GatewayState;
use http_kit::error_chain::Causes;
use http_kit::metrics::requests::RequestMetrics;
use http_kit::requests::client_address::ListenerAddress;
use http_kit::responses::response_stream::ResponseSender;
use http_kit::{access_log, logging, metrics, paths};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;
use settings_pages::{Audience, SettingsPages};
use storage::error::StorageError;
use storage::maintenance::probe::Probe;
use storage::store::Store;

use crate::app_state::AppState;
use crate::operations::readiness::Readiness;
use crate::routes::configure_operator_pages;

/// How long the database may take to answer before it counts as away.
const DATABASE_PATIENCE: Duration = Duration::from_secs(2);
/// How often what was recorded is put together, so that it does not pile up while nobody asks for
/// it.
const MAINTENANCE: Duration = Duration::from_secs(5);
/// How long a request that is being answered is waited for at the end, in seconds.
const STOP_PATIENCE_SECONDS: u64 = 1;
/// The text format of Prometheus.
const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What operators can ask.
#[derive(Debug, Clone)]
pub struct OperatorListener {
    store: Store,
    probe: Probe,
    readiness: Readiness,
    metrics: PrometheusHandle,
    /// What the pages of operators need, where they are served.
    pages: Option<AppState>,
}

/// Why no requests, or none that write, should be sent to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NotReady {
    /// It is about to stop.
    Stopping,
    /// The database does not answer, or its file is not the open one.
    Database,
    /// The database answers, and keeps no write: its server is a standby, or is not acknowledged by
    /// its own standby.
    Writes,
}

impl OperatorListener {
    /// What operators can ask of a register.
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

    /// The same with the pages of operators.
    #[must_use]
    pub fn with_pages(self, state: &AppState, pages: SettingsPages) -> Self {
        let settings = Some(
            pages
                .with_audience(Audience::Operators)
                .with_trusted_proxies(state.gateway.proxies.clone()),
        );
        // Replies to operators do not share the memory for replies to clients.
        let response_sender = ResponseSender::new(no_memory);
        let gateway = GatewayState {
            response_sender,
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

    /// Answers operators from now on, until the handle is stopped. Signals are left to the server
    /// of the clients. Must be called where that server runs.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used.
    pub fn start(self, listener: TcpListener) -> io::Result<ServerHandle> {
        let metrics = self.metrics.clone();
        let probe = self.probe.clone();
        rt::spawn(async move {
            // The connections of the probe are there before anybody asks: later there may be none
            // left.
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
            App::new()
                .app_data(address.clone())
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

    /// Configures the routes of everything that operators can request.
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
            let response_sender = state.gateway.response_sender.clone();
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
                    response_sender.clone().send(request, next)
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

    fn metrics(&self) -> HttpResponse {
        self.store.publish_metrics();
        metrics::publish_lost_log_lines(logging::lines_lost());
        HttpResponse::Ok()
            .insert_header((CONTENT_TYPE, PROMETHEUS))
            .insert_header((CACHE_CONTROL, "no-store"))
            .body(self.metrics.render())
    }

    /// Whether requests should be sent to the server, since those that read are answered. One that
    /// is busy is ready all the same: it says so to whom it cannot serve, and to send its requests
    /// elsewhere would make others busier.
    async fn ready(&self) -> Result<(), NotReady> {
        if self.readiness.is_stopping() {
            return Err(NotReady::Stopping);
        }
        in_time(self.probe.ask())
            .await
            .map_err(|()| NotReady::Database)
    }

    /// Whether a write would be kept now.
    async fn writable(&self) -> Result<(), NotReady> {
        if self.readiness.is_stopping() {
            return Err(NotReady::Stopping);
        }
        // Side by side, since each may take its time.
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

async fn in_time(query: impl Future<Output = Result<(), StorageError>>) -> Result<(), ()> {
    match rt::time::timeout(DATABASE_PATIENCE, query).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => {
            log::debug!("the database does not answer: {}", Causes(&error));
            Err(())
        }
        Err(_) => Err(()),
    }
}

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

    use super::*;

    #[test]
    fn server_that_is_about_to_stop_is_live_and_neither_ready_nor_writable() {
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
        let state = AppState::new(store, Environment::Sandbox);
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
