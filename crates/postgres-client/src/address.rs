//! Addresses of databases: URLs in the form of libpq, with one host or several.
//!
//! tokio-postgres parses most of a URL, with these differences from libpq: it supports fewer values
//! of `sslmode` and no certificates, and it has no time limit for a host that accepts the
//! connection and does not answer. This module therefore reads these parameters itself and gives
//! each host its own configuration.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fmt};

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

use crate::error::ConnectError;
use crate::tls::{self, Files, Verification};

/// The folder with the Unix socket of a local server.
const DEFAULT_SOCKET_FOLDER: &str = "/var/run/postgresql";
/// The port of a server, unless the address names one.
const DEFAULT_PORT: u16 = 5432;

/// The time limit to connect to a single host, unless the address sets one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// The upper bound of the time limit to connect to one of several hosts.
const CONNECT_TIMEOUT_OF_SEVERAL: Duration = Duration::from_secs(3);

/// How long a host that did not answer in time is tried last.
const AVOIDED: Duration = Duration::from_secs(10);

/// TCP keepalive: the idle time before the first probe, the interval between probes, and the number
/// of unanswered probes that close the connection.
const KEEPALIVE: (Duration, Duration, u32) = (Duration::from_secs(5), Duration::from_secs(2), 3);
/// How long sent data may stay unacknowledged before the operating system closes the connection.
const TCP_USER_TIMEOUT: Duration = Duration::from_secs(8);

/// Parameters of libpq that are accepted and ignored.
const WITHOUT_EFFECT: [&str; 6] = [
    "gssencmode",
    "sslcompression",
    "sslsni",
    "client_encoding",
    "fallback_application_name",
    "krbsrvname",
];

/// The address of a database: its hosts, and how to connect to them.
pub struct Address {
    hosts: Vec<HostAddress>,
    /// The index of the host that was used last.
    last: AtomicUsize,
    pub(crate) tls: MakeRustlsConnect,
    pub(crate) connect_timeout: Duration,
    /// Whether the address requires a server that accepts writes (`target_session_attrs`).
    pub(crate) requires_writable: bool,
}

/// One host of an address.
pub(crate) struct HostAddress {
    /// The name of the host in messages.
    pub(crate) name: String,
    pub(crate) config: Config,
    /// When the host last did not answer in time.
    silent: Mutex<Option<Instant>>,
}

impl HostAddress {
    /// Moves the host to the end of the list for 10 s, because it did not answer in time.
    pub(crate) fn avoid(&self) {
        *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether the host did not answer in time within the last 10 s.
    fn is_avoided(&self) -> bool {
        let silent = *self.silent.lock().unwrap_or_else(PoisonError::into_inner);
        silent.is_some_and(|silent| silent.elapsed() < AVOIDED)
    }
}

/// The parameters that this module reads instead of tokio-postgres.
#[derive(Default)]
struct Own {
    verification: Verification,
    files: Files,
    tcp_user_timeout: Option<Duration>,
    requires_writable: bool,
}

impl Address {
    /// The name of the database; the name of the user if the address names no database.
    #[must_use]
    pub fn database(&self) -> Option<&str> {
        self.hosts.first()?.config.get_dbname().or(self.user())
    }

    /// The user; `None` if the address names none.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.hosts.first()?.config.get_user()
    }

    /// The hosts with their indexes, starting with the host that was used last. Hosts that recently
    /// did not answer come last.
    pub(crate) fn hosts(&self) -> Vec<(usize, &HostAddress)> {
        let first = self.last.load(Ordering::Relaxed);
        let numbered = || self.hosts.iter().enumerate();
        let mut hosts: Vec<_> = numbered()
            .skip(first)
            .chain(numbered().take(first))
            .collect();
        hosts.sort_by_key(|(_, host)| host.is_avoided());
        hosts
    }

    /// Makes the host with this index the first one to try.
    pub(crate) fn remember(&self, host: usize) {
        self.last.store(host, Ordering::Relaxed);
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_list()
            .entries(self.hosts.iter().map(|host| &host.name))
            .finish()
    }
}

impl FromStr for Address {
    type Err = ConnectError;

    fn from_str(url: &str) -> Result<Self, ConnectError> {
        let (own, rest) = take_own_parameters(url).map_err(ConnectError::Address)?;
        // An error of the parser names an option but not its value.
        let config: Config = rest
            .parse()
            .map_err(|error| ConnectError::Address(crate::error::describe(&error)))?;
        let tls = tls::connector(own.verification, &own.files).map_err(ConnectError::Address)?;
        let hosts = hosts(&config, &own);
        let limit = if hosts.len() > 1 {
            CONNECT_TIMEOUT_OF_SEVERAL
        } else {
            Duration::MAX
        };
        let connect_timeout = config
            .get_connect_timeout()
            .copied()
            .unwrap_or(CONNECT_TIMEOUT)
            .min(limit);
        Ok(Self {
            hosts,
            last: AtomicUsize::new(0),
            tls,
            connect_timeout,
            requires_writable: own.requires_writable,
        })
    }
}

/// Splits a URL into the parameters that this module reads, and a URL with the others.
///
/// # Errors
///
/// The name of an invalid parameter, without its value.
fn take_own_parameters(url: &str) -> Result<(Own, String), String> {
    let mut own = Own::default();
    let Some((base, query)) = url.split_once('?') else {
        return Ok((own, url.to_owned()));
    };
    let mut others = Vec::new();
    for parameter in query.split('&') {
        let (key, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        let value = percent_decode_str(value)
            .decode_utf8()
            .map_err(|_| format!("value of `{key}` is not UTF-8"))?;
        let invalid = || format!("invalid value for option `{key}`");
        match key {
            "sslmode" => own.verification = value.parse().map_err(|()| invalid())?,
            "sslrootcert" => own.files.root = Some(value.into_owned()),
            "sslcert" => own.files.certificate = Some(value.into_owned()),
            "sslkey" => own.files.key = Some(value.into_owned()),
            "tcp_user_timeout" => {
                own.tcp_user_timeout =
                    Some(Duration::from_millis(value.parse().map_err(|_| invalid())?));
            }
            "keepalives_count" => others.push(format!("keepalives_retries={value}")),
            "target_session_attrs" => match value.as_ref() {
                "any" => {}
                "read-write" | "primary" => own.requires_writable = true,
                _ => {
                    return Err(format!(
                        "{}: any, read-write and primary are known",
                        invalid()
                    ));
                }
            },
            "" => {}
            known if WITHOUT_EFFECT.contains(&known) => {}
            _ => others.push(parameter.to_owned()),
        }
    }
    let rest = if others.is_empty() {
        base.to_owned()
    } else {
        format!("{base}?{}", others.join("&"))
    };
    Ok((own, rest))
}

/// A configuration for each host of an address.
fn hosts(config: &Config, own: &Own) -> Vec<HostAddress> {
    let socket = [Host::Unix(PathBuf::from(DEFAULT_SOCKET_FOLDER))];
    let addresses = config.get_hostaddrs();
    let named = config.get_hosts();
    let count = named.len().max(addresses.len());
    let ports = config.get_ports();
    if count == 0 {
        // An address without a host means the local server.
        return socket
            .iter()
            .map(|host| host_address(config, own, Some(host), None, port(ports, 0)))
            .collect();
    }
    (0..count)
        .map(|at| {
            host_address(
                config,
                own,
                named.get(at),
                addresses.get(at).copied(),
                port(ports, at),
            )
        })
        .collect()
}

/// The port of the host at an index: its own, or the only one of the address.
fn port(ports: &[u16], at: usize) -> u16 {
    ports
        .get(at)
        .or(ports.first().filter(|_| ports.len() == 1))
        .copied()
        .unwrap_or(DEFAULT_PORT)
}

/// The configuration of one host: `all` is that of the whole address.
#[expect(
    clippy::disallowed_methods,
    reason = "clients of PostgreSQL share these variables"
)]
fn host_address(
    all: &Config,
    own: &Own,
    host: Option<&Host>,
    address: Option<std::net::IpAddr>,
    port: u16,
) -> HostAddress {
    let mut config = Config::new();
    let mut name = address
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let mut is_socket = false;
    match host {
        Some(Host::Tcp(host)) => {
            config.host(host);
            name.clone_from(host);
        }
        Some(Host::Unix(folder)) => {
            config.host_path(folder);
            name = folder.display().to_string();
            is_socket = true;
        }
        None => {}
    }
    if let Some(address) = address {
        config.hostaddr(address);
    }
    config.port(port);
    // Like libpq, without TLS on a Unix socket.
    config.ssl_mode(if is_socket {
        SslMode::Disable
    } else {
        own.verification.negotiation()
    });
    config.ssl_negotiation(all.get_ssl_negotiation());
    config.channel_binding(all.get_channel_binding());
    config.application_name(all.get_application_name().unwrap_or("trainee-register"));
    if let Some(options) = all.get_options() {
        config.options(options);
    }
    if let Some(user) = all
        .get_user()
        .map(str::to_owned)
        .or_else(|| std::env::var("PGUSER").ok())
    {
        config.user(user);
    }
    if let Some(database) = all.get_dbname() {
        config.dbname(database);
    }
    // The password of the address, otherwise that of the environment.
    let given = all.get_password().map(<[u8]>::to_vec);
    let password = given.or_else(|| env::var("PGPASSWORD").ok().map(String::into_bytes));
    if let Some(password) = password {
        config.password(password);
    }
    set_keepalive(&mut config, all, own);
    HostAddress {
        name: if is_socket {
            name
        } else {
            format!("{name}:{port}")
        },
        config,
        silent: Mutex::new(None),
    }
}

/// Sets when the operating system detects that a connection is lost.
fn set_keepalive(config: &mut Config, all: &Config, own: &Own) {
    let (idle, interval, retries) = KEEPALIVE;
    config.keepalives(all.get_keepalives());
    // tokio-postgres returns this value for an address without the parameter.
    let unset = Config::new().get_keepalives_idle();
    let given = all.get_keepalives_idle();
    config.keepalives_idle(if given == unset { idle } else { given });
    config.keepalives_interval(all.get_keepalives_interval().unwrap_or(interval));
    config.keepalives_retries(all.get_keepalives_retries().unwrap_or(retries));
    config.tcp_user_timeout(own.tcp_user_timeout.unwrap_or(TCP_USER_TIMEOUT));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(url: &str) -> Address {
        url.parse().unwrap()
    }

    fn names(address: &Address) -> Vec<String> {
        address
            .hosts()
            .iter()
            .map(|(_, host)| host.name.clone())
            .collect()
    }

    #[test]
    fn hosts_are_tried_from_last_used_one() {
        let address = address("postgres://me:secret@one,two:5433,[::1]/db");
        assert_eq!(names(&address), ["one:5432", "two:5433", "::1:5432"]);
        address.remember(1);
        assert_eq!(names(&address), ["two:5433", "::1:5432", "one:5432"]);
        address.hosts()[0].1.avoid();
        assert_eq!(names(&address), ["::1:5432", "one:5432", "two:5433"]);
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn unix_sockets_use_no_tls() {
        for url in [
            "postgres:///db",
            "postgres:///db?host=/var/run/postgresql&sslmode=verify-full",
        ] {
            let address = address(url);
            let (_, host) = address.hosts()[0];
            assert_eq!(host.name, "/var/run/postgresql", "{url}");
            assert_eq!(host.config.get_ssl_mode(), SslMode::Disable, "{url}");
        }
    }

    #[test]
    fn libpq_parameters_are_applied() {
        let address = address(
            "postgres://me@h/db?sslmode=require&connect_timeout=10&tcp_user_timeout=1500&keepalives_count=7\
             &keepalives_idle=9&gssencmode=disable&application_name=mine&target_session_attrs=read-write",
        );
        let (_, host) = address.hosts()[0];
        assert_eq!(host.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(
            host.config.get_tcp_user_timeout(),
            Some(&Duration::from_millis(1500))
        );
        assert_eq!(host.config.get_keepalives_retries(), Some(7));
        assert_eq!(host.config.get_keepalives_idle(), Duration::from_secs(9));
        assert_eq!(host.config.get_application_name(), Some("mine"));
        assert_eq!(address.connect_timeout, Duration::from_secs(10));
        assert!(address.requires_writable);
    }

    #[test]
    fn connect_timeout_of_several_hosts_is_limited() {
        assert_eq!(
            address("postgres://one,two/db?connect_timeout=10").connect_timeout,
            CONNECT_TIMEOUT_OF_SEVERAL
        );
        assert_eq!(
            address("postgres://one,two/db?connect_timeout=1").connect_timeout,
            Duration::from_secs(1)
        );
    }

    #[test]
    fn invalid_parameter_is_named_without_its_value() {
        for (url, named) in [
            ("postgres://h/db?sslcrl=/secret", "sslcrl"),
            ("postgres://h/db?sslmode=secret", "sslmode"),
            (
                "postgres://h/db?target_session_attrs=secret",
                "target_session_attrs",
            ),
            (
                "postgres://h/db?sslrootcert=/absent/secret&sslmode=verify-full",
                "sslrootcert",
            ),
        ] {
            let error = url.parse::<Address>().unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }
}
