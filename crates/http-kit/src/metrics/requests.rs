//! Counts requests and connections. Each worker has its own handles of counters, made when they are
//! first needed, so that a request is counted without a lock.

use std::any::Any;
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use actix_web::dev::Extensions;
use actix_web::http::StatusCode;
use adapter_kit::{EndpointRow, Versions};
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
    /// A reply with this status.
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
    /// Endpoints by their whole patterns, such as `/api/<version>/trainees`.
    by_pattern: HashMap<String, EndpointMetrics>,
    /// The pages under `/docs`.
    docs: EndpointMetrics,
    /// The pages of an organisation's settings.
    settings: EndpointMetrics,
    /// All unknown paths.
    unknown: EndpointMetrics,
    in_flight: Gauge,
}

/// Counts the requests for one path, or for one group of paths.
struct EndpointMetrics {
    version: SharedString,
    endpoint: &'static str,
    /// Deprecated endpoints of this path.
    deprecated: Vec<&'static EndpointRow>,
    requests: RefCell<HashMap<(&'static str, Outcome), Counter>>,
    duration: OnceCell<Histogram>,
}

impl RequestMetrics {
    /// The metrics of a server with these versions.
    #[must_use]
    pub fn new(versions: &Versions) -> Self {
        let mut by_pattern = HashMap::from([(
            paths::VERSIONS.to_owned(),
            EndpointMetrics::without_version(paths::VERSIONS),
        )]);
        for served in versions.iter() {
            let label = served.version.label;
            for document in OpenApiDocument::ALL {
                by_pattern.insert(
                    document.versioned_path(label),
                    EndpointMetrics::new(version_label(label), document.path()),
                );
            }
            for endpoint in served.version.endpoints.all() {
                let row = served.version.row(endpoint);
                let pattern = format!("{}{}", label.base_path(), row.path);
                let metrics = by_pattern
                    .entry(pattern)
                    .or_insert_with(|| EndpointMetrics::new(version_label(label), row.path));
                if served.version.endpoints.deprecation(endpoint).is_some() {
                    metrics.deprecated.push(row);
                }
            }
        }
        Self {
            by_pattern,
            docs: EndpointMetrics::without_version(paths::DOCS),
            settings: EndpointMetrics::without_version(paths::SETTINGS),
            unknown: EndpointMetrics::without_version(NONE),
            in_flight: gauge!(REQUESTS_IN_FLIGHT),
        }
    }

    /// Counts a request as being answered, until the returned guard is dropped.
    #[must_use]
    pub fn begin(&self) -> Passing {
        Passing::begin(self.in_flight.clone())
    }

    /// Counts a request that has ended. `pattern` is that of its path, `None` for an unknown path.
    /// `duration` is `None` for a request that waited because its client asked for it.
    pub fn end(
        &self,
        pattern: Option<&str>,
        method: &'static str,
        outcome: Outcome,
        duration: Option<Duration>,
    ) {
        let metrics = match pattern {
            Some(pattern) => match self.by_pattern.get(pattern) {
                Some(metrics) => metrics,
                None if pattern.starts_with(paths::DOCS) => &self.docs,
                None if pattern.starts_with(paths::SETTINGS) => &self.settings,
                None => &self.unknown,
            },
            None => &self.unknown,
        };
        metrics.count(method, outcome, duration);
    }
}

impl EndpointMetrics {
    fn new(version: SharedString, endpoint: &'static str) -> Self {
        Self {
            version,
            endpoint,
            deprecated: Vec::new(),
            requests: RefCell::default(),
            duration: OnceCell::new(),
        }
    }

    /// Metrics of a path that belongs to no version.
    fn without_version(endpoint: &'static str) -> Self {
        Self::new(NONE.into(), endpoint)
    }

    /// Counts a request that has ended. Without a `duration` only the number of requests changes.
    fn count(&self, method: &'static str, outcome: Outcome, duration: Option<Duration>) {
        let new_counter = || {
            counter!(
                REQUESTS,
                "version" => self.version.clone(), "endpoint" => self.endpoint,
                "method" => method, "status" => outcome.to_string()
            )
        };
        self.requests
            .borrow_mut()
            .entry((method, outcome))
            .or_insert_with(new_counter)
            .increment(1);
        let new_histogram = || histogram!(REQUEST_DURATION, "version" => self.version.clone(), "endpoint" => self.endpoint);
        if let Some(duration) = duration {
            self.duration.get_or_init(new_histogram).record(duration);
        }
        for row in &self.deprecated {
            let mut endpoint_methods = methods(row.method).iter();
            if endpoint_methods.any(|endpoint_method| endpoint_method.as_str() == method) {
                deprecated_requests(self.version.clone(), row.path).increment(1);
            }
        }
    }
}

/// Adds one to a gauge until this is dropped.
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

/// Counts a connection of a client until it is closed. To be called from `on_connect` of a server.
pub fn connected(_connection: &dyn Any, extensions: &mut Extensions) {
    extensions.insert(Rc::new(Passing::begin(gauge!(CONNECTIONS_OPEN))));
}
