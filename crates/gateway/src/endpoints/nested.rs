//! The endpoints of the records nested in a trainee, placements and degrees: list, show, add, change and remove one.
//!
//! They are parts of the trainee's record, so each write is a change of the trainee.

use actix_web::http::StatusCode;
use adapter_kit::compose::Data;
use adapter_kit::problems::{Conflict, Errors};
use adapter_kit::read::ReadableRecord;
use adapter_kit::view::View;
use domain::commands::{self, CreationContext, NestedRecord};
use domain::records::organisations::Organisations;
use domain::{ParsedRecord, Trainee};
use storage::records::trainees::StoredTrainee;
use storage::session::ProviderSession;

use super::trainees::{context, find, show_trainee, to_change, with_data};
use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// What the endpoints of a nested record add to what the domain says of it.
pub(super) trait NestedEndpoints: NestedRecord + ReadableRecord {
    /// What is reported when there is no such record.
    const MISSING: Missing;
    /// What is reported when the trainee has the record already; nothing where records can be alike.
    const DUPLICATE: Option<&'static str>;
    /// Whether an empty list is reported as missing (contract, section 4.6).
    const EMPTY_LIST_IS_MISSING: bool;
    /// Whether the reply to a new record is a list of one (contract, section 4.10).
    const CREATED_AS_LIST: bool;

    /// The identifier in the path of a request.
    fn id_in_path<'a>(request: &'a HandlerContext<'_>) -> &'a str;

    /// The record as the version shows it.
    fn view<'a>(&'a self, request: &HandlerContext<'_>) -> View<'a, Self>;

    /// The organisations that a request mentions, or the stored record.
    fn organisations(
        session: &mut ProviderSession<'_>,
        sent: &ParsedRecord<Self>,
        stored: Option<&Self>,
    ) -> Result<Organisations, ApiError>;
}

/// `GET` of all.
pub(super) fn list<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    let records = R::of(&trainee.record);
    if R::EMPTY_LIST_IS_MISSING && records.is_empty() {
        return Err(ApiError::NotFound(R::MISSING));
    }
    Ok(ApiResponse::records(StatusCode::OK, records.iter().map(|record| record.view(request)))?)
}

/// `GET` of one.
pub(super) fn show<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    Ok(request.not_modified_if_cached(show_one::<R>(StatusCode::OK, request, one(&trainee, request)?)?))
}

/// `POST`
pub(super) fn create<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<R>()?;
    let trainee = find(session, request)?;
    request.require_match_of_owner(|| show_trainee(StatusCode::OK, request, &trainee.record))?;
    let trainee = to_change(trainee, request)?;
    let sent = with_data(sent)?;
    let organisations = R::organisations(session, &sent, None)?;
    let identifiers = request.identifiers(1)?;
    let origin = CreationContext {
        now: session.change_date(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let decision = commands::add(sent, &request.version().rules, &context(session, request, &organisations), &origin)
        .map_err(ApiError::Invalid)?;
    let record = &decision.record;
    require_distinct(request, &trainee, record)?;
    write(session, request, trainee, |records: &mut Vec<R>| records.push(record.clone()))?;
    let shown = show_one(request.success_status(), request, record)?;
    let reply = if R::CREATED_AS_LIST {
        // The entity tag is that of the record, which has a path of its own.
        let list = ApiResponse::records(request.success_status(), std::iter::once(record.view(request)))?;
        request.with_etag_of(list, &shown)
    } else {
        request.with_etag(shown)
    };
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `PUT` and `PATCH`
pub(super) fn update<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<R>()?;
    let trainee = find(session, request)?;
    let stored = one::<R>(&trainee, request)?.clone();
    request.require_match(|| show_one(StatusCode::OK, request, &stored))?;
    let trainee = to_change(trainee, request)?;
    let sent = with_data(sent)?;
    let organisations = R::organisations(session, &sent, Some(&stored))?;
    let context = context(session, request, &organisations);
    let decision = commands::update(&stored, sent, &request.version().rules, &context, session.change_date())
        .map_err(ApiError::Invalid)?;
    if decision.changed {
        let record = &decision.record;
        require_distinct(request, &trainee, record)?;
        write(session, request, trainee, |records: &mut Vec<R>| {
            records.iter_mut().filter(|known| known.id() == record.id()).for_each(|known| known.clone_from(record));
        })?;
    }
    let reply = request.with_etag(show_one(StatusCode::OK, request, &decision.record)?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `DELETE`
pub(super) fn delete<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    let stored = one::<R>(&trainee, request)?.clone();
    request.require_match(|| show_one(StatusCode::OK, request, &stored))?;
    let trainee = to_change(trainee, request)?;
    let id = R::id_in_path(request);
    let changed = write(session, request, trainee, |records: &mut Vec<R>| records.retain(|one| one.id() != Some(id)))?;
    Ok(request.with_etag(show_trainee(StatusCode::OK, request, &changed)?))
}

/// The record of the path.
fn one<'a, R: NestedEndpoints>(trainee: &'a StoredTrainee, request: &HandlerContext<'_>) -> Result<&'a R, ApiError> {
    let id = R::id_in_path(request);
    R::of(&trainee.record).iter().find(|one| one.id() == Some(id)).ok_or(ApiError::NotFound(R::MISSING))
}

/// Refuses a record that the trainee has already.
fn require_distinct<R: NestedEndpoints>(
    request: &HandlerContext<'_>,
    trainee: &StoredTrainee,
    record: &R,
) -> Result<(), ApiError> {
    let Some(message) = R::DUPLICATE else { return Ok(()) };
    let others = R::of(&trainee.record).iter();
    let existing: Vec<_> = others
        .filter(|other| other.id() != record.id() && record.duplicates(other))
        .map(|other| other.view(request))
        .collect();
    if existing.is_empty() {
        return Ok(());
    }
    let errors = Errors::one("Conflict", message);
    let conflict = Conflict { errors, existing: Data { data: existing } };
    Err(ApiError::Duplicate { body: serde_json::to_vec(&conflict).map_err(ApiError::unwritable)? })
}

/// Changes the records of a trainee, unless the request is only tried out, and gives the trainee as it is then.
fn write<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    trainee: StoredTrainee,
    change: impl FnOnce(&mut Vec<R>),
) -> Result<Trainee, ApiError> {
    let mut changed = trainee.record.clone();
    change(R::of_mut(&mut changed));
    changed.updated_at = Some(session.change_date());
    if !request.validates_only() {
        session.update_trainee(&trainee, &changed)?;
    }
    Ok(changed)
}

/// A response with one record.
fn show_one<R: NestedEndpoints>(
    status: StatusCode,
    request: &HandlerContext<'_>,
    record: &R,
) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::record(status, &record.view(request))?)
}
