//! The cookie of a session, and the token by which a form shows that it was made for that session.

use actix_web::HttpRequest;
use actix_web::http::header::{COOKIE, HeaderValue, InvalidHeaderValue};
use data_encoding::BASE64URL_NOPAD;
use ring::hmac;
use storage::users::{Secret, SecretDigest};

/// The name. Browsers take a cookie whose name begins so from a secure origin alone, for this host and all of its paths;
/// to them an address of their own machine is one.
const NAME: &str = "__Host-register-session";
/// The attributes that such a name demands, and two more: no script reads the cookie, and no other site sends it with a form.
pub(super) const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";
/// Characters of a secret.
const SECRET_CHARS: usize = 43;
/// What the key of a session authenticates besides the cookie itself.
const PURPOSE: &[u8] = b"form of the settings";

/// What a browser has sent as the cookie of its session.
pub(super) struct SessionCookie {
    text: String,
}

impl SessionCookie {
    /// The cookie of a request; none where what is sent has not the form of one.
    pub(super) fn of(request: &HttpRequest) -> Option<Self> {
        secret_of(request, NAME).map(|text| Self { text })
    }

    /// By what the register knows the session.
    pub(super) fn digest(&self) -> SecretDigest {
        SecretDigest::of(&self.text)
    }

    /// What each form of this session holds.
    pub(super) fn form_token(&self) -> String {
        BASE64URL_NOPAD.encode(hmac::sign(&self.key(), PURPOSE).as_ref())
    }

    /// Whether a form was made for this session. Takes the same time wherever two tokens differ.
    pub(super) fn has_made(&self, form_token: &str) -> bool {
        let token = BASE64URL_NOPAD.decode(form_token.as_bytes()).unwrap_or_default();
        hmac::verify(&self.key(), PURPOSE, &token).is_ok()
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.text.as_bytes())
    }
}

/// The secret that a browser has sent as a cookie; none where what is sent has not the form of one.
pub(super) fn secret_of(request: &HttpRequest, name: &str) -> Option<String> {
    let lines = request.headers().get_all(COOKIE).filter_map(|line| line.to_str().ok());
    let mut cookies = lines.flat_map(|line| line.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
    let (_, text) = cookies.find(|(sent, _)| *sent == name)?;
    let is_secret = text.len() == SECRET_CHARS && BASE64URL_NOPAD.decode(text.as_bytes()).is_ok();
    is_secret.then(|| text.to_owned())
}

/// The header that gives a browser the cookie of a new session. It goes with the browser.
pub(super) fn set(secret: &Secret) -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_str(&format!("{NAME}={}; {ATTRIBUTES}", secret.reveal()))
}

/// The header that takes the cookie away.
pub(super) fn remove() -> Result<HeaderValue, InvalidHeaderValue> {
    HeaderValue::from_str(&format!("{NAME}=; Max-Age=0; {ATTRIBUTES}"))
}
