//! A request for a page, with what a handler needs of it.

use actix_web::HttpRequest;
use adapter_kit::Versions;
use http_kit::requests::request_id::RequestId;
use storage::accounts::users::{Origin, SecretDigest};
use storage::base::token::Environment;
use storage::error::StorageError;

use crate::request::cookies::{CookieName, SecretCookie};
use crate::request::form::Form;
use crate::state::{Audience, Surroundings};

/// The path lacks a part, or the part has another form.
pub(crate) struct NotInPath;

/// The cookie of a browser that is shown a form to sign in.
pub(crate) struct BrowserCookie {
    pub(crate) cookie: SecretCookie,
    /// Whether the browser is yet to be given it.
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

/// A request for a page, with what a handler needs of it.
pub(crate) struct PageRequest {
    pub(crate) environment: Environment,
    pub(crate) versions: &'static Versions,
    /// Whether this server logs requests.
    pub(crate) logs_requests: bool,
    /// Whether this server tries writes in the newest version.
    pub(crate) tries_writes: bool,
    /// The number in the path.
    pub(crate) id: Option<i64>,
    /// The secret in the path.
    pub(crate) secret: Option<String>,
    /// The UKPRN in the path.
    pub(crate) ukprn: Option<String>,
    /// Whom the pages of the listener are for.
    pub(crate) audience: Audience,
    pub(crate) query: Form,
    pub(crate) form: Form,
    /// The session of the cookie, valid or not.
    pub(crate) session: Option<SecretDigest>,
    /// What each form on the page holds.
    pub(crate) form_token: String,
    /// The cookie of a browser that signs in; none of one that is signed in.
    pub(crate) browser: Option<BrowserCookie>,
    /// The attempt of the cookie to sign in at the issuer, valid or not.
    pub(crate) attempt: Option<SecretDigest>,
    /// The host of the issuer, where there is one.
    pub(crate) issuer: Option<String>,
    /// Scheme and host that the browser requested.
    pub(crate) own_site: String,
    /// Scheme and host of a link to the settings of an organisation.
    pub(crate) site: String,
    /// Whether the API has the same.
    pub(crate) is_site_of_api: bool,
    pub(crate) request_id: Option<RequestId>,
    pub(crate) address: String,
}

impl PageRequest {
    /// Where the request came from, for the activity log.
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

    /// What each page of the listener says of it.
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
