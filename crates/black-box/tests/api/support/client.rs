//! A client that says what was answered, whatever the status is.

use std::time::Duration;

use adapter_kit::ApiVersion;
use serde_json::Value;
use ureq::Agent;
use ureq::http::{HeaderMap, HeaderName, HeaderValue};

use super::common_form;
use super::contract::{self, Sent};

/// How long a reply may take before the test fails.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Connections to a server.
pub(crate) struct Client(Agent);

impl Client {
    pub(crate) fn new() -> Self {
        Self(
            Agent::config_builder()
                .http_status_as_error(false)
                .max_redirects(0)
                .timeout_global(Some(TIMEOUT))
                .build()
                .into(),
        )
    }
}

/// A request on its way.
pub(crate) struct Request<'a> {
    client: &'a Client,
    request: ureq::http::Request<Vec<u8>>,
    /// The version whose form the response has; without one, that of the path.
    version: Option<&'static ApiVersion>,
    /// The status of success in the version, and the usual one of the endpoint, if they differ.
    success: Option<(u16, u16)>,
}

impl<'a> Request<'a> {
    pub(crate) fn new(client: &'a Client, method: &str, url: String) -> Self {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(url)
            .body(Vec::new())
            .unwrap();
        Self {
            client,
            request,
            version: None,
            success: None,
        }
    }

    /// Reads the response in the form of this version, also if the register of versions does not
    /// have it.
    pub(crate) fn with_version(self, version: &'static ApiVersion) -> Self {
        Self {
            version: Some(version),
            ..self
        }
    }

    /// Reads the status `own` of the response as the status `usual`.
    pub(crate) fn with_success(self, own: u16, usual: u16) -> Self {
        Self {
            success: Some((own, usual)),
            ..self
        }
    }

    /// Replaces a header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.request
            .headers_mut()
            .insert(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    /// Adds a header beside others of its name.
    pub(crate) fn header_again(mut self, name: &str, value: &str) -> Self {
        let name: HeaderName = name.parse().unwrap();
        self.request
            .headers_mut()
            .append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        self
    }

    /// Removes a header.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.request.headers_mut().remove(name);
        self
    }

    /// Sets a JSON body, with the key of the version for `data`.
    pub(crate) fn json(self, body: impl Into<Value>) -> Self {
        let body = match common_form::version_of(self.request.uri().path()) {
            Some(version) => common_form::request(version, body.into()),
            None => body.into(),
        };
        self.bytes(body.to_string())
            .header("Content-Type", "application/json")
    }

    /// Sets a body without a `Content-Type`.
    pub(crate) fn bytes(mut self, body: impl Into<Vec<u8>>) -> Self {
        *self.request.body_mut() = body.into();
        self
    }

    /// Sends the request and receives whatever is answered, as it is sent.
    pub(crate) fn raw(self) -> Raw {
        let Self {
            client: Client(agent),
            request,
            ..
        } = self;
        // Only a body that is there is sent: an empty one makes a difference to GET.
        let sent = if request.body().is_empty() {
            agent.run(request.map(|_| ()))
        } else {
            agent.run(request)
        };
        let (head, mut body) = sent.unwrap().into_parts();
        Raw {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.read_to_vec().unwrap(),
        }
    }

    /// Sends the request and receives a text that people, or their browsers, read.
    pub(crate) fn page(self) -> Page {
        let Raw {
            status,
            headers,
            body,
        } = self.raw();
        Page {
            status,
            headers,
            text: String::from_utf8(body).unwrap(),
        }
    }

    /// Sends the request and receives the reply, which must be JSON unless it has no body at all.
    #[track_caller]
    pub(crate) fn send(self) -> Response {
        let no_body = self.request.method() == "HEAD";
        let (sent, asked, success) = (self.sent(), self.version, self.success);
        let Raw {
            status,
            headers,
            body: bytes,
        } = self.raw();
        let written: Value = if bytes.is_empty() {
            Value::Null
        } else {
            serde_json::from_slice(&bytes).unwrap()
        };
        let version = asked.or_else(|| common_form::version_of(&sent.path));
        let body = match version {
            Some(version) if !written.is_null() => {
                common_form::converted(version, status, written.clone())
            }
            Some(_) | None => written.clone(),
        };
        let response = Response {
            status,
            headers,
            body,
            written,
        };
        let bodiless = [204, 304].contains(&response.status);
        assert_eq!(bytes.is_empty(), no_body || bodiless, "{response:?}");
        if !bodiless {
            let media_type = common_form::media_type(version, status);
            assert_eq!(
                response.header("content-type"),
                Some(media_type),
                "{response:?}"
            );
        }
        contract::check(&sent, &response);
        match success {
            Some((own, usual)) if own == response.status => Response {
                status: usual,
                ..response
            },
            Some(_) | None => response,
        }
    }

    /// What matters for the form of the reply.
    fn sent(&self) -> Sent {
        let headers = self.request.headers();
        let asks = |name: &str, what: &str| {
            headers
                .get_all(name)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .any(|value| value.contains(what))
        };
        let is_strict = asks("prefer", "handling=strict") && self.request.uri().query().is_some();
        Sent {
            method: self.request.method().to_string(),
            path: self.request.uri().path().to_owned(),
            by_generated_client: !asks("enhanced-errors", "") && !is_strict,
        }
    }
}

/// What was answered, as it was sent.
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Raw {
    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

/// A page, or what belongs to one.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) status: u16,
    headers: HeaderMap,
    pub(crate) text: String,
}

impl Page {
    /// Asserts the status of the page.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text);
        self
    }

    /// A header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The values of a header that may be there several times.
    pub(crate) fn header_values(&self, name: &str) -> impl Iterator<Item = &str> {
        let values = self.headers.get_all(name).into_iter();
        values.map(|value| value.to_str().unwrap())
    }
}

/// Checks of a text that people read.
pub(crate) trait TextChecks {
    /// Checks that the text has these parts.
    fn shows(&self, parts: &[&str]);

    /// Checks that the text has none of these parts.
    fn lacks(&self, parts: &[&str]);
}

impl TextChecks for str {
    #[track_caller]
    fn shows(&self, parts: &[&str]) {
        for part in parts {
            assert!(self.contains(part), "{part} is not in {self}");
        }
    }

    #[track_caller]
    fn lacks(&self, parts: &[&str]) {
        for part in parts {
            assert!(!self.contains(part), "{part} is in {self}");
        }
    }
}

impl TextChecks for Page {
    #[track_caller]
    fn shows(&self, parts: &[&str]) {
        self.text.shows(parts);
    }

    #[track_caller]
    fn lacks(&self, parts: &[&str]) {
        self.text.lacks(parts);
    }
}

/// What was answered.
#[derive(Debug, Clone)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The body in the common form; null when there is none.
    pub(crate) body: Value,
    /// The body as the version writes it.
    pub(crate) written: Value,
}

impl Response {
    /// Asserts the status of the reply.
    #[track_caller]
    pub(crate) fn is(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:#}", self.body);
        self
    }

    /// A header that is there at most once.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.get_all(name).iter();
        let value = values.next().map(|value| value.to_str().unwrap());
        assert!(
            values.next().is_none(),
            "{name} is there more than once: {:?}",
            self.headers
        );
        value
    }

    /// What the client should know of a request that was accepted.
    pub(crate) fn warnings(&self) -> Vec<&str> {
        self.headers
            .get_all("warning")
            .iter()
            .map(|value| value.to_str().unwrap())
            .collect()
    }

    /// What stands in `data`.
    #[track_caller]
    pub(crate) fn data(&self) -> &Value {
        self.body
            .get("data")
            .unwrap_or_else(|| panic!("there is no data: {:#}", self.body))
    }

    /// The names of the errors and their messages.
    #[track_caller]
    pub(crate) fn errors(&self) -> Vec<(&str, &str)> {
        let text = |entry: &'_ Value, key| {
            entry
                .get(key)
                .and_then(Value::as_str)
                .map(str::len)
                .is_some_and(|len| len > 0)
        };
        let entries = self.body.get("errors").and_then(Value::as_array);
        let entries = entries.unwrap_or_else(|| panic!("there are no errors: {:#}", self.body));
        assert!(
            entries
                .iter()
                .all(|entry| text(entry, "error") && text(entry, "message")),
            "{:#}",
            self.body
        );
        entries
            .iter()
            .map(|entry| {
                (
                    entry["error"].as_str().unwrap(),
                    entry["message"].as_str().unwrap(),
                )
            })
            .collect()
    }

    /// Checks the status and the name of the one error, and gives its message.
    #[track_caller]
    pub(crate) fn error(&self, status: u16, name: &str) -> &str {
        assert_eq!(self.status, status, "{:#}", self.body);
        let errors = self.errors();
        assert_eq!(
            errors.iter().map(|(error, _)| *error).collect::<Vec<_>>(),
            [name],
            "{:#}",
            self.body
        );
        errors[0].1
    }

    /// Checks that the content was refused for exactly one problem at each of these places, and
    /// gives the messages in the order of the places.
    #[track_caller]
    pub(crate) fn problems(&self, places: &[&str]) -> Vec<&str> {
        assert_eq!(self.status, 422, "{:#}", self.body);
        let errors = self.errors();
        assert!(
            errors
                .iter()
                .all(|(error, _)| *error == "UnprocessableEntity"),
            "{:#}",
            self.body
        );
        let messages: Vec<_> = errors.into_iter().map(|(_, message)| message).collect();
        self.messages_at(messages, places)
    }

    /// Checks that the state of the record refuses the request, with exactly one message, which
    /// begins with this.
    #[track_caller]
    pub(crate) fn transition(&self, place: &str) -> &str {
        let message = self.error(422, "StateTransitionError");
        assert!(message.starts_with(&format!("{place} ")), "{message}");
        message
    }

    #[track_caller]
    fn messages_at<'a>(&self, messages: Vec<&'a str>, places: &[&str]) -> Vec<&'a str> {
        assert_eq!(
            messages.len(),
            places.len(),
            "expected {places:?} in {:#}",
            self.body
        );
        let at = |place: &&str| {
            let mut at = messages
                .iter()
                .filter(|message| message.starts_with(&format!("{place} ")));
            let message = at
                .next()
                .unwrap_or_else(|| panic!("nothing about {place} in {:#}", self.body));
            assert!(
                at.next().is_none(),
                "more than one problem of {place} in {:#}",
                self.body
            );
            *message
        };
        places.iter().map(at).collect()
    }
}
