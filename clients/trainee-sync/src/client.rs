//! Requests to the register over HTTP: each is sent again where that may help, and counted.
//!
//! Every request of this program can be sent again: it reads, or it has an idempotency key, or
//! `If-Match`.

mod retry;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;
use ureq::http::{self, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};
use ureq::{Agent, Error};

use crate::progress::Progress;
use crate::token::Token;
pub(crate) use retry::asks_to_come_again;
use retry::{Retries, Verdict};
use trainee_file::at;

/// How long a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a reply may take, which is longer than the register lets a request wait.
const REPLY_TIMEOUT: Duration = Duration::from_secs(120);
/// The largest reply that is read. The register sends pages of 4 MiB at most; a batch is answered
/// with whole records.
const MOST_REPLY_BYTES: u64 = 64 << 20;

/// A request, which can be sent again as it is.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// What it is, for the count of requests: a method and a path without identifiers.
    pub(crate) kind: &'static str,
    method: &'static str,
    path: String,
    body: Option<String>,
    headers: Vec<(&'static str, String)>,
}

impl Request {
    /// A request without a body. The path begins after the address of the register.
    pub(crate) fn get(kind: &'static str, path: impl Into<String>) -> Self {
        Self {
            kind,
            method: "GET",
            path: path.into(),
            body: None,
            headers: Vec::new(),
        }
    }

    /// A request with a JSON body.
    pub(crate) fn with_body(
        kind: &'static str,
        method: &'static str,
        path: impl Into<String>,
        body: String,
    ) -> Self {
        Self {
            kind,
            method,
            path: path.into(),
            body: Some(body),
            headers: Vec::new(),
        }
    }

    /// The request with a header more.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A reply that arrived whole.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// Present for a reply that shows one record.
    pub(crate) etag: Option<String>,
    pub(crate) has_link: bool,
    /// The most requests that the token can send at once, where they are limited.
    pub(crate) quota: Option<usize>,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    pub(crate) body: Value,
}

impl Reply {
    /// Reason for a failed request, with the next step if the program knows one.
    pub(crate) fn refusal(&self) -> anyhow::Error {
        let errors = at(&self.body, "errors").as_array().into_iter().flatten();
        let mut messages: Vec<&str> = errors
            .filter_map(|error| error["message"].as_str())
            .collect();
        messages.extend(at(&self.body, "message").as_str());
        let said = if messages.is_empty() {
            String::new()
        } else {
            format!(": {}", messages.join("; "))
        };
        let next = match self.status {
            401 => {
                "; the token is not accepted: check that it is whole, of this register and not expired, or ask for a new one"
            }
            404 => "; check the address of the register and --version",
            410 => "; look for a version that is served at /docs of the register",
            300..=399 => {
                "; the register is elsewhere: name the address that answers itself with --register"
            }
            500..=599 => {
                "; run the command again later, and report the request to the operator if the error stays"
            }
            _ => "",
        };
        let request = self.request_id.as_deref().unwrap_or("without a name");
        anyhow!(
            "the register answered {}{said}{next} (request {request})",
            self.status
        )
    }
}

/// How requests are sent.
pub(crate) struct Settings {
    /// The address of the register, such as `https://register.example`.
    pub(crate) register: String,
    /// None for public pages alone.
    pub(crate) token: Option<Token>,
    /// How long a request is sent again without success.
    pub(crate) patience: Duration,
    /// Whether the token may cross a network as it is.
    pub(crate) allow_plain_http: bool,
}

/// A client of one register. It keeps its connections open, and threads can share it.
pub(crate) struct Client {
    agent: Agent,
    settings: Settings,
    progress: Progress,
    sent: Mutex<BTreeMap<&'static str, usize>>,
    sent_again: AtomicUsize,
    /// What the register has warned of, each text once.
    warned: Mutex<BTreeSet<String>>,
}

impl Client {
    /// A client that has sent nothing yet.
    pub(crate) fn new(settings: Settings, progress: Progress) -> Result<Self> {
        let is_encrypted = check_address(&settings.register, settings.allow_plain_http)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_TIMEOUT))
            .timeout_global(Some(REPLY_TIMEOUT))
            .user_agent(concat!("trainee-sync/", env!("CARGO_PKG_VERSION")));
        let config = if is_encrypted {
            config.tls_config(system_certificates()?)
        } else {
            config
        };
        let agent = config.build().into();
        Ok(Self {
            agent,
            settings,
            progress,
            sent: Mutex::default(),
            sent_again: AtomicUsize::new(0),
            warned: Mutex::default(),
        })
    }

    /// Sends a request until the register has decided about it. Any status but those that ask to
    /// come again is an answer.
    pub(crate) fn send(&self, request: &Request) -> Result<Reply> {
        let mut retries = Retries::new(self.settings.patience);
        loop {
            let begun = Instant::now();
            let attempt = self.attempt(request)?;
            let delay = match retries.judge(&attempt, begun) {
                Verdict::Answered => match attempt {
                    Ok(reply) => return Ok(reply),
                    Err(lost) => bail!("{lost}"),
                },
                Verdict::GiveUp => {
                    let gave_up = || {
                        format!(
                            "no answer from {} to {}",
                            self.settings.register, request.kind
                        )
                    };
                    let next = "run the command again: it goes on where it was";
                    let reason = match attempt {
                        Ok(reply) => reply.refusal(),
                        Err(lost) => {
                            anyhow!("{lost}; check the address and the network, and {next}")
                        }
                    };
                    return Err(reason).with_context(gave_up);
                }
                Verdict::Again(delay) => delay,
            };
            let why = attempt.map_or_else(
                |lost| lost,
                |reply| format!("the register answered {}", reply.status),
            );
            self.progress.say(&format!(
                "{}: {why}; trying again in {:.1} s",
                request.kind,
                delay.as_secs_f64()
            ));
            self.sent_again.fetch_add(1, Ordering::Relaxed);
            thread::sleep(delay);
        }
    }

    /// Sends a request once. The inner error is that no whole reply arrived, which may be different
    /// the next time.
    fn attempt(&self, request: &Request) -> Result<Result<Reply, String>> {
        *self
            .sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(request.kind)
            .or_default() += 1;
        let mut built = http::Request::builder()
            .method(request.method)
            .uri(format!("{}{}", self.settings.register, request.path))
            .header("Content-Type", "application/json");
        if let Some(token) = &self.settings.token {
            built = built.header("Authorization", token.authorization());
        }
        for (name, value) in &request.headers {
            built = built.header(*name, value);
        }
        let invalid = || format!("{} cannot be sent", request.kind);
        let response = match &request.body {
            Some(body) => self
                .agent
                .run(built.body(body.as_str()).with_context(invalid)?),
            None => self.agent.run(built.body(()).with_context(invalid)?),
        };
        let (head, mut body) = match response {
            Ok(response) => response.into_parts(),
            Err(error) => return lost(error),
        };
        let text = match body.with_config().limit(MOST_REPLY_BYTES).read_to_vec() {
            Ok(text) => text,
            Err(error) => return lost(error),
        };
        head.headers
            .get_all("warning")
            .iter()
            .filter_map(|value| value.to_str().ok())
            .for_each(|text| self.warn(text));
        let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let retry_after = header("retry-after")
            .and_then(|seconds| seconds.trim().parse().ok())
            .map(Duration::from_secs);
        Ok(Ok(Reply {
            status: head.status.as_u16(),
            etag: header("etag").map(str::to_owned),
            has_link: head.headers.contains_key("link"),
            quota: header("ratelimit-policy").and_then(read_quota),
            retry_after,
            request_id: header("x-request-id").map(str::to_owned),
            // What a balancer in front answers need not be JSON.
            body: serde_json::from_slice(&text).unwrap_or_default(),
        }))
    }

    /// Says what a header `Warning` says, such as that the token ends soon, unless it was said
    /// before.
    fn warn(&self, header: &str) {
        let text = header
            .trim_start_matches("299 - ")
            .trim_matches('"')
            .replace("\\\"", "\"");
        if self
            .warned
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(text.clone())
        {
            self.progress.say(&format!("the register warns: {text}"));
        }
    }

    /// The number of sent requests by kind.
    pub(crate) fn summary(&self) -> String {
        let sent = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        let kinds: Vec<String> = sent
            .iter()
            .map(|(kind, count)| format!("{count} {kind}"))
            .collect();
        let (all, again) = (
            sent.values().sum::<usize>(),
            self.sent_again.load(Ordering::Relaxed),
        );
        let mut summary = format!("{all} requests: {}", kinds.join(", "));
        if again > 0 {
            summary += &format!("; {again} of them were sent again");
        }
        summary
    }

    /// How many requests were sent.
    pub(crate) fn count(&self) -> usize {
        self.sent
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .values()
            .sum()
    }
}

/// What comes of a request without a whole reply: an inner error where it may go better the next
/// time.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "whatever else there is does not go better the next time"
)]
fn lost<T>(error: Error) -> Result<Result<T, String>> {
    match error {
        Error::Io(error) if is_about_certificate(&error) => Err(error).context(
            "the register cannot be trusted; check its address, and that this machine knows who issued its certificate \
             (SSL_CERT_FILE)",
        ),
        // A compressed reply that ended in its middle is one of these.
        Error::Io(_)
        | Error::ConnectionFailed
        | Error::Decompress(..)
        | Error::HostNotFound
        | Error::Protocol(_)
        | Error::Timeout(_) => Ok(Err(format!("no reply arrived ({error})"))),
        _ => Err(error).context("the register cannot be reached; check its address"),
    }
}

fn is_about_certificate(error: &io::Error) -> bool {
    let inner = error
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(inner, Some(rustls::Error::InvalidCertificate(_)))
}

/// Whether a token may be sent to the address, and whether the connection is encrypted.
fn check_address(register: &str, allow_plain_http: bool) -> Result<bool> {
    let uri = register
        .parse::<Uri>()
        .ok()
        .filter(|uri| matches!(uri.path(), "" | "/") && uri.query().is_none());
    let Some((scheme, host)) = uri
        .as_ref()
        .and_then(|uri| Some((uri.scheme_str()?, uri.host()?)))
    else {
        bail!(
            "{register} is not the address of a register; it is like https://register.example, without a path"
        );
    };
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    let is_this_machine = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    match scheme {
        "https" => Ok(true),
        "http" if is_this_machine || allow_plain_http => Ok(false),
        _ => bail!(
            "{register} would send the token unencrypted; use https, or --allow-plain-http where the network is your own"
        ),
    }
}

/// The certificates that this machine trusts.
fn system_certificates() -> Result<TlsConfig> {
    // The only provider of cryptography, and the first choice in this process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        bail!(
            "this machine has no certificates to know a register by; install ca-certificates, or set SSL_CERT_FILE"
        );
    }
    let certificates: Vec<Certificate<'static>> = found
        .certs
        .iter()
        .map(|certificate| Certificate::from_der(certificate).to_owned())
        .collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .build())
}

/// The requests of `RateLimit-Policy: "token";q=100;w=60`.
fn read_quota(policy: &str) -> Option<usize> {
    policy
        .split(';')
        .find_map(|part| part.trim().strip_prefix("q="))?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_sent_unencrypted_to_this_machine_only() {
        assert!(check_address("https://register.example", false).unwrap());
        for address in [
            "http://127.0.0.1:8080",
            "http://localhost:8080",
            "http://[::1]:8080",
        ] {
            assert!(!check_address(address, false).unwrap());
        }
        assert!(!check_address("http://register.example", true).unwrap());
        for address in [
            "http://register.example",
            "http://127.evil.example.org",
            "ftp://127.0.0.1",
            "register.example",
        ] {
            assert!(check_address(address, false).is_err(), "{address}");
        }
        assert!(check_address("https://register.example/api/v2026.1", false).is_err());
    }

    #[test]
    fn quota_is_read_from_the_policy() {
        assert_eq!(read_quota("\"token\";q=100;w=60"), Some(100));
        assert_eq!(read_quota("\"token\""), None);
    }
}
