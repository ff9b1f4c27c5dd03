//! The degrees of a trainee (contract, sections 4.6, 4.7, 4.10, 4.16 and 4.18).

use actix_web::http::StatusCode;
use adapter_kit::compose::Data;
use adapter_kit::problems::{Conflict, Errors};
use adapter_kit::view::View;
use domain::commands::CreationContext;
use domain::organisations::Organisations;
use domain::{Degree, commands};
use storage::session::ProviderSession;
use storage::trainees::StoredTrainee;

use super::trainees::{context, find, find_to_change, show_trainee, to_change, with_data};
use crate::http::error::{ApiError, Missing};
use crate::http::request::ApiRequest;
use crate::http::response::ApiResponse;

/// `GET /trainees/{trainee_id}/degrees`
pub(super) fn list(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    if trainee.record.degrees.is_empty() {
        return Err(ApiError::NotFound(Missing::Degree));
    }
    ApiResponse::records(StatusCode::OK, trainee.record.degrees.iter().map(|degree| view(request, degree)))
}

/// `GET /trainees/{trainee_id}/degrees/{degree_id}`
pub(super) fn show(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    Ok(request.not_modified_if_cached(show_one(StatusCode::OK, request, one(&trainee, request)?)?))
}

/// `POST /trainees/{trainee_id}/degrees`
pub(super) fn create(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<Degree>()?;
    let trainee = find_to_change(session, request)?;
    let sent = with_data(sent)?;
    let identifiers = request.identifiers(1)?;
    let origin = CreationContext {
        now: session.now(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let organisations = Organisations::default();
    let context = context(session, request, &organisations);
    let decision = commands::add::<domain::Degree>(sent, &request.version().rules, &context, &origin)
        .map_err(ApiError::Invalid)?;
    require_distinct(request, &trainee, &decision.record)?;
    if !request.validates_only() {
        session.insert_degree(&trainee, &decision.record)?;
    }
    // The contract shows a list of one; its tag is that of the degree, which has an address of its own.
    let reply = ApiResponse::records(StatusCode::CREATED, std::iter::once(view(request, &decision.record)))?;
    let reply = request.with_etag_of(reply, &show_one(StatusCode::OK, request, &decision.record)?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `PUT` and `PATCH /trainees/{trainee_id}/degrees/{degree_id}`
pub(super) fn update(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<Degree>()?;
    let trainee = find(session, request)?;
    let stored = one(&trainee, request)?.clone();
    request.require_match(|| show_one(StatusCode::OK, request, &stored))?;
    let trainee = to_change(trainee, request)?;
    let sent = with_data(sent)?;
    let organisations = Organisations::default();
    let context = context(session, request, &organisations);
    let decision = commands::update(&stored, sent, &request.version().rules, &context, session.now())
        .map_err(ApiError::Invalid)?;
    if decision.changed {
        require_distinct(request, &trainee, &decision.record)?;
        if !request.validates_only() {
            session.update_degree(&trainee, &decision.record)?;
        }
    }
    let reply = request.with_etag(show_one(StatusCode::OK, request, &decision.record)?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `DELETE /trainees/{trainee_id}/degrees/{degree_id}`
pub(super) fn delete(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    let stored = one(&trainee, request)?;
    request.require_match(|| show_one(StatusCode::OK, request, stored))?;
    let mut trainee = to_change(trainee, request)?;
    if !request.validates_only() {
        session.delete_degree(&trainee, request.degree_id())?;
    }
    trainee.record.degrees.retain(|degree| degree.degree_id.as_deref() != Some(request.degree_id()));
    trainee.record.updated_at = Some(session.now());
    Ok(request.with_etag(show_trainee(StatusCode::OK, request, &trainee.record)?))
}

/// The degree of the path.
fn one<'a>(trainee: &'a StoredTrainee, request: &ApiRequest) -> Result<&'a Degree, ApiError> {
    let mut degrees = trainee.record.degrees.iter();
    degrees
        .find(|degree| degree.degree_id.as_deref() == Some(request.degree_id()))
        .ok_or(ApiError::NotFound(Missing::Degree))
}

/// Refuses a degree that the trainee has already.
fn require_distinct(request: &ApiRequest, trainee: &StoredTrainee, degree: &Degree) -> Result<(), ApiError> {
    let existing: Vec<_> = trainee
        .record
        .degrees
        .iter()
        .filter(|other| other.degree_id != degree.degree_id && degree.duplicates(other))
        .map(|other| view(request, other))
        .collect();
    if existing.is_empty() {
        return Ok(());
    }
    let errors = Errors::one("Conflict", "this degree is a duplicate");
    let conflict = Conflict { errors, existing: Data { data: existing } };
    Err(ApiError::Duplicate { body: serde_json::to_vec(&conflict).map_err(ApiError::Unwritable)? })
}

/// A reply with one degree.
fn show_one(status: StatusCode, request: &ApiRequest, degree: &Degree) -> Result<ApiResponse, ApiError> {
    ApiResponse::record(status, &view(request, degree))
}

fn view<'a>(request: &ApiRequest, degree: &'a Degree) -> View<'a, Degree> {
    View::degree(request.version(), degree, request.lists)
}
