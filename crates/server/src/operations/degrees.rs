//! The degrees of a trainee (contract, sections 4.6, 4.7, 4.10, 4.16 and 4.18).

use actix_web::http::StatusCode;
use adapter_kit::compose::Data;
use adapter_kit::problems::{Conflict, Errors};
use adapter_kit::view::View;
use domain::Degree;
use domain::commands::{self, CreationContext};
use domain::organisations::Organisations;
use storage::session::ProviderSession;
use storage::trainees::StoredTrainee;

use super::trainees::{context, find, find_to_change, show_trainee, to_change, with_data};
use crate::call::Call;
use crate::failure::{Failure, Missing};
use crate::reply::Reply;

/// `GET /trainees/{trainee_id}/degrees`
pub(super) fn list(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let trainee = find(session, call)?;
    if trainee.record.degrees.is_empty() {
        return Err(Failure::NotFound(Missing::Degree));
    }
    Reply::records(StatusCode::OK, trainee.record.degrees.iter().map(|degree| view(call, degree)))
}

/// `GET /trainees/{trainee_id}/degrees/{degree_id}`
pub(super) fn show(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let trainee = find(session, call)?;
    Ok(call.unless_held(show_one(StatusCode::OK, call, one(&trainee, call)?)?))
}

/// `POST /trainees/{trainee_id}/degrees`
pub(super) fn create(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let sent = call.read::<Degree>()?;
    let trainee = find_to_change(session, call)?;
    let sent = with_data(sent)?;
    let identifiers = call.identifiers(1)?;
    let origin = CreationContext {
        now: session.now(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let organisations = Organisations::default();
    let context = context(session, call, &organisations);
    let decision = commands::add(sent, &call.version().rules, &context, &origin).map_err(Failure::Invalid)?;
    require_distinct(call, &trainee, &decision.record)?;
    if !call.validates_only() {
        session.insert_degree(&trainee, &decision.record)?;
    }
    // The contract shows a list of one; its tag is that of the degree, which has an address of its own.
    let reply = Reply::records(StatusCode::CREATED, std::iter::once(view(call, &decision.record)))?;
    let reply = call.tagged_as(reply, &show_one(StatusCode::OK, call, &decision.record)?);
    Ok(reply.with_notices(call.version(), &decision.notices))
}

/// `PUT` and `PATCH /trainees/{trainee_id}/degrees/{degree_id}`
pub(super) fn update(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let sent = call.read::<Degree>()?;
    let trainee = find(session, call)?;
    let stored = one(&trainee, call)?.clone();
    call.require_match(|| show_one(StatusCode::OK, call, &stored))?;
    let trainee = to_change(trainee, call)?;
    let sent = with_data(sent)?;
    let organisations = Organisations::default();
    let context = context(session, call, &organisations);
    let decision =
        commands::update(&stored, sent, &call.version().rules, &context, session.now()).map_err(Failure::Invalid)?;
    if decision.changed {
        require_distinct(call, &trainee, &decision.record)?;
        if !call.validates_only() {
            session.update_degree(&trainee, &decision.record)?;
        }
    }
    let reply = call.tagged(show_one(StatusCode::OK, call, &decision.record)?);
    Ok(reply.with_notices(call.version(), &decision.notices))
}

/// `DELETE /trainees/{trainee_id}/degrees/{degree_id}`
pub(super) fn delete(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let trainee = find(session, call)?;
    let stored = one(&trainee, call)?;
    call.require_match(|| show_one(StatusCode::OK, call, stored))?;
    let mut trainee = to_change(trainee, call)?;
    if !call.validates_only() {
        session.delete_degree(&trainee, call.degree_id())?;
    }
    trainee.record.degrees.retain(|degree| degree.degree_id.as_deref() != Some(call.degree_id()));
    trainee.record.updated_at = Some(session.now());
    Ok(call.tagged(show_trainee(StatusCode::OK, call, &trainee.record)?))
}

/// The degree of the path.
fn one<'a>(trainee: &'a StoredTrainee, call: &Call) -> Result<&'a Degree, Failure> {
    let mut degrees = trainee.record.degrees.iter();
    degrees
        .find(|degree| degree.degree_id.as_deref() == Some(call.degree_id()))
        .ok_or(Failure::NotFound(Missing::Degree))
}

/// Refuses a degree that the trainee has already.
fn require_distinct(call: &Call, trainee: &StoredTrainee, degree: &Degree) -> Result<(), Failure> {
    let existing: Vec<_> = trainee
        .record
        .degrees
        .iter()
        .filter(|other| other.degree_id != degree.degree_id && degree.duplicates(other))
        .map(|other| view(call, other))
        .collect();
    if existing.is_empty() {
        return Ok(());
    }
    let errors = Errors::one("Conflict", "this degree is a duplicate");
    let conflict = Conflict { errors, existing: Data { data: existing } };
    Err(Failure::Duplicate { body: serde_json::to_vec(&conflict).map_err(Failure::Unwritable)? })
}

/// A reply with one degree.
fn show_one(status: StatusCode, call: &Call, degree: &Degree) -> Result<Reply, Failure> {
    Reply::record(status, &view(call, degree))
}

fn view<'a>(call: &Call, degree: &'a Degree) -> View<'a, Degree> {
    View::degree(call.version(), degree, call.lists)
}
