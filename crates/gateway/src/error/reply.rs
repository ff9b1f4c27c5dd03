//! The only place where an error of the API becomes a reply. One `match` sets the status of each
//! error. The settings pages have their own errors (`PageError`).

use std::fmt::Display;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    ACCEPT_ENCODING, ALLOW, CONNECTION, LINK, RETRY_AFTER, WWW_AUTHENTICATE,
};
use adapter_kit::problems::{ErrorBody, ErrorEntry, Errors, ErrorsByField};
use adapter_kit::read::{BatchError, MAX_KEY_CHARS};
use adapter_kit::{Served, Wire};
use domain::{Lists, Problem};
use http_kit::error_chain::Causes;
use http_kit::limits::rate_limit::{QuotaExceeded, RateLimitScope, RemainingQuota};
use http_kit::metrics;
use http_kit::requests::body::BodyError;
use http_kit::requests::request_id;
use http_kit::responses::links;
use http_kit::responses::page::{self, Keep};
use http_kit::responses::sending::NoPermit;
use log::Level;
use storage::error::{DatabaseError, StorageError};

use super::{ApiError, ErrorForm, Missing, PreconditionError};
use crate::deprecation;
use crate::request::idempotency_key::MalformedKey;
use crate::response::ApiResponse;

/// The error of a request that was understood but cannot be carried out.
const UNPROCESSABLE: &str = "UnprocessableEntity";
/// The error of a request that conflicts with an existing record.
const CONFLICT: &str = "Conflict";
/// The header with the fields that match an existing record.
const DUPLICATE_FIELDS: &str = "duplicate-fields";
/// The error of a request beyond a rate limit.
const TOO_MANY_REQUESTS: &str = "TooManyRequests";
/// Seconds until a client may try again after a temporary failure.
const RETRY_AFTER_SECONDS: u64 = 1;

impl ApiError {
    /// The reply to the client of a version. Failures of the service are logged here, once, without
    /// personal data.
    #[must_use]
    pub fn reply(self, served: &Served, lists: &Lists, form: ErrorForm) -> ApiResponse {
        let wire = &served.version.wire;
        let Self::Invalid(problems) = &self else {
            return self.response(wire);
        };
        let is_by_field = form == ErrorForm::ByField && wire.problems.is_common();
        let body = if is_by_field && problems.iter().all(Problem::concerns_value) {
            ErrorBody::ByField(ErrorsByField::from_problems(served, lists, problems))
        } else {
            ErrorBody::List(Errors::from_problems(served, lists, problems))
        };
        let reply = ErrorReply::new(StatusCode::UNPROCESSABLE_ENTITY, body).in_form(wire);
        let Some((first, others)) = problems.split_first() else {
            return reply;
        };
        // The link leads to the page about a code, so all problems must have the same code.
        let code = first.kind.code();
        if others.iter().any(|other| other.kind.code() != code) {
            return reply;
        }
        let help = links::help(served.version.label, code.name());
        reply.with(LINK.as_str(), help)
    }

    /// The reply to a request without a version.
    #[must_use]
    pub fn response_without_version(self) -> ApiResponse {
        self.response(&Wire::COMMON)
    }

    /// The reply in the form of a version.
    #[must_use]
    pub fn response(self, wire: &Wire) -> ApiResponse {
        self.into_reply().in_form(wire)
    }

    /// The status, headers and body of each error.
    fn into_reply(self) -> ErrorReply {
        match self {
            Self::Unauthorized(failure) => {
                ErrorReply::new(StatusCode::UNAUTHORIZED, ErrorBody::Unauthorized)
                    .with(WWW_AUTHENTICATE.as_str(), failure.challenge())
            }
            Self::UploadStopped => one(StatusCode::UNAUTHORIZED, "Unauthorized", "upload stopped"),
            Self::NotFound(missing) => one(StatusCode::NOT_FOUND, "NotFound", missing.message()),
            Self::Gone { label, served } => {
                let labels: Vec<String> = served.iter().map(ToString::to_string).collect();
                let message = format!(
                    "version {label} is no longer served; use {}",
                    labels.join(", ")
                );
                let gone = one(StatusCode::GONE, "Gone", message);
                match served.last() {
                    Some(newest) => {
                        let successor = deprecation::successor(&newest.base_path());
                        gone.with(
                            LINK.as_str(),
                            format!("{successor}, {}", deprecation::guide(label, *newest)),
                        )
                    }
                    None => gone,
                }
            }
            Self::MethodNotAllowed { allow } => {
                let message = format!("this path answers {allow}");
                one(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message)
                    .with(ALLOW.as_str(), allow)
            }
            Self::Body(error) => body_reply(error),
            Self::MalformedKey(MalformedKey) => one(
                StatusCode::UNPROCESSABLE_ENTITY,
                UNPROCESSABLE,
                format!(
                    "Idempotency-Key must be one key of 1 to {MAX_KEY_CHARS} visible ASCII characters"
                ),
            ),
            Self::KeyReused => one(
                StatusCode::UNPROCESSABLE_ENTITY,
                UNPROCESSABLE,
                "Idempotency-Key was used for another request; send each request with a key of its own",
            ),
            Self::PreconditionFailed(mismatch) => one(
                StatusCode::PRECONDITION_FAILED,
                "PreconditionFailed",
                mismatch.message(),
            ),
            Self::Malformed(error) => one(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                format!("the body is not valid JSON: {error}"),
            ),
            Self::Batch(
                error @ (BatchError::Malformed(_) | BatchError::MalformedElement { .. }),
            ) => one(
                StatusCode::BAD_REQUEST,
                "BadRequest",
                format!("the body is not valid JSON: {error}"),
            ),
            Self::Batch(
                error @ (BatchError::NotArray | BatchError::Empty | BatchError::TooMany { .. }),
            ) => one(
                StatusCode::UNPROCESSABLE_ENTITY,
                UNPROCESSABLE,
                error.to_string(),
            ),
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
            Self::InvalidTranslationRequest(errors) => ErrorReply::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                ErrorBody::List(Errors { errors }),
            ),
            Self::TooManyRequests {
                whose,
                used_up: QuotaExceeded { left, retry_after },
            } => {
                metrics::rate_limited(whose).increment(1);
                let sender = match whose {
                    RateLimitScope::Address => "from this address",
                    RateLimitScope::Token => "with this token",
                };
                let message =
                    format!("too many requests {sender}; send this one again in {retry_after} s");
                one(StatusCode::TOO_MANY_REQUESTS, TOO_MANY_REQUESTS, message)
                    .with(RETRY_AFTER.as_str(), retry_after.to_string())
                    .with_rate_limit(whose, left)
            }
            Self::TooManyLookUps => {
                refuse_busy(Level::Info, "too many unknown tokens wait to be looked up")
            }
            Self::TooManyTranslations => {
                refuse_busy(Level::Info, "too many translations wait for their turn")
            }
            Self::CursorOutdated => one(
                StatusCode::GONE,
                "Gone",
                "the register was restored or moved since this cursor was given out; start again without one",
            ),
            Self::Filters(errors) => ErrorReply::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                ErrorBody::Parameters(errors.into_errors()),
            ),
            Self::Duplicate {
                message,
                fields,
                existing,
            } => ErrorReply::new(
                StatusCode::CONFLICT,
                ErrorBody::Conflict(Errors::one(CONFLICT, message), existing),
            )
            .with(DUPLICATE_FIELDS, fields.join(", ")),
            Self::Storage(error @ StorageError::Database(DatabaseError::OutcomeUnknown(_))) => {
                log_reply(Level::Warn, Causes(&error));
                // The same idempotency key keeps the request from being done twice.
                let message = "it is not known whether the request was done; send it again with the same Idempotency-Key to \
                               learn it, or read the record";
                one(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "ServiceUnavailable",
                    message,
                )
                .with(RETRY_AFTER.as_str(), RETRY_AFTER_SECONDS.to_string())
            }
            Self::Storage(error @ StorageError::Database(DatabaseError::DatabaseFault(_))) => {
                refuse_busy(Level::Error, error)
            }
            Self::Storage(error) if error.is_temporary() => {
                log_reply(
                    Level::Warn,
                    format_args!("storage is unavailable: {}", Causes(&error)),
                );
                busy_for(RETRY_AFTER_SECONDS)
            }
            Self::NoPermit(_) => refuse_busy(Level::Warn, "no room for another large reply"),
            error @ (Self::Storage(_)
            | Self::Unsealed(_)
            | Self::Unwritable(_)
            | Self::UnwritablePage(_)
            | Self::Invalid(_)
            | Self::Interrupted) => {
                log_reply(
                    Level::Error,
                    format_args!("unexpected failure: {}", Causes(&error)),
                );
                one(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "InternalServerError",
                    "an unexpected error occurred",
                )
            }
        }
    }
}

/// The reply to a request with an unusable body.
fn body_reply(error: BodyError) -> ErrorReply {
    match error {
        BodyError::TooLarge { max } => one(
            StatusCode::PAYLOAD_TOO_LARGE,
            "PayloadTooLarge",
            format!("the body can have {max} bytes at most"),
        ),
        BodyError::NotJson => one(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "send the body as JSON, with the header Content-Type: application/json",
        ),
        BodyError::Encoded => one(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UnsupportedMediaType",
            "send the body without a Content-Encoding",
        )
        .with(ACCEPT_ENCODING.as_str(), "identity"),
        BodyError::CutOff => one(
            StatusCode::BAD_REQUEST,
            "BadRequest",
            "the body could not be received whole",
        )
        .with(CONNECTION.as_str(), "close"),
        BodyError::TooSlow => one(
            StatusCode::REQUEST_TIMEOUT,
            "RequestTimeout",
            "the body did not arrive in time; send the request again",
        )
        .with(CONNECTION.as_str(), "close"),
        BodyError::NoRoom => refuse_busy(Level::Warn, "no room for another large body"),
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
            Self::Weak => {
                "If-Match takes no weak entity tags; send the ETag as you received it, without W/"
            }
        }
    }
}

impl Missing {
    fn message(self) -> String {
        match self {
            Self::Trainee => "trainee not found".to_owned(),
            Self::Trainees => "no trainees found".to_owned(),
            Self::Nested(name) => format!("{name} not found"),
            Self::Version(unknown) => unknown.to_string(),
            Self::List(name) => format!("no list found for the field {name}"),
            Self::Path => "not found".to_owned(),
            Self::PathOfVersion(path) => format!("not found; did you mean {path}?"),
        }
    }
}

/// The reply if there is no permit left for another large reply.
#[must_use]
pub fn no_permit() -> HttpResponse {
    ApiError::NoPermit(NoPermit)
        .response_without_version()
        .into()
}

/// Logs the reason for a reply, with the identifier of the current request.
fn log_reply(level: Level, reason: impl Display) {
    let request_id = request_id::for_the_log();
    log::log!(level, request_id; "{reason}");
}

/// The reply to a request that the client can repeat later. Logs the reason.
fn refuse_busy(level: Level, reason: impl Display) -> ErrorReply {
    log_reply(level, reason);
    busy_for(RETRY_AFTER_SECONDS)
}

/// The reply to a request that the client can repeat after `seconds`.
fn busy_for(seconds: u64) -> ErrorReply {
    one(
        StatusCode::SERVICE_UNAVAILABLE,
        "ServiceUnavailable",
        "the service is busy; send the request again",
    )
    .with(RETRY_AFTER.as_str(), seconds.to_string())
}

/// A reply with one error.
fn one(status: StatusCode, error: &'static str, message: impl Into<String>) -> ErrorReply {
    ErrorReply::new(status, ErrorBody::one(error, message))
}

/// An error reply before its body is written in the form of the version.
struct ErrorReply {
    status: StatusCode,
    headers: Vec<(&'static str, String)>,
    rate_limit: Option<(RateLimitScope, RemainingQuota)>,
    body: ErrorBody,
}

impl ErrorReply {
    fn new(status: StatusCode, body: ErrorBody) -> Self {
        Self {
            status,
            headers: Vec::new(),
            rate_limit: None,
            body,
        }
    }

    fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    fn with_rate_limit(self, whose: RateLimitScope, left: RemainingQuota) -> Self {
        Self {
            rate_limit: Some((whose, left)),
            ..self
        }
    }

    /// Writes the body in the form of the version.
    fn in_form(self, wire: &Wire) -> ApiResponse {
        let mut reply = ApiResponse::error(self.status, &self.body, wire);
        if let ErrorBody::List(Errors { errors }) = self.body
            && let Ok([error]) = <[ErrorEntry; 1]>::try_from(errors)
        {
            reply.message = Some(error.message);
        }
        let reply = self
            .headers
            .into_iter()
            .fold(reply, |reply, (name, value)| reply.with(name, value));
        match self.rate_limit {
            Some((whose, left)) => reply.with_rate_limit(whose, left),
            None => reply,
        }
    }
}

/// The reply with an HTML page. If the page could not be written, the reply is an internal error.
#[must_use]
pub fn page(status: StatusCode, keep: Keep, html: Result<String, askama::Error>) -> HttpResponse {
    match html {
        Ok(html) => page::page(status, keep, html),
        Err(error) => ApiError::UnwritablePage(error)
            .response_without_version()
            .into(),
    }
}
