//! One client's requests over HTTP: what was sent, and what came back, if anything did.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::{Agent, Error};

/// How long a client waits for a reply. A server that keeps it waiting longer has hung, which fails
/// the test.
const PATIENCE: Duration = Duration::from_mins(2);

/// A request, so that it can be sent again as it was.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: Option<String>,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Request {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: "GET",
            path: path.into(),
            body: None,
            headers: Vec::new(),
        }
    }

    pub(crate) fn delete(path: impl Into<String>) -> Self {
        Self {
            method: "DELETE",
            path: path.into(),
            body: None,
            headers: Vec::new(),
        }
    }

    pub(crate) fn with_body(method: &'static str, path: impl Into<String>, body: &Value) -> Self {
        Self {
            method,
            path: path.into(),
            body: Some(body.to_string()),
            headers: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// A reply that arrived whole.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) etag: Option<String>,
    pub(crate) replayed: bool,
    pub(crate) retry_after: bool,
    pub(crate) link: Option<String>,
    pub(crate) preference_applied: Option<String>,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Whether the service says that it could not do this now and may do it later.
    pub(crate) fn is_put_off(&self) -> bool {
        let is_put_off = self.status == 503;
        assert!(
            !is_put_off || self.retry_after,
            "a 503 that does not say when to come again: {self:?}"
        );
        is_put_off
    }

    /// The target of the link with a relation.
    pub(crate) fn linked(&self, relation: &str) -> Option<&str> {
        let of_relation = |link: &&str| link.ends_with(&format!("; rel=\"{relation}\""));
        self.link
            .as_deref()?
            .split(", ")
            .find(of_relation)?
            .strip_prefix('<')?
            .split('>')
            .next()
    }

    /// Whether another request was in the way, so that this one is to be sent again.
    pub(crate) fn is_in_the_way(&self) -> bool {
        self.status == 409 && self.json().get("data").is_none()
    }
}

/// A client with a token, unless that is empty. It keeps its connections open.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    agent: Agent,
    token: String,
    cut: Arc<AtomicUsize>,
}

impl Caller {
    pub(crate) fn new(token: &str) -> Self {
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        Self {
            agent,
            token: token.to_owned(),
            cut: Arc::default(),
        }
    }

    /// How many replies ended in their middle.
    pub(crate) fn cut(&self) -> usize {
        self.cut.load(Ordering::Relaxed)
    }

    /// Sends a request; `None` when no whole reply arrived.
    pub(crate) fn send(&self, address: &str, request: &Request) -> Option<Reply> {
        let mut built = ureq::http::Request::builder()
            .method(request.method)
            .uri(format!("http://{address}{}", request.path))
            .header("Content-Type", "application/json");
        if !self.token.is_empty() {
            built = built.header("Authorization", format!("Bearer {}", self.token));
        }
        for (name, value) in &request.headers {
            built = built.header(*name, value);
        }
        let response = match &request.body {
            Some(body) => self.agent.run(built.body(body.as_str()).unwrap()),
            None => self.agent.run(built.body(()).unwrap()),
        };
        let (head, mut body) = whole(response, request)?.into_parts();
        let Some(body) = whole(body.read_to_vec(), request) else {
            self.cut.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let header = |name| {
            head.headers
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        Some(Reply {
            status: head.status.as_u16(),
            etag: header("etag"),
            replayed: header("idempotent-replayed").is_some(),
            retry_after: header("retry-after").is_some(),
            link: header("link"),
            preference_applied: header("preference-applied"),
            body: String::from_utf8(body).unwrap(),
        })
    }

    /// Sends a request to a server that must answer it.
    pub(crate) fn ask(&self, address: &str, request: &Request) -> Reply {
        self.send(address, request)
            .unwrap_or_else(|| panic!("no reply to {request:?}"))
    }

    /// Sends a request that can be sent again until it is answered by more than that it is to be
    /// sent again.
    pub(crate) fn insist(&self, address: &str, request: &Request) -> Reply {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.send(address, request) {
                Some(reply) if !reply.is_put_off() && !reply.is_in_the_way() => return reply,
                answer => assert!(
                    Instant::now() < deadline,
                    "{request:?} is never answered: {answer:?}"
                ),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// What arrived, unless the connection was refused or lost. Nothing else may happen to a request.
fn whole<T>(arrived: Result<T, Error>, request: &Request) -> Option<T> {
    match arrived {
        Ok(arrived) => Some(arrived),
        Err(error @ Error::Timeout(_)) => {
            panic!("no reply in {PATIENCE:?} to {request:?}: {error}")
        }
        Err(Error::Io(_) | Error::ConnectionFailed | Error::Protocol(_)) => None,
        Err(error) => panic!("{error} for {request:?}"),
    }
}
