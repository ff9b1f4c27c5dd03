//! Runs the HTTP server with its listener, limits and TLS.

use std::net::TcpListener;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use actix_web::dev::Server;
use actix_web::http::header::STRICT_TRANSPORT_SECURITY;
use actix_web::middleware::{Condition, DefaultHeaders, from_fn};
use actix_web::rt::signal::unix::{SignalKind, signal};
use actix_web::{App, HttpServer, rt};
use gateway::access_log;
use gateway::state::GatewayState;
use http_kit::connections::{self, Limits};
use http_kit::metrics::requests;
use http_kit::requests::body::BodyReader;
use http_kit::requests::client_address::ListenerAddress;
use http_kit::responses::sending;
use http_kit::tls::{self, Certificate};

use crate::app_state::AppState;
use crate::routes::configure;

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
            let reply_sender = state.gateway.reply_sender.clone();
            App::new()
                .app_data(address.clone())
                .wrap(from_fn(move |request, next| {
                    reply_sender.clone().send(request, next)
                }))
                .wrap(from_fn(access_log::log))
                .wrap(Condition::new(is_secure, secure))
                .configure(|config| configure(config, &state))
        };
        let most = limits.max_connections.get();
        let workers = thread::available_parallelism()
            .map_or(1, NonZeroUsize::get)
            .min(most);
        let watch = connections::watch(limits);
        let server = HttpServer::new(app)
            .workers(workers)
            .max_connections(most / workers)
            .keep_alive(limits.keep_alive)
            .client_request_timeout(limits.header_timeout)
            .tls_handshake_timeout(limits.header_timeout)
            // A client whose body is not read gets this time to send the rest, so that it receives
            // the reply.
            .client_disconnect_timeout(limits.body_timeout)
            .h1_write_buffer_size(sending::WRITE_BUFFER_BYTES)
            // The end of a reply is sent before the client has acknowledged the rest.
            .tcp_nodelay(true)
            .shutdown_timeout(self.drain_time.as_secs())
            .disable_signals()
            .on_connect(move |connection, data| {
                requests::connected(connection, data);
                watch(connection, data);
            });
        let server = match &self.certificate {
            Some(certificate) => {
                let config = certificate.config().map_err(io::Error::other)?;
                server.listen_rustls_0_23(listener, config)?
            }
            None => server.listen(listener)?,
        };
        Ok(server.run())
    }
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
                    log::info!("SIGHUP: TLS certificate reloaded");
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
