//! The sign-in page, signing in with a link, and signing out.
//!
//! Opening a link changes nothing, because mail scanners open links too. The button on its page
//! uses the link.

use askama::Template;
use storage::accounts::users::{OpenInvitation, SecretDigest, SignedIn};
use storage::error::Refusal;
use storage::session::Session;

use crate::request::form::Faults;
use crate::request::page::{Frame, PageError, Reply};
use crate::request::page_request::PageRequest;
use crate::signing_in::openid::Issuer;

/// The field with the secret of a link.
const SECRET: &str = "secret";
pub(super) const EMAIL: &str = "email";

#[derive(Template)]
#[template(path = "settings/sign_in.html")]
struct Explanation<'a> {
    frame: Frame,
    /// The host, if an issuer is configured.
    issuer: Option<&'a str>,
    /// If the server sends mails.
    mail: Option<MailForm<'a>>,
}

/// Asks for a link by e-mail.
struct MailForm<'a> {
    email: &'a str,
    faults: Faults,
}

#[derive(Template)]
#[template(path = "settings/signed_out.html")]
struct SignedOut {
    frame: Frame,
}

#[derive(Template)]
#[template(path = "settings/link.html")]
struct Link<'a> {
    frame: Frame,
    invitation: OpenInvitation,
    secret: &'a str,
}

pub(crate) fn explain(_: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let explanation = build_page(request, Faults::default());
    // Without a form the page needs no cookie.
    if explanation.issuer.is_some() || explanation.mail.is_some() {
        Reply::render_sign_in(&explanation, request)
    } else {
        Reply::render(&explanation)
    }
}

/// Shows faults of the form for a link by e-mail.
pub(super) fn explain_faults(request: &PageRequest, faults: Faults) -> Result<Reply, PageError> {
    Reply::render_faults(&build_page(request, faults))
}

fn build_page(request: &PageRequest, faults: Faults) -> Explanation<'_> {
    Explanation {
        frame: Frame::with_sign_in_form(request),
        issuer: request.settings.issuer.as_ref().map(Issuer::host),
        mail: request.settings.sends_mail.then(|| MailForm {
            email: request.form.value(EMAIL),
            faults,
        }),
    }
}

pub(crate) fn show_link(
    session: &mut Session<'_>,
    request: &PageRequest,
) -> Result<Reply, PageError> {
    let secret = request.parameter("secret")?;
    let invitation = find_invitation(session, request, &SecretDigest::from_text(secret))?
        .ok_or(Refusal::LinkNotUsable)?;
    Reply::render_sign_in(
        &Link {
            frame: Frame::with_sign_in_form(request),
            invitation,
            secret,
        },
        request,
    )
}

/// Finds the invitation of a link, which is not used up. Returns `None` if the link is used or
/// unknown; fails if it is for another audience than that of the listener.
fn find_invitation(
    session: &mut Session<'_>,
    request: &PageRequest,
    link: &SecretDigest,
) -> Result<Option<OpenInvitation>, PageError> {
    let found = session.open_invitation(link)?;
    if let Some(found) = &found {
        let is_for_operator = found.organisation.is_none();
        if !request.settings.audience.includes(is_for_operator) {
            return Err(Refusal::LinkNotUsable.into());
        }
    }
    Ok(found)
}

/// Uses a link, and begins a session that replaces any other session of the browser.
pub(crate) fn accept(session: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let link = request.form.value(SECRET);
    let browser = request.browser.as_ref().ok_or(PageError::OtherBrowser)?;
    let begun = browser.cookie.derive_session(link);
    let link = SecretDigest::from_text(link);
    let secret = SecretDigest::from_text(begun.reveal());
    find_invitation(session, request, &link)?;
    session.accept_invitation(&link, &secret, request.session.as_ref(), request.origin())?;
    Ok(Reply::SignedIn(begun))
}

pub(crate) fn sign_out(
    session: &mut Session<'_>,
    _: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    session.sign_out(signed_in)?;
    Ok(Reply::SignedOut)
}

pub(crate) fn sign_out_everywhere(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    session.sign_out_everywhere(signed_in, request.origin())?;
    Ok(Reply::SignedOut)
}

pub(crate) fn confirm_sign_out(
    _: &mut Session<'_>,
    request: &PageRequest,
) -> Result<Reply, PageError> {
    Reply::render(&SignedOut {
        frame: Frame::from_surroundings(request.around()),
    })
}
