//! The way of a browser to the issuer and back.

use ureq::Agent;
use ureq::http::header::{COOKIE, LOCATION, SET_COOKIE};

use super::browser::{Browser, FORM, encode, form_token_of, text_after};
use crate::api::support::Page;

/// A field of the address of a redirect.
pub(crate) fn field(address: &str, name: &str) -> String {
    let (_, query) = address.split_once('?').unwrap();
    let found = form_urlencoded::parse(query.as_bytes()).find(|(field, _)| field == name);
    found
        .unwrap_or_else(|| panic!("{address} has no {name}"))
        .1
        .into_owned()
}

/// What each form to sign in holds that this browser is shown.
pub(crate) fn form_token(browser: &Browser<'_>) -> String {
    form_token_of(&browser.open("/settings/sign-in").is(200)).to_owned()
}

/// Presses the button.
pub(crate) fn press(browser: &Browser<'_>) -> Page {
    browser.send_form(
        "/settings/sign-in/oidc",
        &[("form_token", &form_token(browser))],
    )
}

/// Presses the button, and gives where the page leads.
pub(crate) fn begin(browser: &Browser<'_>) -> String {
    let page = press(browser).is(200);
    let address = text_after(&page.text, "id=\"continue\" href=\"", "\"").replace("&#38;", "&");
    assert_eq!(
        page.header("refresh"),
        Some(format!("0; url={address}").as_str())
    );
    address
}

/// Comes back with an answer.
pub(crate) fn come_back(browser: &Browser<'_>, fields: &[(&str, &str)]) -> Page {
    browser.open(&format!(
        "/settings/sign-in/oidc/callback?{}",
        encode(fields)
    ))
}

/// Logs in at a real issuer with its form, and returns the parameters of its redirect.
pub(crate) fn log_in(address: &str, account: &str) -> String {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .build()
        .into();
    let origin = address.split('/').take(3).collect::<Vec<_>>().join("/");
    let (mut cookies, mut address) = (Vec::<(String, String)>::new(), address.to_owned());
    let mut has_logged_in = false;
    for _ in 0..9 {
        let sent: Vec<String> = cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let reply = if address.contains("/interaction/") {
            assert!(!has_logged_in, "it asks again");
            has_logged_in = true;
            let form = encode(&[("prompt", "login"), ("login", account), ("password", "any")]);
            agent
                .post(&address)
                .header(COOKIE, sent.join("; "))
                .content_type(FORM)
                .send(form)
        } else {
            agent.get(&address).header(COOKIE, sent.join("; ")).call()
        };
        let mut reply = reply.unwrap();
        for cookie in reply.headers().get_all(SET_COOKIE) {
            let (pair, _) = cookie.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            cookies.retain(|(other, _)| other != name);
            cookies.push((name.to_owned(), value.to_owned()));
        }
        let Some(location) = reply.headers().get(LOCATION) else {
            panic!(
                "{address}: {} {}",
                reply.status(),
                reply.body_mut().read_to_string().unwrap()
            );
        };
        let location = location.to_str().unwrap();
        address = if location.starts_with('/') {
            format!("{origin}{location}")
        } else {
            location.to_owned()
        };
        if !address.starts_with(&origin) {
            return address;
        }
    }
    panic!("it does not lead back: {address}");
}
