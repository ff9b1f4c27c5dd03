//! Reading, registering and changing a trainee (contract, sections 4.3, 4.8 and 4.14).

use actix_web::http::StatusCode;
use adapter_kit::compose::Data;
use adapter_kit::problems::{Conflict, Errors};
use adapter_kit::read::lacks_data;
use adapter_kit::view::View;
use domain::commands::{self, CreationContext};
use domain::organisations::Organisations;
use domain::{Action, Context, ParsedRecord, PlacementField, Record, Stored, Trainee, TraineeField};
use storage::session::ProviderSession;
use storage::trainees::{Nested, StoredTrainee, TraineeDocument};

use crate::call::Call;
use crate::failure::{Failure, Missing};
use crate::reply::Reply;

/// `GET /trainees/{trainee_id}`
pub(super) fn show(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let document = find_to_show(session, call)?;
    Ok(call.unless_held(show_trainee(StatusCode::OK, call, &document.read(Nested::With)?)?))
}

/// `POST /trainees`
pub(super) fn create(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let sent = with_data(call.read::<Trainee>()?)?;
    let organisations = mentioned(session, &sent)?;
    let identifiers = call.identifiers(1 + sent.nested.placements.len() + sent.nested.degrees.len())?;
    let origin = CreationContext {
        now: session.now(),
        ukprn: &session.provider().ukprn.clone(),
        next_id: &|| identifiers.next(),
    };
    let version = call.version();
    let decision = commands::create(sent, &version.rules, &context(session, call, &organisations), &origin)
        .map_err(Failure::Invalid)?;
    let existing = session.duplicates_of(&decision.record)?;
    if !existing.is_empty() {
        return Err(duplicate(call, &existing)?);
    }
    if !call.validates_only() {
        session.insert_trainee(&decision.record)?;
    }
    let reply = call.tagged(show_trainee(StatusCode::CREATED, call, &decision.record)?);
    Ok(reply.with_notices(version, &decision.notices))
}

/// `PUT` and `PATCH /trainees/{trainee_id}`
pub(super) fn update(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    let sent = call.read_changes::<Trainee>()?;
    let stored = find_to_change(session, call)?;
    let version = call.version();
    let sent = with_data(sent)?;
    let organisations = mentioned(session, &sent)?;
    let context = context(session, call, &organisations);
    let decision =
        commands::update(&stored.record, sent, &version.rules, &context, session.now()).map_err(Failure::Invalid)?;
    if decision.changed && !call.validates_only() {
        session.update_trainee(&stored, &decision.record)?;
    }
    let reply = call.tagged(show_trainee(StatusCode::OK, call, &decision.record)?);
    Ok(reply.with_notices(version, &decision.notices))
}

/// The trainee of the path, to be shown.
pub(super) fn find_to_show(session: &mut ProviderSession<'_>, call: &Call) -> Result<TraineeDocument, Failure> {
    session.show_trainee(call.trainee_id())?.ok_or(Failure::NotFound(Missing::Trainee))
}

/// The trainee of the path.
pub(super) fn find(session: &mut ProviderSession<'_>, call: &Call) -> Result<StoredTrainee, Failure> {
    let stored = session.find_trainee(call.trainee_id())?.ok_or(Failure::NotFound(Missing::Trainee))?;
    call.sighting.found(&stored.record);
    Ok(stored)
}

/// The trainee of the path, unless it is not what the client takes it for.
pub(super) fn find_matching(session: &mut ProviderSession<'_>, call: &Call) -> Result<StoredTrainee, Failure> {
    let stored = find(session, call)?;
    call.require_match(|| show_trainee(StatusCode::OK, call, &stored.record))?;
    Ok(stored)
}

/// The trainee of the path, to be changed.
pub(super) fn find_to_change(session: &mut ProviderSession<'_>, call: &Call) -> Result<StoredTrainee, Failure> {
    to_change(find_matching(session, call)?, call)
}

/// The same trainee, unless the version refuses to change it.
pub(super) fn to_change(stored: StoredTrainee, call: &Call) -> Result<StoredTrainee, Failure> {
    commands::check_gates(&stored.record, Action::Update, &call.version().rules).map_err(Failure::Invalid)?;
    Ok(stored)
}

/// A reply with a trainee and its nested records.
pub(super) fn show_trainee(status: StatusCode, call: &Call, trainee: &dyn Stored<Trainee>) -> Result<Reply, Failure> {
    Reply::record(status, &View::trainee(call.version(), trainee, call.lists))
}

/// What was sent, unless there was no `data`: then that is the only answer.
pub(super) fn with_data<R: Record>(mut sent: ParsedRecord<R>) -> Result<ParsedRecord<R>, Failure> {
    if lacks_data(&sent) {
        sent.problems.truncate(1);
        return Err(Failure::Invalid(sent.problems));
    }
    Ok(sent)
}

/// What the rules may know besides the record.
pub(super) fn context<'a>(session: &ProviderSession<'_>, call: &Call, organisations: &'a Organisations) -> Context<'a> {
    call.sighting.looked_up(organisations);
    Context {
        today: session.today(),
        lists: call.lists,
        accepted_codes: &call.served.version.accepted_codes,
        organisations,
    }
}

/// The schools and training partners that the request mentions.
fn mentioned(session: &mut ProviderSession<'_>, sent: &ParsedRecord<Trainee>) -> Result<Organisations, Failure> {
    let mut schools: Vec<String> = sent.text(TraineeField::employing_school_urn).into_iter().collect();
    schools.extend(sent.nested.placements.iter().filter_map(|placement| placement.text(PlacementField::urn)));
    let partner_urns: Vec<String> = sent.text(TraineeField::training_partner_urn).into_iter().collect();
    let partner_ukprns: Vec<String> = sent.text(TraineeField::training_partner_ukprn).into_iter().collect();
    Ok(session.organisations(&schools, &partner_urns, &partner_ukprns)?)
}

fn duplicate(call: &Call, existing: &[TraineeDocument]) -> Result<Failure, Failure> {
    let existing: Vec<_> = existing.iter().map(|one| one.read(Nested::With)).collect::<Result<_, _>>()?;
    let data: Vec<_> = existing.iter().map(|one| View::trainee(call.version(), one, call.lists)).collect();
    let errors = Errors::one("Conflict", "this trainee is already present");
    let body = serde_json::to_vec(&Conflict { errors, existing: Data { data } }).map_err(Failure::Unwritable)?;
    Ok(Failure::Duplicate { body })
}
