//! The collector: where spans are sent, by OTLP over HTTP/1.1.
//!
//! A client for one address that an operator names, and for `POST` alone. It follows no redirect, knows no proxy, and closes
//! the connection after each reply: there is one export a second, or a few. It blocks its thread.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::http::Uri;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// What is appended to the address of a collector.
const TRACES_PATH: &str = "/v1/traces";
/// How long an export may take in all.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest reply that is read, in bytes.
const MAX_REPLY_BYTES: usize = 65_536;

/// A collector that takes OTLP over HTTP.
#[derive(Clone)]
pub struct Collector {
    host: String,
    port: u16,
    path: String,
    /// How TLS is spoken, where it is.
    tls: Option<Arc<ClientConfig>>,
}

/// Why an address is not that of a collector.
#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    /// It is no address of HTTP, or has parts that have no meaning here.
    #[error("must be http://HOST:PORT or https://HOST:PORT, with a path at most")]
    NotHttp,
    /// The system has no certificates by which to know the collector.
    #[error(
        "https needs root certificates, and the system has none: set SSL_CERT_FILE, or run a collector beside the server"
    )]
    NoRootCertificates,
    /// TLS cannot be spoken.
    #[error("https cannot be used: {0}")]
    Tls(#[from] rustls::Error),
}

/// Why spans were not exported.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error("the certificate or the protocol is wrong: {0}")]
    Tls(#[from] rustls::Error),
    #[error("it answered {0}")]
    Status(u16),
    #[error("what it answered is not HTTP")]
    NotHttp,
}

impl ExportError {
    /// Whether the same export may succeed later, as OTLP says it of each status.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::Io(_) | Self::Tls(_) | Self::NotHttp => true,
            Self::Status(status) => [429, 502, 503, 504].contains(status),
        }
    }
}

impl FromStr for Collector {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let url: Uri = text.parse().map_err(|_| AddressError::NotHttp)?;
        let is_secure = match url.scheme_str() {
            Some("http") => false,
            Some("https") => true,
            Some(_) | None => return Err(AddressError::NotHttp),
        };
        let authority = url.authority().ok_or(AddressError::NotHttp)?;
        if authority.as_str().contains('@') || url.query().is_some() || authority.host().is_empty() {
            return Err(AddressError::NotHttp);
        }
        let port = authority.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let path = url.path().trim_end_matches('/');
        let path = if path.ends_with(TRACES_PATH) { path.to_owned() } else { format!("{path}{TRACES_PATH}") };
        let tls = if is_secure { Some(tls()?) } else { None };
        Ok(Self { host: authority.host().to_owned(), port, path, tls })
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        write!(formatter, "{scheme}://{}:{}{}", self.host, self.port, self.path)
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Collector({self})")
    }
}

/// TLS with the root certificates of the system.
fn tls() -> Result<Arc<ClientConfig>, AddressError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err(AddressError::NoRootCertificates);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = builder.with_safe_default_protocol_versions()?.with_root_certificates(roots).with_no_client_auth();
    Ok(Arc::new(config))
}

impl Collector {
    /// The host as the name of a machine: an address of IPv6 without its brackets.
    fn host_name(&self) -> &str {
        self.host.trim_start_matches('[').trim_end_matches(']')
    }

    /// Sends an export, and gives the body of the reply where its length is known.
    pub(super) fn post(&self, body: &[u8]) -> Result<Vec<u8>, ExportError> {
        let deadline = Instant::now() + EXPORT_TIMEOUT;
        let socket = self.connect(deadline)?;
        let timed = Timed { socket, deadline };
        match &self.tls {
            None => self.exchange(timed, body),
            Some(config) => {
                let name = ServerName::try_from(self.host_name().to_owned())
                    .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "its host has no valid name"))?;
                let connection = ClientConnection::new(Arc::clone(config), name)?;
                self.exchange(StreamOwned::new(connection, timed), body)
            }
        }
    }

    fn connect(&self, deadline: Instant) -> io::Result<TcpStream> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "its host has no address");
        for address in (self.host_name(), self.port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(socket) => {
                    socket.set_nodelay(true)?;
                    return Ok(socket);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn exchange(&self, mut stream: impl Read + Write, body: &[u8]) -> Result<Vec<u8>, ExportError> {
        let Self { host, port, path, .. } = self;
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             User-Agent: trainee-register/{}\r\nConnection: close\r\n\r\n",
            body.len(),
            env!("CARGO_PKG_VERSION"),
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        stream.flush()?;
        let mut received = Vec::new();
        let mut buffer = [0; 4_096];
        loop {
            if let Some(reply) = Reply::of(&received)? {
                if !(200..300).contains(&reply.status) {
                    return Err(ExportError::Status(reply.status));
                }
                if let Some(body) = reply.body {
                    return Ok(body.to_vec());
                }
            }
            let length = stream.read(&mut buffer)?;
            if length == 0 || received.len() > MAX_REPLY_BYTES {
                return Err(ExportError::NotHttp);
            }
            received.extend_from_slice(buffer.get(..length).unwrap_or_default());
        }
    }
}

/// As much of a reply as is needed.
struct Reply<'a> {
    status: u16,
    /// Nothing while it has not arrived.
    body: Option<&'a [u8]>,
}

impl<'a> Reply<'a> {
    /// The reply in what was received; nothing while its head has not arrived.
    fn of(received: &'a [u8]) -> Result<Option<Self>, ExportError> {
        let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else { return Ok(None) };
        let (head, body) = received.split_at_checked(end + 4).ok_or(ExportError::NotHttp)?;
        let head = str::from_utf8(head).map_err(|_| ExportError::NotHttp)?;
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.strip_prefix("HTTP/1.")?.split(' ').nth(1)?.parse().ok());
        let status = status.ok_or(ExportError::NotHttp)?;
        let length = lines.filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
            name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>())
        });
        let body = match length {
            Some(Ok(length)) => body.get(..length),
            Some(Err(_)) => return Err(ExportError::NotHttp),
            // In chunks, or up to the end of the connection: it says nothing that has to be known.
            None => Some(&[][..]),
        };
        Ok(Some(Self { status, body }))
    }
}

/// A socket whose every read and write ends by the deadline.
struct Timed {
    socket: TcpStream,
    deadline: Instant,
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time")) } else { Ok(left) }
}

impl Read for Timed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(Some(left(self.deadline)?))?;
        self.socket.read(buffer)
    }
}

impl Write for Timed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(Some(left(self.deadline)?))?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_one_of_http_without_what_has_no_meaning() {
        let shown = |text: &str| text.parse::<Collector>().map(|collector| collector.to_string());
        assert_eq!(shown("http://localhost:4318").unwrap(), "http://localhost:4318/v1/traces");
        assert_eq!(shown("http://collector/otlp/").unwrap(), "http://collector:80/otlp/v1/traces");
        assert_eq!(shown("http://[::1]:4318/v1/traces").unwrap(), "http://[::1]:4318/v1/traces");
        for text in ["localhost:4318", "grpc://h:4317", "http://me:secret@h", "http://h/?key=secret", "http://", ""] {
            let error = shown(text).unwrap_err().to_string();
            assert!(!error.contains("secret") && error.contains("http://HOST:PORT"), "{text}: {error}");
        }
    }

    #[test]
    fn a_reply_is_complete_when_its_length_has_arrived() {
        let reply =
            |text: &str| Reply::of(text.as_bytes()).map(|reply| reply.map(|it| (it.status, it.body.map(<[u8]>::len))));
        assert_eq!(reply("HTTP/1.1 200 OK\r\nContent-Le").unwrap(), None);
        assert_eq!(reply("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{").unwrap(), Some((200, None)));
        assert_eq!(reply("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").unwrap(), Some((200, Some(2))));
        assert_eq!(reply("HTTP/1.1 503 Busy\r\n\r\n").unwrap(), Some((503, Some(0))));
        for text in ["SSH-2.0\r\n\r\n", "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n"] {
            assert!(reply(text).is_err(), "{text}");
        }
    }
}
