//! Who is signed in by OpenID Connect: by an invitation, or by a claim. `server/tests/browser/openid.rs`
//! signs in at a real provider of the protocol.

use serde_json::{Value, json};
use settings_pages::Audience;
use storage::accounts::users::{Actor, SecretDigest, SignedIn, UserRole};

use super::at_issuer::{begin, form_token, go, refused, sign_ins, trusting_with};
use super::browser::{Browser, cookie_of, link, text_after};
use super::fake_issuer::{EMAIL, FakeIssuer, SECRET};
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Page, Register, TextChecks as _};

/// A register and the issuer that it trusts.
struct World {
    issuer: FakeIssuer,
    register: Register,
}

/// What the issuer says of an account.
fn claims(account: &str) -> Value {
    let verified = |email: &str| json!({ "email": email, "email_verified": true });
    let organisation = json!({ "ukprn": UKPRN });
    match account {
        "person" | "same address" => verified(EMAIL),
        "unverified" => json!({ "email": EMAIL, "email_verified": false }),
        "unknown" => verified("unknown@example.com"),
        "no address" => json!({}),
        "unverified member" => json!({ "email": "m@example.com", "organisation": organisation }),
        "member" | "manager" | "member of two" | "member of none" | "operator" => {
            let mut claims = verified(&format!("{}@example.com", account.replace(' ', "-")));
            claims["organisation"] = match account {
                "member of two" => json!({ "ukprn": [UKPRN, OTHER_UKPRN] }),
                "member of none" => json!({ "ukprn": "10099999" }),
                "operator" => Value::Null,
                _ => organisation,
            };
            claims["role"] = match account {
                "member" => Value::Null,
                "operator" => json!("staff"),
                _ => json!(["manager"]),
            };
            claims
        }
        _ => panic!("{account}"),
    }
}

impl World {
    fn start(secret: Option<&str>) -> Self {
        let issuer = FakeIssuer::start();
        let register = trusting_with(&issuer.name(), secret, Audience::All);
        Self { issuer, register }
    }

    /// Signs in, and gives what the register answers then.
    fn sign_in(&self, account: &str) -> Page {
        self.sign_in_with(&Browser::new(&self.register), account)
    }

    fn sign_in_with(&self, browser: &Browser<'_>, account: &str) -> Page {
        self.issuer.set_person(account, claims(account), true);
        go(browser, &self.issuer)
    }

    /// Whom a page has signed in.
    #[track_caller]
    fn signed_in(&self, page: &Page) -> SignedIn {
        assert_eq!(
            (page.status, page.header("location")),
            (303, Some("/settings")),
            "{}",
            page.text
        );
        let cookie = cookie_of(page).unwrap();
        let digest = SecretDigest::from_text(cookie.split_once('=').unwrap().1);
        self.register
            .operate(move |session| session.signed_in(&digest))
            .unwrap()
    }
}

#[test]
fn invited_person_signs_in_by_verified_address_then_by_identity() {
    for (secret, in_id_token) in [(Some(SECRET), true), (None, false)] {
        let world = World::start(secret);
        let sign_in = |subject: &str, claims: Value| {
            world.issuer.set_person(subject, claims, in_id_token);
            go(&Browser::new(&world.register), &world.issuer)
        };
        link(&world.register, Some(UKPRN), EMAIL, UserRole::Admin);
        let unverified = sign_in("person", claims("unverified"));
        refused(&world.register, unverified, 403, "not verified");
        let requests = world.issuer.requests();
        let token = requests.iter().find(|one| one.contains("/token")).unwrap();
        let is_basic = token.to_lowercase().contains("authorization: basic ");
        assert_eq!(is_basic, secret.is_some(), "{token}");
        assert_eq!(token.contains("client_id="), secret.is_none(), "{token}");
        let first = world.signed_in(&sign_in("person", claims("person")));
        assert_eq!((first.email.as_str(), first.role), (EMAIL, UserRole::Admin));
        let same = sign_in("same address", claims("person")).is(403);
        same.shows(&["You do not have access"]);
        assert_eq!(cookie_of(&same), None);
        // Another address, and then none: the identity is the same.
        for account in ["unknown", "no address"] {
            let again = world.signed_in(&sign_in("person", claims(account)));
            assert_eq!(again.user_id, first.user_id);
        }
    }
}

#[test]
fn claim_makes_a_viewer_admin_or_operator() {
    let world = World::start(Some(SECRET));
    for (account, ukprn, role) in [
        ("member", Some(UKPRN), UserRole::Viewer),
        ("manager", Some(UKPRN), UserRole::Admin),
        ("operator", None, UserRole::Operator),
    ] {
        let browser = Browser::new(&world.register);
        let user = world.signed_in(&world.sign_in_with(&browser, account));
        let organisation = user.organisation.map(|one| one.ukprn);
        let expected = (role, ukprn.map(str::to_owned));
        assert_eq!((user.role, organisation), expected, "{account}");
        let again = world.signed_in(&world.sign_in(account));
        assert_eq!(again.user_id, user.user_id);
        let log = browser.open("/settings/activity").is(200);
        let how = "OpenID Connect, first time, by claim";
        log.shows(&[&format!("signed in: user {}, {how}", user.user_id)]);
    }
}

#[test]
fn people_without_access_are_rejected_with_the_same_page() {
    let world = World::start(Some(SECRET));
    link(&world.register, Some(UKPRN), EMAIL, UserRole::Admin);
    let words = world.sign_in("unknown").is(403).text;
    let is_refused = |account: &str| {
        let page = world.sign_in(account).is(403);
        assert_eq!((cookie_of(&page), &page.text), (None, &words), "{account}");
    };
    for account in [
        "unverified",
        "no address",
        "member of none",
        "unverified member",
    ] {
        is_refused(account);
    }
    world
        .register
        .operate(|session| session.close_provider(UKPRN).map(drop));
    is_refused("person");
    is_refused("member");
    assert_eq!(sign_ins(&world.register), 0);
    world
        .register
        .operate(|session| session.reopen_provider(UKPRN).map(drop));
    let id = world.signed_in(&world.sign_in("member")).user_id;
    world.register.operate(move |session| {
        session
            .remove_user(Actor::operator("operator"), id)
            .map(drop)
    });
    is_refused("member");
}

#[test]
fn member_of_two_organisations_chooses_once_in_the_same_browser() {
    let world = World::start(Some(SECRET));
    let browser = Browser::new(&world.register);
    let page = world.sign_in_with(&browser, "member of two").is(200);
    page.shows(&["Ashdown University", "Brackwater College"]);
    assert_eq!(cookie_of(&page), None);
    let secret = text_after(&page.text, "name=\"secret\" value=\"", "\"").to_owned();
    let path = "/settings/sign-in/oidc/organisation";
    let choose = |browser: &Browser<'_>, ukprn: &str| {
        let form_token = form_token(browser);
        let fields = [
            ("form_token", form_token.as_str()),
            ("secret", &secret),
            ("organisation", ukprn),
        ];
        browser.send_form(path, &fields)
    };
    let other = Browser::new(&world.register);
    begin(&other);
    let refused = |page, what| refused(&world.register, page, 403, what);
    refused(choose(&other, OTHER_UKPRN), "another browser");
    let stranger = Browser::new(&world.register);
    refused(choose(&stranger, OTHER_UKPRN), "no cookie");
    let fields = [("secret", secret.as_str()), ("organisation", OTHER_UKPRN)];
    refused(browser.send_form(path, &fields), "not the form of the page");
    for ukprn in ["", "10099999", "x"] {
        refused(choose(&browser, ukprn), ukprn);
    }
    let cookie = browser.cookie();
    let chosen = choose(&browser, OTHER_UKPRN);
    let user = world.signed_in(&chosen);
    assert_eq!(
        (user.organisation.unwrap().ukprn.as_str(), user.role),
        (OTHER_UKPRN, UserRole::Admin)
    );
    // The button that is pressed twice leads to the same session, and to none once that has ended.
    browser.set_cookie(cookie.clone());
    assert_eq!(
        cookie_of(&choose(&browser, UKPRN).is(303)),
        cookie_of(&chosen)
    );
    browser.send("/settings/sign-out", &[]).is(303);
    browser.set_cookie(cookie);
    assert_eq!(cookie_of(&choose(&browser, UKPRN).is(403)), None);
}
