//! A request for a page, in the form that handlers use.

use actix_web::HttpRequest;
use actix_web::dev::{Path, Url};
use adapter_kit::Versions;
use gateway::state::GatewayState;
use http_kit::requests::request_id::{self, RequestId};
use storage::accounts::users::{Origin, SecretDigest};
use storage::error::StorageError;

use crate::request::cookies::{CookieName, SecretCookie};
use crate::request::form::Form;
use crate::request::uploaded_file::UploadedFile;
use crate::state::{SettingsPages, Surroundings};

/// A parameter of the path is missing or malformed.
pub(crate) struct NotInPath;

/// Protects the sign-in form of a browser.
pub(crate) struct BrowserCookie {
    pub(crate) cookie: SecretCookie,
    /// Whether the response must set the cookie.
    pub(crate) is_new: bool,
}

impl BrowserCookie {
    pub(crate) fn from_request(request: &HttpRequest) -> Result<Self, StorageError> {
        match SecretCookie::from_request(request, CookieName::Browser) {
            Some(cookie) => Ok(Self {
                cookie,
                is_new: false,
            }),
            None => Ok(Self {
                cookie: SecretCookie::generate()?,
                is_new: true,
            }),
        }
    }
}

pub(crate) struct PageRequest {
    pub(crate) state: GatewayState,
    pub(crate) settings: SettingsPages,
    pub(crate) versions: &'static Versions,
    pub(crate) path: Path<Url>,
    pub(crate) query: Form,
    pub(crate) form: Form,
    pub(crate) file: UploadedFile,
    /// From the cookie, not validated.
    pub(crate) session: Option<SecretDigest>,
    pub(crate) form_token: String,
    /// `None` if the user is signed in.
    pub(crate) browser: Option<BrowserCookie>,
    /// The sign-in attempt of the cookie, not validated.
    pub(crate) attempt: Option<SecretDigest>,
    /// The requested scheme and host.
    pub(crate) own_site: String,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) address: String,
}

impl PageRequest {
    /// Creates a request without its form and its session.
    pub(crate) fn from_head(
        state: &GatewayState,
        settings: &SettingsPages,
        request: &HttpRequest,
    ) -> Self {
        Self {
            state: state.clone(),
            settings: settings.clone(),
            versions: state.versions,
            path: request.match_info().clone(),
            query: Form::read(request.query_string().as_bytes()),
            form: Form::default(),
            file: UploadedFile::Absent,
            session: None,
            form_token: String::new(),
            browser: None,
            attempt: SecretCookie::from_request(request, CookieName::SignIn)
                .map(|cookie| cookie.digest()),
            own_site: state.proxies.origin(request),
            request_id: request_id::current(),
            address: state.proxies.client_address(request).to_string(),
        }
    }

    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            request_id: self.request_id.as_deref(),
            address: Some(&self.address),
        }
    }

    pub(crate) fn parameter(&self, name: &str) -> Result<&str, NotInPath> {
        self.path.get(name).ok_or(NotInPath)
    }

    pub(crate) fn id(&self) -> Result<i64, NotInPath> {
        self.parameter("id")?.parse().map_err(|_| NotInPath)
    }

    pub(crate) fn organisations_site(&self) -> &str {
        let site = self.settings.organisations_site.as_deref();
        site.unwrap_or(&self.own_site)
    }

    pub(crate) fn around(&self) -> Surroundings {
        Surroundings {
            environment: self.state.environment,
            audience: self.settings.audience,
        }
    }
}
