//! Attacks on signed-in users, and on the pages themselves.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use storage::accounts::users::UserRole;
use storage::error::StorageError;
use versions::SERVED;

use super::browser::{Browser, FORM, cookie_of, encode, form_token_of, link};
use crate::api::support::register::UKPRN;
use crate::api::support::{Register, TextChecks as _};

#[test]
fn planted_session_ends_when_its_browser_signs_in() {
    let register = Register::start();
    let attacker = Browser::signed_in(
        &register,
        Some(UKPRN),
        "attacker@example.com",
        UserRole::Viewer,
    );
    let victim = Browser::new(&register);
    victim.set_cookie(attacker.cookie());
    victim
        .sign_in(&link(
            &register,
            Some(UKPRN),
            "victim@example.com",
            UserRole::Admin,
        ))
        .is(303);
    assert_ne!(victim.cookie(), attacker.cookie());
    attacker.open("/settings").is(303);
    victim.see("/settings", &["victim@example.com"]);
    // A made-up one is not taken over.
    let planted = format!("__Host-register-session={}", "A".repeat(43));
    let other = Browser::new(&register);
    other.set_cookie(Some(planted.clone()));
    other
        .sign_in(&link(
            &register,
            Some(UKPRN),
            "other@example.com",
            UserRole::Admin,
        ))
        .is(303);
    assert_ne!(other.cookie(), Some(planted));
}

#[test]
fn another_site_cannot_sign_a_browser_in() {
    let register = Register::start();
    let secret = link(
        &register,
        Some(UKPRN),
        "attacker@example.com",
        UserRole::Admin,
    );
    let path = format!("/settings/sign-in/{secret}");
    // The attacker knows what the form for another browser holds, and the victim has a cookie or
    // none.
    let attacker = register.request("GET", &path).page().is(200);
    let victim = register.request("GET", &path).page().is(200);
    let send = |form_token: &str, cookie: Option<String>, headers: &[(&str, &str)]| {
        let form = encode(&[("form_token", form_token), ("secret", &secret)]);
        let request = register
            .request("POST", "/settings/sign-in")
            .bytes(form)
            .header("Content-Type", FORM);
        let cookie = cookie.iter().map(|cookie| ("Cookie", cookie.as_str()));
        cookie
            .chain(headers.iter().copied())
            .fold(request, |request, (name, value)| {
                request.header(name, value)
            })
            .page()
    };
    let own = [("Sec-Fetch-Site", "same-origin"), ("Origin", "null")];
    for header in [
        ("Sec-Fetch-Site", "cross-site"),
        ("Origin", "https://evil.example"),
    ] {
        let page = send(form_token_of(&victim), cookie_of(&victim), &[header]).is(403);
        assert_eq!(page.header("set-cookie"), None);
    }
    // A browser that says nothing of where the form was, or nothing that helps.
    for headers in [[].as_slice(), &[("Origin", "null")], &own] {
        for (form_token, cookie) in [
            (form_token_of(&attacker), cookie_of(&victim)),
            (form_token_of(&attacker), None),
            ("", cookie_of(&victim)),
            ("", None),
        ] {
            let page = send(form_token, cookie, headers).is(403);
            page.shows(&["belongs to another browser"]);
            assert_eq!(page.header("set-cookie"), None);
        }
    }
    send(form_token_of(&victim), cookie_of(&victim), &own).is(303);
}

#[test]
fn nothing_of_a_request_decides_where_a_redirection_leads() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let evil = "https://evil.example/";
    let query = format!("?next={evil}&return_to=//evil.example&redirect={evil}&url={evil}");
    let fields = [
        ("next", evil),
        ("return_to", evil),
        ("redirect", evil),
        ("role", "admin"),
    ];
    let anonymous = Browser::new(&register);
    let secret = link(&register, Some(UKPRN), "b@example.com", UserRole::Viewer);
    let form_token = form_token_of(
        &anonymous
            .open(&format!("/settings/sign-in/{secret}?next={evil}"))
            .is(200),
    )
    .to_owned();
    let replies = [
        anonymous.open(&format!("/settings{query}")),
        anonymous.open(&format!("/settings/tokens{query}")),
        anonymous
            .request("GET", "/settings")
            .header("X-Forwarded-Host", "evil.example")
            .page(),
        anonymous.send_form(
            &format!("/settings/sign-in{query}"),
            &[
                &[("secret", secret.as_str()), ("form_token", &form_token)],
                fields.as_slice(),
            ]
            .concat(),
        ),
        admin.send(&format!("/settings/people/1/role{query}"), &fields),
        admin.send(&format!("/settings/tokens/1/revoke{query}"), &fields),
        admin.send(&format!("/settings/sign-out{query}"), &fields),
    ];
    for reply in replies {
        let location = reply
            .header("location")
            .unwrap_or_else(|| panic!("{} {}", reply.status, reply.text));
        assert!(
            location.starts_with("/settings") && !location.contains("evil"),
            "{location}"
        );
    }
}

#[test]
fn forms_are_limited_per_session() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let other = Browser::signed_in(&register, Some(UKPRN), "b@example.com", UserRole::Admin);
    let form_token = admin.form_token();
    let send = |_| {
        admin.send_form(
            "/settings/people/1/role",
            &[("form_token", &form_token), ("role", "admin")],
        )
    };
    let limited = (0..40).map(send).find(|page| page.status != 303).unwrap();
    assert_eq!(
        (limited.status, limited.header("retry-after").is_some()),
        (429, true),
        "{}",
        limited.text
    );
    admin.open("/settings/people").is(200);
    other
        .send("/settings/people/2/role", &[("role", "admin")])
        .is(303);
}

#[test]
fn a_form_that_is_too_large_or_none_is_refused() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let form_token = admin.form_token();
    let large = encode(&[("form_token", &form_token), ("name", &"x".repeat(16_384))]);
    admin
        .request("POST", "/settings/tokens")
        .bytes(large)
        .header("Content-Type", FORM)
        .page()
        .is(413);
    let form = encode(&[("form_token", &form_token), ("name", "Records")]);
    for media_type in [
        "text/plain",
        "multipart/form-data; boundary=x",
        "application/json",
        "",
    ] {
        let request = admin
            .request("POST", "/settings/tokens")
            .bytes(form.clone());
        request.header("Content-Type", media_type).page().is(415);
    }
    let request = admin
        .request("POST", "/settings/tokens")
        .bytes(form.clone())
        .header("Content-Type", FORM);
    request.header("Content-Encoding", "gzip").page().is(415);
    let request = admin.request("POST", "/settings/tokens").bytes(form);
    request
        .header("Content-Type", &format!("{FORM}; charset=UTF-8"))
        .page()
        .is(200);
    for method in ["PUT", "DELETE", "PATCH"] {
        assert_eq!(admin.request(method, "/settings/tokens").raw().status, 405);
    }
}

#[test]
fn pages_over_their_limit_are_rejected_while_the_api_works() {
    let register = Register::start();
    let admin = Browser::admin(&register);
    let (cookie, form_token) = (admin.cookie().unwrap(), admin.form_token());
    let api = register.api(SERVED[0]);
    api.get("/info").is(200);
    // Forms wait for the lock on the row of the organisation, or on SQLite for the writing
    // connection.
    let (store, (hold, held), (release, released)) =
        (register.store(), mpsc::channel(), mpsc::channel::<()>());
    let holder = thread::spawn(move || {
        store.write_blocking::<_, StorageError>(move |session| {
            session.rename_provider(UKPRN, "Another name")?;
            hold.send(()).unwrap();
            released.recv().unwrap();
            Ok(())
        })
    });
    held.recv().unwrap();
    let form = encode(&[("form_token", &form_token), ("role", "admin")]);
    let replies: Vec<_> = thread::scope(|scope| {
        let send = || {
            let request = register
                .request("POST", "/settings/people/1/role")
                .bytes(form.clone());
            request
                .header("Content-Type", FORM)
                .header("Cookie", &cookie)
                .page()
        };
        let sending: Vec<_> = (0..30).map(|_| scope.spawn(send)).collect();
        // Of one user two are begun, six wait, and the others are refused at once.
        while sending.iter().filter(|one| one.is_finished()).count() < 10 {
            thread::sleep(Duration::from_millis(10));
        }
        api.get("/info").is(200);
        release.send(()).unwrap();
        sending.into_iter().map(|one| one.join().unwrap()).collect()
    });
    holder.join().unwrap().unwrap();
    let refused: Vec<_> = replies.iter().filter(|page| page.status == 503).collect();
    assert!((10..=26).contains(&refused.len()), "{}", refused.len());
    for page in refused {
        assert_eq!(page.header("retry-after"), Some("1"));
        page.shows(&["The server is busy"]);
    }
    assert!(replies.iter().all(|page| [303, 503].contains(&page.status)));
}
