//! The placements of a trainee (contract, sections 4.4, 4.5, 4.9, 4.15 and 4.17).

use actix_web::http::StatusCode;
use adapter_kit::view::View;
use domain::commands::CreationContext;
use domain::organisations::Organisations;
use domain::{ParsedRecord, Placement, PlacementField, commands};
use storage::session::ProviderSession;
use storage::trainees::StoredTrainee;

use super::trainees::{context, find, find_to_change, show_trainee, to_change, with_data};
use crate::http::error::{ApiError, Missing};
use crate::http::request::ApiRequest;
use crate::http::response::ApiResponse;

/// `GET /trainees/{trainee_id}/placements`
pub(super) fn list(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    ApiResponse::records(StatusCode::OK, trainee.record.placements.iter().map(|placement| view(request, placement)))
}

/// `GET /trainees/{trainee_id}/placements/{placement_id}`
pub(super) fn show(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    Ok(request.not_modified_if_cached(show_one(StatusCode::OK, request, one(&trainee, request)?)?))
}

/// `POST /trainees/{trainee_id}/placements`
pub(super) fn create(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<Placement>()?;
    let trainee = find_to_change(session, request)?;
    let sent = with_data(sent)?;
    let schools = schools(session, &sent, None)?;
    let identifiers = request.identifiers(1)?;
    let origin = CreationContext {
        now: session.now(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let decision = commands::add::<domain::Placement>(
        sent,
        &request.version().rules,
        &context(session, request, &schools),
        &origin,
    )
    .map_err(ApiError::Invalid)?;
    if !request.validates_only() {
        session.insert_placement(&trainee, &decision.record)?;
    }
    let reply = request.with_etag(show_one(StatusCode::CREATED, request, &decision.record)?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `PUT` and `PATCH /trainees/{trainee_id}/placements/{placement_id}`
pub(super) fn update(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<Placement>()?;
    let trainee = find(session, request)?;
    let stored = one(&trainee, request)?.clone();
    request.require_match(|| show_one(StatusCode::OK, request, &stored))?;
    let trainee = to_change(trainee, request)?;
    let sent = with_data(sent)?;
    let schools = schools(session, &sent, stored.urn.clone())?;
    let context = context(session, request, &schools);
    let decision = commands::update(&stored, sent, &request.version().rules, &context, session.now())
        .map_err(ApiError::Invalid)?;
    if decision.changed && !request.validates_only() {
        session.update_placement(&trainee, &decision.record)?;
    }
    let reply = request.with_etag(show_one(StatusCode::OK, request, &decision.record)?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `DELETE /trainees/{trainee_id}/placements/{placement_id}`
pub(super) fn delete(session: &mut ProviderSession<'_>, request: &ApiRequest) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    let stored = one(&trainee, request)?;
    request.require_match(|| show_one(StatusCode::OK, request, stored))?;
    let mut trainee = to_change(trainee, request)?;
    if !request.validates_only() {
        session.delete_placement(&trainee, request.placement_id())?;
    }
    trainee.record.placements.retain(|placement| placement.placement_id.as_deref() != Some(request.placement_id()));
    trainee.record.updated_at = Some(session.now());
    Ok(request.with_etag(show_trainee(StatusCode::OK, request, &trainee.record)?))
}

/// The placement of the path.
fn one<'a>(trainee: &'a StoredTrainee, request: &ApiRequest) -> Result<&'a Placement, ApiError> {
    let mut placements = trainee.record.placements.iter();
    placements
        .find(|placement| placement.placement_id.as_deref() == Some(request.placement_id()))
        .ok_or(ApiError::NotFound(Missing::Placement))
}

/// The school that the request names, or that the placement is in.
fn schools(
    session: &mut ProviderSession<'_>,
    sent: &ParsedRecord<Placement>,
    stored: Option<String>,
) -> Result<Organisations, ApiError> {
    let urns: Vec<String> = sent.text(PlacementField::urn).or(stored).into_iter().collect();
    Ok(session.organisations(&urns, &[], &[])?)
}

/// A reply with one placement.
fn show_one(status: StatusCode, request: &ApiRequest, placement: &Placement) -> Result<ApiResponse, ApiError> {
    ApiResponse::record(status, &view(request, placement))
}

fn view<'a>(request: &ApiRequest, placement: &'a Placement) -> View<'a, Placement> {
    View::placement(request.version(), placement, request.lists)
}
