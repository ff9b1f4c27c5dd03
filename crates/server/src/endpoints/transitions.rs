//! Moving a trainee from one state to another (contract, sections 4.11 to 4.13).

use adapter_kit::read::ReadableRecord;
use domain::commands::Decision;
use domain::organisations::Organisations;
use domain::rules::Rules;
use domain::value::Timestamp;
use domain::{Context, ParsedRecord, Problem, Trainee, commands};
use storage::session::ProviderSession;

use super::trainees::{context, find_matching, show_trainee, with_data};
use crate::http::error::ApiError;
use crate::http::request::HandlerContext;
use crate::http::response::ApiResponse;

/// `POST /trainees/{trainee_id}/defer`
pub(super) fn defer(session: &mut ProviderSession<'_>, request: &HandlerContext<'_>) -> Result<ApiResponse, ApiError> {
    transition(session, request, commands::transition::<domain::Deferral>)
}

/// `POST /trainees/{trainee_id}/recommend-for-qts` and `.../update-qts-or-eyts-status`
pub(super) fn recommend(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    transition(session, request, commands::transition::<domain::Recommendation>)
}

/// `POST /trainees/{trainee_id}/withdraw`
pub(super) fn withdraw(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    transition(session, request, commands::transition::<domain::Withdrawal>)
}

/// How the domain decides on a transition.
type Decide<R> =
    fn(&Trainee, ParsedRecord<R>, &Rules, &Context<'_>, Timestamp) -> Result<Decision<Trainee>, Vec<Problem>>;

fn transition<R: ReadableRecord>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    decide: Decide<R>,
) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<R>()?;
    let stored = find_matching(session, request)?;
    let sent = with_data(sent)?;
    let organisations = Organisations::default();
    let context = context(session, request, &organisations);
    let decision =
        decide(&stored.record, sent, &request.version().rules, &context, session.now()).map_err(ApiError::Invalid)?;
    if !request.validates_only() {
        session.update_trainee(&stored, &decision.record)?;
    }
    let reply = request.with_etag(show_trainee(request.success_status(), request, &decision.record)?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}
