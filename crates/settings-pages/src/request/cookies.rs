//! The cookies of browsers, and the tokens in forms that protect against cross-site requests.
//!
//! The session cookie holds the secret of a session. The browser cookie is set on pages with a
//! sign-in form: another site cannot know the form token for it, and so cannot sign the browser in
//! as another user. The sign-in cookie belongs to an attempt at the OpenID Connect issuer. The
//! wanted cookie holds the address of a page.

use actix_web::HttpRequest;
use actix_web::http::header::{COOKIE, HeaderValue, InvalidHeaderValue};
use data_encoding::BASE64URL_NOPAD;
use ring::hmac;
use storage::accounts::users::{Secret, SecretDigest};
use storage::error::StorageError;

/// `__Host-` requires the first two attributes. Browsers accept such a cookie only from a secure
/// origin, including addresses of the local machine, and send it to all paths of this host.
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";
/// Includes the choice of an organisation.
const SIGN_IN_SECONDS: u32 = 1_200;
const SECRET_CHARS: usize = 43;
/// Authenticated for form tokens.
const FORM: &[u8] = b"form of the settings";
/// Authenticated with the secret of a link.
const SESSION: &[u8] = b"session of the link ";

/// The purpose of a cookie.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieName {
    /// The session of a signed-in user.
    Session,
    /// The browser that was shown a sign-in form.
    Browser,
    /// The browser that is at the issuer or chooses an organisation.
    SignIn,
    /// The page to open after signing in.
    Wanted,
}

impl CookieName {
    const fn text(self) -> &'static str {
        // Browsers enforce the attributes for this prefix.
        match self {
            Self::Session => "__Host-register-session",
            Self::Browser => "__Host-register-browser",
            Self::SignIn => "__Host-register-sign-in",
            Self::Wanted => "__Host-register-wanted",
        }
    }

    /// Writes the `Set-Cookie` header.
    pub(crate) fn set(self, text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
        // Without an expiry, a cookie ends with the browser session.
        let expiry = match self {
            Self::Session | Self::Browser => String::new(),
            Self::SignIn | Self::Wanted => format!("; Max-Age={SIGN_IN_SECONDS}"),
        };
        HeaderValue::from_str(&format!("{}={text}{expiry}; {ATTRIBUTES}", self.text()))
    }

    /// Writes the header that removes the cookie.
    pub(crate) fn remove(self) -> Result<HeaderValue, InvalidHeaderValue> {
        HeaderValue::from_str(&format!("{}=; Max-Age=0; {ATTRIBUTES}", self.text()))
    }
}

pub(crate) fn find_cookie(request: &HttpRequest, name: CookieName) -> Option<String> {
    let lines = request
        .headers()
        .get_all(COOKIE)
        .filter_map(|line| line.to_str().ok());
    let mut cookies = lines
        .flat_map(|line| line.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='));
    let (_, text) = cookies.find(|(found, _)| *found == name.text())?;
    Some(text.to_owned())
}

pub(crate) struct SecretCookie {
    text: String,
}

impl SecretCookie {
    /// Returns `None` if the cookie is missing or malformed.
    pub(crate) fn from_request(request: &HttpRequest, name: CookieName) -> Option<Self> {
        let text = find_cookie(request, name)?;
        let is_secret =
            text.len() == SECRET_CHARS && BASE64URL_NOPAD.decode(text.as_bytes()).is_ok();
        is_secret.then_some(Self { text })
    }

    /// Generates a new random cookie.
    pub(crate) fn generate() -> Result<Self, StorageError> {
        Ok(Self {
            text: Secret::generate()?.reveal().to_owned(),
        })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    pub(crate) fn digest(&self) -> SecretDigest {
        SecretDigest::from_text(&self.text)
    }

    pub(crate) fn sign_form_token(&self) -> String {
        BASE64URL_NOPAD.encode(hmac::sign(&self.to_key(), FORM).as_ref())
    }

    /// Whether a form token belongs to this cookie.
    pub(crate) fn has_made(&self, form_token: &str) -> bool {
        let token = BASE64URL_NOPAD
            .decode(form_token.as_bytes())
            .unwrap_or_default();
        // Takes constant time, so that the token cannot be guessed byte by byte.
        hmac::verify(&self.to_key(), FORM, &token).is_ok()
    }

    /// Derives the secret of the session that this browser begins with a link.
    pub(crate) fn derive_session(&self, link: &str) -> Secret {
        // Pressing the button twice gives the same session, and the result is as hard to guess as both
        // secrets together.
        let mut context = hmac::Context::with_key(&self.to_key());
        context.update(SESSION);
        context.update(link.as_bytes());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(context.sign().as_ref());
        Secret::from_bytes(&bytes)
    }

    fn to_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.text.as_bytes())
    }
}
