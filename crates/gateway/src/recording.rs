//! Passes a request, an item of a batch or a row of an upload to the recorder: the only place that
//! records them.
//!
//! # How to record one more fact of a request
//!
//! 1. Observe it in `observation.rs`, or in [`record`].
//! 2. A fact of a single request: add a field to `ObservedRequest` in `recorder.rs`, and a column to
//!    `crates/storage/src/observations/requests.rs`. A fact to count: add a kind to
//!    `crates/storage/src/observations/totals.rs`, from a bounded set, and count it in
//!    `recorder.rs`.
//! 3. Show it, and describe it in `docs/usage.md`.
//! 4. Test it in `crates/black-box/tests/api/usage`. The test
//!    `only_names_known_to_the_program_are_stored_from_clients` covers all texts.

use actix_web::http::StatusCode;
use adapter_kit::problems::{message, repeats_value};
use adapter_kit::{Endpoint, Served, names};
use domain::{Lists, Problem};
use http_kit::requests::request_id;
use storage::base::sender::Sender;
use storage::observations::requests::{RecordResult, RecordedProblem};

use crate::error::{ApiError, Missing};
use crate::idempotency::IDEMPOTENT_REPLAYED;
use crate::recording::observation::RequestObservation;
use crate::recording::recorder::ObservedRequest;
use crate::response::ApiResponse;
use crate::state::GatewayState;

pub mod observation;
pub mod recorder;

/// The most recorded problems of a request.
const MAX_PROBLEMS: usize = 50;
/// The message about a parameter, because that of the reply repeats its value.
const INVALID_PARAMETER: &str = "is not valid";

/// A request that was handled.
pub(crate) struct HandledRequest {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The number of the provider.
    pub provider_id: i64,
    /// The token, or the user of an upload.
    pub sender: Sender,
    /// The position in a batch or an upload, from 0, or `None` for a whole request.
    pub item: Option<u32>,
    /// What was observed while it was handled.
    pub observation: RequestObservation,
}

/// The result of a request, before its error becomes a reply.
#[derive(Debug, Default)]
pub(crate) struct RequestResult {
    /// The result for the record; `None` if the request is not one for a record.
    pub record: Option<RecordResult>,
    problems: Vec<RecordedProblem>,
    problems_left_out: u32,
    /// Whether the request was refused because of the rate limit.
    is_rate_limited: bool,
}

impl RequestResult {
    /// The result of a request to an endpoint. `validates_only` says whether the request was only
    /// checked.
    pub(crate) fn new(
        (served, lists): (&Served, &Lists),
        (endpoint, validates_only): (Endpoint, bool),
        result: Result<&ApiResponse, &ApiError>,
    ) -> Self {
        let (problems, problems_left_out) = match result {
            Ok(_) => (Vec::new(), 0),
            Err(error) => recorded_problems(error, served, lists),
        };
        Self {
            record: record_result(endpoint, validates_only, result),
            problems,
            problems_left_out,
            is_rate_limited: matches!(result, Err(ApiError::TooManyRequests { .. })),
        }
    }
}

/// The result of a request for a record; `None` if the request is not one for a record.
pub(crate) fn record_result(
    endpoint: Endpoint,
    validates_only: bool,
    result: Result<&ApiResponse, &ApiError>,
) -> Option<RecordResult> {
    let registers = endpoint == Endpoint::CreateTrainee;
    match result {
        Err(_) if validates_only => Some(RecordResult::RefusedCheck),
        Err(ApiError::Duplicate { .. }) if registers => Some(RecordResult::AlreadyRegistered),
        Err(_) => Some(RecordResult::Refused),
        // The items of a batch have their own results.
        Ok(_) if !endpoint.row().writes() || endpoint.row().is_batch() => None,
        Ok(_) if validates_only => Some(RecordResult::Checked),
        Ok(reply) if is_replayed(reply) => Some(RecordResult::Repeated),
        Ok(_) if registers => Some(RecordResult::Registered),
        Ok(_) => Some(RecordResult::Changed),
    }
}

/// Records a request with its reply.
pub(crate) fn record(
    state: &GatewayState,
    request: HandledRequest,
    mut result: RequestResult,
    reply: &ApiResponse,
) {
    let is_refused = reply.status.as_u16() >= StatusCode::BAD_REQUEST.as_u16();
    if is_refused && result.problems.is_empty() {
        let message = reply.message.clone();
        result.problems.extend(message.map(whole_problem));
    }
    let HandledRequest {
        served,
        endpoint,
        provider_id,
        sender,
        item,
        observation,
    } = request;
    state.recorder.record(ObservedRequest {
        served,
        endpoint,
        provider_id,
        sender,
        at: state.store.now(),
        request_id: request_id::for_the_log(),
        status: reply.status,
        is_rate_limited: result.is_rate_limited,
        item,
        result: result.record,
        record: observation.record,
        names: observation.names,
        problems: result.problems,
        problems_left_out: result.problems_left_out,
        write: observation.write.filter(|_| !is_refused),
    });
}

/// Whether the reply repeats that of an earlier request with the same idempotency key.
fn is_replayed(reply: &ApiResponse) -> bool {
    let mut headers = reply.headers.iter();
    headers.any(|(name, _)| name == IDEMPOTENT_REPLAYED)
}

/// A problem of the request as a whole.
fn whole_problem(message: String) -> RecordedProblem {
    RecordedProblem {
        code: String::new(),
        field: String::new(),
        message,
        without_value: None,
    }
}

/// The first problems of an error, and the number of others. Empty for errors whose reply has only
/// a message of the program.
fn recorded_problems(
    error: &ApiError,
    served: &Served,
    lists: &Lists,
) -> (Vec<RecordedProblem>, u32) {
    let of_field = |field: &str, message: &str| RecordedProblem {
        field: field.to_owned(),
        ..whole_problem(message.to_owned())
    };
    if let ApiError::Invalid(problems) = error {
        let left_out = problems.len().saturating_sub(MAX_PROBLEMS);
        let first = problems.iter().take(MAX_PROBLEMS);
        let recorded = first.map(|problem| recorded_problem(problem, served, lists));
        let left_out = u32::try_from(left_out).unwrap_or(u32::MAX);
        return (recorded.collect(), left_out);
    }
    let mut problems = Vec::new();
    if let ApiError::Filters(errors) = error {
        let names = errors.known_parameters();
        problems.extend(names.map(|name| of_field(name, INVALID_PARAMETER)));
    }
    if let ApiError::Duplicate {
        message, fields, ..
    } = error
    {
        problems.push(of_field(&fields.join(", "), message));
    }
    // The messages of these errors repeat text of the client.
    if let ApiError::Malformed(_) | ApiError::Batch(_) = error {
        problems.push(whole_problem("the body is not valid".to_owned()));
    }
    if let ApiError::NotFound(Missing::List(_)) = error {
        problems.push(whole_problem("no list found for the field".to_owned()));
    }
    (problems, 0)
}

/// A problem of the content of a request, with the message of its reply.
fn recorded_problem(problem: &Problem, served: &Served, lists: &Lists) -> RecordedProblem {
    let code = problem.kind.code();
    RecordedProblem {
        code: code.name().to_owned(),
        field: names::path_without_unknown_keys(served.version, problem),
        message: message(served.version, lists, problem),
        without_value: repeats_value(&problem.kind).then(|| code.meaning().to_owned()),
    }
}
