//! The whole life of a token in use, from the invitation of its creator to its revocation.

use storage::base::cause::Cause;
use storage::base::token::TokenDigest;
use storage::error::StorageError;
use versions::SERVED;

use super::browser::{Browser, text_after};
use crate::api::support::register::UKPRN;
use crate::api::support::{Register, TextChecks as _};

/// Whether another server over the same database accepts a token.
fn other_server_accepts(register: &Register, token: &str) -> bool {
    let digest = TokenDigest::from_text(token);
    let store = register.another_store();
    store
        .read_blocking::<_, StorageError>(|session| {
            Ok(session.authenticate(&digest, Cause::new("test"))?.is_some())
        })
        .unwrap()
}

fn token_on(page: &str) -> String {
    text_after(
        page,
        "id=\"token\" readonly autofocus spellcheck=\"false\" autocomplete=\"off\" value=\"",
        "\"",
    )
    .to_owned()
}

#[test]
fn token_in_use_lives_from_invitation_to_revocation() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let made = admin
        .send(
            "/settings/tokens",
            &[("name", "Student records"), ("expires", "")],
        )
        .is(200);
    assert_eq!(made.header("cache-control"), Some("no-store"));
    let first = token_on(&made.text);
    assert!(first.starts_with("sandbox_"));
    // The text for a mail has all but the token.
    assert_eq!(made.text.matches(&first).count(), 1);
    let client = |token: &str| {
        register
            .api_with_token(SERVED[0], token.to_owned())
            .get("/info")
    };
    client(&first).is(200);
    assert!(other_server_accepts(&register, &first));
    register.write_record();
    register.wait_for_token_use("Student records", "2026-10-05");

    let list = admin.open("/settings/tokens").is(200);
    list.lacks(&[&first]);
    let label = SERVED[0].label.to_string();
    list.shows(&[
        "Student records",
        "by a@example.com",
        "5 April 2027",
        &format!("5 October 2026, with {label}"),
    ]);
    let tokens = register.operate(|session| session.list_tokens(Some(UKPRN)));
    let id = tokens
        .iter()
        .find(|token| token.name == "Student records")
        .unwrap()
        .id;

    admin.see(&format!("/settings/tokens/{id}/rotate"), &["value=\"7\""]);
    let rotated = admin
        .send(
            &format!("/settings/tokens/{id}/rotate"),
            &[("overlap", "7")],
        )
        .is(200);
    let second = token_on(&rotated.text);
    rotated.shows(&["12 October 2026"]);
    client(&second).is(200);
    client(&first).is(200);

    admin.open(&format!("/settings/tokens/{id}/revoke")).is(200);
    client(&first).is(200);
    let revoked = admin
        .send(&format!("/settings/tokens/{id}/revoke"), &[])
        .is(303);
    assert_eq!(revoked.header("location"), Some("/settings/tokens"));
    client(&first).is(401);
    client(&second).is(200);
    assert!(!other_server_accepts(&register, &first) && other_server_accepts(&register, &second));
    admin.open(&format!("/settings/tokens/{id}/revoke")).is(404);

    let log = admin.open("/settings/activity").is(200).text;
    let at = |words: &str| {
        log.find(words)
            .unwrap_or_else(|| panic!("{words} in {log}"))
    };
    let order = [
        "revoked a token",
        "replaced a token",
        "created a token",
        "signed in",
        "created a sign-in link",
    ]
    .map(at);
    assert!(order.is_sorted(), "{order:?}");
    log.shows(&["a@example.com (user 1)", "127.0.0.1"]);
    log.lacks(&[&first, &second]);
}

#[test]
fn a_form_that_is_sent_twice_makes_one_token() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let fields = [("name", "Student records"), ("expires", "")];
    let tokens = || register.operate(|session| session.list_tokens(Some(UKPRN)));
    let make = || admin.send("/settings/tokens", &fields);
    let before = tokens().len();
    make().is(200);
    make().is(422).shows(&["less than a minute ago"]);
    assert_eq!(tokens().len(), before + 1);
    let id = tokens().last().unwrap().id;
    let replace = || {
        admin.send(
            &format!("/settings/tokens/{id}/rotate"),
            &[("overlap", "7")],
        )
    };
    replace().is(200);
    replace().is(422).shows(&["less than a minute ago"]);
    assert_eq!(tokens().len(), before + 2);
    // One that was revoked is in nobody's way, and a minute later it is another form.
    admin
        .send("/settings/tokens", &[("name", "Another"), ("expires", "")])
        .is(200);
    let another = tokens().last().unwrap().id;
    admin
        .send(&format!("/settings/tokens/{another}/revoke"), &[])
        .is(303);
    admin
        .send("/settings/tokens", &[("name", "Another"), ("expires", "")])
        .is(200);
    register.clock.set("2026-10-05T09:02:00Z");
    replace().is(200);
    register.clock.set("2026-10-05T09:04:00Z");
    make().is(200);
}

#[test]
fn form_errors_are_shown_together_and_keep_the_typed_values() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let before = register.operate(|session| session.list_tokens(None)).len();
    let page = admin
        .send("/settings/tokens", &[("name", ""), ("expires", "tomorrow")])
        .is(422);
    page.shows(&[
        "href=\"#name\"",
        "href=\"#expires\"",
        "value=\"tomorrow\"",
        "id=\"name-fault\"",
        "<title>Error: ",
    ]);
    let long = "x".repeat(201);
    for fields in [
        [("name", long.as_str()), ("expires", "")],
        [("name", "\u{200b}\u{2060}"), ("expires", "")],
        [("name", "Records"), ("expires", "2026-10-05")],
        [("name", "Records"), ("expires", "2026-11-2")],
        [("name", "Records"), ("expires", "2027-04-06")],
    ] {
        admin.send("/settings/tokens", &fields).is(422);
    }
    assert_eq!(
        register.operate(|session| session.list_tokens(None)).len(),
        before
    );
    for overlap in ["", "0", "x", "181", "-1"] {
        admin
            .send("/settings/tokens/1/rotate", &[("overlap", overlap)])
            .is(422);
    }
    let page = admin
        .send(
            "/settings/people",
            &[("email", "unknown"), ("role", "operator")],
        )
        .is(422);
    page.shows(&["href=\"#email\"", "href=\"#role\"", "value=\"unknown\""]);
}
