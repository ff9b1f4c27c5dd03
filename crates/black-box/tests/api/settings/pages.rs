//! Content of the pages by user, and headers against caching and framing.

use std::sync::mpsc;
use std::thread;

use storage::accounts::users::{Actor, UserRole};
use storage::base::token::Environment;
use storage::error::StorageError;
use versions::SERVED;

use super::browser::{Browser, link, text_after};
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Page, Register, Setup};

#[track_caller]
pub(super) fn keeps_to_itself(page: &Page) {
    assert_eq!(
        page.header("content-security-policy"),
        Some(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
    );
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    assert_eq!(page.header("content-encoding"), None);
    for foreign in ["<style", "style=", "onclick"] {
        assert!(!page.text.contains(foreign), "{foreign} in {}", page.text);
    }
    assert_eq!(page.text.matches("<script").count(), 1);
    assert_eq!(page.text.matches("src=").count(), 1);
    assert!(page.text.contains("<script src=\"/docs/assets/"));
    assert_eq!(page.text.matches("<h1").count(), 1, "{}", page.text);
}

#[test]
fn settings_pages_have_security_headers_and_are_not_compressed() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    // A chart, and a list.
    register.api(SERVED[0]).get("/trainees/unknown").is(404);
    register.write_record();
    let secret = link(
        &register.store(),
        Some(UKPRN),
        "b@example.com",
        UserRole::Viewer,
    );
    let link = format!("/settings/sign-in/{secret}");
    let paths = [
        "/settings",
        "/settings/sign-in",
        &link,
        "/settings/tokens",
        "/settings/tokens/1/rotate",
        "/settings/tokens/1/revoke",
        "/settings/requests",
        "/settings/requests/search?outcome=refused",
        "/settings/usage",
        "/settings/readiness",
        "/settings/people",
        "/settings/people/1",
        "/settings/activity",
    ];
    for path in paths {
        keeps_to_itself(
            &admin
                .request("GET", path)
                .header("Accept-Encoding", "gzip")
                .page()
                .is(200),
        );
    }
    keeps_to_itself(
        &admin
            .send("/settings/tokens", &[("name", "Records")])
            .is(200),
    );
    keeps_to_itself(
        &admin
            .send(
                "/settings/people",
                &[("email", "c@example.com"), ("role", "viewer")],
            )
            .is(200),
    );
    keeps_to_itself(&admin.send("/settings/people", &[]).is(422));
    keeps_to_itself(&admin.open("/settings/requests/search?status=x").is(422));
    keeps_to_itself(&admin.open("/settings/nothing").is(404));
    keeps_to_itself(&admin.open("/settings/tokens/x/revoke").is(404));
    keeps_to_itself(&admin.send_form("/settings/tokens", &[]).is(403));
}

#[test]
fn pages_are_read_while_nothing_can_be_written() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    register.clock.set("2026-10-05T09:02:00Z");
    let store = register.store();
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    let writing = thread::spawn(move || {
        // On SQLite there is no other writer.
        store.write_blocking::<_, StorageError>(move |_| {
            begun.send(()).unwrap();
            may_go_on.recv().unwrap();
            Ok(())
        })
    });
    has_begun.recv().unwrap();
    let page = admin.open("/settings/tokens");
    go_on.send(()).unwrap();
    writing.join().unwrap().unwrap();
    page.is(200);
}

#[test]
fn a_slash_behind_the_address_leads_to_the_first_page() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    assert_eq!(
        admin.open("/settings/").is(303).header("location"),
        Some("/settings")
    );
}

#[test]
fn people_are_invited_given_another_role_and_removed() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    let invited = admin
        .send(
            "/settings/people",
            &[("email", " B@Example.com"), ("role", "viewer")],
        )
        .is(200);
    let link = text_after(
        &invited.text,
        "id=\"link\" readonly autofocus spellcheck=\"false\" autocomplete=\"off\" value=\"",
        "\"",
    );
    assert_eq!(invited.text.matches(link).count(), 2);
    assert!(
        admin
            .open("/settings/people")
            .text
            .contains("b@example.com (viewer), valid until 5 October 2026, 09:15 UTC")
    );
    let (origin, path) = link.split_once("/settings/").unwrap();
    assert!(origin.starts_with("http://127.0.0.1:"));
    let viewer = Browser::new(&register);
    viewer.open(&format!("/settings/{path}")).is(200);
    viewer
        .sign_in(path.strip_prefix("sign-in/").unwrap())
        .is(303);

    let people = viewer.open("/settings/people").is(200).text;
    assert!(people.contains("a@example.com") && !people.contains("<select"));
    assert!(
        !viewer
            .open("/settings/tokens")
            .is(200)
            .text
            .contains("Create token")
    );
    admin
        .send("/settings/people/2/role", &[("role", "admin")])
        .is(303);
    assert!(
        viewer
            .open("/settings/tokens")
            .is(200)
            .text
            .contains("Create token")
    );

    // The last admin stays.
    viewer.send("/settings/people/1/remove", &[]).is(303);
    admin.open("/settings").is(303);
    for (path, fields) in [("role", vec![("role", "viewer")]), ("remove", vec![])] {
        let page = viewer
            .send(&format!("/settings/people/2/{path}"), &fields)
            .is(422);
        assert!(page.text.contains("the only admin"), "{}", page.text);
    }
    // Who removes their own access is signed out.
    let other = Browser::signed_in(&register, Some(UKPRN), "c@example.com", UserRole::Admin);
    viewer.send("/settings/people/2/remove", &[]).is(303);
    assert_eq!(viewer.cookie(), None);
    other.open("/settings").is(200);
}

#[test]
fn who_has_access_is_invited_by_a_command_alone() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    let page = admin
        .send(
            "/settings/people",
            &[("email", "A@example.com"), ("role", "viewer")],
        )
        .is(422);
    assert!(page.text.contains("already has access"));
    let secret = link(
        &register.store(),
        Some(UKPRN),
        "a@example.com",
        UserRole::Viewer,
    );
    let again = Browser::new(&register);
    again.sign_in(&secret).is(303);
    assert!(
        again
            .open("/settings")
            .text
            .contains("a@example.com (admin)")
    );
}

#[test]
fn whether_somebody_has_access_elsewhere_is_not_to_be_seen() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    Browser::signed_in(
        &register,
        Some(OTHER_UKPRN),
        "known@example.com",
        UserRole::Admin,
    );
    let shown = |email: &str| {
        let page = admin
            .send("/settings/people", &[("email", email), ("role", "viewer")])
            .is(200)
            .text;
        let link = text_after(&page, "autocomplete=\"off\" value=\"", "\"").to_owned();
        page.replace(&link, "LINK").replace(email, "EMAIL")
    };
    assert_eq!(shown("known@example.com"), shown("unknown@example.com"));
}

#[test]
fn an_operator_sees_all_organisations_and_no_page_of_one() {
    let register = Register::start();
    let operator = Browser::signed_in(&register, None, "o@example.com", UserRole::Operator);
    Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    register.operate(|session| session.close_provider(OTHER_UKPRN).map(drop));
    let page = operator.open("/settings").is(200).text;
    for words in [
        UKPRN,
        "Ashdown University",
        OTHER_UKPRN,
        "Brackwater College",
        "closed",
        "open",
    ] {
        assert!(page.contains(words), "{words} in {page}");
    }
    assert!(
        page.contains("<td data-name=\"Active tokens\">1</td><td data-name=\"Users\">1</td>"),
        "{page}"
    );
    for path in [
        "/settings/tokens",
        "/settings/requests",
        "/settings/usage",
        "/settings/tokens/1/revoke",
    ] {
        operator.open(path).is(404);
    }
    let log = operator.open("/settings/activity").is(200).text;
    assert!(log.contains("the service") && log.contains(UKPRN) && log.contains("o@example.com"));
}

#[test]
fn a_long_activity_log_has_pages() {
    let register = Register::start();
    let admin = Browser::signed_in(&register, Some(UKPRN), "a@example.com", UserRole::Admin);
    register.operate(|session| {
        for number in 0..120 {
            let role = if number % 2 == 0 {
                UserRole::Viewer
            } else {
                UserRole::Admin
            };
            session.change_role(Actor::operator("operator"), 1, role)?;
        }
        Ok(())
    });
    let (mut path, mut entries, mut pages) = ("/settings/activity".to_owned(), 0, 0);
    loop {
        let page = admin.open(&path).is(200).text;
        (entries, pages) = (
            entries + page.matches("data-name=\"When\"").count(),
            pages + 1,
        );
        if !page.contains("Older entries") {
            break;
        }
        path = text_after(&page, "<a class=\"button second\" href=\"", "\"").to_owned();
    }
    // The token of the register under test, the link and its use are among them.
    assert_eq!((entries, pages), (123, 3));
}

#[test]
fn production_has_no_settings_unless_they_are_switched_on() {
    let register = Register::with_setup(Setup {
        environment: Environment::Production,
        ..Setup::default()
    });
    register
        .request("GET", "/settings")
        .send()
        .error(404, "NotFound");
    register
        .request("GET", "/settings/sign-in")
        .send()
        .error(404, "NotFound");
}
