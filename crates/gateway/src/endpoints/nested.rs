//! The endpoints of the records nested in a trainee: list, show, add, change and remove.
//!
//! Nested records are parts of the trainee's record, so each write changes the trainee.

use actix_web::http::StatusCode;
use adapter_kit::endpoint::ReplyBody;
use adapter_kit::names;
use adapter_kit::read::ReadableRecord;
use adapter_kit::read_only::ReadOnlyNames;
use adapter_kit::view::View;
use adapter_kit::wire::WireNested;
use domain::commands::{self, CreationContext, Editable};
use domain::records::organisations::Organisations;
use domain::{ParsedRecord, RecordField as _, Trainee, TraineeField};
use serde_json::value::to_raw_value;
use storage::records::trainees::StoredTrainee;
use storage::session::ProviderSession;

use super::trainees::{context, find, show_trainee, to_change, with_data};
use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// A nested record that has endpoints.
pub(super) trait NestedEndpoints: WireNested + ReadableRecord + Editable {}

impl<R: WireNested + ReadableRecord + Editable> NestedEndpoints for R {}

/// Loads the school that the request names, or otherwise the school of the stored record.
fn organisations<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    sent: &ParsedRecord<R>,
    stored: Option<&R>,
) -> Result<Organisations, ApiError> {
    let Some(school) = R::SCHOOL else {
        return Ok(Organisations::default());
    };
    let stored_urn = || Some(stored?.stored(school.urn).as_text()?.to_owned());
    let urn = sent.text(school.urn).or_else(stored_urn);
    let urns: Vec<String> = urn.into_iter().collect();
    Ok(session.organisations(&urns, &[], &[])?)
}

/// The record in the form of the request's version.
fn view<'a, R: NestedEndpoints>(record: &'a R, request: &'a HandlerContext<'_>) -> View<'a, R> {
    View::new(request.version(), record, request.state.lists)
}

/// `GET` of all records of a kind.
pub(super) fn list<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    let records = R::records(&trainee.record);
    if records.is_empty() && request.endpoint.row().is_missing_when_empty {
        return Err(ApiError::NotFound(Missing::Nested(R::NAME)));
    }
    Ok(ApiResponse::records(
        StatusCode::OK,
        request.version().wire.envelope.list,
        records.iter().map(|record| view(record, request)),
    )?)
}

/// `GET` of one record.
pub(super) fn show<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    Ok(request.not_modified_if_cached(show_one::<R>(
        StatusCode::OK,
        request,
        one(&trainee, request)?,
    )?))
}

/// `POST`: adds a record to a trainee.
pub(super) fn create<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<R>()?;
    let trainee = find(session, request)?;
    request.require_match_of_owner(|| show_trainee(StatusCode::OK, request, &trainee.record))?;
    let trainee = to_change(trainee, request)?;
    let mut sent = with_data(sent)?;
    let ignored = ReadOnlyNames::take_from(&mut sent);
    let organisations = organisations(session, &sent, None)?;
    let identifiers = request.identifiers(1)?;
    let origin = CreationContext {
        now: session.change_date(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let mut decision = commands::add(
        sent,
        &request.version().rules,
        &context(session, request, &organisations),
        &origin,
    )
    .map_err(|problems| request.refuse(&ignored, None, problems))?;
    request.report_ignored(&ignored, (None, &decision.record), &mut decision.notices)?;
    let record = &decision.record;
    require_distinct(request, &trainee, record)?;
    write(session, request, trainee, |records: &mut Vec<R>| {
        records.push(record.clone());
    })?;
    let shown = show_one(request.success_status(), request, record)?;
    let reply = if matches!(request.endpoint.row().reply, ReplyBody::NestedList(_)) {
        // The reply is a list, but its entity tag is that of the record at the record's own path.
        let list = ApiResponse::records(
            request.success_status(),
            request.version().wire.envelope.list,
            std::iter::once(view(record, request)),
        )?;
        request.with_etag_of(list, &shown)
    } else {
        request.with_etag(shown)
    };
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `PUT` and `PATCH`: changes a record.
pub(super) fn update<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let sent = request.read_changes::<R>()?;
    let trainee = find(session, request)?;
    let stored = one::<R>(&trainee, request)?.clone();
    request.require_match(|| show_one(StatusCode::OK, request, &stored))?;
    let trainee = to_change(trainee, request)?;
    let mut sent = with_data(sent)?;
    let ignored = ReadOnlyNames::take_from(&mut sent);
    let organisations = organisations(session, &sent, Some(&stored))?;
    let context = context(session, request, &organisations);
    let mut decision = commands::update(
        &stored,
        sent,
        &request.version().rules,
        &context,
        session.change_date(),
    )
    .map_err(|problems| request.refuse(&ignored, Some(&stored), problems))?;
    request.report_ignored(
        &ignored,
        (Some(&stored), &decision.record),
        &mut decision.notices,
    )?;
    if decision.changed {
        let record = &decision.record;
        require_distinct(request, &trainee, record)?;
        write(session, request, trainee, |records: &mut Vec<R>| {
            for known in records {
                if known.id() == record.id() {
                    known.clone_from(record);
                }
            }
        })?;
    }
    let reply = request.with_etag(show_one(StatusCode::OK, request, &decision.record)?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}

/// `DELETE`: removes a record, and returns the changed trainee.
pub(super) fn delete<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let trainee = find(session, request)?;
    let stored = one::<R>(&trainee, request)?.clone();
    request.require_match(|| show_one(StatusCode::OK, request, &stored))?;
    let trainee = to_change(trainee, request)?;
    let id = request.nested_id();
    let changed = write(session, request, trainee, |records: &mut Vec<R>| {
        records.retain(|one| one.id() != Some(id));
    })?;
    Ok(request.with_etag(show_trainee(StatusCode::OK, request, &changed)?))
}

/// The nested record in the path.
///
/// # Errors
///
/// [`Missing::Nested`] if the trainee has no such record.
fn one<'a, R: NestedEndpoints>(
    trainee: &'a StoredTrainee,
    request: &HandlerContext<'_>,
) -> Result<&'a R, ApiError> {
    let id = request.nested_id();
    R::records(&trainee.record)
        .iter()
        .find(|one| one.id() == Some(id))
        .ok_or(ApiError::NotFound(Missing::Nested(R::NAME)))
}

/// Fails if the trainee has another record that equals this one.
fn require_distinct<R: NestedEndpoints>(
    request: &HandlerContext<'_>,
    trainee: &StoredTrainee,
    record: &R,
) -> Result<(), ApiError> {
    let others = R::records(&trainee.record).iter();
    let existing: Vec<_> = others
        .filter(|other| other.id() != record.id() && record.duplicates(other))
        .map(|other| view(other, request))
        .collect();
    if existing.is_empty() {
        return Ok(());
    }
    let message = format!("this {} is a duplicate", R::NAME);
    let fields = R::DUPLICATE_FIELDS.iter();
    Err(ApiError::Duplicate {
        message,
        fields: fields
            .flat_map(|field| names::members(request.version(), (*field).into()))
            .collect(),
        existing: to_raw_value(&existing).map_err(ApiError::unwritable)?,
    })
}

/// Changes the nested records of a trainee, and returns the changed trainee. Stores it unless the
/// request is only validated.
fn write<R: NestedEndpoints>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    trainee: StoredTrainee,
    change: impl FnOnce(&mut Vec<R>),
) -> Result<Trainee, ApiError> {
    let mut changed = trainee.record.clone();
    change(R::records_mut(&mut changed));
    changed.updated_at = Some(session.change_date());
    if !request.validates_only() {
        session.update_trainee(&trainee, &changed)?;
    }
    Ok(changed)
}

/// A reply that shows one nested record.
fn show_one<R: NestedEndpoints>(
    status: StatusCode,
    request: &HandlerContext<'_>,
    record: &R,
) -> Result<ApiResponse, ApiError> {
    let address = request.address(|| {
        let endpoint = request.version().endpoints.that_shows(R::KIND)?;
        let trainee = (
            TraineeField::trainee_id.info().name,
            request.trainee_id().to_owned(),
        );
        Some((
            endpoint,
            vec![trainee, (R::ID.info().name, record.id()?.to_owned())],
        ))
    });
    Ok(ApiResponse::record(
        status,
        request.version().wire.envelope.record,
        &view(record, request),
        address.as_deref(),
    )?)
}
