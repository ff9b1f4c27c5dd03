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

/// Error: a parameter of the path is missing or malformed.
pub(crate) struct NotInPath;

/// The cookie of a browser that is shown a sign-in form.
pub(crate) struct BrowserCookie {
    pub(crate) cookie: SecretCookie,
    /// Whether the browser does not have the cookie yet.
    pub(crate) is_new: bool,
}

impl BrowserCookie {
    /// The cookie of the browser, or a new one if the request has none.
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

/// A request for a page.
pub(crate) struct PageRequest {
    pub(crate) state: GatewayState,
    pub(crate) settings: SettingsPages,
    pub(crate) versions: &'static Versions,
    /// The parameters of the path.
    pub(crate) path: Path<Url>,
    pub(crate) query: Form,
    pub(crate) form: Form,
    /// The file of the form.
    pub(crate) file: UploadedFile,
    /// The session of the cookie, not validated.
    pub(crate) session: Option<SecretDigest>,
    /// The token for the forms of the page.
    pub(crate) form_token: String,
    /// The cookie of a browser that signs in, or `None` if the user is signed in.
    pub(crate) browser: Option<BrowserCookie>,
    /// The sign-in attempt of the cookie, not validated.
    pub(crate) attempt: Option<SecretDigest>,
    /// The requested scheme and host.
    pub(crate) own_site: String,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) address: String,
}

impl PageRequest {
    /// The request without its form and its session.
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

    /// The origin of the request for the activity log.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            request_id: self.request_id.as_deref(),
            address: Some(&self.address),
        }
    }

    /// The parameter of the path.
    pub(crate) fn parameter(&self, name: &str) -> Result<&str, NotInPath> {
        self.path.get(name).ok_or(NotInPath)
    }

    /// The number in the path.
    pub(crate) fn id(&self) -> Result<i64, NotInPath> {
        self.parameter("id")?.parse().map_err(|_| NotInPath)
    }

    /// The scheme and host of links to the settings of an organisation.
    pub(crate) fn organisations_site(&self) -> &str {
        let site = self.settings.organisations_site.as_deref();
        site.unwrap_or(&self.own_site)
    }

    /// The properties of the listener that pages show.
    pub(crate) fn around(&self) -> Surroundings {
        Surroundings {
            environment: self.state.environment,
            audience: self.settings.audience,
        }
    }
}
