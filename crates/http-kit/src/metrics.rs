//! The metrics of the server: their names, units and meanings, and the recorder that collects them.
//! `docs/monitoring.md` lists them all in a table. A test compares the table with the exported
//! metrics.
//!
//! No value of a label is text from a request. Each value is the label of a served version, a path
//! of the API, a status, or the name of an enum variant. So the number of series is bounded.

pub mod requests;

use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::http::StatusCode;
use adapter_kit::{Label, Versions};
use domain::UnrecognisedNames;
use metrics::{
    Counter, SharedString, Unit, counter, describe_counter, describe_gauge, describe_histogram,
    gauge,
};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};

use crate::limits::rate_limit::RateLimitScope;

const REQUESTS: &str = "register_requests_total";
const REQUEST_DURATION: &str = "register_request_duration_seconds";
const REQUESTS_IN_FLIGHT: &str = "register_requests_in_flight";
const CONNECTIONS_OPEN: &str = "register_connections_open";
const DEPRECATED_REQUESTS: &str = "register_deprecated_requests_total";
const UNRECOGNISED_NAMES: &str = "register_unrecognised_names_total";
const TOKEN_FAILURES: &str = "register_token_failures_total";
const RATE_LIMITED: &str = "register_rate_limited_requests_total";
const LOG_LINES_LOST: &str = "register_log_lines_lost_total";
const VERSION_SERVED: &str = "register_version_served";
const TOKENS_EXPIRING: &str = "register_tokens_expiring";
const BATCH_ITEMS: &str = "register_batch_items_total";
const REQUEST_LOG_DROPPED: &str = "register_request_log_dropped_total";
const MAILS: &str = "register_mails_total";
const BUILD_INFO: &str = "register_build_info";
const START_TIME: &str = "process_start_time_seconds";

/// Upper bounds of the histogram buckets for durations of requests, in seconds.
const DURATIONS: &[f64] = &[
    0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// The value of a label where there is no such path or version.
pub(crate) const NONE: &str = "-";

/// Installs the recorder of metrics for the whole process. Must be called before the store is
/// opened and before a request is answered. `others` are histograms of other crates, with the bounds
/// of their buckets.
///
/// # Errors
///
/// When a recorder is installed already.
pub fn collect(others: &[(&str, &[f64])]) -> Result<PrometheusHandle, BuildError> {
    let buckets = others
        .iter()
        .copied()
        .chain([(REQUEST_DURATION, DURATIONS)]);
    let mut builder = PrometheusBuilder::new();
    for (name, bounds) in buckets {
        builder = builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), bounds)?;
    }
    let handle = builder.install_recorder()?;
    describe();
    Ok(handle)
}

fn describe() {
    describe_counter!(
        REQUESTS,
        Unit::Count,
        "Requests by version, endpoint, method and status."
    );
    describe_histogram!(
        REQUEST_DURATION,
        Unit::Seconds,
        "Time from a request to its reply, by version and endpoint."
    );
    describe_gauge!(
        REQUESTS_IN_FLIGHT,
        Unit::Count,
        "Requests that are being answered."
    );
    describe_gauge!(
        CONNECTIONS_OPEN,
        Unit::Count,
        "Connections of clients that are open."
    );
    describe_counter!(
        DEPRECATED_REQUESTS,
        Unit::Count,
        "Requests for endpoints that should no longer be used."
    );
    describe_counter!(
        UNRECOGNISED_NAMES,
        Unit::Count,
        "Names in bodies that the version does not have, by kind."
    );
    describe_counter!(
        TOKEN_FAILURES,
        Unit::Count,
        "Requests without a valid token, by reason."
    );
    describe_counter!(
        RATE_LIMITED,
        Unit::Count,
        "Requests refused by a rate limit, by the scope of the limit."
    );
    describe_counter!(
        LOG_LINES_LOST,
        Unit::Count,
        "Lines of the log that were dropped, or could not be written."
    );
    describe_gauge!(
        VERSION_SERVED,
        Unit::Count,
        "1 for each version that is served."
    );
    describe_gauge!(
        TOKENS_EXPIRING,
        Unit::Count,
        "Tokens that are accepted and expire within 30 days."
    );
    describe_counter!(
        BATCH_ITEMS,
        Unit::Count,
        "Items of batches by the status of their results."
    );
    describe_counter!(
        REQUEST_LOG_DROPPED,
        Unit::Count,
        "Requests that are missing from the record of requests."
    );
    describe_counter!(
        MAILS,
        Unit::Count,
        "Attempts to send mails, by the kind of the mail and the outcome."
    );
    describe_gauge!(
        BUILD_INFO,
        Unit::Count,
        "1, with the version of the program."
    );
    describe_gauge!(
        START_TIME,
        Unit::Seconds,
        "When the process started, in seconds since 1970."
    );
}

/// Sets the metrics that do not change while the process runs. Counters with few series begin at
/// zero, so that the first event already shows as a change: `reasons` are the values of
/// [`token_failures`], and `mail_kinds` those of [`mails`].
pub fn start(versions: &Versions, reasons: &[&'static str], mail_kinds: &[&'static str]) {
    gauge!(BUILD_INFO, "program" => env!("CARGO_PKG_VERSION")).set(1);
    gauge!(START_TIME).set(
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default(),
    );
    gauge!(REQUESTS_IN_FLIGHT).increment(0);
    gauge!(CONNECTIONS_OPEN).increment(0);
    for status in [
        StatusCode::CREATED,
        StatusCode::CONFLICT,
        StatusCode::UNPROCESSABLE_ENTITY,
    ] {
        batch_item(status).increment(0);
    }
    for served in versions.iter() {
        let label = version_label(served.version.label);
        gauge!(VERSION_SERVED, "version" => label.clone()).set(1);
        count_unrecognised_names(&label, &UnrecognisedNames::default());
        for deprecation in served.version.endpoints.deprecated {
            let path = served.version.row(deprecation.endpoint).path;
            deprecated_requests(label.clone(), path).increment(0);
        }
    }
    for reason in reasons {
        token_failures(reason).increment(0);
    }
    for scope in [RateLimitScope::Address, RateLimitScope::Token] {
        rate_limited(scope).increment(0);
    }
    request_log_dropped().increment(0);
    for kind in mail_kinds {
        for outcome in MailOutcome::ALL {
            mails(kind, outcome).increment(0);
        }
    }
}

/// Publishes how many tokens expire soon.
pub fn tokens_expiring(tokens: usize) {
    gauge!(TOKENS_EXPIRING).set(u32::try_from(tokens).unwrap_or(u32::MAX));
}

/// The counter of batch items whose results have this status.
pub fn batch_item(status: StatusCode) -> Counter {
    counter!(BATCH_ITEMS, "status" => status.as_str().to_owned())
}

/// Counts the names of a body that its version does not have.
pub fn unrecognised_names(version: Label, names: &UnrecognisedNames) {
    if *names != UnrecognisedNames::default() {
        count_unrecognised_names(&version_label(version), names);
    }
}

/// Adds the names to the counters of this version, also where there are none: that makes the
/// series.
fn count_unrecognised_names(version: &SharedString, names: &UnrecognisedNames) {
    let by_kind = [
        ("other_version", names.of_other_versions.len()),
        ("unknown", names.unknown),
    ];
    for (kind, names) in by_kind {
        let names = u64::try_from(names).unwrap_or(u64::MAX);
        counter!(UNRECOGNISED_NAMES, "version" => version.clone(), "kind" => kind).increment(names);
    }
}

/// The counter of requests without a valid token for this reason.
pub fn token_failures(reason: &'static str) -> Counter {
    counter!(TOKEN_FAILURES, "reason" => reason)
}

/// The counter of requests that were refused by a rate limit of this scope.
pub fn rate_limited(scope: RateLimitScope) -> Counter {
    counter!(RATE_LIMITED, "by" => scope.name())
}

/// The counter of requests that are missing from the record of requests, because it was full
/// or could not be written.
pub fn request_log_dropped() -> Counter {
    counter!(REQUEST_LOG_DROPPED)
}

/// The outcome of an attempt to send a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MailOutcome {
    /// The mail server accepted the mail.
    Sent,
    /// The attempt failed. Another one follows.
    Failed,
    /// The mail is never sent, because all attempts failed.
    GivenUp,
    /// The mail is never sent, because its recipient or its reason does not exist.
    NotNeeded,
}

impl MailOutcome {
    const ALL: [Self; 4] = [Self::Sent, Self::Failed, Self::GivenUp, Self::NotNeeded];

    const fn name(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::GivenUp => "given_up",
            Self::NotNeeded => "not_needed",
        }
    }
}

/// The counter of attempts to send mails of a kind, with this outcome.
pub fn mails(kind: &'static str, outcome: MailOutcome) -> Counter {
    counter!(MAILS, "kind" => kind, "outcome" => outcome.name())
}

/// Publishes how many lines of the log were lost since the start.
pub fn publish_lost_log_lines(lines: u64) {
    counter!(LOG_LINES_LOST).absolute(lines);
}

/// The counter of requests for a deprecated endpoint of a version.
fn deprecated_requests(version: SharedString, path: &'static str) -> Counter {
    counter!(DEPRECATED_REQUESTS, "version" => version, "endpoint" => path)
}

fn version_label(label: Label) -> SharedString {
    label.to_string().into()
}
