//! Runs the HTTP server with its listener, limits and TLS.

use std::future::ready;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use actix_http::error::DispatchError;
use actix_http::{HttpService, Request};
use actix_server::{GracefulShutdownSignal, Server, ServerBuilder};
use actix_service::{
    Service as ActixService, ServiceFactory, ServiceFactoryExt as _, fn_service, map_config,
};
use actix_tls::accept::TlsError;
use actix_tls::accept::rustls_0_23::Acceptor;
use actix_web::body::MessageBody;
use actix_web::dev::{AppConfig, ServiceResponse};
use actix_web::http::header::STRICT_TRANSPORT_SECURITY;
use actix_web::middleware::{Condition, DefaultHeaders, from_fn};
use actix_web::rt::signal::unix::{SignalKind, signal};
use actix_web::web::ServiceConfig;
use actix_web::{App, Error, rt};
use gateway::state::GatewayState;
use http_kit::access_log;
use http_kit::connections::application::ApplicationFactory;
use http_kit::connections::client_stream::ClientStream;
use http_kit::connections::read_window::LargeHeads;
use http_kit::connections::{self, Limits};
use http_kit::metrics::requests;
use http_kit::requests::body::BodyReader;
use http_kit::requests::client_address::ListenerAddress;
use http_kit::responses::response_stream;
use http_kit::tls::{self, Certificate};
use settings_pages::SettingsPages;

use crate::app_state::AppState;
use crate::routes::{configure, configure_settings};

/// The name of the listener in messages of actix-server.
const LISTENER: &str = "clients";
/// The protocol name for ALPN (RFC 7301).
const HTTP_1_1: &[u8] = b"http/1.1";
/// The maximum number of open connections to the settings pages on their own listener.
const MAX_SETTINGS_CONNECTIONS: NonZeroUsize = NonZeroUsize::new(100).unwrap();
/// How long browsers must use HTTPS: one year (RFC 6797).
const STRICT_TRANSPORT: &str = "max-age=31536000";

/// The configuration of a server.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// The connection limits.
    pub limits: Limits,
    /// The certificate, if TLS is on.
    pub certificate: Option<Arc<Certificate>>,
    /// The time for requests in flight when the server stops.
    pub drain_time: Duration,
}

/// Creates the server for a listener, with default limits and without TLS. The server runs when it
/// is awaited.
///
/// # Errors
///
/// When the listener is unusable.
pub fn server(state: AppState, listener: TcpListener) -> io::Result<Server> {
    Service::default().server(state, listener)
}

impl Service {
    /// Creates the server for a listener. The server runs when it is awaited. The caller handles
    /// signals.
    ///
    /// # Errors
    ///
    /// When the listener or the certificate is unusable.
    pub fn server(&self, state: AppState, listener: TcpListener) -> io::Result<Server> {
        self.build_server(configure, state, listener)
    }

    /// Creates the server of settings pages with their own listener. The server runs when it is
    /// awaited. The caller handles signals.
    ///
    /// # Errors
    ///
    /// When the listener or the certificate is unusable.
    pub fn settings_server(
        &self,
        state: AppState,
        settings: SettingsPages,
        listener: TcpListener,
    ) -> io::Result<Server> {
        let limits = Limits {
            max_connections: self.limits.max_connections.min(MAX_SETTINGS_CONNECTIONS),
            ..self.limits
        };
        let settings = settings.with_trusted_proxies(state.gateway.proxies.clone());
        let state = AppState {
            settings: Some(settings),
            ..state
        };
        Self {
            limits,
            ..self.clone()
        }
        .build_server(configure_settings, state, listener)
    }

    /// Builds a server with these routes for a listener.
    fn build_server(
        &self,
        routes: fn(&mut ServiceConfig, &AppState),
        state: AppState,
        listener: TcpListener,
    ) -> io::Result<Server> {
        let limits = self.limits;
        let gateway = GatewayState {
            bodies: BodyReader::new(limits.body_timeout),
            ..state.gateway
        };
        let state = AppState { gateway, ..state };
        let is_secure = self.certificate.is_some();
        let address = ListenerAddress {
            is_secure,
            host: listener.local_addr()?.to_string(),
        };
        let app = move || {
            let secure = DefaultHeaders::new().add((STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT));
            let response_sender = state.gateway.response_sender.clone();
            let app = App::new()
                .app_data(address.clone())
                .wrap(from_fn(move |request, next| {
                    response_sender.clone().send(request, next)
                }))
                .wrap(from_fn(access_log::log))
                .wrap(Condition::new(is_secure, secure))
                .wrap(from_fn(move |request, next| {
                    connections::track_activity(limits, request, next)
                }))
                .configure(|config| routes(config, &state));
            map_config(app, |()| AppConfig::default())
        };
        let most = limits.max_connections.get();
        let workers = thread::available_parallelism()
            .map_or(1, NonZeroUsize::get)
            .min(most);
        let server = ServerBuilder::new()
            .workers(workers)
            .max_concurrent_connections(most / workers)
            .shutdown_timeout(self.drain_time.as_secs())
            .disable_signals();
        let stopping = server.graceful_shutdown_signal();
        let http = move || http_service(limits, stopping.clone(), app());
        let large_heads = LargeHeads::default();
        let server = match &self.certificate {
            Some(certificate) => {
                let mut config = certificate.config().map_err(io::Error::other)?;
                config.alpn_protocols = vec![HTTP_1_1.to_vec()];
                let mut acceptor = Acceptor::new(config);
                acceptor.set_handshake_timeout(limits.header_timeout);
                server.listen(LISTENER, listener, move || {
                    let large_heads = large_heads.clone();
                    let acceptor = acceptor.clone().map_err(TlsError::into_service_error);
                    let connect = acceptor
                        .map(move |stream| connected(ClientStream::tls(stream, &large_heads)));
                    connect.and_then(http().map_err(TlsError::Service))
                })?
            }
            None => server.listen(LISTENER, listener, move || {
                let large_heads = large_heads.clone();
                let connect =
                    move |stream| ready(Ok(connected(ClientStream::plain(stream, &large_heads))));
                fn_service(connect).and_then(http())
            })?,
        };
        Ok(server.run())
    }
}

/// Configures a new connection, and returns it with the address of its client.
fn connected(stream: ClientStream) -> (ClientStream, Option<SocketAddr>) {
    // With `TCP_NODELAY` the end of a reply is sent before the client has acknowledged the rest.
    if let Err(error) = stream.socket().set_nodelay(true) {
        log::debug!("TCP_NODELAY not set; small packets may be delayed: {error}");
    }
    let client = stream.socket().peer_addr().ok();
    (stream, client)
}

/// The HTTP/1.1 service of one worker. [`actix_web::HttpServer`] cannot set the stream or the
/// service for requests with `Expect: 100-continue`, so this function replaces it.
fn http_service<F, B>(
    limits: Limits,
    stopping: GracefulShutdownSignal,
    application: F,
) -> impl ServiceFactory<
    (ClientStream, Option<SocketAddr>),
    Config = (),
    Response = (),
    Error = DispatchError,
    InitError = (),
>
where
    F: ServiceFactory<
            Request,
            Config = (),
            Response = ServiceResponse<B>,
            Error = Error,
            InitError = (),
        > + 'static,
    F::Future: 'static,
    F::Service: 'static,
    <F::Service as ActixService<Request>>::Future: 'static,
    B: MessageBody + 'static,
{
    let application = ApplicationFactory::new(application);
    let expectation = application.expectation();
    HttpService::build()
        .graceful_shutdown_signal(move || {
            let stopping = stopping.clone();
            async move { stopping.notified().await }
        })
        .keep_alive(limits.keep_alive)
        .client_request_timeout(limits.header_timeout)
        // A client whose body is not read gets the same time to send the rest, so that it receives
        // the reply.
        .client_disconnect_timeout(limits.body_timeout)
        .h1_write_buffer_size(response_stream::WRITE_BUFFER_BYTES)
        .expect(expectation)
        .on_connect_ext(move |connection: &ClientStream, data| {
            requests::connected(connection, data);
            connections::watch(connection, data, limits);
        })
        .h1(application)
}

/// Reloads the certificate on SIGHUP. Must be called on a `LocalSet`.
///
/// # Errors
///
/// When the operating system refuses the signal handler.
pub fn reload_on_signal(certificate: Option<Arc<Certificate>>) -> io::Result<()> {
    let mut hangups = signal(SignalKind::hangup())?;
    rt::spawn(async move {
        while hangups.recv().await.is_some() {
            match certificate.as_deref().map(Certificate::read_again) {
                Some(Ok(())) => {
                    log::info!("SIGHUP: TLS certificate reloaded")
                }
                Some(Err(error)) => {
                    let error: tls::TlsError = error;
                    log::error!(
                        "SIGHUP: TLS certificate not reloaded; keeping the previous one: {error}"
                    );
                }
                None => log::info!("SIGHUP: no TLS certificate to reload"),
            }
        }
    });
    Ok(())
}
