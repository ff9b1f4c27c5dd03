//! Reading, registering and changing a trainee (contract, sections 4.3, 4.8 and 4.14).

use actix_web::http::StatusCode;
use adapter_kit::read::lacks_data;
use adapter_kit::read_only::ReadOnlyNames;
use adapter_kit::view::View;
use adapter_kit::{Endpoint, names};
use domain::commands::CreationContext;
use domain::duplicate::matched_fields;
use domain::records::organisations::Organisations;
use domain::records::trainee::Sent;
use domain::{
    Action, Context, NestedRecord, NestedRecords, ParsedRecord, Path, Record, RecordField as _,
    Stored, Trainee, TraineeField, commands, for_each_nested,
};
use serde_json::value::to_raw_value;
use storage::records::trainees::{Nested, StoredTrainee, TraineeDocument};
use storage::session::ProviderSession;

use crate::error::{ApiError, Missing};
use crate::recording::observation::RecordKey;
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// `GET /trainees/{trainee_id}`
pub(super) fn show(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let document = session
        .show_trainee(request.trainee_id())?
        .ok_or(ApiError::NotFound(Missing::Trainee))?;
    Ok(request.not_modified_if_cached(show_trainee(
        StatusCode::OK,
        request,
        &document.read(Nested::With)?,
    )?))
}

/// `POST /trainees`
pub(super) fn create(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let mut sent = with_data(request.read::<Trainee>()?)?;
    let version = request.version();
    let ignored = ReadOnlyNames::take_with_nested(version, request.state.lists, &mut sent);
    request.observer.identify(sent_key(&sent));
    let organisations = mentioned(session, &sent)?;
    let nested_records: usize = for_each_nested!(count(&sent.nested)).into_iter().sum();
    let identifiers = request.identifiers(1 + nested_records)?;
    let origin = CreationContext {
        now: session.change_date(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let mut decision = commands::create(
        sent,
        &version.rules,
        &context(session, request, &organisations),
        &origin,
    )
    .map_err(|problems| request.refuse(&ignored, None, problems))?;
    decision.record.record_source = Some(request.identity.record_source().to_owned());
    request.report_ignored(&ignored, (None, &decision.record), &mut decision.notices)?;
    let existing = session.duplicates_of(&decision.record)?;
    if !existing.is_empty() {
        return Err(duplicate(session, request, &decision.record, &existing)?);
    }
    if !request.validates_only() {
        session.insert_trainee(&decision.record)?;
    }
    let reply = request.with_etag(show_trainee(
        request.success_status(),
        request,
        &decision.record,
    )?);
    Ok(reply.with_notices(version, &decision.notices))
}

/// `PUT` and `PATCH /trainees/{trainee_id}`
pub(super) fn update(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let sent = request.read_changes::<Trainee>()?;
    let stored = to_change(find_matching(session, request)?, request)?;
    let version = request.version();
    let mut sent = with_data(sent)?;
    let ignored = ReadOnlyNames::take_from(&mut sent);
    let organisations = mentioned(session, &sent)?;
    let context = context(session, request, &organisations);
    let mut decision = commands::update(
        &stored.record,
        sent,
        &version.rules,
        &context,
        session.change_date(),
    )
    .map_err(|problems| request.refuse(&ignored, Some(&stored.record), problems))?;
    request.report_ignored(
        &ignored,
        (Some(&stored.record), &decision.record),
        &mut decision.notices,
    )?;
    if decision.changed && !request.validates_only() {
        session.update_trainee(&stored, &decision.record)?;
    }
    let reply = request.with_etag(show_trainee(StatusCode::OK, request, &decision.record)?);
    Ok(reply.with_notices(version, &decision.notices))
}

/// The trainee in the path.
///
/// # Errors
///
/// [`Missing::Trainee`] if the provider has no such trainee.
pub(super) fn find(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<StoredTrainee, ApiError> {
    let stored = session
        .find_trainee(request.trainee_id())?
        .ok_or(ApiError::NotFound(Missing::Trainee))?;
    request.observer.found(&stored.record);
    Ok(stored)
}

/// The trainee in the path, if it meets `If-Match` and `If-None-Match`.
pub(super) fn find_matching(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<StoredTrainee, ApiError> {
    let stored = find(session, request)?;
    request.require_match(|| show_trainee(StatusCode::OK, request, &stored.record))?;
    Ok(stored)
}

/// Returns the trainee unless the rules of the version forbid changes in its state.
pub(super) fn to_change(
    stored: StoredTrainee,
    request: &HandlerContext<'_>,
) -> Result<StoredTrainee, ApiError> {
    commands::check_gates(&stored.record, Action::Update, &request.version().rules)
        .map_err(ApiError::Invalid)?;
    Ok(stored)
}

/// A reply that shows a trainee with its nested records.
pub(super) fn show_trainee(
    status: StatusCode,
    request: &HandlerContext<'_>,
    trainee: &dyn Stored<Trainee>,
) -> Result<ApiResponse, ApiError> {
    let address = request.address(|| {
        let id = trainee.text(TraineeField::trainee_id)?;
        Some((
            Endpoint::ShowTrainee,
            vec![(TraineeField::trainee_id.info().name, id.into_owned())],
        ))
    });
    Ok(ApiResponse::record(
        status,
        request.version().wire.envelope.record,
        &View::trainee(request.version(), trainee, request.state.lists),
        address.as_deref(),
    )?)
}

/// Returns the parsed record. If the body has no `data`, fails with this problem only.
pub(super) fn with_data<R: Record>(mut sent: ParsedRecord<R>) -> Result<ParsedRecord<R>, ApiError> {
    if lacks_data(&sent) {
        sent.problems.truncate(1);
        return Err(ApiError::Invalid(sent.problems));
    }
    Ok(sent)
}

/// The recorded key of a trainee to register; `None` if the request has none, or one
/// that is refused.
fn sent_key(sent: &ParsedRecord<Trainee>) -> Option<RecordKey> {
    let field = TraineeField::provider_trainee_id;
    let path = Path::from(field);
    if sent.problems.iter().any(|problem| problem.at == path) {
        return None;
    }
    let key = sent.text(field)?;
    if field
        .info()
        .max
        .is_some_and(|max| key.chars().count() > max)
    {
        return None;
    }
    Some(RecordKey {
        key,
        trainee_id: None,
    })
}

/// The data that rules use besides the record.
pub(super) fn context<'a>(
    session: &ProviderSession<'_>,
    request: &HandlerContext<'_>,
    organisations: &'a Organisations,
) -> Context<'a> {
    request.observer.looked_up(organisations);
    Context {
        today: session.today(),
        lists: request.state.lists,
        accepted_codes: &request.served.version.accepted_codes,
        organisations,
    }
}

/// How many nested records of a kind the request has.
fn count<R: NestedRecord>(nested: &NestedRecords<Sent>) -> usize {
    R::in_nested(nested).len()
}

/// The URNs of the schools that the nested records of a kind are in.
fn school_urns<R: NestedRecord>(nested: &NestedRecords<Sent>) -> Vec<String> {
    let school_urn = |sent: &ParsedRecord<R>| sent.text(R::SCHOOL?.urn);
    R::in_nested(nested).iter().filter_map(school_urn).collect()
}

/// Loads the schools and training partners that the request mentions.
fn mentioned(
    session: &mut ProviderSession<'_>,
    sent: &ParsedRecord<Trainee>,
) -> Result<Organisations, ApiError> {
    let mut schools: Vec<String> = sent
        .text(TraineeField::employing_school_urn)
        .into_iter()
        .collect();
    schools.extend(for_each_nested!(school_urns(&sent.nested)).concat());
    let partner_urns: Vec<String> = sent
        .text(TraineeField::training_partner_urn)
        .into_iter()
        .collect();
    let partner_ukprns: Vec<String> = sent
        .text(TraineeField::training_partner_ukprn)
        .into_iter()
        .collect();
    Ok(session.organisations(&schools, &partner_urns, &partner_ukprns)?)
}

/// The error of a registration that equals existing trainees. Names the matching fields, and
/// contains these trainees.
fn duplicate(
    session: &ProviderSession<'_>,
    request: &HandlerContext<'_>,
    trainee: &Trainee,
    existing: &[TraineeDocument],
) -> Result<ApiError, ApiError> {
    let existing: Vec<_> = existing
        .iter()
        .map(|document| document.read(Nested::With))
        .collect::<Result<_, _>>()?;
    let data: Vec<_> = existing
        .iter()
        .map(|trainee| View::trainee(request.version(), trainee, request.state.lists))
        .collect();
    let message = "this trainee is already present".to_owned();
    let records = existing
        .iter()
        .map(|trainee| trainee as &dyn Stored<Trainee>);
    let fields = matched_fields(trainee, records, session.today());
    Ok(ApiError::Duplicate {
        message,
        fields: fields
            .into_iter()
            .flat_map(|field| names::members(request.version(), field.into()))
            .collect(),
        existing: to_raw_value(&data).map_err(ApiError::unwritable)?,
    })
}
