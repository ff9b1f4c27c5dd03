//! Sessions of users: users list and end their own sessions, and admins sign other users out.

use askama::Template;
use storage::accounts::users::{OpenSession, SignedIn};
use storage::session::Session;

use crate::request::context::AdminContext;
use crate::request::page::{Frame, PageError, Reply, SettingsSection, Target};
use crate::request::page_request::PageRequest;

#[derive(Template)]
#[template(path = "settings/sessions.html")]
struct Sessions {
    frame: Frame,
    sessions: Vec<OpenSession>,
}

pub(crate) fn list(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let frame = Frame::new(request, signed_in, SettingsSection::Elsewhere);
    Reply::render(&Sessions {
        frame,
        sessions: session.open_sessions(signed_in)?,
    })
}

pub(crate) fn end(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    let is_this = session.end_own_session(signed_in, request.id()?)?;
    Ok(if is_this {
        Reply::SignedOut
    } else {
        Reply::Redirect(Target::Sessions)
    })
}

pub(crate) fn sign_out_person(
    session: &mut Session<'_>,
    request: &PageRequest,
    admin: &AdminContext<'_>,
) -> Result<Reply, PageError> {
    let id = request.id()?;
    session.sign_out_user(admin.actor, id)?;
    // Admins can end their own sessions on the page of a user, too.
    Ok(if id == admin.signed_in.user_id {
        Reply::SignedOut
    } else {
        Reply::Redirect(Target::People(admin.ukprn_of_other()))
    })
}
