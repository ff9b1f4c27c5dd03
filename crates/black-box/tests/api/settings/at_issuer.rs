//! The way of a browser to the issuer and back.

use settings_pages::Audience;
use settings_pages::signing_in::openid::{ClaimNames, Issuer, IssuerConfig};
use storage::accounts::users::{ActivityFilter, ActivityKind, UserRole};
use storage::base::token::Environment;

use super::browser::{Browser, cookie_of, encode, form_token_of, link, text_after};
use super::fake_issuer::{CLIENT, EMAIL, FakeIssuer, SECRET};
use crate::api::support::register::UKPRN;
use crate::api::support::{Page, Register, Setup};

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

/// A register that trusts an issuer.
pub(crate) fn trusting(issuer: &str) -> Register {
    trusting_with(issuer, Some(SECRET), Audience::All)
}

/// A register that has this secret at its issuer, with pages for these users.
pub(crate) fn trusting_with(issuer: &str, secret: Option<&str>, audience: Audience) -> Register {
    let claim = |name: &str| Some(name.parse().unwrap());
    let config = IssuerConfig {
        issuer: issuer.to_owned(),
        client_id: CLIENT.to_owned(),
        client_secret: secret.map(str::to_owned),
        scopes: vec!["email".to_owned()],
        claims: ClaimNames {
            provider: claim("/organisation/ukprn"),
            role: claim("role"),
            admin: "manager".to_owned(),
            operator: Some("staff".to_owned()),
        },
    };
    let issuer = Issuer::new(config, Environment::Sandbox).unwrap();
    Register::with_setup(Setup {
        issuer: Some(issuer),
        audience,
        ..Setup::default()
    })
}

/// An issuer, and a register that has invited its person.
pub(crate) fn invited() -> (FakeIssuer, Register) {
    let issuer = FakeIssuer::start();
    let register = trusting(&issuer.name());
    link(&register, Some(UKPRN), EMAIL, UserRole::Admin);
    (issuer, register)
}

/// Goes to the issuer and back.
pub(crate) fn go(browser: &Browser<'_>, issuer: &FakeIssuer) -> Page {
    let address = begin(browser);
    issuer.set_nonce(field(&address, "nonce"));
    come_back(
        browser,
        &[("state", &field(&address, "state")), ("code", "code")],
    )
}

/// The number of sign-ins.
pub(crate) fn sign_ins(register: &Register) -> usize {
    let filter = ActivityFilter {
        limit: 1_000,
        ..ActivityFilter::default()
    };
    let entries = register.operate(move |session| session.list_activity(filter));
    entries
        .iter()
        .filter(|entry| entry.kind == ActivityKind::UserSignedIn)
        .count()
}

/// A page without a sign-in.
#[track_caller]
pub(crate) fn refused(register: &Register, page: Page, status: u16, what: &str) {
    assert_eq!(page.status, status, "{what}: {}", page.text);
    assert_eq!(cookie_of(&page), None, "{what}");
    assert_eq!(sign_ins(register), 0, "{what}");
}
