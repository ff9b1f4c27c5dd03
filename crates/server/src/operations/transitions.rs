//! Moving a trainee from one state to another (contract, section 4.13).

use actix_web::http::StatusCode;
use adapter_kit::view::View;
use domain::organisations::Organisations;
use domain::{Withdrawal, decide};
use storage::session::ProviderSession;

use super::trainees::{context, find, with_data};
use crate::call::Call;
use crate::failure::Failure;
use crate::reply::Reply;

/// `POST /trainees/{trainee_id}/withdraw`
pub(super) fn withdraw(session: &mut ProviderSession<'_>, mut call: Call) -> Result<Reply, Failure> {
    let sent = call.read::<Withdrawal>()?;
    let stored = find(session, &call)?;
    let sent = with_data(sent)?;
    let version = call.version();
    let organisations = Organisations::default();
    let context = context(session, &call, &organisations);
    let decision =
        decide::withdraw(&stored.record, sent, &version.rules, &context, session.now()).map_err(Failure::Invalid)?;
    session.update_trainee(&stored, &decision.record)?;
    let reply = Reply::data(StatusCode::OK, View::trainee(version, &decision.record, call.lists))?;
    Ok(reply.with_notices(version, &decision.notices))
}
