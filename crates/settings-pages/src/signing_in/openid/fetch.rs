//! HTTP requests to the issuer: without redirections, with a time limit for all requests of one
//! page, and with a size limit for replies. Blocks the thread.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use openidconnect::url::{Host, Url};
use openidconnect::{HttpRequest, HttpResponse, SyncHttpClient};
use storage::base::token::Environment;
use ureq::{Agent, http};

use crate::signing_in::client_tls::{self, NoRootCertificates};

const TIMEOUT: Duration = Duration::from_secs(5);
const MAX_REPLY_BYTES: u64 = 1_048_576;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// `https` only.
    Https,
    /// `http` on this machine only, for a sandbox.
    LocalHttp,
}

impl Reach {
    /// Returns `None` for addresses that are never requested.
    fn from_address(address: &Url) -> Option<Self> {
        let is_local = match address.host() {
            Some(Host::Ipv4(address)) => IpAddr::from(address).is_loopback(),
            Some(Host::Ipv6(address)) => IpAddr::from(address).is_loopback(),
            Some(Host::Domain(name)) => name == "localhost",
            None => false,
        };
        match address.scheme() {
            "https" if address.host().is_some() => Some(Self::Https),
            "http" if is_local => Some(Self::LocalHttp),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Client {
    reach: Reach,
    agent: Agent,
}

#[derive(Debug, thiserror::Error)]
pub enum AddressError {
    #[error(
        "must be https://HOST, optionally with a port and a path; in a sandbox also http on this machine"
    )]
    NotHttps,
    /// There are no root certificates for verifying the issuer.
    #[error("the system has no root certificates: set SSL_CERT_FILE")]
    NoRootCertificates(#[from] NoRootCertificates),
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum FetchError {
    /// The issuer names an address that is not allowed.
    #[error("address with another scheme or on another machine")]
    Address,
    #[error("no answer in time")]
    TooLate,
    #[error("unexpected redirection ({0})")]
    Redirects(u16),
    /// Also for a reply that is too large.
    #[error("{0}")]
    NoAnswer(#[from] ureq::Error),
    #[error("{0}")]
    Reply(#[from] http::Error),
}

impl Client {
    pub(super) fn new(issuer: &Url, environment: Environment) -> Result<Self, AddressError> {
        let reach = Reach::from_address(issuer).ok_or(AddressError::NotHttps)?;
        let is_plain = issuer.query().is_none()
            && issuer.fragment().is_none()
            && issuer.username().is_empty()
            && issuer.password().is_none();
        if !is_plain || (reach == Reach::LocalHttp && environment != Environment::Sandbox) {
            return Err(AddressError::NotHttps);
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            // A redirection could lead to an address that `Client::reaches` rejects.
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("trainee-register/", env!("CARGO_PKG_VERSION")));
        let config = match reach {
            Reach::Https => config
                .https_only(true)
                .tls_config(client_tls::load_config()?),
            Reach::LocalHttp => config,
        };
        Ok(Self {
            reach,
            agent: config.build().into(),
        })
    }

    /// Whether an address named by the issuer may be requested or shown to a browser.
    pub(super) fn reaches(&self, address: &Url) -> bool {
        Reach::from_address(address) == Some(self.reach)
    }

    /// Starts the time limit for the requests of one page.
    pub(super) fn begin(&self) -> Fetch<'_> {
        Fetch {
            client: self,
            deadline: Instant::now() + TIMEOUT,
        }
    }
}

pub(super) struct Fetch<'a> {
    client: &'a Client,
    deadline: Instant,
}

impl SyncHttpClient for Fetch<'_> {
    type Error = FetchError;

    fn call(&self, request: HttpRequest) -> Result<HttpResponse, FetchError> {
        let address = Url::parse(&request.uri().to_string()).map_err(|_| FetchError::Address)?;
        if !self.client.reaches(&address) {
            return Err(FetchError::Address);
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(FetchError::TooLate);
        }
        let agent = &self.client.agent;
        // A GET request must have no body, not an empty one.
        let sent = if request.body().is_empty() {
            agent.run(
                agent
                    .configure_request(request.map(drop))
                    .timeout_global(Some(left))
                    .build(),
            )
        } else {
            agent.run(
                agent
                    .configure_request(request)
                    .timeout_global(Some(left))
                    .build(),
            )
        };
        let (head, mut body) = sent?.into_parts();
        if head.status.is_redirection() {
            return Err(FetchError::Redirects(head.status.as_u16()));
        }
        let body = body.with_config().limit(MAX_REPLY_BYTES).read_to_vec()?;
        let mut reply = http::Response::builder().status(head.status).body(body)?;
        *reply.headers_mut() = head.headers;
        Ok(reply)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn issuer_needs_https_or_local_address_in_sandbox() {
        let is_taken = |address: &str, environment| {
            Client::new(&address.parse().unwrap(), environment).is_ok()
        };
        for address in ["https://id.example", "https://id.example:8443/realm/"] {
            assert!(
                is_taken(address, Environment::Production)
                    && is_taken(address, Environment::Sandbox),
                "{address}"
            );
        }
        for address in [
            "http://127.0.0.1:3000",
            "http://[::1]:3000",
            "http://localhost/realm",
        ] {
            assert!(is_taken(address, Environment::Sandbox), "{address}");
            assert!(!is_taken(address, Environment::Production), "{address}");
        }
        for address in [
            "http://id.example",
            "http://169.254.169.254/",
            "http://127.0.0.1.example",
            "ftp://127.0.0.1",
            "file:///etc/passwd",
            "https://id.example/?a=b",
            "https://id.example/#a",
            "https://me:secret@id.example",
        ] {
            assert!(!is_taken(address, Environment::Sandbox), "{address}");
        }
    }

    #[test]
    fn issuer_cannot_name_other_scheme_or_leave_local_machine() {
        let reaches = |issuer: &str, address: &str| {
            let client = Client::new(&issuer.parse().unwrap(), Environment::Sandbox).unwrap();
            let is_reached = client.reaches(&address.parse().unwrap());
            if !is_reached {
                let request = http::Request::get(address).body(Vec::new()).unwrap();
                assert!(
                    matches!(client.begin().call(request), Err(FetchError::Address)),
                    "{address}"
                );
            }
            is_reached
        };
        assert!(reaches("https://id.example", "https://keys.example/jwks"));
        assert!(!reaches("https://id.example", "http://id.example/jwks"));
        assert!(!reaches("https://id.example", "http://127.0.0.1/jwks"));
        assert!(reaches(
            "http://127.0.0.1:3000",
            "http://localhost:4000/jwks"
        ));
        assert!(!reaches("http://127.0.0.1:3000", "http://id.example/jwks"));
        assert!(!reaches("http://127.0.0.1:3000", "https://id.example/jwks"));
    }
}
