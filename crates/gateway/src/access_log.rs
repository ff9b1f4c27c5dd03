//! One line in the log and one count for each request: the pattern of its path, the number of its
//! token, its status, and the time of its jobs in the store. Never a name, an address or the text
//! of a token.
//!
//! This middleware wraps all routes. The names of the metrics are in `http_kit::metrics`.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::body::MessageBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::HeaderValue;
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage as _, HttpRequest};
use log::kv::Value;
use log::{Level, Record};
use storage::store::{RequestTimes, timed};

use http_kit::metrics::requests::{Outcome, Passing, RequestMetrics};
use http_kit::requests::methods::method_name;
use http_kit::requests::request_id::{self, RequestId};
use http_kit::requests::traceparent;

/// Answers the request and records it.
///
/// # Errors
///
/// The errors of the wrapped service.
pub async fn log(
    request: ServiceRequest,
    next: Next<impl MessageBody>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let id = request_id::choose(request.headers());
    let header = HeaderValue::from_str(&id);
    let mut answering = Answering::begin(&request, Arc::clone(&id));
    let answer = timed(
        Rc::clone(&answering.times),
        request_id::under(id, next.call(request)),
    )
    .await;
    let status = match &answer {
        Ok(response) => response.status(),
        Err(error) => error.as_response_error().status_code(),
    };
    answering.outcome = Outcome::Answered(status);
    // Records the request.
    drop(answering);
    let mut response = answer?;
    if let Ok(header) = header {
        response.headers_mut().insert(request_id::HEADER, header);
    }
    Ok(response)
}

/// Records the number of the valid token of the request, if it has one.
pub fn identify(request: &HttpRequest, token: Option<i64>) {
    if let Some(observed) = request.extensions().get::<Rc<Observed>>() {
        observed.token.set(token);
    }
}

/// Records that the request waits for changes, as its client asked. Its duration is not measured:
/// the wait says nothing about the speed of the server.
pub fn set_waited(request: &HttpRequest) {
    if let Some(observed) = request.extensions().get::<Rc<Observed>>() {
        observed.waited.set(true);
    }
}

/// Records the pattern of a versioned path. Other paths are recorded by the route that they match.
pub fn set_pattern(request: &HttpRequest, pattern: Rc<str>) {
    if let Some(observed) = request.extensions().get::<Rc<Observed>>() {
        observed.pattern.replace(Some(pattern));
    }
}

/// The target of the lines.
const LOG_TARGET: &str = "access";

/// The version of a path outside all versions.
const NO_VERSION: &str = "-";

/// Facts about a request that are found out while it is answered.
#[derive(Default)]
struct Observed {
    /// The number of its token, once it is known.
    token: Cell<Option<i64>>,
    /// The pattern of the path, such as `/api/<version>/trainees/{trainee_id}`; `None` for an
    /// unknown path.
    pattern: RefCell<Option<Rc<str>>>,
    waited: Cell<bool>,
}

/// A request that is being answered. The request is recorded when this is dropped, also if it is
/// cancelled.
struct Answering {
    id: RequestId,
    started: Instant,
    method: &'static str,
    observed: Rc<Observed>,
    times: RequestTimes,
    traceparent: Option<String>,
    outcome: Outcome,
    /// `None` in tests that mount the service without metrics.
    metrics: Option<Rc<RequestMetrics>>,
    _passing: Option<Passing>,
}

impl Answering {
    /// Begins to observe a request. Until its outcome is set, the request counts as cancelled.
    fn begin(request: &ServiceRequest, id: RequestId) -> Self {
        let metrics = request.app_data::<Rc<RequestMetrics>>().cloned();
        let observed = Rc::new(Observed::default());
        // Requests of a version are named by their endpoint, which the dispatcher records.
        if !is_of_a_version(request.path()) {
            observed
                .pattern
                .replace(request.match_pattern().map(Rc::from));
        }
        request.extensions_mut().insert(Rc::clone(&observed));
        Self {
            id,
            started: Instant::now(),
            method: method_name(request.method()),
            observed,
            times: RequestTimes::default(),
            traceparent: traceparent::well_formed(request.headers()).map(str::to_owned),
            outcome: Outcome::Cancelled,
            _passing: metrics.as_deref().map(RequestMetrics::begin),
            metrics,
        }
    }

    /// Writes the line of the log, if the log shows it, and counts the request.
    fn record(&self, duration: Duration) {
        let pattern = self.observed.pattern.borrow();
        if log::log_enabled!(target: LOG_TARGET, Level::Info) {
            self.write_line(pattern.as_deref(), duration);
        }
        if let Some(metrics) = &self.metrics {
            // A wait that the client asked for would distort the measured durations, and a request
            // that its client has given up has no reply.
            let is_answered = matches!(self.outcome, Outcome::Answered(_));
            let measured = is_answered && !self.observed.waited.get();
            let measured = measured.then_some(duration);
            metrics.end(pattern.as_deref(), self.method, self.outcome, measured);
        }
    }

    fn write_line(&self, pattern: Option<&str>, duration: Duration) {
        let (version, endpoint) = split(pattern);
        let mut fields = Vec::with_capacity(12);
        fields.extend([
            ("request_id", Value::from(&*self.id)),
            ("method", Value::from(self.method)),
            ("endpoint", Value::from(endpoint)),
            ("version", Value::from(version)),
        ]);
        if let Some(token) = self.observed.token.get() {
            fields.push(("token", Value::from(token)));
        }
        fields.push(("status", Value::from_display(&self.outcome)));
        fields.push(("milliseconds", Value::from(milliseconds(duration))));
        if let Some(times) = self.times.get() {
            fields.push(("wait_ms", Value::from(milliseconds(times.wait))));
            fields.push(("database_ms", Value::from(milliseconds(times.database))));
            fields.push(("statements", Value::from(times.statements)));
            fields.push(("runs", Value::from(times.runs)));
        }
        if let Some(traceparent) = &self.traceparent {
            fields.push(("traceparent", Value::from(traceparent.as_str())));
        }
        let mut record = Record::builder();
        let record = record
            .level(Level::Info)
            .target(LOG_TARGET)
            .key_values(&fields);
        log::logger().log(&record.args(format_args!("request")).build());
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.record(self.started.elapsed());
    }
}

/// Whether a path is below a version. The routes there record their patterns, which saves matching
/// the path again. A path with escapes does not count, so its pattern is matched.
fn is_of_a_version(path: &str) -> bool {
    path.strip_prefix("/api/v")
        .is_some_and(|rest| rest.starts_with(|next: char| next.is_ascii_digit()))
}

/// Milliseconds, rounded to tenths.
fn milliseconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}

/// The version and the rest of a pattern such as `/api/<version>/trainees/{trainee_id}`. `-` stands
/// for a part that the pattern does not have.
fn split(pattern: Option<&str>) -> (&str, &str) {
    let Some(pattern) = pattern else {
        return (NO_VERSION, NO_VERSION);
    };
    let version_and_rest = pattern
        .strip_prefix("/api/")
        .and_then(|rest| rest.split_at_checked(rest.find('/')?));
    match version_and_rest {
        Some(parts) => parts,
        None => (NO_VERSION, pattern),
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, poll_fn};
    use std::task::Poll;

    use actix_web::dev::Service as _;
    use actix_web::middleware::from_fn;
    use actix_web::test::{TestRequest, init_service};
    use actix_web::{App, HttpResponse, rt, web};
    use adapter_kit::Versions;
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;
    use http_kit::paths;

    #[test]
    fn a_request_that_is_given_up_is_counted_as_such() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let metrics = recorder.handle();
        let abandon = async {
            let app = App::new()
                .app_data(Rc::new(RequestMetrics::new(&Versions::among(
                    &[],
                    &[],
                    &[],
                ))))
                .wrap(from_fn(log));
            let app = app.route(paths::VERSIONS, web::get().to(pending::<HttpResponse>));
            let app = init_service(app).await;
            let mut answer =
                Box::pin(app.call(TestRequest::get().uri(paths::VERSIONS).to_request()));
            let begun =
                poll_fn(|context| Poll::Ready(answer.as_mut().poll(context).is_pending())).await;
            assert!(
                begun && metrics.render().contains("register_requests_in_flight 1"),
                "{}",
                metrics.render()
            );
        };
        metrics::with_local_recorder(&recorder, || rt::System::new().block_on(abandon));
        let text = metrics.render();
        let counted =
            "version=\"-\",endpoint=\"/api/versions\",method=\"GET\",status=\"cancelled\"} 1";
        assert!(
            text.contains(counted) && text.contains("register_requests_in_flight 0"),
            "{text}"
        );
    }
}
