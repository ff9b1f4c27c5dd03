//! The errors of the API. Their replies are in [`reply`].

use actix_web::http::header::HeaderMap;
use adapter_kit::problems::ErrorEntry;
use adapter_kit::read::{BatchError, Malformed};
use adapter_kit::{Endpoint, Label, UnknownVersion};
use domain::Problem;
use http_kit::cursor::{OpenError, SealError};
use http_kit::limits::rate_limit::{QuotaExceeded, RateLimitScope, RemainingQuota};
use http_kit::requests::body::BodyError;
use http_kit::responses::sending::NoPermit;
use serde_json::value::RawValue;
use storage::error::{DatabaseError, JobError, StorageError};

use crate::request::authentication::AuthenticationError;
use crate::request::idempotency_key::MalformedKey;
use crate::request::query::FilterErrors;
use crate::response::Unwritable;

mod reply;

pub use self::reply::{no_permit, page};

/// The header that requests problems by field, and its only value with an effect.
const ENHANCED_ERRORS: (&str, &str) = ("enhanced-errors", "true");

/// Form of the problems of values in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorForm {
    /// A list, one entry for each problem.
    List,
    /// An object, by field.
    ByField,
}

impl ErrorForm {
    /// The form that the headers request. Problems by field are only possible if the request
    /// registers or changes a trainee.
    #[must_use]
    pub fn requested(headers: &HeaderMap, endpoint: Endpoint) -> Self {
        let (name, value) = ENHANCED_ERRORS;
        let is_requested = headers
            .get(name)
            .is_some_and(|sent| sent.as_bytes() == value.as_bytes());
        if is_requested && endpoint.row().has_errors_by_field() {
            Self::ByField
        } else {
            Self::List
        }
    }
}

/// The subject of a `404`: what the client requested and does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Missing {
    /// A trainee that does not exist or belongs to another provider.
    Trainee,
    /// Trainees on a page of a list, which is empty.
    Trainees,
    /// A nested record of the trainee, by its name.
    Nested(&'static str),
    /// A code list of that name.
    List(String),
    /// A version named in the path.
    Version(UnknownVersion),
    /// The path.
    Path,
    /// The path of another version, with the path to use instead.
    PathOfVersion(String),
}

/// A failed precondition of `If-Match` or `If-None-Match`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreconditionError {
    /// The record does not have the entity tag in `If-Match`.
    Changed,
    /// The value in `If-Match` is not in quotes, so it is not an entity tag.
    Unquoted,
    /// The tag in `If-Match` is that of the record, but marked as weak.
    Weak,
    /// The record has a tag in `If-None-Match`, or exists although the header is `*`.
    Exists,
}

/// Reason for an error reply.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    // Errors that the client can correct.
    /// There is no valid token. The reply gives the reason, unless it would help an attacker
    /// ([`AuthenticationError::challenge`]).
    #[error("no valid token: {0}")]
    Unauthorized(AuthenticationError),
    /// The upload was stopped, or its user may no longer change records. Only for rows of files.
    #[error("upload was stopped, or its user may not change records")]
    UploadStopped,
    /// The requested record, list, version or path does not exist.
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
        /// The methods that the path has, as in an `Allow` header.
        allow: String,
    },
    /// The body cannot be used, for example because of its size or its type.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// The value of `Idempotency-Key` is malformed.
    #[error(transparent)]
    MalformedKey(#[from] MalformedKey),
    /// The idempotency key was used for another request.
    #[error("idempotency key was used before")]
    KeyReused,
    /// The record does not meet `If-Match` or `If-None-Match`.
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
        /// Number of requests that the batch counts as.
        requests: u32,
        /// The rest of the rate limit of the token.
        left: RemainingQuota,
    },
    /// The content of the body is invalid, or the state of the record does not allow the request.
    #[error("content is invalid")]
    Invalid(Vec<Problem>),
    /// A request to translate a body is invalid.
    #[error("translation request is invalid")]
    InvalidTranslationRequest(Vec<ErrorEntry>),
    /// The client has sent too many requests.
    #[error("too many requests")]
    TooManyRequests {
        /// Whether the limit of the token or of the address is exceeded.
        whose: RateLimitScope,
        /// The rest of the limit, and when the client may send again.
        used_up: QuotaExceeded,
    },
    /// Too many tokens that are new to this server wait to be looked up, valid or not.
    #[error("too many tokens are being looked up")]
    TooManyLookUps,
    /// Too many bodies are being translated.
    #[error("too many translations are running")]
    TooManyTranslations,
    /// Parameters in the query are wrong.
    #[error("filters are invalid")]
    Filters(FilterErrors),
    /// The cursor is older than a restore or a move of the register.
    #[error("cursor is outdated")]
    CursorOutdated,
    /// An equal record already exists.
    #[error("record is there already")]
    Duplicate {
        /// The message in the reply.
        message: String,
        /// The fields that match an existing record, as the version spells them.
        fields: Vec<&'static str>,
        /// The existing records, as a JSON array.
        existing: Box<RawValue>,
    },

    // Failures of the service.
    /// The store failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The permits for large replies are used up by replies that clients have not taken yet.
    #[error(transparent)]
    NoPermit(#[from] NoPermit),
    /// The task that prepared a reply did not finish.
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
    /// The error of a request whose address has sent too many requests.
    #[must_use]
    pub const fn from_address_quota(used_up: QuotaExceeded) -> Self {
        Self::TooManyRequests {
            whose: RateLimitScope::Address,
            used_up,
        }
    }

    /// Removes the problems beyond the first `most`. Returns the number of removed ones.
    pub(crate) fn shorten(&mut self, most: usize) -> usize {
        let Self::Invalid(problems) = self else {
            return 0;
        };
        let left_out = problems.len().saturating_sub(most);
        problems.truncate(most);
        left_out
    }

    /// The error of a cursor in `parameter` that does not open. `why` continues a sentence that begins
    /// with the name of the parameter.
    #[must_use]
    pub fn from_cursor(error: OpenError, parameter: &'static str, why: &str) -> Self {
        match error {
            OpenError::Unknown => Self::Filters(FilterErrors::one(parameter, why)),
            OpenError::OtherRelease => Self::CursorOutdated,
        }
    }

    /// The error of a reply that could not be written.
    #[must_use]
    pub const fn unwritable(error: serde_json::Error) -> Self {
        Self::Unwritable(Unwritable(error))
    }
}

impl From<DatabaseError> for ApiError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl JobError for ApiError {
    fn database_error(&self) -> Option<&DatabaseError> {
        if let Self::Storage(error) = self {
            error.database_error()
        } else {
            None
        }
    }
}
