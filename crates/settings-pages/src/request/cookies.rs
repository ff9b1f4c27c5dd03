//! The cookies of browsers, and the token by which a form shows that it was made for one of them.
//!
//! One holds the secret of a session. Another one is set where somebody can sign in, so that no
//! other site can have a browser sign in as somebody else: it cannot know what the form holds. The
//! third is that of an attempt at the issuer.

use actix_web::HttpRequest;
use actix_web::http::header::{COOKIE, HeaderValue, InvalidHeaderValue};
use data_encoding::BASE64URL_NOPAD;
use ring::hmac;
use storage::accounts::users::{Secret, SecretDigest};
use storage::error::StorageError;

/// The attributes that a name with `__Host-` demands, and two more: no script reads the cookie, and
/// no other site sends it with a form. Browsers take such a cookie from a secure origin alone, for
/// this host and all of its paths; to them an address of their own machine is one.
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";
/// For how long a browser is at the issuer, in seconds: on the way there and back, and then at the
/// choice.
const SIGN_IN_SECONDS: u32 = 1_200;
/// Characters of a secret.
const SECRET_CHARS: usize = 43;
/// What the key of a cookie authenticates besides the cookie itself.
const FORM: &[u8] = b"form of the settings";
/// What it authenticates besides the secret of a link.
const SESSION: &[u8] = b"session of the link ";

/// What a cookie is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieName {
    /// Who is signed in.
    Session,
    /// Which browser was shown a form to sign in.
    Browser,
    /// Which browser is at the issuer, or chooses an organisation.
    SignIn,
}

impl CookieName {
    const fn text(self) -> &'static str {
        match self {
            Self::Session => "__Host-register-session",
            Self::Browser => "__Host-register-browser",
            Self::SignIn => "__Host-register-sign-in",
        }
    }

    /// The header that gives a browser a cookie, which goes with the browser unless it expires
    /// before.
    pub(crate) fn set(self, text: &str) -> Result<HeaderValue, InvalidHeaderValue> {
        let expiry = match self {
            Self::Session | Self::Browser => String::new(),
            Self::SignIn => format!("; Max-Age={SIGN_IN_SECONDS}"),
        };
        HeaderValue::from_str(&format!("{}={text}{expiry}; {ATTRIBUTES}", self.text()))
    }

    /// The header that takes the cookie away.
    pub(crate) fn remove(self) -> Result<HeaderValue, InvalidHeaderValue> {
        HeaderValue::from_str(&format!("{}=; Max-Age=0; {ATTRIBUTES}", self.text()))
    }
}

/// What a browser has sent as a cookie, or will send.
pub(crate) struct SecretCookie {
    text: String,
}

impl SecretCookie {
    /// The cookie of a request; none where what is sent has not the form of one.
    pub(crate) fn from_request(request: &HttpRequest, name: CookieName) -> Option<Self> {
        let lines = request
            .headers()
            .get_all(COOKIE)
            .filter_map(|line| line.to_str().ok());
        let mut cookies = lines
            .flat_map(|line| line.split(';'))
            .filter_map(|cookie| cookie.trim().split_once('='));
        let (_, text) = cookies.find(|(found, _)| *found == name.text())?;
        let is_secret =
            text.len() == SECRET_CHARS && BASE64URL_NOPAD.decode(text.as_bytes()).is_ok();
        is_secret.then(|| Self {
            text: text.to_owned(),
        })
    }

    /// A cookie that no browser has.
    pub(crate) fn generate() -> Result<Self, StorageError> {
        Ok(Self {
            text: Secret::generate()?.reveal().to_owned(),
        })
    }

    /// The text of the cookie.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// By what the register knows the session.
    pub(crate) fn digest(&self) -> SecretDigest {
        SecretDigest::from_text(&self.text)
    }

    /// What each form for this cookie holds.
    pub(crate) fn form_token(&self) -> String {
        BASE64URL_NOPAD.encode(hmac::sign(&self.key(), FORM).as_ref())
    }

    /// Whether a form was made for this cookie. Takes the same time wherever two tokens differ.
    pub(crate) fn has_made(&self, form_token: &str) -> bool {
        let token = BASE64URL_NOPAD
            .decode(form_token.as_bytes())
            .unwrap_or_default();
        hmac::verify(&self.key(), FORM, &token).is_ok()
    }

    /// The secret of the session that this browser begins with a link: the same when its button is
    /// pressed twice, and as hard to guess as both secrets.
    pub(crate) fn session_of(&self, link: &str) -> Secret {
        let mut context = hmac::Context::with_key(&self.key());
        context.update(SESSION);
        context.update(link.as_bytes());
        let mut bytes = [0; 32];
        bytes.copy_from_slice(context.sign().as_ref());
        Secret::from_bytes(&bytes)
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.text.as_bytes())
    }
}
