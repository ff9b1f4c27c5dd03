//! Signing in by OpenID Connect at an issuer that lies, and with answers of an attacker: no user is
//! signed in.

use std::thread;
use std::time::{Duration, Instant};

use settings_pages::Audience;
use storage::accounts::users::UserRole;
use versions::SERVED;

use super::at_issuer::{
    begin, come_back, field, form_token, go, invited, press, refused, sign_ins, trusting,
    trusting_with,
};
use super::browser::{Browser, FORM, cookie_of, encode, link};
use super::fake_issuer::{CLIENT, EMAIL, FakeIssuer, Fault, SECRET, challenge};
use crate::api::support::register::UKPRN;
use crate::api::support::{Register, TextChecks as _};

#[test]
fn honest_issuer_signs_in_with_code_challenge_state_and_nonce() {
    let (issuer, register) = invited();
    let browser = Browser::new(&register);
    browser.see("/settings/sign-in", &["Sign in at 127.0.0.1"]);
    let address = begin(&browser);
    assert!(
        address.starts_with(&format!("{}/authorize?", issuer.name())),
        "{address}"
    );
    assert_eq!(field(&address, "response_type"), "code");
    assert_eq!(field(&address, "client_id"), CLIENT);
    assert_eq!(field(&address, "scope"), "openid email");
    assert_eq!(field(&address, "code_challenge_method"), "S256");
    assert!(field(&address, "redirect_uri").ends_with("/settings/sign-in/oidc/callback"));
    issuer.set_nonce(field(&address, "nonce"));
    let page = come_back(
        &browser,
        &[
            ("state", &field(&address, "state")),
            ("code", "of the issuer"),
        ],
    )
    .is(303);
    assert_eq!(page.header("location"), Some("/settings"));
    let attributes = "; Path=/; Secure; HttpOnly; SameSite=Lax";
    assert!(page.header("set-cookie").unwrap().ends_with(attributes));
    browser.set_cookie(cookie_of(&page));
    browser.see("/settings", &[EMAIL]);
    assert_eq!(sign_ins(&register), 1);

    let requests = issuer.requests();
    let paths: Vec<&str> = requests
        .iter()
        .map(|request| request.split(' ').nth(1).unwrap())
        .collect();
    let metadata = "/.well-known/openid-configuration";
    assert_eq!(paths, [metadata, "/keys", "/token", "/me"]);
    let token = &requests[2];
    let (head, body) = token.rsplit_once('\n').unwrap();
    head.to_ascii_lowercase().shows(&["authorization: basic "]);
    let sent = format!("?{body}");
    assert_eq!(
        (field(&sent, "code"), field(&sent, "grant_type")),
        ("of the issuer".into(), "authorization_code".into())
    );
    assert_eq!(
        challenge(&field(&sent, "code_verifier")),
        field(&address, "code_challenge")
    );
    assert_eq!(
        field(&sent, "redirect_uri"),
        field(&address, "redirect_uri")
    );
}

#[test]
fn no_id_token_but_a_valid_one_signs_in() {
    let (issuer, register) = invited();
    let browser = Browser::new(&register);
    for fault in Fault::OF_TOKEN {
        issuer.set(fault);
        refused(&register, go(&browser, &issuer), 403, &format!("{fault:?}"));
    }
    issuer.set(Fault::Nothing);
    go(&browser, &issuer).is(303);
}

#[test]
fn invalid_token_response_is_rejected_and_redirects_not_followed() {
    for fault in Fault::OF_TOKEN_REPLY {
        // Another one each time: what it says of itself is kept for an hour.
        let (issuer, register) = invited();
        let browser = Browser::new(&register);
        issuer.set(fault);
        refused(&register, go(&browser, &issuer), 503, &format!("{fault:?}"));
        let requests = issuer.requests().concat();
        assert!(!requests.contains("/elsewhere"), "{fault:?}");
    }
}

#[test]
fn issuer_with_invalid_metadata_is_not_used_and_is_retried() {
    let issuer = FakeIssuer::start();
    let register = trusting(&issuer.name());
    let browser = Browser::new(&register);
    for fault in Fault::OF_METADATA {
        issuer.set(fault);
        let page = press(&browser);
        page.shows(&["Sign-in is not available"]);
        assert!(page.header("retry-after").is_some() && page.header("refresh").is_none());
        refused(&register, page, 503, &format!("{fault:?}"));
        let requests = issuer.requests().concat();
        assert!(!requests.contains("/elsewhere"), "{fault:?}");
    }
    issuer.set(Fault::Nothing);
    begin(&browser);
}

#[test]
fn unknown_key_is_fetched_once_a_minute_and_everything_hourly() {
    let (issuer, register) = invited();
    let browser = Browser::new(&register);
    let fetched = || {
        issuer
            .requests()
            .iter()
            .filter(|request| request.starts_with("GET /keys"))
            .count()
    };
    begin(&browser);
    assert_eq!(fetched(), 1);
    issuer.set(Fault::NewKey);
    refused(
        &register,
        go(&browser, &issuer),
        403,
        "within the first minute",
    );
    assert_eq!(fetched(), 0);
    register.clock.set("2026-10-05T09:01:00Z");
    go(&browser, &issuer).is(303);
    assert_eq!(fetched(), 1);
    register.clock.set("2026-10-05T10:00:59Z");
    begin(&browser);
    assert_eq!(fetched(), 0);
    register.clock.set("2026-10-05T10:01:00Z");
    begin(&browser);
    assert_eq!(fetched(), 1);
}

#[test]
fn unavailable_issuer_does_not_affect_other_pages() {
    let register = trusting("http://127.0.0.1:1");
    let browser = Browser::new(&register);
    press(&browser).is(503);
    browser.open("/settings/sign-in").is(200);
    Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Viewer)
        .open("/settings")
        .is(200);
}

#[test]
fn an_issuer_that_is_slow_is_not_waited_for() {
    let (issuer, register) = invited();
    let reader = Browser::new(&register);
    issuer.set(Fault::Slow);
    let begin_another = || {
        let browser = Browser::new(&register);
        let address = begin(&browser);
        (browser.cookie().unwrap(), field(&address, "state"))
    };
    let begun: Vec<_> = (0..8).map(|_| begin_another()).collect();
    let since = Instant::now();
    thread::scope(|scope| {
        let wait = |(cookie, state): (String, String)| {
            let register = &register;
            scope.spawn(move || {
                let browser = Browser::new(register);
                browser.set_cookie(Some(cookie));
                come_back(&browser, &[("state", &state), ("code", "code")])
            })
        };
        let waiting: Vec<_> = begun.into_iter().map(wait).collect();
        // All that may fetch at once do, and others wait until they are refused.
        while issuer
            .requests()
            .iter()
            .all(|request| !request.contains("/token"))
        {
            thread::sleep(Duration::from_millis(10));
        }
        for _ in 0..9 {
            reader.open("/settings/sign-in").is(200);
            register.api(SERVED[0]).get("/info").is(200);
        }
        assert!(
            waiting.iter().any(|one| !one.is_finished()),
            "the other pages have waited"
        );
        for one in waiting {
            refused(&register, one.join().unwrap(), 503, "slow");
        }
    });
    assert!(since.elapsed().as_secs() < 12, "{:?}", since.elapsed());
}

#[test]
fn answer_works_once_within_ten_minutes_with_browser_and_state() {
    let (issuer, register) = invited();
    let (browser, other) = (Browser::new(&register), Browser::new(&register));
    let address = begin(&browser);
    let (state, of_other) = (field(&address, "state"), field(&begin(&other), "state"));
    issuer.set_nonce(field(&address, "nonce"));
    let code = ("code", "code");
    let rejected = |browser: &Browser<'_>, fields: &[(&str, &str)]| {
        let what = format!("{fields:?} {:?}", browser.cookie());
        refused(&register, come_back(browser, fields), 403, &what);
    };
    // An attacker's answer in another user's browser would sign that user in as the attacker, or
    // the reverse.
    rejected(&other, &[("state", &state), code]);
    for state in [&of_other, "unknown", ""] {
        rejected(&browser, &[("state", state), code]);
    }
    rejected(&browser, &[code]);
    rejected(&browser, &[]);
    let cookie = browser.cookie();
    for planted in [
        None,
        Some("__Host-register-sign-in=x".to_owned()),
        cookie.as_ref().map(|text| text.replace("__Host-", "")),
    ] {
        browser.set_cookie(planted);
        rejected(&browser, &[("state", &state), code]);
    }
    browser.set_cookie(cookie);
    // A HEAD uses nothing up.
    let path = format!(
        "/settings/sign-in/oidc/callback?{}",
        encode(&[("state", &state), code])
    );
    assert_eq!(browser.request("HEAD", &path).raw().status, 405);
    let page = come_back(&browser, &[("state", &state), code]).is(303);
    assert_eq!(sign_ins(&register), 1);
    assert!(cookie_of(&page).is_some());
    // The same answer again.
    let page = come_back(&browser, &[("state", &state), code]).is(403);
    assert_eq!((cookie_of(&page), sign_ins(&register)), (None, 1));
}

#[test]
fn late_declined_or_another_issuers_answer_is_rejected() {
    let (issuer, register) = invited();
    let browser = Browser::new(&register);
    let begin = || {
        let address = begin(&browser);
        issuer.set_nonce(field(&address, "nonce"));
        field(&address, "state")
    };
    let rejected = |state: &str, query: &str| {
        let path = format!("/settings/sign-in/oidc/callback?state={state}&{query}");
        refused(&register, browser.open(&path), 403, query);
    };
    for query in [
        "error=access_denied",
        "code=code&error=access_denied",
        "code=",
        "code=code&iss=http://127.0.0.1:1",
    ] {
        let state = begin();
        rejected(&state, query);
        // It was the only one.
        rejected(&state, "code=code");
    }
    let state = begin();
    register.clock.set("2026-10-05T09:10:00Z");
    rejected(&state, "code=code");
}

#[test]
fn issuer_that_names_itself_does_so_always() {
    let (issuer, register) = invited();
    issuer.set(Fault::NamesItself);
    let browser = Browser::new(&register);
    for (name, status) in [
        ("", 403),
        ("http://127.0.0.1:1", 403),
        (&issuer.name(), 303),
    ] {
        let address = begin(&browser);
        issuer.set_nonce(field(&address, "nonce"));
        let state = field(&address, "state");
        let answer = [("state", state.as_str()), ("code", "code"), ("iss", name)];
        come_back(&browser, &answer).is(status);
    }
}

#[test]
fn issuer_signs_in_only_users_of_the_listener() {
    for (audience, own, other) in [
        (
            Audience::Operators,
            (None, UserRole::Operator),
            (Some(UKPRN), UserRole::Admin),
        ),
        (
            Audience::Organisations,
            (Some(UKPRN), UserRole::Admin),
            (None, UserRole::Operator),
        ),
    ] {
        let issuer = FakeIssuer::start();
        let register = trusting_with(&issuer.name(), Some(SECRET), audience);
        link(&register, other.0, EMAIL, other.1);
        let browser = Browser::new(&register);
        refused(
            &register,
            go(&browser, &issuer),
            403,
            "who belongs elsewhere",
        );
        link(&register, own.0, EMAIL, own.1);
        go(&browser, &issuer).is(303);
        assert_eq!(sign_ins(&register), 1);
    }
}

#[test]
fn another_site_can_neither_begin_nor_choose() {
    let issuer = FakeIssuer::start();
    let register = trusting(&issuer.name());
    for path in [
        "/settings/sign-in/oidc",
        "/settings/sign-in/oidc/organisation",
    ] {
        for (name, value, status) in [
            ("Sec-Fetch-Site", "cross-site", 403),
            ("Origin", "https://evil.example", 403),
            // If the browser hides where the form was, the content of the form decides.
            ("Origin", "null", 403),
            ("Content-Type", "text/plain", 415),
        ] {
            let request = register.request("POST", path).bytes("form_token=x");
            let request = request.header("Content-Type", FORM).header(name, value);
            refused(&register, request.page(), status, path);
        }
    }
    assert!(issuer.requests().is_empty());
    // It is no secret where the way begins, but a GET does not begin it.
    register
        .request("GET", "/settings/sign-in/oidc")
        .page()
        .is(405);
}

#[test]
fn planted_session_ends_when_the_issuer_signs_in() {
    let issuer = FakeIssuer::start();
    let register = trusting(&issuer.name());
    let attacker = Browser::signed_in(
        &register,
        Some(UKPRN),
        "attacker@example.com",
        UserRole::Viewer,
    );
    link(&register, Some(UKPRN), EMAIL, UserRole::Admin);
    let victim = Browser::new(&register);
    let address = begin(&victim);
    issuer.set_nonce(field(&address, "nonce"));
    victim.set_cookie(Some(format!(
        "{}; {}",
        attacker.cookie().unwrap(),
        victim.cookie().unwrap()
    )));
    let page = come_back(
        &victim,
        &[("state", &field(&address, "state")), ("code", "code")],
    )
    .is(303);
    assert_ne!(cookie_of(&page), attacker.cookie());
    attacker.open("/settings").is(303);
}

#[test]
fn whoever_begins_often_is_limited_by_address() {
    let issuer = FakeIssuer::start();
    let register = trusting(&issuer.name());
    let browser = Browser::new(&register);
    let form_token = form_token(&browser);
    let limited = (0..200).find_map(|_| {
        let page = browser.send_form("/settings/sign-in/oidc", &[("form_token", &form_token)]);
        (page.status == 429).then_some(page)
    });
    assert!(limited.unwrap().header("retry-after").is_some());
    // What it says of itself was fetched once.
    assert_eq!(issuer.requests().len(), 2);
}

#[test]
fn without_an_issuer_there_is_no_such_way() {
    let register = Register::start();
    let browser = Browser::new(&register);
    browser
        .open("/settings/sign-in")
        .is(200)
        .lacks(&["/settings/sign-in/oidc"]);
    // There is no form for it either.
    browser.send_form("/settings/sign-in/oidc", &[]).is(403);
    come_back(&browser, &[("state", "x"), ("code", "code")]).is(404);
    browser
        .send_form("/settings/sign-in/oidc/organisation", &[])
        .is(403);
}
