//! Signing in by OpenID Connect at a real provider of the protocol.

use std::path::Path;

use chrono::{SecondsFormat, TimeDelta, Utc};
use serde_json::{Value, json};
use settings_pages::signing_in::openid::{ClaimNames, Issuer, IssuerConfig};
use storage::accounts::users::{Actor, SignedIn, UserRole};
use storage::base::token::Environment;
use test_support::OpenIdProvider;

use super::at_issuer::{begin, come_back, field, form_token, log_in, press};
use super::browser::{Browser, cookie_of, link, text_after};
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Page, Register, Setup};

const CLIENT: &str = "register";
const SECRET: &str = "a secret of the client that is long";
const EMAIL: &str = "person@example.com";

/// A register and the provider that it trusts.
struct World {
    provider: OpenIdProvider,
    register: Register,
}

/// What differs between worlds.
#[derive(Clone, Copy, Default)]
struct Kind {
    is_public: bool,
    in_id_token: bool,
    /// The register has another name for the provider than it has itself.
    has_other_name: bool,
}

/// Accounts of all kinds, by login name.
fn accounts() -> Value {
    let verified = |email: &str| json!({ "email": email, "email_verified": true });
    let mut accounts = json!({
        "person": verified(EMAIL),
        "same address": verified(EMAIL),
        "unverified": { "email": EMAIL, "email_verified": false },
        "unknown": verified("unknown@example.com"),
        "no address": {},
    });
    for (name, organisation, role) in [
        ("member", json!({ "ukprn": UKPRN }), json!(null)),
        ("manager", json!({ "ukprn": UKPRN }), json!(["manager"])),
        (
            "member of two",
            json!({ "ukprn": [UKPRN, OTHER_UKPRN] }),
            json!("manager"),
        ),
        (
            "member of none",
            json!({ "ukprn": "10099999" }),
            json!("manager"),
        ),
        ("operator", json!(null), json!("staff")),
    ] {
        let email = format!("{}@example.com", name.replace(' ', "-"));
        accounts[name] = json!({ "email": email, "email_verified": true, "organisation": organisation, "role": role });
    }
    accounts["unverified member"] = json!({ "email": "m@example.com", "email_verified": false, "organisation": { "ukprn": UKPRN } });
    accounts
}

impl World {
    /// Nothing where there is no provider.
    fn start(kind: Kind) -> Option<Self> {
        let mut provider = OpenIdProvider::start(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        let name = |name: &str| Some(name.parse().unwrap());
        let secret = (!kind.is_public).then_some(SECRET);
        let address = provider.address().to_owned();
        let config = IssuerConfig {
            issuer: if kind.has_other_name {
                address.replace("127.0.0.1", "localhost")
            } else {
                address
            },
            client_id: CLIENT.to_owned(),
            client_secret: secret.map(str::to_owned),
            scopes: vec!["email".to_owned(), "organisation".to_owned()],
            claims: ClaimNames {
                provider: name("/organisation/ukprn"),
                role: name("role"),
                admin: "manager".to_owned(),
                operator: Some("staff".to_owned()),
            },
        };
        let issuer = Issuer::new(config, Environment::Sandbox).unwrap();
        let register = Register::with_setup(Setup {
            issuer: Some(issuer),
            ..Setup::default()
        });
        // The provider has the time of the machine.
        register
            .clock
            .set(&Utc::now().to_rfc3339_opts(SecondsFormat::Millis, true));
        let setup = json!({
            "client_id": CLIENT, "client_secret": secret, "in_id_token": kind.in_id_token, "accounts": accounts(),
            "redirect_uri": format!("{}/settings/sign-in/oidc/callback", register.origin()),
        });
        provider.set_up(&setup.to_string());
        Some(Self { provider, register })
    }

    /// Logs in, and gives what the register answers then.
    fn sign_in(&self, account: &str) -> Page {
        self.sign_in_with(&Browser::new(&self.register), account)
    }

    fn sign_in_with(&self, browser: &Browser<'_>, account: &str) -> Page {
        let answer = log_in(&begin(browser), account);
        self.give(browser, &answer)
    }

    /// Opens the address of the provider's redirect.
    fn give(&self, browser: &Browser<'_>, answer: &str) -> Page {
        let path = answer.strip_prefix(&self.register.origin());
        browser.open(path.unwrap_or_else(|| panic!("{answer} leads elsewhere")))
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
        let digest =
            storage::accounts::users::SecretDigest::from_text(cookie.split_once('=').unwrap().1);
        self.register
            .operate(move |session| session.signed_in(&digest))
            .unwrap()
    }

    /// A page without a sign-in and without a new user.
    #[track_caller]
    fn refused(&self, page: &Page, status: u16, what: &str) {
        assert_eq!(page.status, status, "{what}: {}", page.text);
        assert_eq!(cookie_of(page), None, "{what}");
        let users = self.register.operate(|session| session.list_users(None));
        assert!(
            users.iter().all(|user| user.removed_at.is_some()),
            "{what}: {users:?}"
        );
    }

    fn invite(&self, ukprn: Option<&'static str>, role: UserRole) {
        link(&self.register.store(), ukprn, EMAIL, role);
    }
}

#[test]
fn invited_person_signs_in_by_verified_address_then_by_identity() {
    for kind in [
        Kind::default(),
        Kind {
            is_public: true,
            in_id_token: true,
            ..Kind::default()
        },
    ] {
        let Some(mut world) = World::start(kind) else {
            return;
        };
        world.invite(Some(UKPRN), UserRole::Admin);
        world.refused(
            &world.sign_in("unverified"),
            403,
            "an address that is not verified",
        );
        let first = world.signed_in(&world.sign_in("person"));
        assert_eq!((first.email.as_str(), first.role), (EMAIL, UserRole::Admin));
        let same = world.sign_in("same address").is(403);
        assert!(
            same.text.contains("You do not have access") && cookie_of(&same).is_none(),
            "{}",
            same.text
        );
        // Another address, and then none: the identity is the same.
        for claims in [
            json!({ "email": "new@example.com", "email_verified": true }),
            json!({}),
        ] {
            world
                .provider
                .set_up(&json!({ "accounts": { "person": claims } }).to_string());
            assert_eq!(
                world.signed_in(&world.sign_in("person")).user_id,
                first.user_id
            );
        }
    }
}

#[test]
fn a_claim_makes_a_viewer_an_admin_or_an_operator() {
    let Some(world) = World::start(Kind::default()) else {
        return;
    };
    for (account, ukprn, role) in [
        ("member", Some(UKPRN), UserRole::Viewer),
        ("manager", Some(UKPRN), UserRole::Admin),
        ("operator", None, UserRole::Operator),
    ] {
        let user = world.signed_in(&world.sign_in(account));
        assert_eq!(
            (user.role, user.organisation.map(|one| one.ukprn)),
            (role, ukprn.map(str::to_owned)),
            "{account}"
        );
        assert_eq!(
            world.signed_in(&world.sign_in(account)).user_id,
            user.user_id
        );
    }
}

#[test]
fn people_without_access_are_rejected_with_the_same_page() {
    let Some(world) = World::start(Kind::default()) else {
        return;
    };
    world.invite(Some(UKPRN), UserRole::Admin);
    let words = world.sign_in("unknown").is(403).text;
    for account in [
        "unverified",
        "no address",
        "member of none",
        "unverified member",
    ] {
        let page = world.sign_in(account);
        world.refused(&page, 403, account);
        assert_eq!(page.text, words, "{account}");
    }
    world
        .register
        .operate(|session| session.close_provider(UKPRN).map(drop));
    for account in ["person", "member"] {
        let page = world.sign_in(account);
        world.refused(&page, 403, account);
        assert_eq!(page.text, words, "{account}");
    }
    world
        .register
        .operate(|session| session.reopen_provider(UKPRN).map(drop));
    let id = world.signed_in(&world.sign_in("member")).user_id;
    world.register.operate(move |session| {
        session
            .remove_user(Actor::operator("operator"), id)
            .map(drop)
    });
    let page = world.sign_in("member");
    world.refused(&page, 403, "a removed user");
    assert_eq!(page.text, words);
}

#[test]
fn member_of_two_organisations_chooses_once_in_the_same_browser() {
    let Some(world) = World::start(Kind::default()) else {
        return;
    };
    let browser = Browser::new(&world.register);
    let page = world.sign_in_with(&browser, "member of two").is(200);
    assert!(
        page.text.contains("Ashdown University") && page.text.contains("Brackwater College"),
        "{}",
        page.text
    );
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
    world.refused(&choose(&other, OTHER_UKPRN), 403, "another browser");
    world.refused(
        &choose(&Browser::new(&world.register), OTHER_UKPRN),
        403,
        "no cookie",
    );
    let fields = [("secret", secret.as_str()), ("organisation", OTHER_UKPRN)];
    world.refused(
        &browser.send_form(path, &fields),
        403,
        "not the form of the page",
    );
    for ukprn in ["", "10099999", "x"] {
        world.refused(&choose(&browser, ukprn), 403, ukprn);
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

#[test]
fn changed_or_repeated_provider_response_is_rejected() {
    let Some(world) = World::start(Kind::default()) else {
        return;
    };
    world.invite(Some(UKPRN), UserRole::Admin);
    let browser = Browser::new(&world.register);
    let changed = |name: &str, value: &str| {
        let answer = log_in(&begin(&browser), "person");
        answer.replace(&form(name, &field(&answer, name)), &form(name, value))
    };
    fn form(name: &str, value: &str) -> String {
        super::browser::encode(&[(name, value)])
    }
    for (name, value) in [
        ("state", "another"),
        ("code", "another"),
        ("iss", "http://127.0.0.1:1"),
        ("iss", ""),
    ] {
        world.refused(&world.give(&browser, &changed(name, value)), 403, name);
    }
    // The code of another attempt: its challenge is another one.
    let other = Browser::new(&world.register);
    let code = field(&log_in(&begin(&other), "person"), "code");
    world.refused(
        &world.give(&browser, &changed("code", &code)),
        403,
        "code of another attempt",
    );
    // Another nonce on the way there.
    let address = begin(&browser);
    let planted = address.replace(&field(&address, "nonce"), "another");
    world.refused(
        &world.give(&browser, &log_in(&planted, "person")),
        403,
        "nonce",
    );
    // The answer in a browser that has not begun, and in one that has begun another attempt.
    let answer = log_in(&begin(&browser), "person");
    world.refused(
        &world.give(&Browser::new(&world.register), &answer),
        403,
        "no cookie",
    );
    begin(&other);
    world.refused(&world.give(&other, &answer), 403, "another browser");
    // It is good once.
    world.signed_in(&world.give(&browser, &answer));
    let again = world.give(&browser, &answer).is(403);
    assert_eq!(cookie_of(&again), None);
    // The code is used up at the provider too.
    let address = begin(&browser);
    let fields = [
        ("state", field(&address, "state")),
        ("code", field(&answer, "code")),
        ("iss", field(&answer, "iss")),
    ];
    let fields: Vec<(&str, &str)> = fields
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect();
    assert_eq!(cookie_of(&come_back(&browser, &fields).is(403)), None);
}

#[test]
fn expired_id_token_and_wrong_issuer_name_are_rejected() {
    let Some(world) = World::start(Kind::default()) else {
        return;
    };
    world.invite(Some(UKPRN), UserRole::Admin);
    let browser = Browser::new(&world.register);
    let answer = log_in(&begin(&browser), "person");
    // The attempt lasts for ten minutes, and an ID token of this provider for five.
    let later = Utc::now() + TimeDelta::minutes(6);
    world
        .register
        .clock
        .set(&later.to_rfc3339_opts(SecondsFormat::Millis, true));
    world.refused(&world.give(&browser, &answer), 403, "expired");

    let Some(world) = World::start(Kind {
        has_other_name: true,
        ..Kind::default()
    }) else {
        return;
    };
    let page = press(&Browser::new(&world.register));
    world.refused(&page, 503, "another name");
}

#[test]
fn the_activity_log_says_who_signed_in_and_how() {
    let Some(world) = World::start(Kind::default()) else {
        return;
    };
    let page = world.sign_in("manager");
    let browser = Browser::new(&world.register);
    browser.set_cookie(cookie_of(&page));
    let log = browser.open("/settings/activity").is(200).text;
    assert!(
        log.contains("signed in: user 1, OpenID Connect, first time, by claim"),
        "{log}"
    );
    assert!(
        log.contains("manager@example.com") && log.contains("127.0.0.1"),
        "{log}"
    );
    let other = Browser::new(&world.register);
    let page = world.sign_in_with(&other, "person").is(403);
    assert!(page.text.contains("15 minutes"));
}
