//! The log: a line for each request, as text or as JSON.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use chrono::DateTime;
use server::sandbox::demo;
use test_support::Process;

use super::server::{Watched, exchange, head};
use crate::program::support::Workplace;

#[test]
fn request_is_one_line_with_its_facts_and_no_names() {
    let place = Workplace::new();
    let server = Watched::start(place.command(&["serve"], None));
    let version = versions::all().newest().unwrap().version.label.to_string();
    let path = format!("/api/{version}/trainees/Canary-1?name=Canary-2");
    assert_eq!(
        server
            .send_body("GET", &path, &["X-Request-Id: first"], "")
            .status,
        404
    );
    let lines = server.lines_until("first");
    let line = lines.last().unwrap();
    for (key, expected) in [
        ("level", "INFO"),
        ("target", "access"),
        ("message", "request"),
        ("request_id", "first"),
        ("method", "GET"),
        ("endpoint", "/trainees/{trainee_id}"),
        ("version", &version),
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
    let refusal = lines
        .iter()
        .find(|line| line["message"] == "request without valid token")
        .unwrap();
    assert_eq!(
        (&refusal["request_id"], &refusal["reason"]),
        (&"second".into(), &"malformed".into())
    );
    let unknown = lines.iter().find(|line| line["status"] == "404").unwrap();
    assert_eq!(
        (
            &unknown["method"],
            &unknown["endpoint"],
            &unknown["version"]
        ),
        (&"other".into(), &"-".into(), &"-".into())
    );
    for line in lines {
        assert!(
            line.get("token").is_none(),
            "a request without a valid token has none: {line}"
        );
        assert!(
            !line.to_string().to_ascii_lowercase().contains("canary"),
            "{line}"
        );
    }
}

/// The keys of a request whose job ran.
const JOB_KEYS: [&str; 4] = ["wait_ms", "database_ms", "statements", "runs"];

#[test]
fn access_line_has_the_times_of_the_job() {
    let place = Workplace::new();
    let server = Watched::start(place.command(&["serve"], None));
    let version = versions::all().newest().unwrap().version;
    let trainees = format!("/api/{}/trainees", version.label);
    let line_of = |id: &str| server.lines_until(id).pop().unwrap();
    assert_eq!(
        server
            .send_body("GET", &trainees, &["X-Request-Id: read"], "")
            .status,
        200
    );
    let headers = ["X-Request-Id: written", "Content-Type: application/json"];
    assert_eq!(
        server
            .send_body("POST", &trainees, &headers, &demo::example(version))
            .status,
        201
    );
    for id in ["read", "written"] {
        let line = line_of(id);
        let [wait, database, statements, runs] = JOB_KEYS.map(|key| line[key].as_f64().unwrap());
        assert!(
            wait >= 0.0 && database >= 0.0 && statements >= 1.0 && runs >= 1.0,
            "{line}"
        );
        assert!(
            wait + database <= line["milliseconds"].as_f64().unwrap() + 1.0,
            "{line}"
        );
    }
    assert_eq!(
        server
            .send("GET", "/api/versions", &["X-Request-Id: without"])
            .status,
        200
    );
    let line = line_of("without");
    assert!(JOB_KEYS.iter().all(|key| line.get(key).is_none()), "{line}");
}

#[test]
fn traceparent_is_logged_only_if_it_is_well_formed() {
    let place = Workplace::new();
    let server = Watched::start(place.command(&["serve"], None));
    let logged = |traceparent: &str| {
        let headers = [
            "X-Request-Id: traced",
            &format!("traceparent: {traceparent}"),
        ];
        assert_eq!(server.send("GET", "/api/versions", &headers).status, 200);
        server
            .lines_until("traced")
            .pop()
            .unwrap()
            .get("traceparent")
            .cloned()
    };
    let well_formed = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(logged(well_formed), Some(well_formed.into()));
    assert_eq!(logged(&well_formed.to_uppercase()), None);
    assert_eq!(logged("00-Canary-b7ad6b7169203331-01"), None);
}

#[test]
fn every_reply_names_its_request() {
    let place = Workplace::new();
    let server = Watched::start(place.command(&["serve"], None));
    let newest = versions::all().newest().unwrap().version.label;
    let cases = [
        ("GET", "/nowhere".to_owned(), 404),
        ("GET", format!("/api/{newest}/nowhere"), 404),
        ("DELETE", "/api/versions".to_owned(), 405),
        ("DELETE", format!("/api/{newest}/trainees"), 405),
        ("OPTIONS", format!("/api/{newest}/trainees"), 204),
        ("PURGE", "/docs".to_owned(), 405),
        ("GET", format!("/api/{newest}/trainees"), 401),
    ];
    for (method, path, status) in cases {
        let answer = server.send(method, &path, &["X-Request-Id: chosen_by-me.1"]);
        assert_eq!(
            (answer.status, answer.header("x-request-id")),
            (status, Some("chosen_by-me.1")),
            "{method} {path}"
        );
        let answer = server.send(method, &path, &["X-Request-Id: not well formed"]);
        let made = answer.header("x-request-id").unwrap();
        assert!(
            !made.is_empty() && made.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{made}"
        );
    }
}

#[test]
fn text_is_what_is_written_unless_json_is_requested() {
    let place = Workplace::new();
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0"], None);
    command
        .env("RUST_LOG", "info")
        .env("REGISTER_REGISTRY", "off")
        .stderr(Stdio::piped());
    let mut process = Process::start(&mut command);
    let mut lines = BufReader::new(process.stderr())
        .lines()
        .map_while(Result::ok);
    let address = lines.find_map(|line| {
        line.split_once("listening on http://")
            .map(|(_, host)| host.to_owned())
    });
    assert_eq!(
        exchange(
            &address.unwrap(),
            &head("GET", "/api/versions", &["X-Request-Id: text"])
        )
        .status,
        200
    );
    let line = lines.find(|line| line.contains("request_id=text")).unwrap();
    process.kill();
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
