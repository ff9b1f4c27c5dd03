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
use crate::request::error_texts::{self, ErrorText};
use crate::request::page_request::{NotInPath, PageRequest};
use crate::signing_in::openid::issuer::IssuerError;
use crate::state::{Audience, Surroundings};

/// Makes a browser open another page at once, like a link on the page (HTML, section 7.11).
const REFRESH: HeaderName = HeaderName::from_static("refresh");
/// Until a browser requests a page about running work again.
const REFRESH_SECONDS: &str = "2";
const CSV: &str = "text/csv; charset=utf-8";

/// A section of the navigation.
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

pub(crate) struct Frame {
    pub(crate) place: SettingsSection,
    pub(crate) environment: Environment,
    /// Whether the listener serves the documentation of the API.
    pub(crate) has_documents: bool,
    pub(crate) user: Option<FrameUser>,
    /// The organisation, for an operator.
    pub(crate) about: Option<Provider>,
    pub(crate) form_token: String,
}

pub(crate) struct FrameUser {
    pub(crate) email: String,
    pub(crate) role: &'static str,
    /// `None` for an operator.
    pub(crate) organisation: Option<String>,
    pub(crate) is_admin: bool,
    pub(crate) is_uploader: bool,
}

impl Frame {
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
            ..Self::from_surroundings(request.around())
        }
    }

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

    pub(crate) fn with_sign_in_form(request: &PageRequest) -> Self {
        Self {
            form_token: request.form_token.clone(),
            ..Self::from_surroundings(request.around())
        }
    }

    pub(crate) fn from_surroundings(around: Surroundings) -> Self {
        Self {
            place: SettingsSection::Elsewhere,
            environment: around.environment,
            has_documents: around.audience != Audience::Operators,
            user: None,
            about: None,
            form_token: String::new(),
        }
    }

    /// Whether the user may change settings.
    pub(crate) fn is_admin(&self) -> bool {
        self.about.is_some() || self.user.as_ref().is_some_and(|user| user.is_admin)
    }

    pub(crate) fn base(&self) -> String {
        format_base(
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

/// A page of this site; never comes from a request. A UKPRN belongs to a stored organisation and is
/// used for operators only.
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
    fn into_path(self) -> String {
        match self {
            Self::Overview => format_base(None),
            Self::Organisation(ukprn) => format_base(ukprn.as_deref()),
            Self::Tokens(ukprn) => format!("{}/tokens", format_base(ukprn.as_deref())),
            Self::People(ukprn) => format!("{}/people", format_base(ukprn.as_deref())),
            Self::Requests => format!("{}/requests", paths::SETTINGS),
            Self::Sessions => format!("{}/sessions", paths::SETTINGS),
            Self::SignIn => format!("{}/sign-in", paths::SETTINGS),
            Self::SignedOut => format!("{}/signed-out", paths::SETTINGS),
            Self::Uploads => format!("{}/upload", paths::SETTINGS),
            Self::Upload(id) => format!("{}/upload/{id}", paths::SETTINGS),
        }
    }
}

fn format_base(ukprn: Option<&str>) -> String {
    match ukprn {
        // Only operators see the pages of another organisation.
        Some(ukprn) => format!("{}/organisations/{ukprn}", paths::SETTINGS),
        None => paths::SETTINGS.to_owned(),
    }
}

/// Work that follows the job of a handler, and returns the reply.
pub(crate) type FollowUp =
    Box<dyn FnOnce(Arc<PageRequest>) -> LocalBoxFuture<'static, Result<Reply, PageError>> + Send>;
/// A CSV file that is made while it is downloaded.
pub(crate) type CsvStream = Pin<Box<dyn Stream<Item = Result<Bytes, PageError>> + Send>>;

pub(crate) enum Reply {
    Page(StatusCode, String),
    /// With the browser cookie if the browser does not have one yet.
    SignInPage(String, Option<HeaderValue>),
    /// A file to download, with its name.
    Csv(&'static str, String),
    Redirect(Target),
    /// A page that leads to the issuer, and sets the cookie of the attempt.
    ToIssuer {
        html: String,
        address: String,
        browser: Secret,
    },
    /// A redirection that begins a session with this secret.
    SignedIn(Secret),
    /// A redirection that ends the session.
    SignedOut,
    /// Like `Csv`, but made while it is downloaded.
    CsvStream(&'static str, CsvStream),
    After(FollowUp),
    /// A page about running work, which is shown again every few seconds.
    Working(String),
}

impl Reply {
    pub(crate) fn from_work<F>(work: impl FnOnce(Arc<PageRequest>) -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<Self, PageError>> + 'static,
    {
        Self::After(Box::new(move |request| Box::pin(work(request))))
    }

    pub(crate) fn render(template: &impl Template) -> Result<Self, PageError> {
        Ok(Self::Page(
            StatusCode::OK,
            template.render().map_err(PageError::Template)?,
        ))
    }

    pub(crate) fn render_faults(template: &impl Template) -> Result<Self, PageError> {
        Ok(Self::Page(
            StatusCode::UNPROCESSABLE_ENTITY,
            template.render().map_err(PageError::Template)?,
        ))
    }

    pub(crate) fn render_sign_in(
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

    /// Creates the HTTP response, with its cookies. Fails for [`Reply::After`].
    pub(crate) fn into_response(self) -> Result<HttpResponse, PageError> {
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
            Self::Csv(name, text) => Ok(begin_csv(name).body(text)),
            Self::CsvStream(name, stream) => Ok(begin_csv(name).streaming(stream)),
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
            // The result of the work has replaced this reply before.
            Self::After(_) => Err(PageError::NotFound),
        }
    }
}

fn begin_csv(name: &str) -> HttpResponseBuilder {
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

fn redirect(target: Target, cookie: Option<HeaderValue>) -> HttpResponse {
    let mut response = HttpResponse::SeeOther();
    response.insert_header((LOCATION, target.into_path()));
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
    #[error("no user is signed in")]
    NotSignedIn,
    /// The page does not exist for this user.
    #[error("no such page")]
    NotFound,
    #[error("organisation is closed")]
    OrganisationClosed,
    #[error("form comes from another site")]
    OtherSite,
    #[error("form belongs to another session")]
    OtherSession,
    /// The sign-in form belongs to another browser, or the browser rejects cookies.
    #[error("form belongs to another browser")]
    OtherBrowser,
    #[error("too many forms")]
    TooManyForms(QuotaExceeded),
    #[error("body is not a form")]
    NoForm,
    #[error("too many pages are requested")]
    Busy,
    #[error("page cannot be written")]
    Template(#[source] askama::Error),
    #[error("file cannot be written")]
    File(#[source] io::Error),
    #[error("cookie cannot be written")]
    Cookie(#[from] InvalidHeaderValue),
    /// The issuer is unusable, or has not proven an identity.
    #[error(transparent)]
    Issuer(#[from] IssuerError),
    #[error(transparent)]
    Request(#[from] ApiError),
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

#[derive(Template)]
#[template(path = "settings/message.html")]
struct Message {
    frame: Frame,
    title: &'static str,
    text: &'static str,
}

impl PageError {
    /// Converts an error for an operator, whom a closed organisation does not sign out.
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

    /// Renders the error page, and logs errors of the server or the operator.
    pub(crate) fn into_response(self, around: Surroundings) -> HttpResponse {
        let quota_returns = if let Self::TooManyForms(used_up) = &self {
            Some(used_up.retry_after)
        } else {
            None
        };
        let text = match self {
            Self::NotSignedIn | Self::Storage(StorageError::Refused(Refusal::ProviderClosed)) => {
                return redirect(Target::SignIn, None);
            }
            Self::Insecure => error_texts::NEEDS_HTTPS,
            Self::NotFound
            | Self::Storage(StorageError::Refused(
                Refusal::UnknownRun
                | Refusal::UnknownToken
                | Refusal::TokenEnded(_)
                | Refusal::UnknownUser
                | Refusal::UnknownSession
                | Refusal::UnknownProvider,
            )) => error_texts::NOT_FOUND,
            Self::Storage(StorageError::Refused(Refusal::NotPermitted)) => {
                error_texts::NOT_PERMITTED
            }
            Self::Storage(StorageError::Refused(Refusal::LinkNotUsable)) => {
                error_texts::LINK_NOT_VALID
            }
            Self::Storage(StorageError::Refused(Refusal::NoAccess)) => error_texts::NO_ACCESS,
            Self::Issuer(error) if error.is_of_issuer() => error_texts::SIGN_IN_NOT_AVAILABLE,
            Self::Storage(StorageError::Refused(Refusal::SignInNotUsable)) | Self::Issuer(_) => {
                error_texts::NOT_SIGNED_IN
            }
            Self::Storage(StorageError::Refused(Refusal::TooManyTokens)) => {
                error_texts::TOO_MANY_TOKENS
            }
            Self::Storage(StorageError::Refused(Refusal::TooManyUploads)) => {
                error_texts::TOO_MANY_UPLOADS
            }
            Self::OrganisationClosed => error_texts::ORGANISATION_CLOSED,
            Self::OtherSite => error_texts::OTHER_SITE,
            Self::OtherSession => error_texts::OTHER_SESSION,
            Self::OtherBrowser => error_texts::OTHER_BROWSER,
            Self::TooManyForms(_) => error_texts::TOO_MANY_FORMS,
            Self::NoForm => error_texts::NO_FORM,
            Self::Busy => error_texts::BUSY,
            Self::Template(error) => {
                return render_api_error(ApiError::UnwritablePage(error), around);
            }
            Self::Cookie(_) | Self::File(_) => {
                return render_api_error(ApiError::Interrupted, around);
            }
            Self::Request(error) => return render_api_error(error, around),
            Self::Storage(error) => return render_api_error(ApiError::Storage(error), around),
        };
        let mut response = render_message(around, &text);
        // Also for a failed sign-in service: the texts ask to try again.
        let busy = (text.status == StatusCode::SERVICE_UNAVAILABLE).then_some(1);
        if let Some(seconds) = quota_returns.or(busy) {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

fn render_message(around: Surroundings, text: &ErrorText) -> HttpResponse {
    let message = Message {
        frame: Frame::from_surroundings(around),
        title: text.title,
        text: text.text,
    };
    error::page(text.status, Keep::Never, message.render())
}

fn render_api_error(error: ApiError, around: Surroundings) -> HttpResponse {
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
    let mut response = render_message(around, &ErrorText::new(reply.status, title, text));
    reply.add_headers_to(&mut response);
    response
}
