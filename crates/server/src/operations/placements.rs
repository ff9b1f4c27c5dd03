//! The placements of a trainee (contract, sections 4.4, 4.5, 4.9, 4.15 and 4.17).

use actix_web::http::StatusCode;
use adapter_kit::view::View;
use domain::commands::{self, CreationContext};
use domain::organisations::Organisations;
use domain::{ParsedRecord, Placement, PlacementField};
use storage::session::ProviderSession;
use storage::trainees::StoredTrainee;

use super::trainees::{context, find, find_to_change, show_trainee, to_change, with_data};
use crate::call::Call;
use crate::failure::{Failure, Missing};
use crate::reply::Reply;

/// `GET /trainees/{trainee_id}/placements`
pub(super) fn list(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let trainee = find(session, call)?;
    Reply::records(StatusCode::OK, trainee.record.placements.iter().map(|placement| view(call, placement)))
}

/// `GET /trainees/{trainee_id}/placements/{placement_id}`
pub(super) fn show(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let trainee = find(session, call)?;
    Ok(call.unless_held(show_one(StatusCode::OK, call, one(&trainee, call)?)?))
}

/// `POST /trainees/{trainee_id}/placements`
pub(super) fn create(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let sent = call.read::<Placement>()?;
    let trainee = find_to_change(session, call)?;
    let sent = with_data(sent)?;
    let schools = schools(session, &sent, None)?;
    let identifiers = call.identifiers(1)?;
    let origin = CreationContext {
        now: session.now(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let decision = commands::add(sent, &call.version().rules, &context(session, call, &schools), &origin)
        .map_err(Failure::Invalid)?;
    if !call.validates_only() {
        session.insert_placement(&trainee, &decision.record)?;
    }
    let reply = call.tagged(show_one(StatusCode::CREATED, call, &decision.record)?);
    Ok(reply.with_notices(call.version(), &decision.notices))
}

/// `PUT` and `PATCH /trainees/{trainee_id}/placements/{placement_id}`
pub(super) fn update(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let sent = call.read::<Placement>()?;
    let trainee = find(session, call)?;
    let stored = one(&trainee, call)?.clone();
    call.require_match(|| show_one(StatusCode::OK, call, &stored))?;
    let trainee = to_change(trainee, call)?;
    let sent = with_data(sent)?;
    let schools = schools(session, &sent, stored.urn.clone())?;
    let context = context(session, call, &schools);
    let decision =
        commands::update(&stored, sent, &call.version().rules, &context, session.now()).map_err(Failure::Invalid)?;
    if decision.changed && !call.validates_only() {
        session.update_placement(&trainee, &decision.record)?;
    }
    let reply = call.tagged(show_one(StatusCode::OK, call, &decision.record)?);
    Ok(reply.with_notices(call.version(), &decision.notices))
}

/// `DELETE /trainees/{trainee_id}/placements/{placement_id}`
pub(super) fn delete(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let trainee = find(session, call)?;
    let stored = one(&trainee, call)?;
    call.require_match(|| show_one(StatusCode::OK, call, stored))?;
    let mut trainee = to_change(trainee, call)?;
    if !call.validates_only() {
        session.delete_placement(&trainee, call.placement_id())?;
    }
    trainee.record.placements.retain(|placement| placement.placement_id.as_deref() != Some(call.placement_id()));
    trainee.record.updated_at = Some(session.now());
    Ok(call.tagged(show_trainee(StatusCode::OK, call, &trainee.record)?))
}

/// The placement of the path.
fn one<'a>(trainee: &'a StoredTrainee, call: &Call) -> Result<&'a Placement, Failure> {
    let mut placements = trainee.record.placements.iter();
    placements
        .find(|placement| placement.placement_id.as_deref() == Some(call.placement_id()))
        .ok_or(Failure::NotFound(Missing::Placement))
}

/// The school that the request names, or that the placement is in.
fn schools(
    session: &mut ProviderSession<'_>,
    sent: &ParsedRecord<Placement>,
    stored: Option<String>,
) -> Result<Organisations, Failure> {
    let urns: Vec<String> = sent.text(PlacementField::urn).or(stored).into_iter().collect();
    Ok(session.organisations(&urns, &[], &[])?)
}

/// A reply with one placement.
fn show_one(status: StatusCode, call: &Call, placement: &Placement) -> Result<Reply, Failure> {
    Reply::record(status, &view(call, placement))
}

fn view<'a>(call: &Call, placement: &'a Placement) -> View<'a, Placement> {
    View::placement(call.version(), placement, call.lists)
}
