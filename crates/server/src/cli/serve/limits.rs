//! The options for connections, TLS, shutdown and trusted proxies.

use std::num::{NonZeroU32, NonZeroUsize};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use http_kit::connections::Limits;
use http_kit::requests::client_address::TrustedProxies;
use http_kit::tls::{Certificate, TlsError};
use storage::store::StoreOptions;

use super::{ADDRESSES, CONNECTIONS, LIMITS, REGISTER, TIMEOUTS};
use crate::cli::values::{positive, whole};
use crate::operations::serve::Service;
use crate::operations::shutdown::ShutdownTimeouts;
use crate::operations::startup::clock::ClockCheck;
use crate::operations::startup::open_files;

/// How long a starting server waits for a free PostgreSQL connection. Other servers of the register
/// close unused connections earlier than that.
const CONNECTION_WAIT: Duration = Duration::from_mins(2);

#[derive(Debug, Args)]
pub(super) struct Bounds {
    /// TLS certificate chain, in PEM format; to reload the file, send SIGHUP to the server
    #[arg(long, value_name = "FILE", help_heading = ADDRESSES, requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// TLS private key of the certificate, in PEM format
    #[arg(long, value_name = "FILE", help_heading = ADDRESSES, requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// Addresses and networks of your reverse proxies, separated by commas; the server takes client
    /// addresses from these proxies' `Forwarded` or `X-Forwarded-For` headers [default: none]
    #[arg(long, value_name = "CIDR,...", help_heading = ADDRESSES)]
    pub(super) trusted_proxies: Option<TrustedProxies>,
    /// Maximum time to receive a request's headers, in seconds
    #[arg(long, value_name = "SECONDS", help_heading = TIMEOUTS, default_value = "10",
        value_parser = positive::<NonZeroU32>)]
    header_timeout: NonZeroU32,
    /// Maximum time to receive a request's body, in seconds
    #[arg(long, value_name = "SECONDS", help_heading = TIMEOUTS, default_value = "30",
        value_parser = positive::<NonZeroU32>)]
    body_timeout: NonZeroU32,
    /// Seconds that an idle connection stays open; must exceed the load balancer's idle timeout
    #[arg(long, value_name = "SECONDS", help_heading = TIMEOUTS, default_value = "75",
        value_parser = positive::<NonZeroU32>)]
    keep_alive: NonZeroU32,
    /// Maximum number of open connections; further connections wait
    #[arg(long, value_name = "N", help_heading = LIMITS, default_value = "1000",
        value_parser = positive::<NonZeroUsize>)]
    max_connections: NonZeroUsize,
    /// Maximum number of database connections for reading
    #[arg(long, value_name = "N", help_heading = CONNECTIONS, default_value = "8",
        value_parser = positive::<NonZeroU32>)]
    read_connections: NonZeroU32,
    /// Maximum number of PostgreSQL connections for writing; SQLite uses one
    #[arg(long, value_name = "N", help_heading = CONNECTIONS, default_value = "8",
        value_parser = positive::<NonZeroU32>)]
    write_connections: NonZeroU32,
    /// Seconds to keep accepting requests after a stop signal, so that load balancers can react
    #[arg(long, value_name = "SECONDS", help_heading = TIMEOUTS, default_value = "0",
        value_parser = whole::<u32>)]
    stop_delay: u32,
    /// Maximum time to finish requests in progress at shutdown, in seconds
    #[arg(long, value_name = "SECONDS", help_heading = TIMEOUTS, default_value = "30",
        value_parser = whole::<u32>)]
    drain_time: u32,
    /// Action if this machine's clock is wrong at startup
    #[arg(long, value_name = "refuse|warn", help_heading = REGISTER, default_value = "refuse")]
    pub(super) clock_check: ClockCheck,
}

impl Bounds {
    /// The options of the store.
    pub(super) fn store(&self) -> StoreOptions {
        StoreOptions {
            readers: self.read_connections.get(),
            writers: self.write_connections.get(),
            connection_wait: CONNECTION_WAIT,
            ..StoreOptions::default()
        }
    }

    /// The configuration of the server. The limit of connections is lowered if the process may not
    /// open enough files.
    pub(super) fn service(&self) -> Result<Service, TlsError> {
        let seconds = |seconds: NonZeroU32| Duration::from_secs(seconds.get().into());
        let mut limits = Limits {
            header_timeout: seconds(self.header_timeout),
            body_timeout: seconds(self.body_timeout),
            keep_alive: seconds(self.keep_alive),
            max_connections: self.max_connections,
        };
        if let Some(most) = open_files() {
            let (lowered, is_lowered) = limits.within_open_files(most);
            if is_lowered {
                let requested = limits.max_connections;
                let possible = lowered.max_connections;
                log::info!(
                    "connection limit lowered from {requested} to {possible}; \
                     open-file limit (ulimit -n): {most}"
                );
            }
            limits = lowered;
        }
        let certificate: Option<Arc<Certificate>> = match (&self.tls_certificate, &self.tls_key) {
            (Some(chain), Some(key)) => Some(Certificate::read(chain, key)?),
            (_, _) => None,
        };
        Ok(Service {
            limits,
            certificate,
            drain_time: self.shutdown_timeouts().drain_time,
        })
    }

    /// The time limits of the shutdown.
    pub(super) fn shutdown_timeouts(&self) -> ShutdownTimeouts {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        ShutdownTimeouts {
            stop_delay: seconds(self.stop_delay),
            drain_time: seconds(self.drain_time),
        }
    }
}
