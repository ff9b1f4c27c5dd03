//! Moving a trainee from one state to another (contract, sections 4.11 to 4.13).

use adapter_kit::read::ReadableRecord;
use domain::commands::{self, Transition};
use domain::records::organisations::Organisations;
use domain::{Deferral, Recommendation, Withdrawal};
use storage::session::ProviderSession;

use super::trainees::{context, find_matching, show_trainee, with_data};
use crate::error::ApiError;
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// `POST /trainees/{trainee_id}/defer`
pub(super) fn defer(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    transition::<Deferral>(session, request)
}

/// `POST /trainees/{trainee_id}/recommend-for-qts` and `.../update-qts-or-eyts-status`
pub(super) fn recommend(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    transition::<Recommendation>(session, request)
}

/// `POST /trainees/{trainee_id}/withdraw`
pub(super) fn withdraw(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    transition::<Withdrawal>(session, request)
}

/// Carries out the transition that `R` requests.
fn transition<R: ReadableRecord + Transition>(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    let sent = request.read::<R>()?;
    let stored = find_matching(session, request)?;
    let sent = with_data(sent)?;
    let organisations = Organisations::default();
    let context = context(session, request, &organisations);
    let decision = commands::transition(
        &stored.record,
        sent,
        &request.version().rules,
        &context,
        session.change_date(),
    )
    .map_err(ApiError::Invalid)?;
    if !request.validates_only() {
        session.update_trainee(&stored, &decision.record)?;
    }
    let reply = request.with_etag(show_trainee(
        request.success_status(),
        request,
        &decision.record,
    )?);
    Ok(reply.with_notices(request.version(), &decision.notices))
}
