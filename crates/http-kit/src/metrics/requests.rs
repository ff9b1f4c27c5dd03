//! Counts requests and connections. A worker has its own handles, made when they are first
//! needed, so that a request is counted without a lock.

use std::any::Any;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use actix_web::dev::Extensions;
use actix_web::http::StatusCode;
use adapter_kit::{Endpoint, Versions};
use metrics::{Counter, Gauge, Histogram, SharedString, counter, gauge, histogram};

use super::{
    CONNECTIONS_OPEN, NONE, REQUEST_DURATION, REQUESTS, REQUESTS_IN_FLIGHT, deprecated_requests,
    version_label,
};
use crate::paths::{self, OpenApiDocument};
use crate::requests::methods::methods;

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// With a reply.
    Answered(StatusCode),
    /// No reply: the client closed the connection, or the server stopped. The request may still be
    /// carried out.
    Cancelled,
}

impl fmt::Display for Outcome {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answered(status) => formatter.write_str(status.as_str()),
            Self::Cancelled => formatter.write_str("cancelled"),
        }
    }
}

/// Counts the requests that one worker answers.
pub struct RequestMetrics {
    /// The paths of the versions, by their whole patterns.
    places: HashMap<String, Place>,
    /// The pages and questions about the API itself.
    docs: Place,
    /// The pages of an organisation's settings.
    settings: Place,
    /// What there is not.
    nowhere: Place,
    in_flight: Gauge,
}

/// What requests are for.
struct Place {
    version: SharedString,
    endpoint: &'static str,
    /// Endpoints of this path that should no longer be used.
    deprecated: Vec<Endpoint>,
    requests: RefCell<HashMap<(&'static str, Outcome), Counter>>,
    duration: OnceCell<Histogram>,
}

impl RequestMetrics {
    /// For a server of these versions.
    #[must_use]
    pub fn new(versions: &Versions) -> Self {
        let mut places = HashMap::from([(
            paths::VERSIONS.to_owned(),
            Place::without_version(paths::VERSIONS),
        )]);
        for served in versions.iter() {
            let label = served.version.label;
            for document in OpenApiDocument::ALL {
                places.insert(
                    document.versioned_path(label),
                    Place::new(version_label(label), document.path()),
                );
            }
            for endpoint in served.version.endpoints.all() {
                let pattern = format!("{}{}", label.base_path(), endpoint.path());
                let place = places
                    .entry(pattern)
                    .or_insert_with(|| Place::new(version_label(label), endpoint.path()));
                if served.version.endpoints.deprecation(endpoint).is_some() {
                    place.deprecated.push(endpoint);
                }
            }
        }
        Self {
            places,
            docs: Place::without_version(paths::DOCS),
            settings: Place::without_version(paths::SETTINGS),
            nowhere: Place::without_version(NONE),
            in_flight: gauge!(REQUESTS_IN_FLIGHT),
        }
    }

    /// Counts a request that is being answered, until the answer is dropped.
    #[must_use]
    pub fn begin(&self) -> Passing {
        Passing::begin(self.in_flight.clone())
    }

    /// Counts a request that has come to its end. The pattern is that of its path, where there is
    /// such a path; there is no duration of one that waited because its client preferred to.
    pub fn end(
        &self,
        pattern: Option<&str>,
        method: &'static str,
        outcome: Outcome,
        duration: Option<Duration>,
    ) {
        let place = match pattern {
            Some(pattern) => match self.places.get(pattern) {
                Some(place) => place,
                None if pattern.starts_with(paths::DOCS) => &self.docs,
                None if pattern.starts_with(paths::SETTINGS) => &self.settings,
                None => &self.nowhere,
            },
            None => &self.nowhere,
        };
        place.count(method, outcome, duration);
    }
}

impl Place {
    fn new(version: SharedString, endpoint: &'static str) -> Self {
        Self {
            version,
            endpoint,
            deprecated: Vec::new(),
            requests: RefCell::default(),
            duration: OnceCell::new(),
        }
    }

    /// A place of no version.
    fn without_version(endpoint: &'static str) -> Self {
        Self::new(NONE.into(), endpoint)
    }

    fn count(&self, method: &'static str, outcome: Outcome, duration: Option<Duration>) {
        let new = || {
            counter!(
                REQUESTS,
                "version" => self.version.clone(), "endpoint" => self.endpoint,
                "method" => method, "status" => outcome.to_string()
            )
        };
        self.requests
            .borrow_mut()
            .entry((method, outcome))
            .or_insert_with(new)
            .increment(1);
        let new = || histogram!(REQUEST_DURATION, "version" => self.version.clone(), "endpoint" => self.endpoint);
        if let Some(duration) = duration {
            self.duration.get_or_init(new).record(duration);
        }
        let is_asked = |endpoint: &&Endpoint| {
            methods(endpoint.method())
                .iter()
                .any(|one| one.as_str() == method)
        };
        for endpoint in self.deprecated.iter().filter(is_asked) {
            deprecated_requests(self.version.clone(), *endpoint).increment(1);
        }
    }
}

/// One more of something, until this is dropped.
pub struct Passing(Gauge);

impl Passing {
    fn begin(gauge: Gauge) -> Self {
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Counts a connection of a client until it is closed, as a server's `on_connect` does.
pub fn connected(_connection: &dyn Any, extensions: &mut Extensions) {
    extensions.insert(Rc::new(Passing::begin(gauge!(CONNECTIONS_OPEN))));
}
