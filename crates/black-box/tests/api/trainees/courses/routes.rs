//! Which routes each version accepts, and what a route asks for.

use domain::TraineeField as F;
use serde_json::{Value, json};

use super::early_years;
use crate::api::support::{Api, Body, Register, version};

const ALL: [&str; 14] = [
    "02", "03", "09", "10", "11", "12", "14", "15", "16", "17", "18", "19", "20", "21",
];
const ACCEPTED: [(&str, &[&str]); 3] = [
    ("v2025.0", &["02", "03", "09", "10", "11", "12", "14"]),
    ("v2026.0", &["03", "09", "10", "11", "12", "14"]),
    (
        "v2026.1",
        &[
            "03", "09", "10", "11", "12", "14", "15", "16", "17", "18", "19", "20", "21",
        ],
    ),
];
const EARLY_YEARS: [&str; 4] = ["17", "18", "19", "20"];

/// A trainee on a route, with what the route asks for.
fn on_route(api: &Api<'_>, route: &str) -> Body {
    let body = match route {
        "15" => api
            .example()
            .with(F::training_route, route)
            .with(F::iqts_country, "FR"),
        _ if EARLY_YEARS.contains(&route) => early_years(api, route),
        _ => api.example().with(F::training_route, route),
    };
    body.with(F::last_name, format!("Route {route}"))
}

#[test]
fn each_version_accepts_its_routes_and_refuses_the_others() {
    for (label, accepted) in ACCEPTED {
        let register = Register::start();
        let api = register.api(version(label));
        for route in ALL {
            if accepted.contains(&route) {
                api.create(on_route(&api, route))
                    .has(&[(F::training_route, json!(route))]);
            } else {
                let reply = api.send(
                    "POST",
                    "/trainees",
                    api.example().with(F::training_route, route),
                );
                let message = reply.problems(&["training_route"])[0];
                assert!(message.contains(&format!("\"{route}\"")), "{message}");
                assert!(
                    accepted.iter().take(10).all(|code| message.contains(code)),
                    "{message}"
                );
            }
        }
        for unknown in ["2", "13", "99", "011"] {
            api.send(
                "POST",
                "/trainees",
                api.example().with(F::training_route, unknown),
            )
            .problems(&["training_route"]);
        }
    }
}

#[test]
fn a_route_decides_level_and_qualification() {
    let register = Register::start();
    let api = register.api(version("v2026.1"));
    for route in ACCEPTED[2].1 {
        let level = if ["09", "11", "14", "18"].contains(route) {
            "undergrad"
        } else {
            "postgrad"
        };
        let qualification = if EARLY_YEARS.contains(route) {
            "EYTS"
        } else {
            "QTS"
        };
        api.create(on_route(&api, route)).has(&[
            (F::course_level, json!(level)),
            (F::course_qualification, json!(qualification)),
        ]);
    }
}

#[test]
fn v2026_1_assessment_only_routes_alone_need_no_study_mode() {
    for (label, accepted) in ACCEPTED {
        let register = Register::start();
        let api = register.api(version(label));
        for route in accepted {
            let body = on_route(&api, route).without(F::study_mode);
            if label == "v2026.1" && ["16", "17"].contains(route) {
                let created = api.create(body);
                created.has(&[(F::study_mode, Value::Null)]);
                api.update(
                    created.id(),
                    Body::new(api.version).with(F::study_mode, "31"),
                );
                let cleared = api.update(
                    created.id(),
                    Body::new(api.version).with(F::study_mode, Value::Null),
                );
                cleared.has(&[(F::study_mode, Value::Null)]);
            } else {
                api.send("POST", "/trainees", body)
                    .problems(&["study_mode"]);
            }
        }
    }
}

#[test]
fn change_to_a_route_with_study_mode_requires_one_everywhere() {
    let register = Register::start();
    let newest = register.api(version("v2026.1"));
    for (number, label) in ["v2025.0", "v2026.0", "v2026.1"].into_iter().enumerate() {
        let body = newest
            .example()
            .with(F::training_route, "16")
            .without(F::study_mode);
        let created = newest.create(body.with(F::last_name, format!("Person {number}")));
        let api = newest.in_version(version(label));
        let moves = || Body::new(api.version).with(F::training_route, "12");
        api.send("PATCH", &created.path(), moves())
            .problems(&["study_mode"]);
        // What does not touch the route or the mode is accepted.
        api.update(
            created.id(),
            Body::new(api.version).with(F::email, "new@example.com"),
        );
        api.update(created.id(), moves().with(F::study_mode, "31"))
            .has(&[(F::study_mode, json!("31"))]);
    }
}
