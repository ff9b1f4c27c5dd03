//! The permission of a route: identifies the user, and runs the handler if the user has access.

use storage::accounts::users::SignedIn;
use storage::base::cause::Cause;
use storage::error::Refusal;
use storage::session::Session;

use crate::request::context::{AdminContext, Handler, OperatorContext, Route, UploaderContext};
use crate::request::page::{PageError, Reply};
use crate::request::page_request::PageRequest;

/// Identifies the user, and runs the handler if the user has access.
pub(crate) fn handle(
    session: &mut Session<'_>,
    route: &Route,
    request: &PageRequest,
) -> Result<(Reply, Option<SignedIn>), PageError> {
    if let Handler::Public(handler) = route.handler {
        return Ok((handler(session, request)?, None));
    }
    let digest = request.session.as_ref().ok_or(PageError::NotSignedIn)?;
    let changes_settings =
        matches!(route.handler, Handler::Admin(_) | Handler::OperatorAdmin(_)) && route.has_form();
    let signed_in = if changes_settings {
        session.signed_in_to_change(digest)?
    } else {
        session.signed_in(digest)?
    };
    let is_here = |signed_in: &SignedIn| {
        request
            .settings
            .audience
            .includes(signed_in.organisation.is_none())
    };
    let signed_in = signed_in.filter(is_here).ok_or(PageError::NotSignedIn)?;
    if route.has_form() {
        session.record_session_use(&signed_in)?;
    }
    // Users of organisations and operators get `NotFound` for each other's pages.
    let organisation = || signed_in.organisation.as_ref().ok_or(PageError::NotFound);
    let operator = || {
        signed_in
            .operator(request.origin())
            .map_err(|_| PageError::NotFound)
    };
    let reply = match route.handler {
        Handler::Public(handler) => handler(session, request)?,
        Handler::SignedIn(handler) => handler(session, request, &signed_in)?,
        Handler::Organisation(handler) => handler(session, request, &signed_in, organisation()?)?,
        Handler::Own(handler) => {
            let ukprn = &organisation()?.ukprn;
            let own = session.open_provider(ukprn, Cause::new("settings"))?;
            handler(
                &mut own.ok_or(Refusal::UnknownProvider)?,
                request,
                &signed_in,
            )?
        }
        Handler::Admin(handler) => {
            let organisation = organisation()?;
            let actor = signed_in.actor(request.origin())?;
            handler(
                session,
                request,
                &AdminContext {
                    signed_in: &signed_in,
                    organisation,
                    actor,
                },
            )?
        }
        Handler::Uploader(handler) => {
            let context = UploaderContext {
                signed_in: &signed_in,
                organisation: organisation()?,
                uploader: signed_in.uploader()?,
            };
            handler(session, request, &context)?
        }
        Handler::Operator(handler) => handler(
            session,
            request,
            &OperatorContext {
                signed_in: &signed_in,
                actor: operator()?,
            },
        )?,
        Handler::OperatorOrganisation(handler) => {
            operator()?;
            let organisation = session.organisation(request.parameter("ukprn")?)?;
            handler(session, request, &signed_in, &organisation)?
        }
        Handler::OperatorAdmin(handler) => {
            let actor = operator()?;
            let ukprn = request.parameter("ukprn")?;
            let organisation = &match route.has_form() {
                true => session.organisation_to_change(ukprn)?.into(),
                false => session.organisation(ukprn)?,
            };
            let context = AdminContext {
                signed_in: &signed_in,
                organisation,
                actor: actor.limited_to_provider(organisation),
            };
            handler(session, request, &context).map_err(PageError::for_operator)?
        }
    };
    Ok((reply, Some(signed_in)))
}
