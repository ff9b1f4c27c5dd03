//! Signing in by OpenID Connect, in a real browser at a real provider: by keyboard and without
//! scripts, and with a choice.

use std::path::Path;

use serde_json::json;

use test_support::OpenIdProvider;

use super::axe;
use super::driver::{Browser, ENTER, Scripts};
use super::served::Server;

/// The provider of the demo.
const DEMO_UKPRN: &str = "10099999";
const CLIENT: &str = "register";

/// A server that trusts a provider, which has an account `a` of the demo, and `b` that is an
/// operator too.
fn start() -> Option<(Server, OpenIdProvider)> {
    let mut provider = OpenIdProvider::start(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
    let server = Server::start_with(
        &["--operator-pages", "settings"],
        &[
            ("REGISTER_OIDC_ISSUER", provider.address()),
            ("REGISTER_OIDC_CLIENT_ID", CLIENT),
            ("REGISTER_OIDC_SCOPES", "email organisation"),
            ("REGISTER_OIDC_PROVIDER_CLAIM", "/organisation/ukprn"),
            ("REGISTER_OIDC_ROLE_CLAIM", "role"),
            ("REGISTER_OIDC_OPERATOR_VALUE", "staff"),
        ],
    );
    let account = |email: &str, role| {
        let organisation = json!({ "ukprn": DEMO_UKPRN });
        json!({ "email": email, "email_verified": true, "organisation": organisation, "role": role })
    };
    let setup = json!({
        "client_id": CLIENT,
        "redirect_uri": format!("{}/settings/sign-in/oidc/callback", server.origin),
        "accounts": { "a": account("a@example.com", json!("admin")), "b": account("b@example.com", json!("staff")) },
    });
    provider.set_up(&setup.to_string());
    Some((server, provider))
}

fn wait_for(browser: &Browser, address: &str, title: &str) {
    let (address, title) = (json!(address), json!(title));
    browser.wait_until(&format!(
        "location.href.startsWith({address}) && document.title.startsWith({title})"
    ));
    browser.wait_until("document.readyState === 'complete'");
}

/// Presses the button, and logs in at the provider by keyboard.
fn log_in(browser: &Browser, server: &Server, provider: &OpenIdProvider, account: &str) {
    browser.open(&format!("{}/settings/sign-in", server.origin));
    wait_for(browser, &server.origin, "Sign in");
    browser.tab_to("sign-in");
    browser.press(ENTER);
    browser.wait_until(&format!(
        "location.href.startsWith({})",
        json!(format!("{}/interaction/", provider.address()))
    ));
    browser.wait_until("document.activeElement.name === 'login'");
    browser.press(account);
    browser.tab();
    browser.press("any");
    browser.press(ENTER);
}

#[test]
fn person_signs_in_at_provider_by_keyboard() {
    let Some(browser) = Browser::start(Scripts::Blocked) else {
        return;
    };
    let Some((server, provider)) = start() else {
        return;
    };
    log_in(&browser, &server, &provider, "a");
    wait_for(&browser, &format!("{}/settings", server.origin), "Overview");
    assert!(browser.text("body").contains("a@example.com (admin)"));
    browser.tab_to("Sign out");
    browser.press(ENTER);
    wait_for(&browser, &server.origin, "Signed out");
    browser.tab_to("Sign in again");
    browser.press(ENTER);
    wait_for(&browser, &server.origin, "Sign in");
    // The provider remembers who it is.
    browser.tab_to("sign-in");
    browser.press(ENTER);
    wait_for(&browser, &format!("{}/settings", server.origin), "Overview");
    // The way back of a history is no second sign-in.
    browser.tab_to("Sign out");
    browser.press(ENTER);
    wait_for(&browser, &server.origin, "Signed out");
    browser.open(&format!(
        "{}/settings/sign-in/oidc/callback?state=x&code=y",
        server.origin
    ));
    wait_for(&browser, &server.origin, "You are not signed in");
}

/// The page that leads to the issuer, as a browser without another page gets it.
fn page_on_the_way(server: &Server) -> String {
    let mut shown = ureq::get(format!("{}/settings/sign-in", server.origin))
        .call()
        .unwrap();
    let cookie = shown.headers()["set-cookie"]
        .to_str()
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let text = shown.body_mut().read_to_string().unwrap();
    let (_, rest) = text.split_once("name=\"form_token\" value=\"").unwrap();
    let form = format!("form_token={}", rest.split('"').next().unwrap());
    let begin =
        ureq::post(format!("{}/settings/sign-in/oidc", server.origin)).header("Cookie", cookie);
    let begun = begin
        .content_type("application/x-www-form-urlencoded")
        .send(form);
    begun.unwrap().body_mut().read_to_string().unwrap()
}

#[test]
fn axe_finds_nothing_on_choice_of_access() {
    let Some(browser) = Browser::start(Scripts::Run) else {
        return;
    };
    if !axe::is_here() {
        return;
    }
    let Some((server, provider)) = start() else {
        return;
    };
    let examine = |page: &str| {
        for width in [1_280, 320] {
            browser.set_width(width);
            assert_eq!(
                axe::violations(&browser),
                axe::nothing(),
                "{page} at {width}"
            );
            let scroll = browser.see("[document.documentElement.scrollWidth, innerWidth]");
            assert!(
                scroll[0].as_u64() <= scroll[1].as_u64(),
                "{page} scrolls sideways at {width}: {scroll}"
            );
        }
    };
    browser.open(&format!("{}/settings/sign-in", server.origin));
    wait_for(&browser, &server.origin, "Sign in");
    examine("how to sign in");
    // The page on the way there leads on at once, so it is put into the place of this one.
    let page = page_on_the_way(&server);
    browser.run(&format!(
        "document.open(); document.write({}); document.close()",
        json!(page)
    ));
    browser
        .wait_until("document.title.startsWith('Continue') && document.readyState === 'complete'");
    assert!(
        browser
            .read("document.getElementById('continue').href")
            .starts_with(provider.address())
    );
    examine("on the way there");
    log_in(&browser, &server, &provider, "b");
    wait_for(&browser, &server.origin, "Choose an organisation");
    examine("the choice");
    browser.tab_to("All organisations, operator");
    browser.press(ENTER);
    wait_for(
        &browser,
        &format!("{}/settings", server.origin),
        "Organisations",
    );
    assert!(browser.text("body").contains("b@example.com (operator)"));
}
