//! Signing in by OpenID Connect: sending the browser to the issuer, receiving its answer, and
//! choosing between several organisations.
//!
//! The callback is a `GET` that signs a user in, so no form token protects it. Instead, the answer
//! must contain the state of an attempt, and the browser must have the cookie with the secret of
//! the same attempt. An attempt is valid once and for ten minutes. While the server calls the
//! issuer, it holds no connection to the store, and only other sign-ins can be delayed.

mod claims;
mod fetch;
pub(crate) mod issuer;

use std::sync::Arc;

use actix_web::web;
use askama::Template;
use http_kit::error_chain::Causes;
use http_kit::paths;
use openidconnect::RedirectUrl;
use storage::accounts::users::{Access, Identity, Secret, SecretDigest};
use storage::error::{Refusal, StorageError};
use storage::session::Session;

pub use self::claims::{ClaimName, ClaimNames};
pub use self::fetch::AddressError;
use self::issuer::{Answer, IssuerError};
pub use self::issuer::{Issuer, IssuerConfig};
use crate::request::page::{Frame, PageError, Reply};
use crate::request::page_request::PageRequest;
use crate::state::SettingsPages;

/// Registered at the issuer, so it must not change.
pub(crate) const CALLBACK: &str = "/sign-in/oidc/callback";
const SECRET: &str = "secret";
/// The UKPRN of the chosen organisation; empty for operators of the service.
const ORGANISATION: &str = "organisation";

#[derive(Template)]
#[template(path = "settings/continue.html")]
struct Continue<'a> {
    frame: Frame,
    host: &'a str,
    address: &'a str,
}

#[derive(Template)]
#[template(path = "settings/choice.html")]
struct Choice<'a> {
    frame: Frame,
    accesses: &'a [Access],
    secret: &'a str,
}

pub(crate) fn begin(_: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let issuer = require_issuer(request)?;
    Ok(Reply::from_work(async move |request: Arc<PageRequest>| {
        log_failure(&issuer, send_to_issuer(&issuer, &request).await)
    }))
}

pub(crate) fn come_back(_: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    let issuer = require_issuer(request)?;
    Ok(Reply::from_work(async move |request: Arc<PageRequest>| {
        log_failure(&issuer, receive_answer(&issuer, request).await)
    }))
}

fn require_issuer(request: &PageRequest) -> Result<Issuer, PageError> {
    request.settings.issuer.clone().ok_or(PageError::NotFound)
}

fn log_failure(issuer: &Issuer, reply: Result<Reply, PageError>) -> Result<Reply, PageError> {
    if let Err(PageError::Issuer(error)) = &reply {
        log::warn!(
            "OpenID Connect sign-in failed; issuer: {}; {}",
            issuer.host(),
            Causes(error)
        );
    }
    reply
}

async fn send_to_issuer(issuer: &Issuer, request: &PageRequest) -> Result<Reply, PageError> {
    let redirect = build_redirect_address(request)?;
    let fetched = issuer.clone();
    let now = request.state.store.now();
    let discovered = call_issuer(&request.settings, move || fetched.discover(now)).await?;
    let begun = write(request, |session| Ok(session.begin_sign_in()?)).await?;
    let address = issuer
        .build_authorization_address(&discovered, &redirect, &begun)
        .to_string();
    let frame = Frame::from_surroundings(request.around());
    // Through a page with a link: the content security policy forbids forms that lead to other sites,
    // also through a redirection.
    let html = Continue {
        frame,
        host: issuer.host(),
        address: &address,
    }
    .render()
    .map_err(PageError::Template)?;
    Ok(Reply::ToIssuer {
        html,
        address,
        browser: begun.browser,
    })
}

/// Signs the user in, or shows the choice of an organisation.
async fn receive_answer(issuer: &Issuer, request: Arc<PageRequest>) -> Result<Reply, PageError> {
    let redirect = build_redirect_address(&request)?;
    let attempt_state = SecretDigest::from_text(request.query.value("state"));
    let browser = request.attempt.clone().ok_or(Refusal::SignInNotUsable)?;
    let of_browser = browser.clone();
    // The attempt is used up by any answer.
    let attempt = write(&request, move |session| {
        Ok(session.take_sign_in_attempt(&attempt_state, &of_browser)?)
    });
    let attempt = attempt.await?;
    // An answer with an error is a refusal, even if it has a code.
    let (Some(code), None) = (read_field(&request, "code"), read_field(&request, "error")) else {
        return Err(IssuerError::Declined(name_error(request.query.value("error"))).into());
    };
    let answer = Answer {
        code,
        issuer: read_field(&request, "iss"),
    };
    let now = request.state.store.now();
    let issuer = issuer.clone();
    let identified = call_issuer(&request.settings, move || {
        issuer.identify(answer, &redirect, attempt, now)
    });
    let identity = identified.await?;
    let received = Arc::clone(&request);
    write(&request, move |session| {
        enter(session, &received, &identity, &browser)
    })
    .await
}

fn read_field(request: &PageRequest, name: &str) -> Option<String> {
    Some(request.query.value(name).to_owned()).filter(|value| !value.is_empty())
}

/// Returns the code of an error in an answer if a standard defines it (RFC 6749, section 4.1.2.1;
/// OpenID Connect Core 1.0, section 3.1.2.6).
fn name_error(code: &str) -> &'static str {
    const CODES: [&str; 16] = [
        "access_denied",
        "account_selection_required",
        "consent_required",
        "interaction_required",
        "invalid_request",
        "invalid_request_object",
        "invalid_request_uri",
        "invalid_scope",
        "login_required",
        "registration_not_supported",
        "request_not_supported",
        "request_uri_not_supported",
        "server_error",
        "temporarily_unavailable",
        "unauthorized_client",
        "unsupported_response_type",
    ];
    // The browser sends the answer, so other texts are not logged.
    CODES
        .into_iter()
        .find(|known| *known == code)
        .unwrap_or("no code and no known error")
}

/// Signs in to the only organisation, or shows the choice.
fn enter(
    session: &mut Session<'_>,
    request: &PageRequest,
    identity: &Identity,
    browser: &SecretDigest,
) -> Result<Reply, PageError> {
    let mut accesses = session.accesses_of(identity)?;
    // Users whose pages are on another listener sign in there.
    accesses.retain(|access| {
        let is_operator = access.ukprn().is_none();
        request.settings.audience.includes(is_operator)
    });
    match accesses.as_slice() {
        [] => Err(Refusal::NoAccess.into()),
        [only] => {
            let session_secret = Secret::generate()?;
            sign_in(
                session,
                request,
                identity,
                only.ukprn(),
                &SecretDigest::from_text(session_secret.reveal()),
            )?;
            Ok(Reply::SignedIn(session_secret))
        }
        several => {
            let secret = session.begin_choice(identity, browser)?;
            let frame = Frame::with_sign_in_form(request);
            Reply::render_sign_in(
                &Choice {
                    frame,
                    accesses: several,
                    secret: secret.reveal(),
                },
                request,
            )
        }
    }
}

pub(crate) fn choose(session: &mut Session<'_>, request: &PageRequest) -> Result<Reply, PageError> {
    require_issuer(request)?;
    let browser = request.attempt.as_ref().ok_or(Refusal::SignInNotUsable)?;
    let choice = SecretDigest::from_text(request.form.value(SECRET));
    let shown_to = request.browser.as_ref().ok_or(PageError::OtherBrowser)?;
    let session_secret = shown_to.cookie.derive_session(request.form.value(SECRET));
    let session_digest = SecretDigest::from_text(session_secret.reveal());
    let identity = match session.take_choice(&choice, browser) {
        Ok(identity) => identity,
        // The button was pressed twice: the first time has begun the same session.
        Err(StorageError::Refused(Refusal::SignInNotUsable))
            if session.has_begun(&session_digest)? =>
        {
            return Ok(Reply::SignedIn(session_secret));
        }
        Err(error) => return Err(error.into()),
    };
    let ukprn = Some(request.form.value(ORGANISATION)).filter(|ukprn| !ukprn.is_empty());
    sign_in(session, request, &identity, ukprn, &session_digest)?;
    Ok(Reply::SignedIn(session_secret))
}

/// Begins a session for an organisation, or for an operator if `ukprn` is `None`.
fn sign_in(
    session: &mut Session<'_>,
    request: &PageRequest,
    identity: &Identity,
    ukprn: Option<&str>,
    secret: &SecretDigest,
) -> Result<(), PageError> {
    if !request.settings.audience.includes(ukprn.is_none()) {
        return Err(Refusal::NoAccess.into());
    }
    Ok(session.sign_in_as(
        identity,
        ukprn,
        secret,
        request.session.as_ref(),
        request.origin(),
    )?)
}

fn build_redirect_address(request: &PageRequest) -> Result<RedirectUrl, PageError> {
    let address = format!("{}{}{CALLBACK}", request.own_site, paths::SETTINGS);
    // The issuer rejects addresses that are not registered there, such as of another host.
    RedirectUrl::new(address).map_err(|_| PageError::NotFound)
}

/// Runs a job that writes, within the concurrency limit of pages.
async fn write<T: Send + 'static>(
    request: &PageRequest,
    mut job: impl FnMut(&mut Session<'_>) -> Result<T, PageError> + Send + 'static,
) -> Result<T, PageError> {
    let permit = request.settings.acquire(None).await;
    let permit = permit.ok_or(PageError::Busy)?;
    let written = request.state.store.write(move |session| {
        // The permit is held until the job ends, also after the browser has closed the connection.
        let _held = &permit;
        job(session)
    });
    written.await
}

/// Calls the issuer on a blocking thread, within the concurrency limit.
async fn call_issuer<T: Send + 'static>(
    settings: &SettingsPages,
    fetch: impl FnOnce() -> Result<T, IssuerError> + Send + 'static,
) -> Result<T, PageError> {
    let Some(permit) = settings.fetches.acquire().await else {
        return Err(PageError::Busy);
    };
    let fetched = web::block(move || {
        // The permit is held until the thread ends, also after the browser has closed the
        // connection.
        let _held = permit;
        fetch()
    });
    let fetched = fetched.await.map_err(|_| PageError::Busy)?;
    Ok(fetched?)
}
