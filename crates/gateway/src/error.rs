//! The only place where an error of the API becomes a reply: the status from one match, the body in one envelope. The pages of
//! the settings have their own (`PageError`).

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT_ENCODING, ALLOW, HeaderMap, LINK, RETRY_AFTER, WWW_AUTHENTICATE};
use adapter_kit::problems::{ErrorEntry, Errors, ErrorsByField};
use adapter_kit::read::{BatchError, MAX_KEY_CHARS, Malformed};
use adapter_kit::{Endpoint, Label, Served, UnknownVersion, names};
use domain::{Lists, Problem};
use serde::Serialize;
use serde_json::json;
use storage::error::{DatabaseError, JobError, StorageError};

use crate::deprecation;
use crate::request::idempotency_key::MalformedKey;
use crate::request::query::FilterErrors;
use crate::response::{ApiResponse, Unwritable};
use http_kit::cursor::SealError;
use http_kit::error_chain::Causes;
use http_kit::limits::rate_limit::{QuotaExceeded, RateLimitScope, RemainingQuota};
use http_kit::metrics;
use http_kit::requests::authentication::AuthenticationError;
use http_kit::requests::body::BodyError;
use http_kit::requests::request_id;
use http_kit::responses::links;
use http_kit::responses::page::{self, Keep};
use http_kit::responses::response_stream::NoMemory;
use usage::request_log::problems::RequestProblems;

/// The error of a request that was understood and cannot be done.
const UNPROCESSABLE: &str = "UnprocessableEntity";
/// The error of a request that something stands against which is there already.
const CONFLICT: &str = "Conflict";
/// The error of a request beyond a rate limit.
const TOO_MANY_REQUESTS: &str = "TooManyRequests";

/// When a client may try again after a passing failure, in seconds.
const RETRY_AFTER_SECONDS: u32 = 1;

/// The header by which a client asks for problems by field, and the one value that does.
const ENHANCED_ERRORS: (&str, &str) = ("enhanced-errors", "true");

/// The form in which the problems of values are reported to a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorForm {
    /// A list, one entry for each problem.
    List,
    /// An object, by field.
    ByField,
}

impl ErrorForm {
    /// The form that a request asks for: by field only where a trainee is registered or changed.
    #[must_use]
    pub fn requested(headers: &HeaderMap, endpoint: Endpoint) -> Self {
        let (name, value) = ENHANCED_ERRORS;
        let is_requested = headers.get(name).is_some_and(|sent| sent.as_bytes() == value.as_bytes());
        if is_requested && endpoint.row().has_errors_by_field() { Self::ByField } else { Self::List }
    }
}

/// What a client looked for and did not find.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// A trainee, or one of another provider.
    Trainee,
    /// Any trainee on a page of a list.
    Trainees,
    /// A placement of the trainee.
    Placement,
    /// A degree of the trainee.
    Degree,
    /// A code list of that name.
    List(String),
    /// A version, where one is requested by name.
    Version(UnknownVersion),
    /// A version; a path of another one exists and resembles the path.
    VersionLike(UnknownVersion, String),
    /// The path, or the version.
    Path,
    /// The path; this one exists and resembles it.
    PathLike(String),
}

/// A failed precondition of `If-Match` or `If-None-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreconditionError {
    /// The record is not the one with the tag.
    Changed,
    /// What was sent is no entity tag, since those are quoted.
    Unquoted,
    /// The tag is that of the record, and is marked as weak.
    Weak,
    /// The record is there, or has the tag, and the client demands that it does not.
    Exists,
}

/// Why a request was not answered as requested.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    // The client can act.
    /// There is no valid token. The reply says why as far as that reveals nothing to an attacker
    /// ([`AuthenticationError::challenge`]).
    #[error("no valid token: {0}")]
    Unauthorized(AuthenticationError),
    /// What was looked for is not there.
    #[error("not found")]
    NotFound(Missing),
    /// The version is no longer served.
    #[error("version is gone")]
    Gone {
        /// The version that was requested.
        label: Label,
        /// The versions that are served, oldest first.
        served: Vec<Label>,
    },
    /// The path has no such method.
    #[error("method not allowed")]
    MethodNotAllowed {
        /// The methods that it has, as in an `Allow` header.
        allow: String,
    },
    /// The body cannot be used, whatever it says.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// What was sent as an idempotency key is none.
    #[error(transparent)]
    MalformedKey(#[from] MalformedKey),
    /// The idempotency key was used for another request.
    #[error("idempotency key was used before")]
    KeyReused,
    /// Another request with the same idempotency key is not answered yet.
    #[error("idempotency key is in use")]
    KeyInUse,
    /// The record is not what the client takes it for.
    #[error("precondition failed")]
    PreconditionFailed(PreconditionError),
    /// The body is not JSON.
    #[error("body is not json")]
    Malformed(#[source] Malformed),
    /// No item of a batch can be handled.
    #[error(transparent)]
    Batch(BatchError),
    /// A batch counts as more requests than the client can ever send at once.
    #[error("batch is larger than the rate limit")]
    BatchBeyondLimit {
        /// As how many requests it counts.
        requests: u32,
        /// What is left of the limit.
        left: RemainingQuota,
    },
    /// The content is wrong, or the state of the record refuses it.
    #[error("content is invalid")]
    Invalid(Vec<Problem>),
    /// A request to translate a body is invalid.
    #[error("translation request is invalid")]
    InvalidTranslationRequest(Vec<ErrorEntry>),
    /// The client has sent too many requests.
    #[error("too many requests")]
    TooManyRequests {
        /// By what it was counted.
        whose: RateLimitScope,
        /// When it may ask again.
        used_up: QuotaExceeded,
    },
    /// Too many tokens that are not known here wait to be looked up, valid or not.
    #[error("too many tokens are being looked up")]
    TooManyLookUps,
    /// Too many bodies are being translated.
    #[error("too many translations are running")]
    TooManyTranslations,
    /// Filters of a list are wrong.
    #[error("filters are invalid")]
    Filters(FilterErrors),
    /// The cursor is of a generation of changes that has ended.
    #[error("cursor is outdated")]
    CursorOutdated,
    /// The record is there already.
    #[error("record is there already")]
    Duplicate {
        /// The body of the reply, with the existing records.
        body: Vec<u8>,
    },

    // The operator can act, or we.
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// Other large replies wait to be read by their clients.
    #[error(transparent)]
    NoMemory(#[from] NoMemory),
    /// The work on a reply came to no end.
    #[error("work was interrupted")]
    Interrupted,
    /// A reply could not be written.
    #[error(transparent)]
    Unwritable(#[from] Unwritable),
    /// A cursor could not be sealed.
    #[error(transparent)]
    Unsealed(#[from] SealError),
    /// A page could not be written.
    #[error("page cannot be written")]
    UnwritablePage(#[source] askama::Error),
}

impl ApiError {
    /// The error of a request whose address has sent too many.
    #[must_use]
    pub const fn of_address(used_up: QuotaExceeded) -> Self {
        Self::TooManyRequests { whose: RateLimitScope::Address, used_up }
    }

    /// The error of a reply that could not be written.
    #[must_use]
    pub const fn unwritable(error: serde_json::Error) -> Self {
        Self::Unwritable(Unwritable(error))
    }

    /// The reply to the client of a version. What is ours or the operator's is logged here, once, without personal
    /// data.
    #[must_use]
    pub fn reply(self, served: &Served, lists: &Lists, form: ErrorForm) -> ApiResponse {
        let Self::Invalid(problems) = &self else { return self.response_without_version() };
        let status = StatusCode::UNPROCESSABLE_ENTITY;
        let reply = if form == ErrorForm::ByField && problems.iter().all(Problem::concerns_value) {
            json_response(status, &ErrorsByField::of(served, lists, problems))
        } else {
            json_response(status, &Errors::of(served, lists, problems))
        };
        match problems.split_first().map(|(first, others)| (first.kind.code(), others)) {
            Some((code, others)) if others.iter().all(|other| other.kind.code() == code) => {
                reply.with(LINK.as_str(), links::help(served.version.label, code.name()))
            }
            Some(_) | None => reply,
        }
    }

    /// The problems for which the request was refused, as they are logged; none where the status says everything.
    #[must_use]
    pub fn logged_problems(&self, served: &Served) -> RequestProblems {
        if let Self::Invalid(problems) = self {
            let spelled = |problem| names::path_without_unknown_keys(served.version, problem);
            return RequestProblems::of(problems.iter().map(|problem| (problem.kind.code().name(), spelled(problem))));
        }
        if let Self::Filters(errors) = self {
            return RequestProblems::of_parameters(errors.known_parameters());
        }
        RequestProblems::default()
    }

    /// The reply to a client of no version in particular.
    #[must_use]
    pub fn response_without_version(self) -> ApiResponse {
        match self {
            Self::Unauthorized(failure) => json_response(StatusCode::UNAUTHORIZED, &json!({ "error": "Unauthorized" }))
                .with(WWW_AUTHENTICATE.as_str(), failure.challenge()),
            Self::NotFound(missing) => one(StatusCode::NOT_FOUND, "NotFound", missing.message()),
            Self::Gone { label, served } => {
                let labels: Vec<String> = served.iter().map(ToString::to_string).collect();
                let message = format!("version {label} is no longer served; use {}", labels.join(", "));
                let gone = one(StatusCode::GONE, "Gone", message);
                match served.last() {
                    Some(newest) => {
                        let successor = deprecation::successor(&newest.base_path());
                        gone.with(LINK.as_str(), format!("{successor}, {}", deprecation::guide(label, *newest)))
                    }
                    None => gone,
                }
            }
            Self::MethodNotAllowed { allow } => {
                let message = format!("this path answers {allow}");
                one(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).with(ALLOW.as_str(), allow)
            }
            Self::Body(error) => body_reply(error),
            Self::MalformedKey(MalformedKey) => one(
                StatusCode::UNPROCESSABLE_ENTITY,
                UNPROCESSABLE,
                format!("Idempotency-Key must be one key of 1 to {MAX_KEY_CHARS} visible ASCII characters"),
            ),
            Self::KeyReused => one(
                StatusCode::UNPROCESSABLE_ENTITY,
                UNPROCESSABLE,
                "Idempotency-Key was used for another request; send each request with a key of its own",
            ),
            Self::KeyInUse => one(
                StatusCode::CONFLICT,
                CONFLICT,
                "a request with the same Idempotency-Key is being handled; send this one again later",
            )
            .with(RETRY_AFTER.as_str(), RETRY_AFTER_SECONDS.to_string()),
            Self::PreconditionFailed(mismatch) => {
                one(StatusCode::PRECONDITION_FAILED, "PreconditionFailed", mismatch.message())
            }
            Self::Malformed(error) => {
                one(StatusCode::BAD_REQUEST, "BadRequest", format!("the body is not valid JSON: {error}"))
            }
            Self::Batch(error @ (BatchError::Malformed(_) | BatchError::MalformedElement { .. })) => {
                one(StatusCode::BAD_REQUEST, "BadRequest", format!("the body is not valid JSON: {error}"))
            }
            Self::Batch(error @ (BatchError::NotArray | BatchError::Empty | BatchError::TooMany { .. })) => {
                one(StatusCode::UNPROCESSABLE_ENTITY, UNPROCESSABLE, error.to_string())
            }
            Self::BatchBeyondLimit { requests, left } => {
                let whose = RateLimitScope::Token;
                metrics::rate_limited(whose).increment(1);
                let message = format!(
                    "the batch counts as {requests} requests, and this token can send {} at once; send fewer items",
                    left.limit.requests
                );
                one(StatusCode::TOO_MANY_REQUESTS, TOO_MANY_REQUESTS, message)
                    .with(RETRY_AFTER.as_str(), left.full_again.max(1).to_string())
                    .with_rate_limit(whose, left)
            }
            Self::InvalidTranslationRequest(errors) => {
                json_response(StatusCode::UNPROCESSABLE_ENTITY, &Errors { errors })
            }
            Self::TooManyRequests { whose, used_up: QuotaExceeded { left, retry_after } } => {
                metrics::rate_limited(whose).increment(1);
                let sender = match whose {
                    RateLimitScope::Address => "from this address",
                    RateLimitScope::Token => "with this token",
                };
                let message = format!("too many requests {sender}; send this one again in {retry_after} s");
                one(StatusCode::TOO_MANY_REQUESTS, TOO_MANY_REQUESTS, message)
                    .with(RETRY_AFTER.as_str(), retry_after.to_string())
                    .with_rate_limit(whose, left)
            }
            Self::TooManyLookUps => {
                let request_id = request_id::for_the_log();
                log::info!(request_id; "too many unknown tokens wait to be looked up");
                busy()
            }
            Self::TooManyTranslations => {
                let request_id = request_id::for_the_log();
                log::info!(request_id; "too many translations wait for their turn");
                busy()
            }
            Self::CursorOutdated => one(
                StatusCode::GONE,
                "Gone",
                "the register was restored or moved since this cursor was given out; start again without one",
            ),
            Self::Filters(errors) => json_response(StatusCode::UNPROCESSABLE_ENTITY, &errors),
            Self::Duplicate { body } => ApiResponse::of(StatusCode::CONFLICT, body),
            Self::Storage(StorageError::Stale) => one(
                StatusCode::CONFLICT,
                CONFLICT,
                "the record was changed by another request at the same time; send this one again",
            ),
            Self::Storage(error @ StorageError::Database(DatabaseError::OutcomeUnknown(_))) => {
                let request_id = request_id::for_the_log();
                log::warn!(request_id; "{}", Causes(&error));
                outcome_unknown()
            }
            Self::Storage(error @ StorageError::Database(DatabaseError::DatabaseFault(_))) => {
                let request_id = request_id::for_the_log();
                log::error!(request_id; "{error}");
                busy()
            }
            Self::Storage(error) if error.is_temporary() => {
                let request_id = request_id::for_the_log();
                log::warn!(request_id; "storage is unavailable: {}", Causes(&error));
                if let StorageError::Database(DatabaseError::DateNotDue { wait }) = error {
                    busy_for(wait.as_secs() + 1)
                } else {
                    busy()
                }
            }
            Self::NoMemory(_) => {
                let request_id = request_id::for_the_log();
                log::warn!(request_id; "no room for another large reply");
                busy()
            }
            error @ (Self::Storage(_)
            | Self::Unsealed(_)
            | Self::Unwritable(_)
            | Self::UnwritablePage(_)
            | Self::Invalid(_)
            | Self::Interrupted) => {
                let request_id = request_id::for_the_log();
                log::error!(request_id; "unexpected failure: {}", Causes(&error));
                one(StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError", "an unexpected error occurred")
            }
        }
    }
}

impl JobError for ApiError {
    fn of_the_store(&self) -> Option<&StorageError> {
        if let Self::Storage(error) = self { Some(error) } else { None }
    }
}

fn body_reply(error: BodyError) -> ApiResponse {
    match error {
        BodyError::TooLarge { max } => {
            one(StatusCode::PAYLOAD_TOO_LARGE, "PayloadTooLarge", format!("the body can have {max} bytes at most"))
        }
        BodyError::NotJson => one(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "send the body as JSON, with the header Content-Type: application/json",
        ),
        BodyError::Encoded => {
            one(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", "send the body without a Content-Encoding")
                .with(ACCEPT_ENCODING.as_str(), "identity")
        }
        BodyError::CutOff => one(StatusCode::BAD_REQUEST, "BadRequest", "the body could not be received whole"),
        BodyError::TooSlow => one(
            StatusCode::REQUEST_TIMEOUT,
            "RequestTimeout",
            "the body did not arrive in time; send the request again",
        ),
        BodyError::NoRoom => {
            let request_id = request_id::for_the_log();
            log::warn!(request_id; "no room for another large body");
            busy()
        }
    }
}

impl PreconditionError {
    const fn message(self) -> &'static str {
        match self {
            Self::Changed => "the record has changed since it was read; read it again",
            Self::Unquoted => {
                "If-Match takes entity tags in double quotes; send the ETag as you received it, quotes included"
            }
            Self::Exists => {
                "If-None-Match demands that the record is not there, or has another entity tag; read it again, or send \
                 the request without the header"
            }
            Self::Weak => "If-Match takes no weak entity tags; send the ETag as you received it, without W/",
        }
    }
}

impl Missing {
    fn message(self) -> String {
        match self {
            Self::Trainee => "trainee not found".to_owned(),
            Self::Trainees => "no trainees found".to_owned(),
            Self::Placement => "placement not found".to_owned(),
            Self::Degree => "degree not found".to_owned(),
            Self::Version(unknown) => unknown.to_string(),
            Self::VersionLike(unknown, nearest) => format!("{unknown}; did you mean {nearest}?"),
            Self::List(name) => format!("no list found for the field {name}"),
            Self::Path => "not found".to_owned(),
            Self::PathLike(nearest) => format!("not found; did you mean {nearest}?"),
        }
    }
}

/// The reply of a server that has no memory left for a reply.
#[must_use]
pub fn no_memory() -> HttpResponse {
    ApiError::NoMemory(NoMemory).response_without_version().into()
}

/// The reply to a request that can be done later.
fn busy() -> ApiResponse {
    busy_for(RETRY_AFTER_SECONDS.into())
}

/// The reply to a request that can be done after so many seconds.
fn busy_for(seconds: u64) -> ApiResponse {
    one(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", "the service is busy; send the request again")
        .with(RETRY_AFTER.as_str(), seconds.to_string())
}

/// The reply to a request of which it is not known whether it was done. The same idempotency key keeps it from being
/// done twice.
fn outcome_unknown() -> ApiResponse {
    let message = "it is not known whether the request was done; send it again with the same Idempotency-Key to learn it, or \
                   read the record";
    one(StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable", message)
        .with(RETRY_AFTER.as_str(), RETRY_AFTER_SECONDS.to_string())
}

fn one(status: StatusCode, error: &'static str, message: impl Into<String>) -> ApiResponse {
    json_response(status, &Errors::one(error, message))
}

/// A reply with errors as JSON. They are structs, lists and maps with strings as keys: writing them cannot fail.
fn json_response(status: StatusCode, errors: &impl Serialize) -> ApiResponse {
    ApiResponse::of(status, serde_json::to_vec(errors).unwrap_or_default())
}

/// The page as a reply. One that could not be written is reported like any internal error.
#[must_use]
pub fn page(status: StatusCode, keep: Keep, html: Result<String, askama::Error>) -> HttpResponse {
    match html {
        Ok(html) => page::page(status, keep, html),
        Err(error) => ApiError::UnwritablePage(error).response_without_version().into(),
    }
}
