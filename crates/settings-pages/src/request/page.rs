//! Replies to requests for pages: pages, redirections and error pages.

use std::io;
use std::pin::Pin;
use std::sync::Arc;

use actix_web::http::StatusCode;
use actix_web::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, HeaderValue, InvalidHeaderValue,
    LOCATION, REFERRER_POLICY, RETRY_AFTER, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use actix_web::web::Bytes;
use actix_web::{HttpResponse, HttpResponseBuilder};
use askama::Template;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::Stream;
use gateway::error::{self, ApiError};
use http_kit::limits::rate_limit::QuotaExceeded;
use http_kit::paths;
use http_kit::responses::page::{Keep, page};
use storage::accounts::users::{Secret, SignedIn};
use storage::base::token::Environment;
use storage::error::{DatabaseError, JobError, Refusal, StorageError};
use storage::session::Provider;

use crate::request::cookies::CookieName;
use crate::request::page_request::{NotInPath, PageRequest};
use crate::signing_in::openid::issuer::IssuerError;
use crate::state::{Audience, Surroundings};

/// The header that makes a browser open another page at once, like a link on the page (HTML,
/// section 7.11).
const REFRESH: HeaderName = HeaderName::from_static("refresh");
/// The time until a browser requests a page about running work again, in seconds.
const REFRESH_SECONDS: &str = "2";
/// The media type of comma-separated values.
const CSV: &str = "text/csv; charset=utf-8";

/// The section of a page, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SettingsSection {
    Overview,
    Tokens,
    Requests,
    Usage,
    Readiness,
    People,
    Trainees,
    Upload,
    Registry,
    History,
    Imports,
    Activity,
    Versions,
    /// Outside the sections.
    Elsewhere,
}

/// The frame around every page.
pub(crate) struct Frame {
    pub(crate) place: SettingsSection,
    pub(crate) environment: Environment,
    /// Whether the same listener serves the documentation of the API.
    pub(crate) has_documents: bool,
    /// The signed-in user.
    pub(crate) user: Option<FrameUser>,
    /// The organisation of the page, for an operator.
    pub(crate) about: Option<Provider>,
    /// The token of each form.
    pub(crate) form_token: String,
}

/// A signed-in user.
pub(crate) struct FrameUser {
    pub(crate) email: String,
    pub(crate) role: &'static str,
    /// The name of the organisation, or `None` for an operator.
    pub(crate) organisation: Option<String>,
    /// Whether the user may change settings.
    pub(crate) is_admin: bool,
    /// Whether the user may upload trainees.
    pub(crate) is_uploader: bool,
}

impl Frame {
    /// The frame of a page for a signed-in user.
    pub(crate) fn new(request: &PageRequest, signed_in: &SignedIn, place: SettingsSection) -> Self {
        let user = FrameUser {
            email: signed_in.email.clone(),
            role: signed_in.role.name(),
            organisation: signed_in
                .organisation
                .as_ref()
                .map(|organisation| organisation.name.clone()),
            is_admin: signed_in.actor(request.origin()).is_ok(),
            is_uploader: signed_in.uploader().is_ok(),
        };
        let form_token = request.form_token.clone();
        Self {
            place,
            user: Some(user),
            form_token,
            ..Self::public(request.around())
        }
    }

    /// The frame of a page of an organisation, for its user or for an operator.
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

    /// The frame of a page with a sign-in form.
    pub(crate) fn sign_in(request: &PageRequest) -> Self {
        Self {
            form_token: request.form_token.clone(),
            ..Self::public(request.around())
        }
    }

    /// The frame of a public page.
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

    /// Whether the page shows forms that change the organisation.
    pub(crate) fn is_admin(&self) -> bool {
        self.about.is_some() || self.user.as_ref().is_some_and(|user| user.is_admin)
    }

    /// The base path of the pages of the organisation: its own for a user, or below
    /// `/settings/organisations` for an operator.
    pub(crate) fn base(&self) -> String {
        base(
            self.about
                .as_ref()
                .map(|organisation| organisation.ukprn.as_str()),
        )
    }

    /// Whether the user may upload trainees.
    pub(crate) fn is_uploader(&self) -> bool {
        self.user.as_ref().is_some_and(|user| user.is_uploader)
    }

    pub(crate) fn is_operator(&self) -> bool {
        self.user
            .as_ref()
            .is_some_and(|user| user.organisation.is_none())
    }
}

/// The target of a redirection. Targets are pages of this site and never come from a request. A
/// UKPRN belongs to a stored organisation and is used for operators only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Target {
    Overview,
    Organisation(Option<String>),
    Tokens(Option<String>),
    People(Option<String>),
    Requests,
    Sessions,
    SignIn,
    SignedOut,
    Uploads,
    Upload(i64),
}

impl Target {
    /// The path of the target.
    fn address(self) -> String {
        let below = |ukprn: Option<String>, page: &str| format!("{}{page}", base(ukprn.as_deref()));
        match self {
            Self::Overview => below(None, ""),
            Self::Organisation(ukprn) => below(ukprn, ""),
            Self::Tokens(ukprn) => below(ukprn, "/tokens"),
            Self::People(ukprn) => below(ukprn, "/people"),
            Self::Requests => below(None, "/requests"),
            Self::Sessions => below(None, "/sessions"),
            Self::SignIn => below(None, "/sign-in"),
            Self::SignedOut => below(None, "/signed-out"),
            Self::Uploads => below(None, "/upload"),
            Self::Upload(id) => below(None, &format!("/upload/{id}")),
        }
    }
}

/// The base path of the pages of the user's own organisation, or of the organisation with the UKPRN
/// for an operator.
fn base(ukprn: Option<&str>) -> String {
    match ukprn {
        Some(ukprn) => format!("{}/organisations/{ukprn}", paths::SETTINGS),
        None => paths::SETTINGS.to_owned(),
    }
}

/// Work that follows the job of a handler. Its result is the reply.
pub(crate) type FollowUp =
    Box<dyn FnOnce(Arc<PageRequest>) -> LocalBoxFuture<'static, Result<Reply, PageError>> + Send>;
/// A CSV file that is made while it is downloaded.
pub(crate) type CsvStream = Pin<Box<dyn Stream<Item = Result<Bytes, PageError>> + Send>>;

/// The reply of a handler.
pub(crate) enum Reply {
    /// A page.
    Page(StatusCode, String),
    /// A page with a sign-in form, and the browser cookie if the browser does not have one yet.
    SignInPage(String, Option<HeaderValue>),
    /// A CSV file to download, with its name.
    Csv(&'static str, String),
    /// A redirection.
    Redirect(Target),
    /// A page that leads to the issuer, and the cookie of the attempt.
    ToIssuer {
        html: String,
        address: String,
        browser: Secret,
    },
    /// A redirection that begins a session with this secret.
    SignedIn(Secret),
    /// A redirection that ends the session.
    SignedOut,
    /// A CSV file that is made while it is downloaded, with its name.
    CsvStream(&'static str, CsvStream),
    /// The result of work that follows the job of the handler.
    After(FollowUp),
    /// A page about running work, which is shown again every few seconds.
    Working(String),
}

impl Reply {
    /// The result of work that follows the job of the handler.
    pub(crate) fn after<F>(work: impl FnOnce(Arc<PageRequest>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<Self, PageError>> + 'static,
    {
        Self::After(Box::new(move |request| Box::pin(work(request))))
    }

    /// A page with status 200.
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

    /// A page with a sign-in form.
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

    /// The HTTP response, with its cookies. Fails for replies that need work before.
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
            Self::Working(html) => {
                let mut response = page(StatusCode::OK, Keep::Never, html);
                let headers = response.headers_mut();
                headers.insert(REFRESH, HeaderValue::from_static(REFRESH_SECONDS));
                Ok(response)
            }
            Self::Csv(name, text) => Ok(attachment(name).body(text)),
            Self::CsvStream(name, stream) => Ok(attachment(name).streaming(stream)),
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
                Target::SignedOut,
                Some(CookieName::Session.remove()?),
            )),
            // The result of the work has replaced this reply.
            Self::After(_) => Err(PageError::NotFound),
        }
    }
}

/// The head of a CSV file to download.
fn attachment(name: &str) -> HttpResponseBuilder {
    let mut response = HttpResponse::Ok();
    response.insert_header((CONTENT_TYPE, CSV));
    response.insert_header((
        CONTENT_DISPOSITION,
        format!("attachment; filename=\"{name}\""),
    ));
    response.insert_header((CACHE_CONTROL, "no-store"));
    response.insert_header((REFERRER_POLICY, "no-referrer"));
    response.insert_header((X_CONTENT_TYPE_OPTIONS, "nosniff"));
    response
}

/// A redirection to a page of this site, with an optional cookie.
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

/// The reasons for showing an error page.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageError {
    /// Cookies are not safe on the connection.
    #[error("connection is not secure")]
    Insecure,
    /// There is no valid session.
    #[error("no user is signed in")]
    NotSignedIn,
    /// The page does not exist for this user.
    #[error("no such page")]
    NotFound,
    /// The action requires an open organisation.
    #[error("organisation is closed")]
    OrganisationClosed,
    /// The form was sent from another site.
    #[error("form comes from another site")]
    OtherSite,
    /// The form belongs to another session.
    #[error("form belongs to another session")]
    OtherSession,
    /// The sign-in form belongs to another browser, or the browser rejects cookies.
    #[error("form belongs to another browser")]
    OtherBrowser,
    /// The session has sent too many forms.
    #[error("too many forms")]
    TooManyForms(QuotaExceeded),
    /// The body is not a form.
    #[error("body is not a form")]
    NoForm,
    /// Too many pages are being created.
    #[error("too many pages are requested")]
    Busy,
    /// The template failed.
    #[error("page cannot be written")]
    Template(#[source] askama::Error),
    /// Writing the file failed.
    #[error("file cannot be written")]
    File(#[source] io::Error),
    /// Creating the cookie failed.
    #[error("cookie cannot be written")]
    Cookie(#[from] InvalidHeaderValue),
    /// The issuer is unusable, or has not proven an identity.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    /// An error of the API.
    #[error(transparent)]
    Request(#[from] ApiError),
    /// The store failed or refused.
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

impl From<DatabaseError> for PageError {
    fn from(error: DatabaseError) -> Self {
        Self::Storage(error.into())
    }
}

impl JobError for PageError {
    fn database_error(&self) -> Option<&DatabaseError> {
        if let Self::Storage(error) = self {
            error.database_error()
        } else {
            None
        }
    }
}

/// A page with a message.
#[derive(Template)]
#[template(path = "settings/message.html")]
struct Message {
    frame: Frame,
    title: &'static str,
    text: &'static str,
}

impl PageError {
    /// Like `self`, but for an operator: a closed organisation does not sign operators out.
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

    /// The error page. Errors of the server or the operator are logged here, once.
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
                "Without encryption, attackers could take over your session. Use an address that \
                 begins with https:, or ask the register's operator for one.",
            ),
            Self::NotFound
            | Self::Storage(StorageError::Refused(
                Refusal::UnknownRun
                | Refusal::UnknownToken
                | Refusal::TokenEnded(_)
                | Refusal::UnknownUser
                | Refusal::UnknownSession
                | Refusal::UnknownProvider,
            )) => (
                StatusCode::NOT_FOUND,
                "Page not found",
                "Check the address, or go to the overview.",
            ),
            Self::Storage(StorageError::Refused(Refusal::NotPermitted)) => (
                StatusCode::FORBIDDEN,
                "Your role does not allow this",
                "Ask an admin of your organisation to make the change or to change your role.",
            ),
            Self::Storage(StorageError::Refused(Refusal::LinkNotUsable)) => (
                StatusCode::GONE,
                "This link is not valid",
                "A link works once. It expires after a limited time, or when the same user gets a \
                 newer invitation. Go to the sign-in page, or ask the sender for a new link.",
            ),
            Self::Storage(StorageError::Refused(Refusal::NoAccess)) => (
                StatusCode::FORBIDDEN,
                "You do not have access",
                "Your account is not linked to an organisation. Ask an admin of your organisation \
                 or the register's operator to invite your e-mail address. Then sign in again \
                 within 15 minutes.",
            ),
            Self::Issuer(error) if error.is_of_issuer() => (
                StatusCode::SERVICE_UNAVAILABLE,
                "Sign-in is not available",
                "The sign-in service does not respond correctly. The error was logged. Try again \
                 in a moment.",
            ),
            Self::Storage(StorageError::Refused(Refusal::SignInNotUsable)) | Self::Issuer(_) => (
                StatusCode::FORBIDDEN,
                "You are not signed in",
                "Start again, and complete the sign-in within 10 minutes in the same browser.",
            ),
            Self::Storage(StorageError::Refused(Refusal::TooManyTokens)) => (
                StatusCode::CONFLICT,
                "Your organisation has too many tokens",
                "No token was created. Revoke unused tokens, then try again.",
            ),
            Self::Storage(StorageError::Refused(Refusal::TooManyUploads)) => (
                StatusCode::CONFLICT,
                "You have too many uploads",
                "The file was not stored. Delete an upload, then try again.",
            ),
            Self::OrganisationClosed => (
                StatusCode::CONFLICT,
                "The organisation is closed",
                "Nothing was changed. Reopen the organisation first.",
            ),
            Self::OtherSite => (
                StatusCode::FORBIDDEN,
                "The form was sent from another site",
                "Nothing was changed. Open the page on this site and send its form again.",
            ),
            Self::OtherSession => (
                StatusCode::FORBIDDEN,
                "The form is out of date",
                "Nothing was changed. You have signed in again since you opened this page. Open it \
                 again and send its form.",
            ),
            Self::OtherBrowser => (
                StatusCode::FORBIDDEN,
                "The form belongs to another browser",
                "You are not signed in. Allow cookies for this site, open the page or the link \
                 again, and press the button.",
            ),
            Self::TooManyForms(_) => (
                StatusCode::TOO_MANY_REQUESTS,
                "Too many forms",
                "Nothing was changed. Try again in a minute.",
            ),
            Self::NoForm => (
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "The request is not a form",
                "Open the page, and send its form.",
            ),
            Self::Busy => (
                StatusCode::SERVICE_UNAVAILABLE,
                "The server is busy",
                "Nothing was changed. Try again in a moment.",
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

/// An error page with a title and a text.
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

/// The page for an error of the API, with the same status and headers. The error is logged like
/// errors of the API.
fn api_error_response(error: ApiError, around: Surroundings) -> HttpResponse {
    let is_unknown = matches!(
        error.database_error(),
        Some(DatabaseError::OutcomeUnknown(_))
    );
    let reply = error.response_without_version();
    let (title, text) = match reply.status {
        StatusCode::TOO_MANY_REQUESTS => (
            "Too many requests",
            "Too many requests came from your address. Try again in a minute.",
        ),
        StatusCode::PAYLOAD_TOO_LARGE => (
            "The form is too large",
            "Nothing was changed. Send less data at a time.",
        ),
        StatusCode::SERVICE_UNAVAILABLE if is_unknown => (
            "The register is busy",
            "Your change may have been stored. Check the data before you try again.",
        ),
        StatusCode::SERVICE_UNAVAILABLE => (
            "The register is busy",
            "Nothing was stored. Try again in a moment.",
        ),
        status if status.is_client_error() => (
            "The form could not be received",
            "Nothing was changed. Send the form again.",
        ),
        _ => ("Something went wrong", "The error was logged."),
    };
    let mut response = message(around, reply.status, title, text);
    reply.add_headers_to(&mut response);
    response
}
