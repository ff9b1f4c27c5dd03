//! A request for a page, in the form that handlers use.

use std::sync::Arc;

use actix_web::HttpRequest;
use adapter_kit::Versions;
use domain::Lists;
use http_kit::requests::request_id::RequestId;
use storage::accounts::users::{Origin, SecretDigest};
use storage::base::token::Environment;
use storage::error::StorageError;

use crate::request::cookies::{CookieName, SecretCookie};
use crate::request::form::Form;
use crate::request::uploaded_file::UploadedFile;
use crate::state::{Audience, Surroundings};
use crate::upload::sealing::UploadKey;

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
    pub(crate) environment: Environment,
    pub(crate) versions: &'static Versions,
    /// The code lists of the register.
    pub(crate) lists: &'static Lists,
    /// Whether this server logs requests.
    pub(crate) logs_requests: bool,
    /// Whether this server checks writes against the newest version.
    pub(crate) tries_writes: bool,
    /// The number in the path.
    pub(crate) id: Option<i64>,
    /// The secret in the path.
    pub(crate) secret: Option<String>,
    /// The UKPRN in the path.
    pub(crate) ukprn: Option<String>,
    /// The audience of the listener.
    pub(crate) audience: Audience,
    pub(crate) query: Form,
    pub(crate) form: Form,
    /// The file of the form.
    pub(crate) file: UploadedFile,
    /// The key of the uploads of this browser, if it has one.
    pub(crate) upload_key: Option<Arc<UploadKey>>,
    /// The label of a version in the path.
    pub(crate) version: Option<String>,
    /// The session of the cookie, not validated.
    pub(crate) session: Option<SecretDigest>,
    /// The token for the forms of the page.
    pub(crate) form_token: String,
    /// The cookie of a browser that signs in, or `None` if the user is signed in.
    pub(crate) browser: Option<BrowserCookie>,
    /// The sign-in attempt of the cookie, not validated.
    pub(crate) attempt: Option<SecretDigest>,
    /// The host of the issuer, if one is configured.
    pub(crate) issuer: Option<String>,
    /// Whether the server sends mails.
    pub(crate) sends_mail: bool,
    /// The requested scheme and host.
    pub(crate) own_site: String,
    /// The scheme and host of links to the settings of an organisation.
    pub(crate) site: String,
    /// Whether `site` is also the site of the API.
    pub(crate) is_site_of_api: bool,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) address: String,
}

impl PageRequest {
    /// The origin of the request for the activity log.
    pub(crate) fn origin(&self) -> Origin<'_> {
        Origin {
            request_id: self.request_id.as_deref(),
            address: Some(&self.address),
        }
    }

    /// The number in the path.
    pub(crate) fn id(&self) -> Result<i64, NotInPath> {
        self.id.ok_or(NotInPath)
    }

    /// The properties of the listener that pages show.
    pub(crate) fn around(&self) -> Surroundings {
        Surroundings {
            environment: self.environment,
            audience: self.audience,
        }
    }

    /// The UKPRN in the path.
    pub(crate) fn ukprn(&self) -> Result<&str, NotInPath> {
        self.ukprn.as_deref().ok_or(NotInPath)
    }

    /// The secret in the path.
    pub(crate) fn secret(&self) -> &str {
        self.secret.as_deref().unwrap_or_default()
    }
}
