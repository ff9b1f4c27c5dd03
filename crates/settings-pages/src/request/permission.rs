//! The permission of a route: identifies the user, and runs the handler if the user has access.

use storage::accounts::users::{Actor, SignedIn};
use storage::base::cause::Cause;
use storage::error::Refusal;
use storage::session::{Provider, Session};

use crate::request::context::{AdminContext, Handler, OperatorContext, Route, UploaderContext};
use crate::request::page::{PageError, Reply};
use crate::request::page_request::PageRequest;

/// The reply of a handler, and its user.
pub(crate) struct Handled {
    pub(crate) reply: Reply,
    /// `None` for public pages.
    pub(crate) signed_in: Option<SignedIn>,
}

/// Identifies the user, and runs the handler if the user has access.
pub(crate) fn handle(
    session: &mut Session<'_>,
    route: &Route,
    request: &PageRequest,
) -> Result<Handled, PageError> {
    if let Handler::Public(handler) = route.handler {
        return Ok(Handled {
            reply: handler(session, request)?,
            signed_in: None,
        });
    }
    let signed_in = identify(session, route, request)?;
    if route.has_form() {
        session.record_session_use(&signed_in)?;
    }
    Ok(Handled {
        reply: run_handler(session, route, request, &signed_in)?,
        signed_in: Some(signed_in),
    })
}

fn identify(
    session: &mut Session<'_>,
    route: &Route,
    request: &PageRequest,
) -> Result<SignedIn, PageError> {
    let digest = request.session.as_ref().ok_or(PageError::NotSignedIn)?;
    let changes_settings =
        matches!(route.handler, Handler::Admin(_) | Handler::OperatorAdmin(_)) && route.has_form();
    let signed_in = if changes_settings {
        session.signed_in_to_change(digest)?
    } else {
        session.signed_in(digest)?
    };
    // Other users sign in at another listener.
    let audience = request.settings.audience;
    signed_in
        .filter(|signed_in| audience.includes(signed_in.organisation.is_none()))
        .ok_or(PageError::NotSignedIn)
}

fn run_handler(
    session: &mut Session<'_>,
    route: &Route,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    match route.handler {
        Handler::Public(handler) => handler(session, request),
        Handler::SignedIn(handler) => handler(session, request, signed_in),
        Handler::Organisation(handler) => handler(
            session,
            request,
            signed_in,
            require_organisation(signed_in)?,
        ),
        Handler::Own(handler) => {
            let ukprn = &require_organisation(signed_in)?.ukprn;
            let own = session.open_provider(ukprn, Cause::new("settings"))?;
            handler(
                &mut own.ok_or(Refusal::UnknownProvider)?,
                request,
                signed_in,
            )
        }
        Handler::Admin(handler) => {
            let context = AdminContext {
                signed_in,
                organisation: require_organisation(signed_in)?,
                actor: signed_in.actor(request.origin())?,
            };
            handler(session, request, &context)
        }
        Handler::Uploader(handler) => {
            let context = UploaderContext {
                signed_in,
                organisation: require_organisation(signed_in)?,
                uploader: signed_in.uploader()?,
            };
            handler(session, request, &context)
        }
        Handler::Operator(handler) => {
            let context = OperatorContext {
                signed_in,
                actor: require_operator(signed_in, request)?,
            };
            handler(session, request, &context)
        }
        Handler::OperatorOrganisation(handler) => {
            require_operator(signed_in, request)?;
            let organisation = session.organisation(request.parameter("ukprn")?)?;
            handler(session, request, signed_in, &organisation)
        }
        Handler::OperatorAdmin(handler) => {
            let actor = require_operator(signed_in, request)?;
            let ukprn = request.parameter("ukprn")?;
            let organisation = &match route.has_form() {
                true => session.organisation_to_change(ukprn)?.into(),
                false => session.organisation(ukprn)?,
            };
            let context = AdminContext {
                signed_in,
                organisation,
                actor: actor.limited_to_provider(organisation),
            };
            handler(session, request, &context).map_err(PageError::for_operator)
        }
    }
}

/// Fails for an operator: the pages of organisations do not exist for operators.
fn require_organisation(signed_in: &SignedIn) -> Result<&Provider, PageError> {
    signed_in.organisation.as_ref().ok_or(PageError::NotFound)
}

/// Fails for a user of an organisation: the pages of operators do not exist for other users.
fn require_operator<'a>(
    signed_in: &'a SignedIn,
    request: &'a PageRequest,
) -> Result<Actor<'a>, PageError> {
    signed_in
        .operator(request.origin())
        .map_err(|_| PageError::NotFound)
}
