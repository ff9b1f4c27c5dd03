//! Paths, versions and methods that are there and that are not, and what every reply has.

use adapter_kit::Label;
use serde_json::json;
use versions::SERVED;

use crate::api::support::{Register, Response, every_version, run_cases};

#[test]
fn unknown_path_or_method_is_refused() {
    run_cases(include_str!("paths.txt"));
}

#[test]
fn unknown_version_gets_list_of_served_ones() {
    let register = Register::start();
    let newest = SERVED.iter().map(|version| version.label).max().unwrap();
    let labels: Vec<String> = SERVED
        .iter()
        .map(|version| version.label.to_string())
        .collect();
    let unknown = |text: &str| {
        format!(
            "no version is called {text}; there are {}",
            labels.join(", ")
        )
    };
    let (never, year) = (Label::release(1999, 7), newest.year);
    for (method, path, message) in [
        ("GET", format!("/api/{never}"), unknown(&never.to_string())),
        (
            "POST",
            format!("/api/{never}/anything/at/all"),
            unknown(&never.to_string()),
        ),
        ("GET", "/api/v1".to_owned(), unknown("v1")),
        ("GET", "/api/latest/trainees".to_owned(), unknown("latest")),
        ("GET", format!("/api/v{year}"), unknown(&format!("v{year}"))),
        ("GET", "/api/trainees".to_owned(), unknown("trainees")),
        ("GET", "/api".to_owned(), "not found".to_owned()),
        ("GET", "/nothing".to_owned(), "not found".to_owned()),
    ] {
        let reply = register.request(method, &path).send();
        assert_eq!(reply.error(404, "NotFound"), message, "{path}");
    }
}

#[test]
fn unknown_and_foreign_trainees_look_the_same() {
    every_version(|api| {
        let theirs = api
            .register
            .other_provider(api.version)
            .create(api.example());
        let upside_down = theirs.id().chars().map(swap_case).collect();
        let unknown = [
            "3xampleTra1neeWh01sNotTh".to_owned(),
            "x".to_owned(),
            "%00".to_owned(),
            upside_down,
        ];
        for (method, below) in [
            ("GET", ""),
            ("PUT", ""),
            ("PATCH", ""),
            ("POST", "/withdraw"),
        ] {
            let ask = |id: &str| {
                let request = api.request(method, &format!("/trainees/{id}{below}"));
                if method == "GET" {
                    request.send()
                } else {
                    request
                        .json(json!({ "data": { "email": "a@b.cd" } }))
                        .send()
                }
            };
            let hidden = ask(theirs.id());
            assert!(hidden.error(404, "NotFound").contains("trainee"));
            for id in &unknown {
                assert_eq!(ask(id).is(404).body, hidden.body, "{method} {id}");
            }
        }
    });
}

#[test]
fn identifiers_are_compared_exactly() {
    every_version(|api| {
        let created = api.create(api.example());
        let upside_down: String = created.id().chars().map(swap_case).collect();
        assert_ne!(created.id(), upside_down);
        let reply = api.get(&format!("/trainees/{upside_down}"));
        reply.error(404, "NotFound");
    });
}

fn swap_case(c: char) -> char {
    if c.is_ascii_lowercase() {
        c.to_ascii_uppercase()
    } else {
        c.to_ascii_lowercase()
    }
}

#[test]
fn head_is_get_without_a_body() {
    every_version(|api| {
        let created = api.create(api.example());
        for (path, status) in [
            ("/info", 200),
            (created.path().as_str(), 200),
            ("/trainees/x", 404),
        ] {
            let get = api.get(path).is(status);
            let head = api.request("HEAD", path).send().is(status);
            assert_eq!(
                head.header("content-length"),
                get.header("content-length"),
                "{path}"
            );
        }
        api.request("HEAD", "/info")
            .without("Authorization")
            .send()
            .is(401);
    });
}

#[test]
fn malformed_client_request_id_is_replaced() {
    every_version(|api| {
        let too_long = "r".repeat(65);
        for id in ["", "two words", "a\"b", too_long.as_str()] {
            let reply = api
                .request("GET", "/info")
                .header("X-Request-Id", id)
                .send()
                .is(200);
            let own = reply.header("x-request-id").unwrap();
            assert!(own != id && !own.is_empty(), "{own}");
        }
        let own = |reply: Response| reply.header("x-request-id").unwrap().to_owned();
        assert_ne!(own(api.get("/info")), own(api.get("/info")));
    });
}
