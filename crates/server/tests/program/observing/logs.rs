//! The log: a line for each request, as text or as JSON.

use chrono::DateTime;
use server::sandbox::demo;

use super::server::{Watched, exchange, head};
use crate::program::support::running::Running;
use crate::program::support::{Workplace, newest, path};

#[test]
fn request_is_one_line_without_names() {
    let place = Workplace::new();
    let server = Watched::start(&place, "");
    let path = path("/trainees/Canary-1?name=Canary-2");
    let reply = server.send_body("GET", &path, &["X-Request-Id: first"], "");
    assert_eq!(reply.status, 404);
    let lines = server.lines_until("first");
    let line = lines.last().unwrap();
    for (key, expected) in [
        ("level", "INFO"),
        ("target", "access"),
        ("message", "request"),
        ("request_id", "first"),
        ("method", "GET"),
        ("endpoint", "/trainees/{trainee_id}"),
        ("version", &newest().label.to_string()),
        ("status", "404"),
    ] {
        assert_eq!(line[key], expected, "{key}: {line}");
    }
    assert!(line["milliseconds"].as_f64().unwrap() >= 0.0);
    // The demo has the first token.
    assert_eq!(line["token"], 1, "{line}");
    let timestamp = line["timestamp"].as_str().unwrap();
    assert!(
        timestamp.ends_with('Z') && DateTime::parse_from_rfc3339(timestamp).is_ok(),
        "{timestamp}"
    );
    assert_eq!(line.as_object().unwrap().len(), 15, "{line}");

    // What is not in order is told with the same identifier, and never as it was sent.
    let canaries = ["Authorization: Bearer Canary-3", "X-Request-Id: second"];
    assert_eq!(server.send("CANARY", "/Canary-4", &canaries).status, 404);
    assert_eq!(server.send("GET", &path, &canaries).status, 401);
    let lines: Vec<_> = [server.lines_until("second"), server.lines_until("second")].concat();
    let is_refusal = |line: &&serde_json::Value| line["message"] == "request without valid token";
    let refusal = lines.iter().find(is_refusal).unwrap();
    assert_eq!(refusal["request_id"], "second");
    assert_eq!(refusal["reason"], "malformed");
    let unknown = lines.iter().find(|line| line["status"] == "404").unwrap();
    for (key, expected) in [("method", "other"), ("endpoint", "-"), ("version", "-")] {
        assert_eq!(unknown[key], expected, "{key}");
    }
    for line in lines {
        assert!(
            line.get("token").is_none(),
            "a request without a valid token has none: {line}"
        );
        let text = line.to_string().to_ascii_lowercase();
        assert!(!text.contains("canary"), "{line}");
    }
}

/// The keys of a request whose job ran.
const JOB_KEYS: [&str; 4] = ["wait_ms", "database_ms", "statements", "runs"];

#[test]
fn access_line_has_job_times_and_traceparent() {
    let place = Workplace::new();
    let server = Watched::start(&place, "");
    let trainees = path("/trainees");
    let read = server.send_body("GET", &trainees, &["X-Request-Id: read"], "");
    assert_eq!(read.status, 200);
    let headers = ["X-Request-Id: written", "Content-Type: application/json"];
    let written = server.send_body("POST", &trainees, &headers, &demo::example(newest()));
    assert_eq!(written.status, 201);
    for id in ["read", "written"] {
        let line = server.lines_until(id).pop().unwrap();
        let [wait, database, statements, runs] = JOB_KEYS.map(|key| line[key].as_f64().unwrap());
        assert!(
            wait >= 0.0 && database >= 0.0 && statements >= 1.0 && runs >= 1.0,
            "{line}"
        );
        let all = line["milliseconds"].as_f64().unwrap();
        assert!(wait + database <= all + 1.0, "{line}");
    }
    let well_formed = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    for (sent, is_logged) in [
        (well_formed, true),
        (&*well_formed.to_uppercase(), false),
        ("00-Canary-b7ad6b7169203331-01", false),
    ] {
        let headers = ["X-Request-Id: traced", &format!("traceparent: {sent}")];
        assert_eq!(server.send("GET", "/api/versions", &headers).status, 200);
        let line = server.lines_until("traced").pop().unwrap();
        let expected = is_logged.then(|| sent.into());
        assert_eq!(line.get("traceparent").cloned(), expected, "{sent}");
        assert!(JOB_KEYS.iter().all(|key| line.get(key).is_none()), "{line}");
    }
}

#[test]
fn every_reply_names_its_request() {
    let place = Workplace::new();
    let server = Watched::start(&place, "");
    for (method, path, status) in [
        ("GET", "/nowhere", 404),
        ("GET", &*path("/nowhere"), 404),
        ("DELETE", "/api/versions", 405),
        ("DELETE", &*path("/trainees"), 405),
        ("OPTIONS", &*path("/trainees"), 204),
        ("PURGE", "/docs", 405),
        ("GET", &*path("/trainees"), 401),
    ] {
        let answer = server.send(method, path, &["X-Request-Id: chosen_by-me.1"]);
        assert_eq!(
            (answer.status, answer.header("x-request-id")),
            (status, Some("chosen_by-me.1")),
            "{method} {path}"
        );
        let answer = server.send(method, path, &["X-Request-Id: not well formed"]);
        let made = answer.header("x-request-id").unwrap();
        assert!(
            !made.is_empty() && made.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{made}"
        );
    }
}

#[test]
fn log_is_text_unless_json_is_requested() {
    let place = Workplace::new();
    let mut command = Running::command(&place, "--registry off");
    command.env("RUST_LOG", "info");
    let mut server = Running::begin_command(command);
    server.wait_until_it_listens();
    let request = head("GET", "/api/versions", &["X-Request-Id: text"]);
    assert_eq!(exchange(server.address(), &request).status, 200);
    let line = server.wait_for("request_id=text");
    for fact in [
        "INFO",
        "access",
        " method=GET ",
        " endpoint=/api/versions ",
        " version=- ",
        " status=200 ",
        " milliseconds=",
    ] {
        assert!(line.contains(fact), "{fact}: {line}");
    }
}
