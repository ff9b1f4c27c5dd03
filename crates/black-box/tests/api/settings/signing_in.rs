//! Links and sessions: what begins one, and what ends it.

use std::thread;

use storage::accounts::users::{Actor, UserRole};

use super::browser::{Browser, FORM, cookie_of, encode, form_token_of, link};
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Register, Setup, TextChecks as _};

#[test]
fn link_shows_its_destination_and_only_the_button_uses_it() {
    let register = Register::start();
    let secret = link(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    let path = format!("/settings/sign-in/{secret}");
    let browser = Browser::new(&register);
    for _ in 0..3 {
        let page = browser.see(&path, &["Ashdown University", "viewer"]);
        page.lacks(&["a@example.com"]);
        assert_eq!(browser.cookie(), None);
        assert_eq!(browser.request("HEAD", &path).raw().status, 200);
    }
    browser.sign_in(&secret).is(303);
    browser.see("/settings", &["Ashdown University", "a@example.com"]);
    // The limit is used up for all clients.
    Browser::new(&register).open(&path).is(410);
    Browser::new(&register).sign_in(&secret).is(410);
}

#[test]
fn unknown_used_replaced_and_expired_links_look_the_same() {
    let register = Register::start();
    let browser = Browser::new(&register);
    let make = |email| link(&register, Some(UKPRN), email, UserRole::Viewer);
    let used = make("a@example.com");
    browser.sign_in(&used).is(303);
    browser.send("/settings/sign-out", &[]).is(303);
    let replaced = make("b@example.com");
    let fresh = make("b@example.com");
    let expired = make("c@example.com");
    let form_token =
        form_token_of(&browser.open(&format!("/settings/sign-in/{fresh}")).is(200)).to_owned();
    let reply = |secret: &str| {
        let shown = browser
            .open(&format!("/settings/sign-in/{secret}"))
            .is(410)
            .text;
        assert_eq!(browser.press(secret, &form_token).is(410).text, shown);
        shown
    };
    let unknown = reply("nothing");
    assert_eq!(reply(&used), unknown);
    assert_eq!(reply(&replaced), unknown);
    register.clock.set("2026-10-05T09:15:01Z");
    assert_eq!(reply(&expired), unknown);
    assert_eq!(reply(&fresh), unknown);
    assert_eq!(browser.cookie(), None);
}

#[test]
fn the_button_can_be_pressed_twice_and_signs_in_once() {
    let register = Register::start();
    let secret = link(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    let browser = Browser::new(&register);
    let page = browser.open(&format!("/settings/sign-in/{secret}")).is(200);
    let form_token = form_token_of(&page);
    let (form, cookie) = (
        encode(&[("form_token", form_token), ("secret", &secret)]),
        cookie_of(&page).unwrap(),
    );
    let pressed: Vec<_> = thread::scope(|scope| {
        let press = || {
            let request = register
                .request("POST", "/settings/sign-in")
                .bytes(form.clone());
            request
                .header("Content-Type", FORM)
                .header("Cookie", &cookie)
                .page()
        };
        let pressing: Vec<_> = (0..4).map(|_| scope.spawn(press)).collect();
        pressing
            .into_iter()
            .map(|one| one.join().unwrap())
            .collect()
    });
    let cookies: Vec<_> = pressed
        .iter()
        .map(|page| (page.status, cookie_of(page).unwrap()))
        .collect();
    assert!(
        cookies.iter().all(|one| *one == cookies[0] && one.0 == 303),
        "{cookies:?}"
    );
    browser.set_cookie(Some(cookies[0].1.clone()));
    browser.open("/settings").is(200);
    // Another browser that saw the page, and the same one when it has signed out, are refused.
    Browser::new(&register).press(&secret, form_token).is(403);
    browser.send("/settings/sign-out", &[]).is(303);
    browser.press(&secret, form_token).is(410);
}

#[test]
fn browsers_that_race_for_a_link_begin_one_session() {
    let register = Register::start();
    let secret = link(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    let statuses: Vec<u16> = thread::scope(|scope| {
        let race = || scope.spawn(|| Browser::new(&register).sign_in(&secret).status);
        let racing: Vec<_> = (0..6).map(|_| race()).collect();
        racing.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 303).count(),
        1,
        "{statuses:?}"
    );
}

#[test]
fn session_ends_after_half_an_hour_idle_or_eight_hours() {
    let register = Register::start();
    let browser = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    for minutes in ["20", "40"] {
        register.clock.set(&format!("2026-10-05T09:{minutes}:00Z"));
        browser.open("/settings").is(200);
    }
    register.clock.set("2026-10-05T10:10:00Z");
    let page = browser.open("/settings").is(303);
    assert_eq!(page.header("location"), Some("/settings/sign-in"));

    let browser = Browser::signed_in(&register, Some(UKPRN), "b@example.com", UserRole::Viewer);
    for quarter in 1..32 {
        register.clock.set(&format!(
            "2026-10-05T{:02}:{:02}:00Z",
            10 + (10 + quarter * 15) / 60,
            (10 + quarter * 15) % 60
        ));
        browser.open("/settings/tokens").is(200);
    }
    register.clock.set("2026-10-05T18:10:01Z");
    browser.open("/settings/tokens").is(303);
}

#[test]
fn whoever_signs_out_everywhere_is_signed_out_everywhere() {
    let register = Register::start();
    let [one, two] = [(), ()]
        .map(|()| Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Viewer));
    let somebody_else =
        Browser::signed_in(&register, Some(UKPRN), "b@example.com", UserRole::Viewer);
    let kept = two.cookie();
    one.send("/settings/sign-out", &[]).is(303);
    one.open("/settings").is(303);
    two.open("/settings").is(200);
    let one = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    one.send("/settings/sign-out-everywhere", &[]).is(303);
    two.set_cookie(kept);
    two.open("/settings").is(303);
    somebody_else.open("/settings").is(200);
}

#[test]
fn whoever_has_several_sessions_sees_them_and_ends_one() {
    let register = Register::start();
    let one = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    register.clock.set("2026-10-05T09:10:00Z");
    let two = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    Browser::signed_in(&register, Some(UKPRN), "b@example.com", UserRole::Viewer);
    let page = two.open("/settings/sessions").is(200).text;
    assert_eq!(
        page.matches("data-name=\"Signed in at\"").count(),
        2,
        "{page}"
    );
    page.shows(&[
        ">5 Oct, 09:10</time> (this session)",
        "/settings/sessions/1/end",
    ]);
    // Secrets of another user, or of none.
    for id in [3, 99] {
        two.send(&format!("/settings/sessions/{id}/end"), &[])
            .is(404);
    }
    let ended = two.send("/settings/sessions/1/end", &[]).is(303);
    assert_eq!(ended.header("location"), Some("/settings/sessions"));
    one.open("/settings").is(303);
    let ended = two.send("/settings/sessions/2/end", &[]).is(303);
    assert_eq!(ended.header("location"), Some("/settings/signed-out"));
    two.open("/settings").is(303);
}

#[test]
fn an_admin_and_a_command_sign_somebody_out_everywhere() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let viewer = Browser::viewer(&register);
    let other = Browser::other_admin(&register);
    admin.send("/settings/people/2/sign-out", &[]).is(303);
    viewer.open("/settings").is(303);
    admin.send("/settings/people/3/sign-out", &[]).is(404);
    other.open("/settings").is(200);
    admin.see("/settings/activity", &["signed out everywhere: user 2"]);
    // The access is still there.
    let viewer = Browser::viewer(&register);
    viewer.open("/settings").is(200);
    assert_eq!(
        register.operate(|session| session.sign_out_all(Actor::operator("operator"))),
        3
    );
    for browser in [&admin, &viewer, &other] {
        browser.open("/settings").is(303);
    }
}

#[test]
fn removed_user_changed_role_and_closed_provider_apply_immediately() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let other = Browser::signed_in(&register, Some(UKPRN), "b@example.com", UserRole::Admin);
    let id_of = |email: &'static str| {
        register.operate(move |session| {
            Ok(session
                .list_users(None)?
                .into_iter()
                .find(|user| user.email == email)
                .unwrap()
                .id)
        })
    };
    let token = other.form_token();
    // By a command, which is another process with its own store.
    let store = register.another_store();
    let id = id_of("b@example.com");
    let role = UserRole::Viewer;
    store
        .write_blocking(move |session| {
            session
                .change_role(Actor::operator("operator"), id, role)
                .map(drop)
        })
        .unwrap();
    let fields = [("form_token", token.as_str()), ("name", "Records")];
    other.send_form("/settings/tokens", &fields).is(403);
    other.open("/settings/tokens").is(200);
    admin
        .send(&format!("/settings/people/{id}/remove"), &[])
        .is(303);
    other.open("/settings/tokens").is(303);
    other.send_form("/settings/tokens", &fields).is(303);

    register.operate(|session| session.close_provider(UKPRN).map(drop));
    admin.open("/settings").is(303);
    let elsewhere = Browser::signed_in(
        &register,
        Some(OTHER_UKPRN),
        "a@example.com",
        UserRole::Admin,
    );
    elsewhere.open("/settings").is(200);
}

#[test]
fn cookie_is_limited_to_this_host_and_hidden_from_scripts() {
    let attributes = "; Path=/; Secure; HttpOnly; SameSite=Lax";
    let proxies = "127.0.0.1".parse().unwrap();
    let register = Register::with_setup(Setup {
        proxies,
        ..Setup::default()
    });
    let make = || link(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    let accept = |secret: &str, header: Option<(&str, &str)>| {
        let shown = register
            .request("GET", &format!("/settings/sign-in/{secret}"))
            .page();
        let form = encode(&[("form_token", form_token_of(&shown)), ("secret", secret)]);
        let request = register.request("POST", "/settings/sign-in").bytes(form);
        let request = request
            .header("Content-Type", FORM)
            .header("Cookie", &cookie_of(&shown).unwrap());
        header
            .into_iter()
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            })
            .page()
    };
    for header in [
        None,
        Some(("X-Forwarded-Proto", "https")),
        Some(("Forwarded", "for=192.0.2.1;proto=https")),
    ] {
        let page = accept(&make(), header).is(303);
        let cookie = page.header("set-cookie").unwrap();
        assert!(
            cookie.starts_with("__Host-register-session=") && cookie.ends_with(attributes),
            "{cookie}"
        );
        assert_eq!(page.header("location"), Some("/settings"));
    }
    // Over a network without encryption there is no cookie, and no page but the one that says why.
    let secret = make();
    for header in [
        ("X-Forwarded-Proto", "http"),
        ("X-Forwarded-For", "192.0.2.1"),
        ("Host", "register.example"),
    ] {
        let page = accept(&secret, Some(header)).is(403);
        assert!(
            page.text.contains("needs HTTPS") && page.header("set-cookie").is_none(),
            "{header:?}"
        );
        register
            .request("GET", "/settings")
            .header(header.0, header.1)
            .page()
            .is(403);
    }
    accept(&secret, None).is(303);
}

#[test]
fn guessing_of_secrets_is_limited_by_address_unlike_sessions() {
    let register = Register::start();
    let browser = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    browser.open("/settings").is(200);
    let stranger = Browser::new(&register);
    let limited = (0..200).find_map(|number| {
        let page = stranger.press(&format!("{number}"), "");
        (page.status == 429).then_some(page)
    });
    let limited = limited.unwrap();
    assert!(limited.header("retry-after").is_some());
    assert_eq!(
        limited.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    stranger.set_cookie(Some(format!("__Host-register-session={}", "A".repeat(43))));
    assert_eq!(stranger.open("/settings").status, 429);
    browser.open("/settings").is(200);
}
