//! Every route of the table against all users without access to it.

use adapter_kit::Method;
use settings_pages::{Access, Audience, ROUTES, Route};
use storage::accounts::users::{ActivityFilter, Origin, Secret, SecretDigest, UserRole};
use versions::SERVED;

use super::browser::{Browser, FORM, encode, form_token_of, form_token_of_session, link};
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Page, Register, Setup, TextChecks as _};

/// The path of a route, with a number where it has one.
fn path(route: &Route, id: i64) -> String {
    path_within(route, UKPRN, id)
}

/// The path with the organisation of an operator's page.
fn path_within(route: &Route, ukprn: &str, id: i64) -> String {
    let path = route
        .path
        .replace("{id}", &id.to_string())
        .replace("{secret}", "nothing")
        .replace("{ukprn}", ukprn)
        .replace("{version}", &SERVED[0].label.to_string());
    assert!(
        !path.contains('{'),
        "{path} has a part that is unknown here"
    );
    format!("/settings{path}")
}

/// Fields that every form accepts which has them.
const FIELDS: [(&str, &str); 10] = [
    ("name", "Planted"),
    ("overlap", "7"),
    ("email", "planted@example.com"),
    ("role", "admin"),
    ("secret", "nothing"),
    ("ukprn", "10000009"),
    ("action", "discard"),
    ("confirmed", "yes"),
    ("trainee_id", "unknown"),
    ("rows", "trainee_id\nnobody"),
];

/// What an organisation has, and who did what, as text: equal as long as nothing changes.
fn state(register: &Register) -> String {
    register.operate(|session| {
        let tokens = session.list_tokens(None)?;
        let users = session.list_users(None)?;
        let invitations = session.pending_invitations(Some(UKPRN))?;
        let (providers, imports) = (
            session.list_providers()?,
            session.list_imports(None, 1_000)?,
        );
        let log = session.list_activity(ActivityFilter {
            limit: 1_000,
            ..ActivityFilter::default()
        })?;
        Ok(format!(
            "{providers:#?}{imports:#?}{tokens:#?}{users:#?}{invitations:#?}{log:#?}"
        ))
    })
}

#[test]
fn session_reaches_no_page_or_form_of_another_organisation() {
    let register = Register::start();
    let admin = Browser::signed_in(
        &register,
        Some(UKPRN),
        "victim@example.com",
        UserRole::Admin,
    );
    admin
        .send("/settings/tokens", &[("name", "Victim records")])
        .is(200);
    admin
        .send(
            "/settings/people",
            &[("email", "invited-victim@example.com"), ("role", "viewer")],
        )
        .is(200);
    let tokens = register.operate(|session| session.list_tokens(Some(UKPRN)));
    let token = tokens
        .iter()
        .find(|token| token.name == "Victim records")
        .unwrap()
        .id;
    let user = register.operate(|session| session.list_users(Some(UKPRN)))[0].id;
    let stored = admin.upload(b"last_name\nVictim\n").is(303);
    let upload = stored.header("location").unwrap();
    let upload = upload.rsplit('/').next().unwrap().parse().unwrap();
    let other = Browser::signed_in(
        &register,
        Some(OTHER_UKPRN),
        "other@example.com",
        UserRole::Admin,
    );
    let form_token = other.form_token();
    let (mut requests, mut refused) = (0, 0);
    for route in ROUTES
        .iter()
        .filter(|route| !route.path.starts_with("/sign-out"))
    {
        let id = match route.path {
            path if path.contains("/people") => user,
            path if path.contains("/upload") => upload,
            // The first that was begun is that of the admin.
            path if path.starts_with("/sessions") => 1,
            _ => token,
        };
        let path = path(route, id);
        let before = state(&register);
        let page = if route.method == Method::Post {
            other.send_form(
                &path,
                &[&[("form_token", form_token.as_str())], FIELDS.as_slice()].concat(),
            )
        } else {
            other.open(&path)
        };
        requests += 1;
        if route.path.contains("{id}") || route.access() == Access::Operator {
            assert_eq!(page.status, 404, "{route:?}: {}", page.text);
            assert_eq!(state(&register), before, "{route:?}");
            refused += 1;
        }
        page.lacks(&["ictim", UKPRN, "Ashdown"]);
    }
    eprintln!("{requests} routes, {refused} of them with a number or for operators");
    let of_operators = ROUTES
        .iter()
        .filter(|route| route.access() == Access::Operator)
        .count();
    assert_eq!((requests, refused), (ROUTES.len() - 2, 19 + of_operators));
    let after = register.operate(|session| session.list_tokens(Some(UKPRN)));
    assert_eq!(after, tokens);
}

#[test]
fn nobody_gets_through_a_route_of_another_role() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    let viewer = Browser::signed_in(&register, Some(UKPRN), "v@example.com", UserRole::Viewer);
    let editor = Browser::signed_in(&register, Some(UKPRN), "e@example.com", UserRole::Editor);
    let operator = Browser::signed_in(&register, None, "o@example.com", UserRole::Operator);
    // The first run of requests.
    register.api(SERVED[0]).get("/trainees/unknown").is(404);
    register.write_record();
    let mut refused = 0;
    for (browser, access, status) in [
        (&viewer, Access::Admin, 403),
        (&editor, Access::Admin, 403),
        (&viewer, Access::Uploader, 403),
        (&operator, Access::Uploader, 404),
        (&operator, Access::Admin, 404),
        (&admin, Access::Operator, 404),
        (&viewer, Access::Operator, 404),
        (&editor, Access::Operator, 404),
    ] {
        let form_token = browser.form_token();
        let before = state(&register);
        for route in ROUTES.iter().filter(|route| route.access() == access) {
            let path = path(route, 1);
            let page = if route.method == Method::Post {
                browser.send_form(
                    &path,
                    &[&[("form_token", form_token.as_str())], FIELDS.as_slice()].concat(),
                )
            } else {
                browser.open(&path)
            };
            assert_eq!(page.status, status, "{route:?}: {}", page.text);
            refused += 1;
        }
        assert_eq!(state(&register), before);
    }
    // For two browsers each, the routes of admins and of operators that there were when this was
    // written, or more.
    assert!(refused >= 20, "{refused}");
    for route in ROUTES
        .iter()
        .filter(|route| route.access() == Access::Organisation)
    {
        operator.open(&path(route, 1)).is(404);
        viewer.open(&path(route, 1)).is(200);
    }
}

#[test]
fn operator_reaches_no_organisation_through_pages_of_another() {
    let register = Register::start();
    let admin = Browser::signed_in(
        &register,
        Some(UKPRN),
        "victim@example.com",
        UserRole::Admin,
    );
    admin
        .send("/settings/tokens", &[("name", "Victim records")])
        .is(200);
    let operator = Browser::signed_in(&register, None, "o@example.com", UserRole::Operator);
    let form_token = operator.form_token();
    let (before, mut refused) = (state(&register), 0);
    let of_organisation = |route: &&Route| route.path.starts_with("/organisations/{ukprn}");
    for route in ROUTES.iter().filter(of_organisation) {
        let send = |path: &str| {
            if route.method == Method::Post {
                operator.send_form(
                    path,
                    &[&[("form_token", form_token.as_str())], FIELDS.as_slice()].concat(),
                )
            } else {
                operator.open(path)
            }
        };
        if route.path.contains("{id}") {
            let id = if route.path.contains("/people") { 1 } else { 2 };
            let page = send(&path_within(route, OTHER_UKPRN, id)).is(404);
            page.lacks(&["ictim"]);
            refused += 1;
        }
        send(&path_within(route, "19999999", 1)).is(404);
        send(&path_within(route, "unknown", 1)).is(404);
        if route.method == Method::Get {
            send(&path_within(route, "%00", 1)).is(404);
        }
        refused += 2;
    }
    eprintln!("{refused} refused");
    assert_eq!(
        refused,
        8 + 2 * ROUTES.iter().filter(of_organisation).count()
    );
    assert_eq!(state(&register), before);
}

#[test]
fn nobody_gets_through_without_a_session() {
    let closed: Vec<_> = ROUTES
        .iter()
        .filter(|route| route.access() != Access::Public)
        .collect();
    // An address that asks for more pages without a session is refused for that reason.
    for some in closed.chunks(20) {
        nobody_gets_through(some);
    }
}

fn nobody_gets_through(routes: &[&Route]) {
    let register = Register::start();
    Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    let anonymous = Browser::new(&register);
    let ended = Browser::signed_in(&register, Some(UKPRN), "b@example.com", UserRole::Admin);
    let (cookie, form_token) = (ended.cookie(), ended.form_token());
    ended.send("/settings/sign-out", &[]).is(303);
    ended.set_cookie(cookie);
    let before = state(&register);
    for route in routes {
        for browser in [&anonymous, &ended] {
            let path = path(route, 1);
            let page = if route.method == Method::Post {
                browser.send_form(
                    &path,
                    &[&[("form_token", form_token.as_str())], FIELDS.as_slice()].concat(),
                )
            } else {
                browser.open(&path)
            };
            assert_eq!(
                (page.status, page.header("location")),
                (303, Some("/settings/sign-in")),
                "{route:?}"
            );
        }
    }
    assert_eq!(state(&register), before);
}

/// A session that was begun on another listener: its browser, and what each of its forms holds.
fn elsewhere<'a>(
    register: &'a Register,
    ukprn: Option<&'static str>,
    email: &'static str,
    role: UserRole,
) -> (Browser<'a>, String) {
    let link = SecretDigest::from_text(&link(register, ukprn, email, role));
    let secret = Secret::generate().unwrap();
    let digest = SecretDigest::from_text(secret.reveal());
    register
        .operate(move |session| session.accept_invitation(&link, &digest, None, Origin::default()));
    let browser = Browser::new(register);
    browser.set_cookie(Some(format!("__Host-register-session={}", secret.reveal())));
    (browser, form_token_of_session(secret.reveal()))
}

#[test]
fn pages_of_each_listener_are_for_its_own_users_only() {
    let mut requests = 0;
    let is_shared = |route: &&Route| matches!(route.access(), Access::Public | Access::SignedIn);
    let of_operators = |route: &&Route| route.access() == Access::Operator;
    for (audience, role) in [
        (Audience::Operators, UserRole::Admin),
        (Audience::Operators, UserRole::Viewer),
        (Audience::Organisations, UserRole::Operator),
    ] {
        // An address that asks for more pages without a session is refused for that reason.
        for routes in ROUTES.chunks(30) {
            let register = Register::with_setup(Setup {
                audience,
                ..Setup::default()
            });
            let ukprn = (role != UserRole::Operator).then_some(UKPRN);
            let (browser, form_token) = elsewhere(&register, ukprn, "elsewhere@example.com", role);
            let send = |route: &Route| -> Page {
                let path = path(route, 1);
                if route.method == Method::Post {
                    browser.send_form(
                        &path,
                        &[&[("form_token", form_token.as_str())], FIELDS.as_slice()].concat(),
                    )
                } else {
                    browser.open(&path)
                }
            };
            let before = state(&register);
            for route in routes
                .iter()
                .filter(|route| route.access() != Access::Public)
            {
                let page = send(route);
                let is_there =
                    is_shared(&route) || of_operators(&route) == (audience == Audience::Operators);
                assert_eq!(
                    page.status,
                    if is_there { 303 } else { 404 },
                    "{audience:?}, {role}: {route:?}"
                );
                assert!(
                    !is_there || page.header("location") == Some("/settings/sign-in"),
                    "{route:?}"
                );
                requests += 1;
            }
            assert_eq!(state(&register), before);
        }
    }
    eprintln!("{requests} requests");
    assert_eq!(
        requests,
        3 * ROUTES
            .iter()
            .filter(|route| route.access() != Access::Public)
            .count()
    );
}

#[test]
fn listener_signs_in_own_users_without_using_up_other_links() {
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
        let register = Register::with_setup(Setup {
            audience,
            ..Setup::default()
        });
        let secret = link(&register, other.0, "b@example.com", other.1);
        let own_link = link(&register, own.0, "c@example.com", own.1);
        let browser = Browser::new(&register);
        let form_token = form_token_of(
            &browser
                .open(&format!("/settings/sign-in/{own_link}"))
                .is(200),
        )
        .to_owned();
        let before = state(&register);
        browser.open(&format!("/settings/sign-in/{secret}")).is(410);
        browser.press(&secret, &form_token).is(410);
        assert_eq!((browser.cookie(), state(&register)), (None, before));
        Browser::signed_in(&register, own.0, "a@example.com", own.1)
            .open("/settings")
            .is(200);
    }
}

#[test]
fn no_form_is_accepted_without_the_token_of_its_session() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    let other = Browser::signed_in(&register, Some(UKPRN), "b@example.com", UserRole::Admin);
    let (own, others) = (admin.form_token(), other.form_token());
    assert_ne!(own, others);
    let before = state(&register);
    let mut refused = 0;
    for route in ROUTES
        .iter()
        .filter(|route| route.method == Method::Post && route.access() != Access::Public)
    {
        let path = path(route, 1);
        for wrong in [None, Some(""), Some("x"), Some(others.as_str())] {
            let fields: Vec<_> = wrong
                .map(|token| ("form_token", token))
                .into_iter()
                .chain(FIELDS)
                .collect();
            let page = admin.send_form(&path, &fields).is(403);
            page.shows(&["out of date"]);
            refused += 1;
        }
        // The right token, from a page of another site.
        let form = encode(&[&[("form_token", own.as_str())], FIELDS.as_slice()].concat());
        for (name, value) in [
            ("Sec-Fetch-Site", "cross-site"),
            ("Sec-Fetch-Site", "same-site"),
            ("Origin", "https://evil.example"),
            ("Origin", "http://127.0.0.1:1"),
        ] {
            let request = admin
                .request("POST", &path)
                .bytes(form.clone())
                .header("Content-Type", FORM);
            let page = request.header(name, value).page().is(403);
            page.shows(&["another site"]);
            refused += 1;
        }
    }
    eprintln!("{refused} forms refused");
    assert_eq!(state(&register), before);
    admin.open("/settings").is(200);
}
