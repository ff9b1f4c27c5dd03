//! The collector: where spans are sent, by OTLP over HTTP.
//!
//! Calls an address that an operator names, with `POST` alone. It blocks its thread.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use ureq::Agent;
use ureq::http::Uri;
use ureq::http::header::CONTENT_TYPE;

use crate::operations::client_tls;

/// What is appended to the address of a collector.
const TRACES_PATH: &str = "/v1/traces";
/// How long an export may take in all.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest reply that is read, in bytes.
const MAX_REPLY_BYTES: u64 = 65_536;

/// A collector that takes OTLP over HTTP.
#[derive(Clone)]
pub struct Collector {
    /// Where spans are posted.
    address: String,
    /// The client, which keeps the connection open.
    agent: Agent,
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
}

/// Why spans were not exported.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    /// It did not answer, or not by HTTP.
    #[error("{0}")]
    NoAnswer(#[from] ureq::Error),
    #[error("it answered {0}")]
    Status(u16),
}

impl ExportError {
    /// Whether the same export may succeed later, as OTLP says it of each status.
    pub(super) fn is_temporary(&self) -> bool {
        match self {
            Self::NoAnswer(_) => true,
            Self::Status(status) => [429, 502, 503, 504].contains(status),
        }
    }
}

impl FromStr for Collector {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let url: Uri = text.parse().map_err(|_| AddressError::NotHttp)?;
        let (scheme, default_port) = match url.scheme_str() {
            Some("http") => ("http", 80),
            Some("https") => ("https", 443),
            Some(_) | None => return Err(AddressError::NotHttp),
        };
        let authority = url.authority().ok_or(AddressError::NotHttp)?;
        let host = authority.host();
        if authority.as_str().contains('@') || url.query().is_some() || host.is_empty() {
            return Err(AddressError::NotHttp);
        }
        let port = authority.port_u16().unwrap_or(default_port);
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix(TRACES_PATH).unwrap_or(path);
        let address = format!("{scheme}://{host}:{port}{path}{TRACES_PATH}");
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(EXPORT_TIMEOUT))
            .user_agent(concat!("trainee-register/", env!("CARGO_PKG_VERSION")));
        let config = if scheme == "https" {
            config.tls_config(client_tls::config().map_err(|_| AddressError::NoRootCertificates)?)
        } else {
            config
        };
        Ok(Self { address, agent: config.build().into() })
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.address)
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Collector({self})")
    }
}

impl Collector {
    /// Sends an export, and gives the body of the reply.
    pub(super) fn post(&self, body: &[u8]) -> Result<Vec<u8>, ExportError> {
        let request = self.agent.post(&self.address).header(CONTENT_TYPE, "application/json");
        let mut reply = request.send(body)?;
        if !reply.status().is_success() {
            return Err(ExportError::Status(reply.status().as_u16()));
        }
        // It has taken the spans, whatever else it says.
        Ok(reply.body_mut().with_config().limit(MAX_REPLY_BYTES).read_to_vec().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead as _, BufReader, Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread;

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

    /// Posts once for each reply, all of which are given on one connection.
    fn posted(replies: &[String]) -> Vec<Result<Vec<u8>, ExportError>> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let collector: Collector = format!("http://{}", listener.local_addr().unwrap()).parse().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let mut requests = BufReader::new(stream.try_clone().unwrap());
                for reply in replies {
                    let mut line = String::new();
                    while line != "\r\n" {
                        line.clear();
                        requests.read_line(&mut line).unwrap();
                    }
                    requests.read_exact(&mut [0; 2]).unwrap();
                    stream.write_all(reply.as_bytes()).unwrap();
                }
            });
            replies.iter().map(|_| collector.post(b"{}")).collect()
        })
    }

    #[test]
    fn replies_are_read_whole_and_the_connection_is_kept() {
        let sized = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}".to_owned();
        let chunked = "HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n[\r\n1\r\n]\r\n0\r\n\r\n".to_owned();
        let bodies: Vec<_> = posted(&[sized, chunked]).into_iter().map(Result::unwrap).collect();
        assert_eq!(bodies, [b"{}", b"[]"]);
    }

    #[test]
    fn a_failed_export_is_repeated_only_where_that_may_help() {
        let error = |reply: String| posted(&[reply]).remove(0).unwrap_err();
        let elsewhere = "Location: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n";
        for (status, is_temporary) in [(302, false), (307, false), (400, false), (429, true), (500, false), (503, true)]
        {
            let error = error(format!("HTTP/1.1 {status} Answer\r\n{elsewhere}"));
            assert!(matches!(error, ExportError::Status(code) if code == status), "{status}: {error}");
            assert_eq!(error.is_temporary(), is_temporary, "{status}");
        }
        let error = error("SSH-2.0\r\n\r\n".to_owned());
        assert!(matches!(error, ExportError::NoAnswer(_)) && error.is_temporary(), "{error}");
    }

    #[test]
    fn an_export_that_was_taken_is_not_repeated_whatever_the_reply_says() {
        let long = "x".repeat(65_537);
        let long = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{long}", long.len());
        assert_eq!(posted(&[long]).remove(0).unwrap(), b"");
    }
}
