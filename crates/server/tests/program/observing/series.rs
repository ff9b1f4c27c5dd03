//! However odd what is sent: there are never more series than the program has written down.

use std::collections::BTreeSet;

use adapter_kit::Endpoint;
use gateway::request::authentication::AuthenticationError;
use http_kit::requests::methods::{METHODS, OTHER_METHOD};
use serde_json::json;
use storage::accounts::mails::MailKind;

use super::server::{Watched, exchange, head};
use crate::program::support::Workplace;

/// Sends all kinds of rubbish, which is another with each number.
fn send_rubbish(server: &Watched, number: u32) {
    let mut paths = vec![
        "/".to_owned(),
        "*".to_owned(),
        format!("/Person-{number}"),
        format!("/api/v{number}/trainees"),
        format!("/docs/Person-{number}"),
        format!("/docs/versions/v{number}"),
        format!("/docs/move/{number}/Person"),
        format!("/%50erson%0A{number}\""),
        format!("http://person-{number}/docs"),
        "/api/versions".to_owned(),
    ];
    for served in versions::all().iter() {
        let label = served.version.label;
        paths.push(format!("/api/{label}"));
        paths.push(format!("/api/{label}/Person-{number}"));
        paths.push(format!("/api/{label}/trainees?Person{number}=x"));
        paths.push(format!("/api/{label}/trainees/Person-{number}"));
        paths.push(format!(
            "/api/{label}/trainees/Person-{number}/degrees/x{number}"
        ));
        paths.push(format!("/api/{label}/openapi.json?{number}"));
    }
    let body =
        json!({ "data": { format!("person_{number}"): format!("Person {number}") } }).to_string();
    for path in &paths {
        for method in [
            "GET",
            "POST",
            "DELETE",
            "OPTIONS",
            &format!("PERSON{number}"),
            "person",
        ] {
            // The server waits for a body that is not read, which takes time.
            let text = if method == "POST" { body.as_str() } else { "" };
            let sent = format!("X-Request-Id: Person-{number}");
            server.send_body(
                method,
                path,
                &[&sent, &format!("X-Person-{number}: {number}")],
                text,
            );
        }
    }
    let newest = versions::all().newest().unwrap().version.label;
    let path = format!("/api/{newest}/info");
    for token in [
        String::new(),
        format!("Person{number}"),
        format!("Person{number} x"),
        format!("Bearer {number}"),
        format!("Bearer sandbox_{number}"),
        format!("Bearer sandbox_{number:064x}"),
        format!("Bearer production_{number:064x}"),
        format!("Bearer \u{e9}{number}"),
    ] {
        server.send("GET", &path, &[&format!("Authorization: {token}")]);
    }
    // Enough requests to reach the limit of the address too.
    while server.send("GET", &path, &[]).status != 429 {}
    for text in [
        format!("Person-{number}\r\n\r\n"),
        head("GET", &path, &["Content-Length: x", "Person"]),
    ] {
        assert_eq!(exchange(&server.public, &text).status, 400);
    }
}

#[test]
fn no_request_makes_an_unknown_series() {
    let place = Workplace::on_sqlite();
    let server = Watched::start(&place, "");
    send_rubbish(&server, 1);
    let before = server.scrape().series();
    for number in 2..5 {
        send_rubbish(&server, number);
    }
    let after = server.scrape();
    let more: BTreeSet<_> = after.series().difference(&before).cloned().collect();
    assert!(more.is_empty(), "{more:#?}");

    let labels: Vec<String> = versions::all()
        .iter()
        .map(|served| served.version.label.to_string())
        .collect();
    let paths = Endpoint::ALL.iter().map(|endpoint| endpoint.path());
    let paths: BTreeSet<&str> = paths
        .chain(["/openapi.json", "/api/versions", "/docs", "-"])
        .collect();
    for (name, series) in after.series() {
        for (label, value) in &series {
            let is_known = match label.as_str() {
                "version" => value == "-" || labels.contains(value),
                "endpoint" => paths.contains(value.as_str()),
                "method" => value == OTHER_METHOD || METHODS.contains(&value.as_str()),
                "status" => {
                    value == "cancelled"
                        || value
                            .parse()
                            .is_ok_and(|status| (200..600).contains(&status))
                }
                "reason" => AuthenticationError::ALL
                    .iter()
                    .any(|failure| failure.name() == value),
                "by" => ["address", "token"].contains(&value.as_str()),
                "kind" if name == "register_mails_total" => {
                    MailKind::ALL.iter().any(|kind| kind.name() == value)
                }
                "kind" => ["foreign", "other_version", "unknown"].contains(&value.as_str()),
                "outcome" => ["sent", "failed", "given_up", "not_needed"].contains(&value.as_str()),
                "queue" => ["pool", "writer"].contains(&value.as_str()),
                "state" => ["idle", "in_use"].contains(&value.as_str()),
                "access" => ["read", "write"].contains(&value.as_str()),
                "program" => value == env!("CARGO_PKG_VERSION"),
                _ => false,
            };
            assert!(is_known, "{name} {label}={value}");
        }
    }
    // What was sent was counted, under what it comes to.
    for (label, value) in [
        ("method", OTHER_METHOD),
        ("endpoint", "-"),
        ("version", "-"),
        ("endpoint", "/docs"),
    ] {
        assert!(
            after.sum("register_requests_total", (label, value)) > 0.0,
            "{label}={value}"
        );
    }
}
