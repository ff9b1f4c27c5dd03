//! The page that a browser asked for before its user had signed in. A cookie keeps the address, so
//! that signing in leads to the page.

use actix_web::http::header::{HeaderValue, LOCATION, SET_COOKIE};
use actix_web::{HttpRequest, HttpResponse};
use http_kit::paths;

use crate::request::cookies::{CookieName, find_cookie};

const MAX_CHARS: usize = 300;

/// The path of a page of the settings, with its query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WantedPage(String);

impl WantedPage {
    /// Returns `None` for the first page, pages about signing in, and addresses that a cookie
    /// cannot hold.
    pub(crate) fn from_request(request: &HttpRequest) -> Option<Self> {
        Self::parse(request.uri().path_and_query()?.as_str())
    }

    pub(crate) fn from_cookie(request: &HttpRequest) -> Option<Self> {
        Self::parse(&find_cookie(request, CookieName::Wanted)?)
    }

    /// Returns `None` for addresses that must not be opened after signing in.
    fn parse(address: &str) -> Option<Self> {
        let below = address.strip_prefix(paths::SETTINGS)?.strip_prefix('/')?;
        // Characters that could end the cookie, or lead to another site, are not allowed.
        let is_plain =
            |character: u8| character.is_ascii_alphanumeric() || b"-_.~%?=&/".contains(&character);
        let is_page = !below.is_empty()
            && !below.starts_with("sign-in")
            && !below.starts_with('/')
            && !below.contains("//")
            && address.len() <= MAX_CHARS
            && below.bytes().all(is_plain);
        is_page.then(|| Self(address.to_owned()))
    }

    pub(crate) fn keep(&self, response: &mut HttpResponse) {
        // All characters of the address are allowed in headers, so this always succeeds.
        if let Ok(cookie) = CookieName::Wanted.set(&self.0) {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }

    /// Makes a redirection lead to the page, and removes the cookie.
    pub(crate) fn open(&self, response: &mut HttpResponse) {
        if let (Ok(location), Ok(removed)) =
            (HeaderValue::from_str(&self.0), CookieName::Wanted.remove())
        {
            response.headers_mut().insert(LOCATION, location);
            response.headers_mut().append(SET_COOKIE, removed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_pages_are_kept() {
        for address in ["/settings/requests/2?after=3-4", "/settings/tokens"] {
            assert!(WantedPage::parse(address).is_some(), "{address}");
        }
        for address in [
            "/settings",
            "/settings/",
            "/settings/sign-in/secret",
            "/settingsx/tokens",
            "/settings//example.com",
            "//example.com/settings/tokens",
            "https://example.com/settings/tokens",
            "/settings/tokens;a=b",
            "/settings/tokens\\..",
            "/docs",
        ] {
            assert_eq!(WantedPage::parse(address), None, "{address}");
        }
        assert_eq!(
            WantedPage::parse(&format!("/settings/{}", "a".repeat(300))),
            None
        );
    }
}
