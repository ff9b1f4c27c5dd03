//! Signing in by a link, and signing out.
//!
//! To open a link changes nothing, since scanners of mail open links too; the button on its page uses it up.

use askama::Template;
use storage::error::Refusal;
use storage::session::Session;
use storage::users::{OpenInvitation, SecretDigest, SignedIn};

use super::page::{Frame, PageError, Reply};
use super::receive::PageRequest;

/// The name of the field with the secret of a link.
const SECRET: &str = "secret";

#[derive(Template)]
#[template(path = "settings/sign_in.html")]
struct Explanation {
    frame: Frame,
}

#[derive(Template)]
#[template(path = "settings/link.html")]
struct Link<'a> {
    frame: Frame,
    invitation: OpenInvitation,
    secret: &'a str,
}

/// How to get a link.
pub(super) fn explain(_: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    Reply::page(&Explanation { frame: Frame::public(request.around()) })
}

/// What a link leads to, and the button.
pub(super) fn show_link(session: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let secret = request.secret();
    let invitation = usable(session, request, &SecretDigest::of(secret))?;
    Reply::page(&Link { frame: Frame::public(request.around()), invitation, secret })
}

/// What a link leads to that can be used here. One that is for others is not used up.
fn usable(session: &mut Session<'_>, request: &PageRequest, link: &SecretDigest) -> Result<OpenInvitation, PageError> {
    let found = session.open_invitation(link)?;
    let found = found.filter(|invitation| request.audience.includes(invitation.organisation.is_none()));
    Ok(found.ok_or(Refusal::LinkNotUsable)?)
}

/// Uses the link up, and begins a session in the place of any other that the browser has.
pub(super) fn accept(session: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let link = SecretDigest::of(request.form.value(SECRET));
    usable(session, request, &link)?;
    Ok(Reply::SignedIn(session.accept_invitation(&link, request.session.as_ref(), request.origin())?))
}

/// Ends the session.
pub(super) fn sign_out(session: &mut Session<'_>, _: &PageRequest, signed_in: &SignedIn) -> Result<Reply, PageError> {
    session.sign_out(signed_in)?;
    Ok(Reply::SignedOut)
}

/// Ends all sessions of the user.
pub(super) fn sign_out_everywhere(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    session.sign_out_everywhere(signed_in, request.origin())?;
    Ok(Reply::SignedOut)
}
