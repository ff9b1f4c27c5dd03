//! What a request for a page is answered with: a page, a redirection to one of ours, or a page that
//! says why not.

use std::io;

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, HeaderValue, InvalidHeaderValue,
    LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use askama::Template;
use gateway::error::{self, ApiError};
use http_kit::limits::rate_limit::QuotaExceeded;
use http_kit::paths;
use http_kit::responses::page::{Keep, page};
use storage::accounts::users::{Secret, SignedIn};
use storage::base::token::Environment;
use storage::error::{JobError, Refusal, StorageError};
use storage::session::Provider;

use crate::request::cookies::CookieName;
use crate::request::file_of_actions::FileOfActions;
use crate::request::page_request::{NotInPath, PageRequest};
use crate::signing_in::openid::issuer::IssuerError;
use crate::state::{Audience, Surroundings};

/// The header by which a browser opens another page at once, as a link on the page does (HTML,
/// section 7.11).
const REFRESH: HeaderName = HeaderName::from_static("refresh");
/// The media type of comma-separated values.
const CSV: &str = "text/csv; charset=utf-8";

/// Where a reader is, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsSection {
    Overview,
    Tokens,
    Requests,
    Usage,
    Readiness,
    People,
    Registry,
    History,
    Imports,
    Activity,
    Versions,
    /// None of them.
    Elsewhere,
}

/// What stands around every page.
pub(crate) struct Frame {
    pub(crate) place: SettingsSection,
    pub(crate) environment: Environment,
    /// Whether the documents of the API are on the same listener.
    pub(crate) has_documents: bool,
    /// Nobody where nobody is signed in.
    pub(crate) user: Option<FrameUser>,
    /// The organisation that the page is about, for an operator.
    pub(crate) about: Option<Provider>,
    /// What each form holds.
    pub(crate) form_token: String,
}

/// Who is signed in.
pub(crate) struct FrameUser {
    pub(crate) email: String,
    pub(crate) role: &'static str,
    /// The name of the organisation; none for an operator of the service.
    pub(crate) organisation: Option<String>,
    /// Whether forms are shown that change anything.
    pub(crate) is_admin: bool,
}

impl Frame {
    /// Around a page for somebody who is signed in.
    pub(crate) fn new(request: &PageRequest, signed_in: &SignedIn, place: SettingsSection) -> Self {
        let user = FrameUser {
            email: signed_in.email.clone(),
            role: signed_in.role.name(),
            organisation: signed_in
                .organisation
                .as_ref()
                .map(|organisation| organisation.name.clone()),
            is_admin: signed_in.actor(request.origin()).is_ok(),
        };
        let form_token = request.form_token.clone();
        Self {
            place,
            user: Some(user),
            form_token,
            ..Self::public(request.around())
        }
    }

    /// Around a page of an organisation, for one of its users or for an operator.
    pub(crate) fn with_organisation(
        request: &PageRequest,
        signed_in: &SignedIn,
        organisation: &Provider,
        place: SettingsSection,
    ) -> Self {
        let about = signed_in
            .organisation
            .is_none()
            .then(|| organisation.clone());
        Self {
            about,
            ..Self::new(request, signed_in, place)
        }
    }

    /// Around a page with a form to sign in.
    pub(crate) fn sign_in(request: &PageRequest) -> Self {
        Self {
            form_token: request.form_token.clone(),
            ..Self::public(request.around())
        }
    }

    /// Around a page for anybody.
    pub(crate) fn public(around: Surroundings) -> Self {
        Self {
            place: SettingsSection::Elsewhere,
            environment: around.environment,
            has_documents: around.audience != Audience::Operators,
            user: None,
            about: None,
            form_token: String::new(),
        }
    }

    /// Whether forms are shown that change the organisation.
    pub(crate) fn is_admin(&self) -> bool {
        self.about.is_some() || self.user.as_ref().is_some_and(|user| user.is_admin)
    }

    /// Where the pages of the organisation are.
    pub(crate) fn base(&self) -> String {
        base(
            self.about
                .as_ref()
                .map(|organisation| organisation.ukprn.as_str()),
        )
    }

    pub(crate) fn is_operator(&self) -> bool {
        self.user
            .as_ref()
            .is_some_and(|user| user.organisation.is_none())
    }
}

/// A page of ours to which a request is redirected. None is taken from a request: a UKPRN is that
/// of a stored organisation, and there for an operator alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Overview,
    Organisation(Option<String>),
    Tokens(Option<String>),
    People(Option<String>),
    Sessions,
    SignIn,
}

impl Target {
    fn address(self) -> String {
        let below = |ukprn: Option<String>, page: &str| format!("{}{page}", base(ukprn.as_deref()));
        match self {
            Self::Overview => below(None, ""),
            Self::Organisation(ukprn) => below(ukprn, ""),
            Self::Tokens(ukprn) => below(ukprn, "/tokens"),
            Self::People(ukprn) => below(ukprn, "/people"),
            Self::Sessions => below(None, "/sessions"),
            Self::SignIn => below(None, "/sign-in"),
        }
    }
}

/// Where the pages of an organisation are: one's own, or, for an operator, that with the UKPRN.
fn base(ukprn: Option<&str>) -> String {
    match ukprn {
        Some(ukprn) => format!("{}/organisations/{ukprn}", paths::SETTINGS),
        None => paths::SETTINGS.to_owned(),
    }
}

/// What a handler answers.
pub(crate) enum Reply {
    /// A page.
    Page(StatusCode, String),
    /// A page with a form to sign in, and the cookie for which the form was made, where the browser
    /// is yet to be given it.
    SignInPage(String, Option<HeaderValue>),
    /// A file of comma-separated values to keep, with its name.
    Csv(&'static str, String),
    /// The browser is to request another page.
    Redirect(Target),
    /// A page that leads to the issuer, and the cookie of the attempt.
    ToIssuer {
        html: String,
        address: String,
        browser: Secret,
    },
    /// A session has begun.
    SignedIn(Secret),
    /// The session has ended.
    SignedOut,
    /// The rows of a file are to be done, each in a job of its own, and then a page.
    File(Box<FileOfActions>),
}

impl Reply {
    /// A page that was requested.
    pub(crate) fn page(template: &impl Template) -> Result<Self, PageError> {
        Ok(Self::Page(
            StatusCode::OK,
            template.render().map_err(PageError::Template)?,
        ))
    }

    /// A form with faults.
    pub(crate) fn faults(template: &impl Template) -> Result<Self, PageError> {
        Ok(Self::Page(
            StatusCode::UNPROCESSABLE_ENTITY,
            template.render().map_err(PageError::Template)?,
        ))
    }

    /// A page with a form to sign in.
    pub(crate) fn sign_in_page(
        template: &impl Template,
        request: &PageRequest,
    ) -> Result<Self, PageError> {
        let new = request.browser.as_ref().filter(|browser| browser.is_new);
        let cookie = new
            .map(|browser| CookieName::Browser.set(browser.cookie.text()))
            .transpose()?;
        Ok(Self::SignInPage(
            template.render().map_err(PageError::Template)?,
            cookie,
        ))
    }

    pub(crate) fn response(self) -> Result<HttpResponse, PageError> {
        match self {
            Self::SignInPage(html, cookie) => {
                let mut response = page(StatusCode::OK, Keep::Never, html);
                if let Some(cookie) = cookie {
                    response.headers_mut().insert(SET_COOKIE, cookie);
                }
                Ok(response)
            }
            Self::Page(status, html) => Ok(page(status, Keep::Never, html)),
            Self::Csv(name, text) => Ok(attachment(name, text)),
            Self::Redirect(target) => Ok(redirect(target, None)),
            Self::ToIssuer {
                html,
                address,
                browser,
            } => {
                let mut response = page(StatusCode::OK, Keep::Never, html);
                response.headers_mut().insert(
                    REFRESH,
                    HeaderValue::from_str(&format!("0; url={address}"))?,
                );
                response
                    .headers_mut()
                    .insert(SET_COOKIE, CookieName::SignIn.set(browser.reveal())?);
                Ok(response)
            }
            Self::SignedIn(secret) => Ok(redirect(
                Target::Overview,
                Some(CookieName::Session.set(secret.reveal())?),
            )),
            Self::SignedOut => Ok(redirect(
                Target::SignIn,
                Some(CookieName::Session.remove()?),
            )),
            // It became a page where it was performed.
            Self::File(_) => Err(PageError::NotFound),
        }
    }
}

fn attachment(name: &str, text: String) -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response.insert_header((CONTENT_TYPE, CSV));
    response.insert_header((
        CONTENT_DISPOSITION,
        format!("attachment; filename=\"{name}\""),
    ));
    response.insert_header((CACHE_CONTROL, "no-store"));
    response.insert_header((REFERRER_POLICY, "no-referrer"));
    response.insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"));
    response.body(text)
}

fn redirect(target: Target, cookie: Option<HeaderValue>) -> HttpResponse {
    let mut response = HttpResponse::SeeOther();
    response.insert_header((LOCATION, target.address()));
    response.insert_header((CACHE_CONTROL, "no-store"));
    response.insert_header((REFERRER_POLICY, "no-referrer"));
    if let Some(cookie) = cookie {
        response.insert_header((SET_COOKIE, cookie));
    }
    response.finish()
}

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// The connection is not one on which a cookie is safe.
    #[error("connection is not secure")]
    Insecure,
    /// Nobody is signed in, or no longer.
    #[error("nobody is signed in")]
    NotSignedIn,
    /// There is no such page for whoever asks.
    #[error("no such page")]
    NotFound,
    /// An operator asks for what a closed organisation cannot get.
    #[error("organisation is closed")]
    OrganisationClosed,
    /// The form was sent from a page of another site.
    #[error("form comes from another site")]
    OtherSite,
    /// The form was made for another session.
    #[error("form is of another session")]
    OtherSession,
    /// The form to sign in was made for another browser, or the browser keeps no cookies.
    #[error("form is of another browser")]
    OtherBrowser,
    /// The session has sent too many forms.
    #[error("too many forms")]
    TooManyForms(QuotaExceeded),
    /// What was sent is no form.
    #[error("body is no form")]
    NoForm,
    /// Too many others are being answered.
    #[error("too many pages are requested")]
    Busy,
    /// The page could not be written.
    #[error("page cannot be written")]
    Template(#[source] askama::Error),
    /// The file could not be written.
    #[error("file cannot be written")]
    File(#[source] io::Error),
    /// The cookie could not be written.
    #[error("cookie cannot be written")]
    Cookie(#[from] InvalidHeaderValue),
    /// The issuer cannot be used, or has not proven who somebody is.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    /// What the API has words for.
    #[error(transparent)]
    Request(#[from] ApiError),
    /// The store failed, or refused.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl From<NotInPath> for PageError {
    fn from(_: NotInPath) -> Self {
        Self::NotFound
    }
}

impl From<Refusal> for PageError {
    fn from(refusal: Refusal) -> Self {
        Self::Storage(refusal.into())
    }
}

impl JobError for PageError {
    fn storage_error(&self) -> Option<&StorageError> {
        if let Self::Storage(error) = self {
            Some(error)
        } else {
            None
        }
    }
}

/// A page with a message alone.
#[derive(Template)]
#[template(path = "settings/message.html")]
struct Message {
    frame: Frame,
    title: &'static str,
    text: &'static str,
}

impl PageError {
    /// The same where an operator asks: that an organisation is closed signs nobody out.
    pub(crate) fn for_operator(self) -> Self {
        let is_of_closed = matches!(
            self,
            Self::Storage(StorageError::Refused(Refusal::ProviderClosed))
        );
        if is_of_closed {
            Self::OrganisationClosed
        } else {
            self
        }
    }

    /// The page that says so. What is ours or the operator's is logged here, once.
    pub(crate) fn response(self, around: Surroundings) -> HttpResponse {
        let quota_returns = if let Self::TooManyForms(used_up) = &self {
            Some(used_up.retry_after)
        } else {
            None
        };
        let (status, title, text) = match self {
            Self::NotSignedIn | Self::Storage(StorageError::Refused(Refusal::ProviderClosed)) => {
                return redirect(Target::SignIn, None);
            }
            Self::Insecure => (
                StatusCode::FORBIDDEN,
                "This page needs HTTPS",
                "Whoever is signed in could be impersonated on a connection without encryption. Use an address that begins \
                 with https:, or ask whoever operates the register for it.",
            ),
            Self::NotFound
            | Self::Storage(StorageError::Refused(
                Refusal::UnknownToken
                | Refusal::TokenEnded(_)
                | Refusal::UnknownUser
                | Refusal::UnknownSession
                | Refusal::UnknownProvider,
            )) => (
                StatusCode::NOT_FOUND,
                "There is no such page",
                "Check the address, or begin at the overview.",
            ),
            Self::Storage(StorageError::Refused(Refusal::NotPermitted)) => (
                StatusCode::FORBIDDEN,
                "Your role does not allow that",
                "Ask an admin of your organisation.",
            ),
            Self::Storage(StorageError::Refused(Refusal::LinkNotUsable)) => (
                StatusCode::GONE,
                "This link cannot be used",
                "A link works once, for 15 minutes, and until another one is made for the same person. Ask whoever sent it for \
                 another one.",
            ),
            Self::Storage(StorageError::Refused(Refusal::NoAccess)) => (
                StatusCode::FORBIDDEN,
                "You have no access",
                "It is known who you are, but not that you belong here. Ask an admin of your organisation, or whoever \
                 operates the register, to invite you by the e-mail address with which you sign in, and sign in again within \
                 15 minutes.",
            ),
            Self::Issuer(error) if error.is_of_issuer() => (
                StatusCode::SERVICE_UNAVAILABLE,
                "You cannot sign in that way now",
                "Where you prove who you are does not answer as it should, which was reported. Nothing was done. Try again \
                 in a moment.",
            ),
            Self::Storage(StorageError::Refused(Refusal::SignInNotUsable)) | Self::Issuer(_) => (
                StatusCode::FORBIDDEN,
                "You are not signed in",
                "The way back works once, within ten minutes, and in the browser in which it was begun. Nothing was done. \
                 Begin again.",
            ),
            Self::Storage(StorageError::Refused(Refusal::TooManyTokens)) => (
                StatusCode::CONFLICT,
                "Your organisation has too many tokens",
                "Nothing was done. Revoke those that nobody uses, then make another one.",
            ),
            Self::OrganisationClosed => (
                StatusCode::CONFLICT,
                "The organisation is closed",
                "Nothing was done. Reopen it first.",
            ),
            Self::OtherSite => (
                StatusCode::FORBIDDEN,
                "The form was sent from another site",
                "Nothing was done. Open the page here, and send its form again.",
            ),
            Self::OtherSession => (
                StatusCode::FORBIDDEN,
                "The form is out of date",
                "It was made before you signed in last. Nothing was done. Open the page again, and send its form.",
            ),
            Self::OtherBrowser => (
                StatusCode::FORBIDDEN,
                "The form was not made for this browser",
                "You are not signed in. Let the browser keep cookies of this site, open the page or the link again, and press its \
                 button.",
            ),
            Self::TooManyForms(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many forms",
                "Nothing was done. Try again in a minute.",
            ),
            Self::NoForm => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "That is no form",
                "Send application/x-www-form-urlencoded, as the forms of these pages do.",
            ),
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many pages are requested",
                "Nothing was done. Try again in a moment.",
            ),
            Self::Template(error) => {
                return api_error_response(ApiError::UnwritablePage(error), around);
            }
            Self::Cookie(_) | Self::File(_) => {
                return api_error_response(ApiError::Interrupted, around);
            }
            Self::Request(error) => return api_error_response(error, around),
            Self::Storage(error) => return api_error_response(ApiError::Storage(error), around),
        };
        let mut response = message(around, status, title, text);
        let busy = (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        if let Some(seconds) = quota_returns.or(busy) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn message(
    around: Surroundings,
    status: StatusCode,
    title: &'static str,
    text: &'static str,
) -> HttpResponse {
    let message = Message {
        frame: Frame::public(around),
        title,
        text,
    };
    error::page(status, Keep::Never, message.render())
}

/// An error with the status, and the other headers, that the API answers it with. It is logged as
/// those are.
fn api_error_response(error: ApiError, around: Surroundings) -> HttpResponse {
    let reply = error.response_without_version();
    let (title, text) = match reply.status {
        StatusCode::TOO_MANY_REQUESTS => (
            "Too many requests",
            "Too many requests came from your address. Try again in a minute.",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (
            "The form is too large",
            "Nothing was done. Send less at once.",
        ),
        StatusCode::SERVICE_UNAVAILABLE => (
            "The register is busy",
            "It is not certain that anything was done. Look, then try again in a moment.",
        ),
        status if status.is_client_error() => (
            "The form could not be received",
            "Nothing was done. Send it again.",
        ),
        _ => (
            "Something went wrong",
            "It is our mistake, and was reported.",
        ),
    };
    let mut response = message(around, reply.status, title, text);
    for (name, value) in &reply.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse()) {
            response.headers_mut().append(name, value);
        }
    }
    response
}
