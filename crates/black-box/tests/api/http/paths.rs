//! Paths, versions and methods that are there and that are not, and what every reply has.

use std::collections::BTreeSet;

use adapter_kit::Label;
use domain::TraineeField as F;
use serde_json::json;
use versions::SERVED;

use crate::api::support::{Register, Response, every_version};

fn allowed(reply: &Response) -> BTreeSet<&str> {
    reply.header("allow").unwrap().split(", ").collect()
}

#[test]
fn unknown_path_is_not_found_with_or_without_token() {
    every_version(|api| {
        for path in [
            "",
            "/",
            "/nothing",
            "/trainees/x/nothing",
            "/trainees/x/y/z/a/b",
            "/INFO",
        ] {
            for request in [
                api.request("GET", path),
                api.request("POST", path).without("Authorization"),
            ] {
                request.send().error(404, "NotFound");
            }
        }
    });
}

#[test]
fn unknown_version_is_not_found_and_lists_the_served_versions() {
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

fn swap_case(c: char) -> char {
    if c.is_ascii_lowercase() {
        c.to_ascii_uppercase()
    } else {
        c.to_ascii_lowercase()
    }
}

#[test]
fn identifiers_are_compared_exactly() {
    every_version(|api| {
        let created = api.create(api.example());
        let upside_down: String = created.id().chars().map(swap_case).collect();
        assert_ne!(created.id(), upside_down);
        api.get(&format!("/trainees/{upside_down}"))
            .error(404, "NotFound");
    });
}

#[test]
fn unsupported_method_is_answered_with_the_allowed_methods() {
    every_version(|api| {
        let created = api.create(api.example());
        for (path, method, has) in [
            ("/info".to_owned(), "POST", vec!["GET", "HEAD", "OPTIONS"]),
            (
                created.path(),
                "DELETE",
                vec!["GET", "HEAD", "PUT", "PATCH", "OPTIONS"],
            ),
            (
                created.path(),
                "POST",
                vec!["GET", "HEAD", "PUT", "PATCH", "OPTIONS"],
            ),
            (
                "/trainees".to_owned(),
                "PUT",
                vec!["GET", "HEAD", "POST", "OPTIONS"],
            ),
            (
                format!("{}/withdraw", created.path()),
                "GET",
                vec!["POST", "OPTIONS"],
            ),
        ] {
            for request in [
                api.request(method, &path),
                api.request(method, &path).without("Authorization"),
            ] {
                let reply = request.send();
                reply.error(405, "MethodNotAllowed");
                assert_eq!(allowed(&reply), has.iter().copied().collect(), "{path}");
            }
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
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
fn well_formed_client_request_id_is_repeated() {
    every_version(|api| {
        let longest = "r".repeat(64);
        for id in ["a", "order-66_b.7", longest.as_str()] {
            for path in ["/info", "/trainees/x", "/nothing"] {
                let reply = api.request("GET", path).header("X-Request-Id", id).send();
                assert_eq!(reply.header("x-request-id"), Some(id));
            }
            let refused = api
                .request("GET", "/info")
                .without("Authorization")
                .header("X-Request-Id", id)
                .send()
                .is(401);
            assert_eq!(refused.header("x-request-id"), Some(id));
        }
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

#[test]
fn a_query_does_not_change_what_a_path_means() {
    every_version(|api| {
        let created = api.create(api.example().with(F::middle_names, "Maria"));
        assert_eq!(
            *api.get(&format!("{}?access_token=1&x=%", created.path()))
                .is(200)
                .data(),
            created.data
        );
    });
}
