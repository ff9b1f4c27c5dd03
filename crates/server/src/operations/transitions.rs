//! Moving a trainee from one state to another (contract, sections 4.11 to 4.13).

use actix_web::http::StatusCode;
use adapter_kit::read::Nest;
use domain::commands::{self, Decision};
use domain::organisations::Organisations;
use domain::rules::Rules;
use domain::value::Timestamp;
use domain::{Context, ParsedRecord, Problem, Trainee};
use storage::session::ProviderSession;

use super::trainees::{context, find_matching, show_trainee, with_data};
use crate::call::Call;
use crate::failure::Failure;
use crate::reply::Reply;

/// `POST /trainees/{trainee_id}/defer`
pub(super) fn defer(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    transition(session, call, StatusCode::OK, commands::transition::<domain::Deferral>)
}

/// `POST /trainees/{trainee_id}/recommend-for-qts` and `.../update-qts-or-eyts-status`
pub(super) fn recommend(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    transition(session, call, StatusCode::ACCEPTED, commands::transition::<domain::Recommendation>)
}

/// `POST /trainees/{trainee_id}/withdraw`
pub(super) fn withdraw(session: &mut ProviderSession<'_>, call: &Call) -> Result<Reply, Failure> {
    transition(session, call, StatusCode::OK, commands::transition::<domain::Withdrawal>)
}

/// How the domain decides on a transition.
type Decide<R> =
    fn(&Trainee, ParsedRecord<R>, &Rules, &Context<'_>, Timestamp) -> Result<Decision<Trainee>, Vec<Problem>>;

fn transition<R: Nest>(
    session: &mut ProviderSession<'_>,
    call: &Call,
    status: StatusCode,
    decide: Decide<R>,
) -> Result<Reply, Failure> {
    let sent = call.read::<R>()?;
    let stored = find_matching(session, call)?;
    let sent = with_data(sent)?;
    let organisations = Organisations::default();
    let context = context(session, call, &organisations);
    let decision =
        decide(&stored.record, sent, &call.version().rules, &context, session.now()).map_err(Failure::Invalid)?;
    if !call.validates_only() {
        session.update_trainee(&stored, &decision.record)?;
    }
    let reply = call.tagged(show_trainee(status, call, &decision.record)?);
    Ok(reply.with_notices(call.version(), &decision.notices))
}
