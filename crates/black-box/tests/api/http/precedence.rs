//! Which answer comes first when a request is wrong in several ways.

use domain::TraineeField as F;
use serde_json::json;

use crate::api::support::{Body, every_version};

/// A body that is one byte too long.
fn too_long() -> Vec<u8> {
    vec![b' '; 1_048_577]
}

#[test]
fn missing_token_precedes_all_body_and_record_errors() {
    every_version(|api| {
        let created = api.create(api.example());
        for (method, path) in [
            ("POST", "/trainees"),
            ("PUT", created.path().as_str()),
            ("PUT", "/trainees/x"),
        ] {
            let ask = || api.request(method, path).without("Authorization");
            ask().bytes(too_long()).send().is(401);
            ask()
                .bytes("{}")
                .header("Content-Type", "text/plain")
                .send()
                .is(401);
            ask().bytes("{").send().is(401);
            ask().json(json!({})).send().is(401);
            ask().json(api.example()).send().is(401);
        }
    });
}

#[test]
fn an_unknown_token_comes_before_everything_about_the_body_too() {
    every_version(|api| {
        let stranger = format!("Bearer sandbox_{}", "0".repeat(64));
        let ask = || {
            api.request("POST", "/trainees")
                .header("Authorization", &stranger)
        };
        ask().bytes(too_long()).send().is(401);
        ask()
            .bytes("{}")
            .header("Content-Type", "text/plain")
            .send()
            .is(401);
        ask().bytes("{").send().is(401);
    });
}

#[test]
fn unknown_path_or_method_precedes_the_missing_token() {
    every_version(|api| {
        let ask = |method, path| {
            api.request(method, path)
                .without("Authorization")
                .bytes("{")
                .send()
        };
        ask("POST", "/nothing").error(404, "NotFound");
        ask("DELETE", "/info").error(405, "MethodNotAllowed");
    });
}

#[test]
fn unreadable_body_precedes_an_unknown_trainee() {
    every_version(|api| {
        for (method, path) in [
            ("PUT", "/trainees/x"),
            ("PATCH", "/trainees/x"),
            ("POST", "/trainees/x/withdraw"),
        ] {
            let ask = || api.request(method, path);
            ask().bytes(too_long()).send().error(413, "PayloadTooLarge");
            ask()
                .bytes("{}")
                .header("Content-Type", "text/plain")
                .send()
                .error(415, "UnsupportedMediaType");
            ask().bytes("{").send().error(400, "BadRequest");
        }
    });
}

#[test]
fn unknown_trainee_precedes_content_errors() {
    every_version(|api| {
        for (method, path) in [
            ("PUT", "/trainees/x"),
            ("PATCH", "/trainees/x"),
            ("POST", "/trainees/x/withdraw"),
        ] {
            api.send(method, path, json!({})).error(404, "NotFound");
            api.send(
                method,
                path,
                Body::new(api.version).with(F::email, "nothing"),
            )
            .error(404, "NotFound");
        }
    });
}

#[test]
fn missing_data_precedes_the_state_error_of_a_withdrawal() {
    every_version(|api| {
        let created = api.create(api.example());
        api.withdraw(created.id());
        api.send("POST", &format!("{}/withdraw", created.path()), json!({}))
            .problems(&["data"]);
    });
}

#[test]
fn refusal_to_change_a_finished_record_precedes_missing_data() {
    every_version(|api| {
        let created = api.create(api.example());
        api.withdraw(created.id());
        let closed = !api.version.rules.gates.is_empty();
        for body in [json!({}), json!({ "data": { "email": "nothing" } })] {
            let reply = api.send("PUT", &created.path(), body).is(422);
            if closed {
                reply.transition("state");
            } else {
                assert!(
                    reply
                        .errors()
                        .iter()
                        .all(|(error, _)| *error == "UnprocessableEntity")
                );
            }
        }
    });
}

#[test]
fn what_is_wrong_with_the_content_comes_before_a_duplicate() {
    every_version(|api| {
        api.create(api.example());
        api.send("POST", "/trainees", api.example().with(F::sex, "77"))
            .problems(&["sex"]);
        api.send("POST", "/trainees", api.example())
            .error(409, "Conflict");
    });
}
