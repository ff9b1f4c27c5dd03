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

/// The name of the field with the secret of a link.
const SECRET: &str = "secret";
/// The name of the field with an e-mail address.
pub(super) const EMAIL: &str = "email";

#[derive(Template)]
#[template(path = "settings/sign_in.html")]
struct Explanation<'a> {
    frame: Frame,
    /// The host of the issuer, if one is configured.
    issuer: Option<&'a str>,
    /// The form for a link by e-mail, if the server sends mails.
    mail: Option<MailForm<'a>>,
}

/// The form for a link by e-mail.
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

/// Shows the ways of signing in.
pub(crate) fn explain(_: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let explanation = explanation(request, Faults::default());
    // Without a form the page needs no cookie.
    if explanation.issuer.is_some() || explanation.mail.is_some() {
        Reply::sign_in_page(&explanation, request)
    } else {
        Reply::page(&explanation)
    }
}

/// Shows the faults of the form for a link by e-mail.
pub(super) fn explain_faults(request: &PageRequest, faults: Faults) -> Result<Reply, PageError> {
    Reply::faults(&explanation(request, faults))
}

/// The sign-in page. `faults` are those of the form for a link by e-mail.
fn explanation(request: &PageRequest, faults: Faults) -> Explanation<'_> {
    Explanation {
        frame: Frame::sign_in(request),
        issuer: request.settings.issuer.as_ref().map(Issuer::host),
        mail: request.settings.sends_mail.then(|| MailForm {
            email: request.form.value(EMAIL),
            faults,
        }),
    }
}

/// Shows the account of a link, and the button.
pub(crate) fn show_link(
    session: &mut Session<'_>,
    request: &PageRequest,
) -> Result<Reply, PageError> {
    let secret = request.parameter("secret")?;
    let invitation = open_here(session, request, &SecretDigest::from_text(secret))?
        .ok_or(Refusal::LinkNotUsable)?;
    Reply::sign_in_page(
        &Link {
            frame: Frame::sign_in(request),
            invitation,
            secret,
        },
        request,
    )
}

/// The invitation of a link; `None` if the link is used or unknown. Fails if the link is for
/// another audience than that of the listener. The link is not used up.
fn open_here(
    session: &mut Session<'_>,
    request: &PageRequest,
    link: &SecretDigest,
) -> Result<Option<OpenInvitation>, PageError> {
    let found = session.open_invitation(link)?;
    let is_for_others = |found: &OpenInvitation| {
        !request
            .settings
            .audience
            .includes(found.organisation.is_none())
    };
    if found.as_ref().is_some_and(is_for_others) {
        Err(Refusal::LinkNotUsable.into())
    } else {
        Ok(found)
    }
}

/// Uses a link, and begins a session that replaces any other session of the browser.
pub(crate) fn accept(session: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let link = request.form.value(SECRET);
    let browser = request.browser.as_ref().ok_or(PageError::OtherBrowser)?;
    let begun = browser.cookie.session_of(link);
    let link = SecretDigest::from_text(link);
    let secret = SecretDigest::from_text(begun.reveal());
    open_here(session, request, &link)?;
    session.accept_invitation(&link, &secret, request.session.as_ref(), request.origin())?;
    Ok(Reply::SignedIn(begun))
}

/// Ends the session.
pub(crate) fn sign_out(
    session: &mut Session<'_>,
    _: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    session.sign_out(signed_in)?;
    Ok(Reply::SignedOut)
}

/// Ends all sessions of the user.
pub(crate) fn sign_out_everywhere(
    session: &mut Session<'_>,
    request: &PageRequest,
    signed_in: &SignedIn,
) -> Result<Reply, PageError> {
    session.sign_out_everywhere(signed_in, request.origin())?;
    Ok(Reply::SignedOut)
}

/// Shows that the session has ended.
pub(crate) fn confirm_sign_out(
    _: &mut Session<'_>,
    request: &PageRequest,
) -> Result<Reply, PageError> {
    Reply::page(&SignedOut {
        frame: Frame::public(request.around()),
    })
}
