//! Runs the HTTP server: over which listener, within which limits, and with or without TLS.

use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use actix_web::dev::Server;
use actix_web::http::header::STRICT_TRANSPORT_SECURITY;
use actix_web::middleware::{Condition, DefaultHeaders, from_fn};
use actix_web::rt::signal::unix::{SignalKind, signal};
use actix_web::web::ServiceConfig;
use actix_web::{App, HttpServer, rt};

use crate::http::app_state::AppState;
use crate::http::body::BodyReader;
use crate::http::middleware::{access_log, response_stream};
use crate::http::routes::{configure, configure_settings};
use crate::operations::connections;
use crate::operations::connections::Limits;
use crate::operations::metrics::requests::connected;
use crate::operations::tls::{self, Certificate};
use crate::settings::SettingsPages;

/// How long a connection that is to be closed may take over it.
const DISCONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections to the pages of the settings that can be open at once, where they have a listener of their own.
const MAX_SETTINGS_CONNECTIONS: NonZeroUsize = NonZeroUsize::new(100).unwrap();
/// For how long a browser asks for nothing but HTTPS: a year (RFC 6797).
const STRICT_TRANSPORT: &str = "max-age=31536000";

/// How a register is served.
#[derive(Debug, Clone, Default)]
pub struct Service {
    /// What a connection may cost.
    pub limits: Limits,
    /// The certificate, where TLS is spoken.
    pub certificate: Option<Arc<Certificate>>,
    /// How long those that are in flight when the server stops may take.
    pub drain_time: Duration,
}

/// The server over a listener, within the usual limits and without TLS; it runs when it is awaited.
///
/// # Errors
///
/// When the listener cannot be used.
pub fn server(state: AppState, listener: TcpListener) -> io::Result<Server> {
    Service::default().server(state, listener)
}

impl Service {
    /// The server over a listener; it runs when it is awaited. Signals are for whoever awaits it.
    ///
    /// # Errors
    ///
    /// When the listener or the certificate cannot be used.
    pub fn server(&self, state: AppState, listener: TcpListener) -> io::Result<Server> {
        self.serving(configure, state, listener)
    }

    /// The server of these pages of the settings over a listener of their own; it runs when it is awaited. Signals are for
    /// whoever awaits it.
    ///
    /// # Errors
    ///
    /// When the listener or the certificate cannot be used.
    pub fn settings_server(
        &self,
        state: AppState,
        settings: SettingsPages,
        listener: TcpListener,
    ) -> io::Result<Server> {
        let limits =
            Limits { max_connections: self.limits.max_connections.min(MAX_SETTINGS_CONNECTIONS), ..self.limits };
        let settings = settings.behind(state.proxies.clone());
        let state = AppState { settings: Some(settings), ..state };
        Self { limits, ..self.clone() }.serving(configure_settings, state, listener)
    }

    fn serving(
        &self,
        routes: fn(&mut ServiceConfig, &AppState),
        state: AppState,
        listener: TcpListener,
    ) -> io::Result<Server> {
        let limits = self.limits;
        let state = AppState { bodies: BodyReader::within(limits.body_timeout), ..state };
        let is_secure = self.certificate.is_some();
        let app = move || {
            let secure = DefaultHeaders::new().add((STRICT_TRANSPORT_SECURITY, STRICT_TRANSPORT));
            let (response_sender, tracer) = (state.response_sender.clone(), state.tracer.clone());
            App::new()
                .wrap(from_fn(move |request, next| response_sender.clone().send(request, next)))
                .wrap(from_fn(move |request, next| access_log::log(tracer.clone(), request, next)))
                .wrap(Condition::new(is_secure, secure))
                .wrap(from_fn(move |request, next| connections::track_activity(limits, request, next)))
                .configure(|config| routes(config, &state))
        };
        let most = limits.max_connections.get();
        let workers = thread::available_parallelism().map_or(1, NonZeroUsize::get).min(most);
        let server = HttpServer::new(app)
            .workers(workers)
            .max_connections(most / workers)
            .client_request_timeout(limits.header_timeout)
            .tls_handshake_timeout(limits.header_timeout)
            .keep_alive(limits.keep_alive)
            // The last piece of a reply does not wait until the client has acknowledged those before.
            .tcp_nodelay(true)
            .h1_write_buffer_size(response_stream::WRITE_BUFFER_BYTES)
            .client_disconnect_timeout(DISCONNECT_TIMEOUT)
            .shutdown_timeout(self.drain_time.as_secs())
            .disable_signals()
            .on_connect(move |connection, data| {
                connected(connection, data);
                connections::watch(connection, data, limits);
            });
        let server = match &self.certificate {
            Some(certificate) => {
                server.listen_rustls_0_23(listener, certificate.config().map_err(io::Error::other)?)?
            }
            None => server.listen(listener)?,
        };
        Ok(server.run())
    }
}

/// Reads the certificate again on SIGHUP. Must be called where the server runs.
///
/// # Errors
///
/// When the operating system does not allow it.
pub fn reload_on_signal(certificate: Option<Arc<Certificate>>) -> io::Result<()> {
    let mut told = signal(SignalKind::hangup())?;
    rt::spawn(async move {
        while told.recv().await.is_some() {
            match certificate.as_deref().map(Certificate::read_again) {
                Some(Ok(())) => log::info!("SIGHUP: the certificate was read again, and is used from now on"),
                Some(Err(error)) => {
                    let error: tls::TlsError = error;
                    log::error!("SIGHUP: the certificate that was read before stays in use: {error}");
                }
                None => log::info!("SIGHUP: there is no certificate to read again"),
            }
        }
    });
    Ok(())
}
