//! Runs the rows of an uploaded file for its user. Each row is a request in the newest
//! version, like an item of a batch.

use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::ETAG;
use actix_web::web::Bytes;
use adapter_kit::problems::message;
use adapter_kit::{Endpoint, Served, names};
use domain::Lists;
use storage::observations::requests::RecordResult;
use storage::records::idempotency::KeyState;
use storage::session::Session;
use storage::store::WriteScope;

use crate::error::ApiError;
use crate::job::run;
use crate::outcome::Requested;
use crate::recording::record_result;
use crate::request::ApiRequest;
use crate::request::identity::UserIdentity;
use crate::request::row::Row;
use crate::respond::respond;
use crate::response::ApiResponse;
use crate::state::GatewayState;

/// The outcome of a row.
#[derive(Debug, Clone)]
pub struct RowOutcome {
    /// The status of the reply.
    pub status: StatusCode,
    /// The result for the record.
    pub result: RecordResult,
    /// The entity tag of the record; `None` if the row was only checked or refused.
    pub etag: Option<String>,
    /// The problems of a refused row, at least one.
    pub problems: Vec<RowProblem>,
    /// The texts of the `Warning` headers of the reply to an accepted row, such as that a value is
    /// not stored as sent.
    pub warnings: Vec<String>,
    /// The body of the reply to an accepted row.
    pub body: Bytes,
    /// Whether the same row may succeed later, because the register was busy.
    pub is_temporary: bool,
}

/// A problem of a refused row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowProblem {
    /// The path of the field in the newest version, such as `placements[1].urn`; empty for a
    /// problem of the whole row.
    pub field: String,
    /// The problem: a sentence, or for a field the words after its name.
    pub words: String,
}

/// Runs a row of an uploaded file. A row that is not only checked is recorded, as
/// an item of one run with the current request identifier.
pub async fn run_row(state: &Arc<GatewayState>, user: UserIdentity, row: Row) -> RowOutcome {
    let (item, endpoint, validates_only) = (Some(row.position), row.endpoint, row.validates_only);
    let Some(request) = ApiRequest::from_row(state, user, row) else {
        return RowOutcome {
            is_temporary: true,
            ..RowOutcome::refused(StatusCode::SERVICE_UNAVAILABLE, Vec::new())
        };
    };
    let served = request.served;
    let requested = Requested {
        served,
        endpoint,
        form: request.form,
        validates_only,
        item,
    };
    let mut outcome = run(&Arc::new(request)).await;
    let result = record_result(endpoint, validates_only, outcome.result.as_ref());
    let result = result.unwrap_or(RecordResult::Changed);
    let problems = match &outcome.result {
        Ok(_) => Vec::new(),
        Err(error) => problems(served, state.lists, endpoint, error),
    };
    if validates_only {
        outcome.sender = None;
    }
    let reply = respond(state, requested, outcome);
    let is_temporary = reply.status.is_server_error();
    if reply.status.is_success() {
        RowOutcome {
            result,
            ..RowOutcome::accepted(reply)
        }
    } else {
        RowOutcome {
            result,
            is_temporary,
            ..RowOutcome::refused(reply.status, problems)
        }
    }
}

/// Whether the row was already carried out, according to its idempotency key.
///
/// # Errors
///
/// [`ApiError::UploadStopped`] if the upload was stopped. Otherwise when the database does not answer.
pub async fn was_sent(
    state: &Arc<GatewayState>,
    user: UserIdentity,
    row: Row,
) -> Result<bool, ApiError> {
    let Some(request) = ApiRequest::from_row(state, user, row) else {
        return Ok(false);
    };
    let provider_id = user.uploader.provider_id();
    let scope = WriteScope::Provider(provider_id);
    let job = move |session: &mut Session<'_>| -> Result<bool, ApiError> {
        let Some(key) = request.idempotency_key()? else {
            return Ok(false);
        };
        let sender = user.authenticate(session)?;
        let mut records = session.open_to_upload(&sender, request.cause());
        let state = records.earlier_reply(&key.key_digest, &key.request_digest)?;
        Ok(state != KeyState::Unused)
    };
    state.store.write_in(scope, job).await
}

impl RowOutcome {
    /// The outcome of an accepted row.
    fn accepted(reply: ApiResponse) -> Self {
        Self {
            status: reply.status,
            result: RecordResult::Changed,
            etag: etag(&reply),
            problems: Vec::new(),
            warnings: reply.warnings().map(str::to_owned).collect(),
            body: reply.body,
            is_temporary: false,
        }
    }

    /// The outcome of a refused row. Without problems, the row gets one that explains the status.
    fn refused(status: StatusCode, mut problems: Vec<RowProblem>) -> Self {
        if problems.is_empty() {
            problems.push(RowProblem {
                field: String::new(),
                words: status_sentence(status),
            });
        }
        Self {
            status,
            result: RecordResult::Refused,
            etag: None,
            problems,
            warnings: Vec::new(),
            body: Bytes::new(),
            is_temporary: false,
        }
    }

    /// Whether the row was accepted.
    #[must_use]
    pub fn is_accepted(&self) -> bool {
        self.status.is_success()
    }

    /// Whether the record does not have the entity tag of the row.
    #[must_use]
    pub fn is_changed_meanwhile(&self) -> bool {
        self.status == StatusCode::PRECONDITION_FAILED
    }

    /// Whether the upload was stopped, or its user may no longer upload.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.status == StatusCode::UNAUTHORIZED
    }
}

/// The entity tag in the headers of a reply.
fn etag(reply: &ApiResponse) -> Option<String> {
    let mut headers = reply.headers.iter();
    headers
        .find(|(name, _)| name == ETAG.as_str())
        .map(|(_, value)| value.clone())
}

/// The problems of a refused row, with the field names of the version; none for errors that only
/// have a status.
fn problems(
    served: &Served,
    lists: &Lists,
    endpoint: Endpoint,
    error: &ApiError,
) -> Vec<RowProblem> {
    if let ApiError::Invalid(problems) = error {
        let of_row = problems.iter().map(|problem| RowProblem {
            field: names::path(served.version, &problem.at),
            words: message(served.version, lists, problem),
        });
        return of_row.collect();
    }
    if let ApiError::Duplicate { fields, .. } = error {
        let fields = fields.join(", ");
        let words = if endpoint == Endpoint::CreateTrainee {
            format!("A trainee with the same {fields} is already registered.")
        } else {
            format!("The trainee already has a record with the same {fields}.")
        };
        return vec![RowProblem {
            field: String::new(),
            words,
        }];
    }
    Vec::new()
}

/// The sentence for a refused row by its status alone.
fn status_sentence(status: StatusCode) -> String {
    let sentence = match status.as_u16() {
        400 => "The body of the request is not valid JSON.",
        404 => "No record with this identifier exists.",
        409 => "Another request changed the record at the same time.",
        412 => "The record has changed since it was read.",
        413 => "The body of the request is too large.",
        429 => "There were too many requests in a short time.",
        500.. => "The register could not answer. Send the request again.",
        _ => "The request was refused.",
    };
    sentence.to_owned()
}
