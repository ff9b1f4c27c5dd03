//! Content of the pages by user, and headers against caching and framing.

use std::sync::mpsc;
use std::thread;

use storage::accounts::users::{Actor, UserRole};
use storage::base::token::Environment;
use storage::error::StorageError;
use versions::SERVED;

use super::browser::{Browser, link, text_after};
use crate::api::support::register::{OTHER_UKPRN, UKPRN};
use crate::api::support::{Page, Register, Setup, TextChecks as _};

/// Checks that a page loads nothing but the assets of the register.
#[track_caller]
pub(crate) fn loads_nothing_foreign(page: &Page) {
    assert_eq!(
        page.header("content-security-policy"),
        Some(
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
        )
    );
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ] {
        assert_eq!(page.header(name), Some(value));
    }
    page.lacks(&["<style", "style=", "onclick"]);
    assert_eq!(page.text.matches("<script").count(), 1);
    assert_eq!(page.text.matches("src=").count(), 1);
    page.shows(&["<script src=\"/docs/assets/"]);
    assert_eq!(page.text.matches("<h1").count(), 1, "{}", page.text);
}

pub(super) const SCRIPT: &str = "<script>alert(1)</script>\"'><img onerror=alert(1)>";

/// Checks that pages show the script as text, and have headers against others.
#[track_caller]
pub(super) fn are_safe(pages: &[Page]) {
    let mut planted = 0;
    for page in pages {
        loads_nothing_foreign(page);
        assert_eq!(page.header("cache-control"), Some("no-store"));
        assert_eq!(page.header("content-encoding"), None);
        page.lacks(&["<img", "\"'>"]);
        planted += page.text.matches("&#60;script&#62;").count();
    }
    assert!(planted > 15, "{planted}");
}

#[test]
fn settings_pages_are_safe_with_planted_scripts() {
    let register = Register::start();
    let admin = Browser::signed_in(
        &register,
        Some(UKPRN),
        "a'&`{}@example.com",
        UserRole::Admin,
    );
    // A chart, and a list.
    register.api(SERVED[0]).get("/trainees/unknown").is(404);
    register.write_record();
    register.operate(|session| {
        session.rename_provider(UKPRN, SCRIPT)?;
        session.change_role(Actor::operator(SCRIPT), 1, UserRole::Viewer)?;
        session
            .change_role(Actor::operator(SCRIPT), 1, UserRole::Admin)
            .map(drop)
    });
    let mut pages = Vec::new();
    let invited = [("email", "b@example.com"), ("role", "viewer")];
    for (path, fields, status) in [
        ("/settings/tokens", &[("name", SCRIPT)][..], 200),
        (
            "/settings/tokens",
            &[("name", SCRIPT), ("expires", SCRIPT)],
            422,
        ),
        ("/settings/tokens/1/rotate", &[("overlap", SCRIPT)], 422),
        (
            "/settings/people",
            &[("email", SCRIPT), ("role", SCRIPT)],
            422,
        ),
        ("/settings/people", &[], 422),
        ("/settings/people", &invited, 200),
    ] {
        pages.push(admin.send(path, fields).is(status));
    }
    pages.push(admin.send_form("/settings/tokens", &[]).is(403));
    Browser::signed_in(&register, Some(UKPRN), "gone@example.com", UserRole::Viewer);
    register.operate(|session| session.erase_user(Actor::operator(SCRIPT), 2, SCRIPT));
    let operator = Browser::signed_in(&register, None, "p@example.com", UserRole::Operator);
    let secret = link(&register, Some(UKPRN), "c@example.com", UserRole::Viewer);
    let link = format!("/settings/sign-in/{secret}");
    for (path, status) in [
        ("/settings", 200),
        ("/settings/sign-in", 200),
        (&link, 200),
        ("/settings/tokens", 200),
        ("/settings/tokens/2/rotate", 200),
        ("/settings/tokens/2/revoke", 200),
        ("/settings/tokens/x/revoke", 404),
        ("/settings/requests", 200),
        ("/settings/requests/search?outcome=refused", 200),
        ("/settings/requests/search?status=x", 422),
        ("/settings/usage", 200),
        ("/settings/readiness", 200),
        ("/settings/people", 200),
        ("/settings/people/1", 200),
        ("/settings/activity", 200),
        ("/settings/nothing", 404),
    ] {
        let request = admin.request("GET", path);
        pages.push(request.header("Accept-Encoding", "gzip").page().is(status));
    }
    pages.extend(["/settings", "/settings/activity"].map(|path| operator.open(path).is(200)));
    are_safe(&pages);
}

#[test]
fn pages_are_read_while_nothing_can_be_written() {
    let register = Register::start();
    let admin = Browser::admin(&register);
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
    let admin = Browser::admin(&register);
    assert_eq!(
        admin.open("/settings/").is(303).header("location"),
        Some("/settings")
    );
}

#[test]
fn people_are_invited_given_another_role_and_removed() {
    let register = Register::start();
    let admin = Browser::admin(&register);
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
    admin
        .open("/settings/people")
        .shows(&["b@example.com (viewer), valid until 5 October 2026, 09:15 UTC"]);
    let (origin, path) = link.split_once("/settings/").unwrap();
    assert!(origin.starts_with("http://127.0.0.1:"));
    let viewer = Browser::new(&register);
    viewer.open(&format!("/settings/{path}")).is(200);
    viewer
        .sign_in(path.strip_prefix("sign-in/").unwrap())
        .is(303);

    let people = viewer.see("/settings/people", &["a@example.com"]).text;
    people.lacks(&["<select"]);
    viewer
        .open("/settings/tokens")
        .is(200)
        .lacks(&["Create token"]);
    admin
        .send("/settings/people/2/role", &[("role", "admin")])
        .is(303);
    viewer.see("/settings/tokens", &["Create token"]);

    // The last admin stays.
    viewer.send("/settings/people/1/remove", &[]).is(303);
    admin.open("/settings").is(303);
    for (path, fields) in [("role", vec![("role", "viewer")]), ("remove", vec![])] {
        let page = viewer
            .send(&format!("/settings/people/2/{path}"), &fields)
            .is(422);
        page.shows(&["the only admin"]);
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
    let admin = Browser::admin(&register);
    let page = admin
        .send(
            "/settings/people",
            &[("email", "A@example.com"), ("role", "viewer")],
        )
        .is(422);
    page.shows(&["already has access"]);
    let secret = link(&register, Some(UKPRN), "a@example.com", UserRole::Viewer);
    let again = Browser::new(&register);
    again.sign_in(&secret).is(303);
    again.see("/settings", &["a@example.com (admin)"]);
}

#[test]
fn whether_somebody_has_access_elsewhere_is_not_to_be_seen() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    Browser::signed_in(
        &register,
        Some(OTHER_UKPRN),
        "known@example.com",
        UserRole::Admin,
    );
    let shown = |email: &str| {
        let page = admin
            .send("/settings/people", &[("email", email), ("role", "editor")])
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
    let operator = Browser::operator(&register);
    Browser::admin(&register);
    register.operate(|session| session.close_provider(OTHER_UKPRN).map(drop));
    let page = operator.open("/settings").is(200).text;
    page.shows(&[
        UKPRN,
        "Ashdown University",
        OTHER_UKPRN,
        "Brackwater College",
        "closed",
        "open",
        "<td data-name=\"Active tokens\">1</td><td data-name=\"Users\">1</td>",
    ]);
    for path in [
        "/settings/tokens",
        "/settings/requests",
        "/settings/usage",
        "/settings/tokens/1/revoke",
    ] {
        operator.open(path).is(404);
    }
    let log = operator.open("/settings/activity").is(200).text;
    log.shows(&["the service", UKPRN, "o@example.com"]);
}

#[test]
fn a_long_activity_log_has_pages() {
    let register = Register::start();
    let admin = Browser::admin(&register);
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
