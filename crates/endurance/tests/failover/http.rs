//! One client's requests, each with its time and its answer.

use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::Agent;

/// How long a client waits for an answer before it gives up.
const PATIENCE: Duration = Duration::from_secs(20);

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    List,
    Create,
    Update,
}

impl Kind {
    pub(crate) const fn is_write(self) -> bool {
        matches!(self, Self::Create | Self::Update)
    }
}

/// A request, so that it can be sent again as it was.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) kind: Kind,
    pub(crate) path: String,
    /// With its `Idempotency-Key`.
    pub(crate) body: Option<(String, String)>,
}

/// A request that was sent, and what became of it. Times are counted from the beginning of the
/// load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observation {
    pub(crate) kind: Kind,
    pub(crate) begun: Duration,
    pub(crate) ended: Duration,
    /// Nothing when no whole answer arrived.
    pub(crate) status: Option<u16>,
    pub(crate) has_retry_after: bool,
}

impl Observation {
    pub(crate) fn time(&self) -> Duration {
        self.ended.checked_sub(self.begun).unwrap()
    }

    pub(crate) fn is_served(&self) -> bool {
        self.status
            .is_some_and(|status| (200..300).contains(&status))
    }
}

/// A whole answer.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<u64>,
    pub(crate) body: String,
}

impl Reply {
    /// The record, or the records, that it shows.
    pub(crate) fn data(&self) -> Value {
        serde_json::from_str::<Value>(&self.body)
            .map(|mut body| body["data"].take())
            .unwrap_or_default()
    }

    /// Whether the same request is to be sent again.
    pub(crate) fn is_to_be_sent_again(&self) -> bool {
        self.status == 503 || self.status == 409 && self.data().is_null()
    }
}

/// A client with a token, which keeps its connections open.
pub(crate) struct Caller<'a> {
    agent: Agent,
    address: &'a str,
    token: &'a str,
    begun: Instant,
}

impl<'a> Caller<'a> {
    /// A client of the balancer at the address. Times are counted from `begun`.
    pub(crate) fn new(address: &'a str, token: &'a str, begun: Instant) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        Self {
            agent,
            address,
            token,
            begun,
        }
    }

    /// Sends a request. There is no reply when the connection was lost, or nothing came for too
    /// long.
    pub(crate) fn send(&self, request: &Request) -> (Observation, Option<Reply>) {
        let begun = self.begun.elapsed();
        let reply = self.exchange(request);
        let ended = self.begun.elapsed();
        let observation = Observation {
            kind: request.kind,
            begun,
            ended,
            status: reply.as_ref().map(|reply| reply.status),
            has_retry_after: reply
                .as_ref()
                .is_some_and(|reply| reply.retry_after.is_some()),
        };
        (observation, reply)
    }

    fn exchange(&self, request: &Request) -> Option<Reply> {
        let method = match request.kind {
            Kind::Read | Kind::List => "GET",
            Kind::Create => "POST",
            Kind::Update => "PATCH",
        };
        let built = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{}", self.address, request.path))
            .header("Content-Type", "application/json")
            .header("Authorization", format!("Bearer {}", self.token));
        let response = match &request.body {
            Some((key, body)) => self.agent.run(
                built
                    .header("Idempotency-Key", key)
                    .body(body.as_str())
                    .unwrap(),
            ),
            None => self.agent.run(built.body(()).unwrap()),
        };
        let (head, mut body) = response.ok()?.into_parts();
        let body = body.read_to_string().ok()?;
        let retry_after = head
            .headers
            .get("retry-after")
            .and_then(|value| value.to_str().ok()?.parse().ok());
        Some(Reply {
            status: head.status.as_u16(),
            retry_after,
            body,
        })
    }
}
