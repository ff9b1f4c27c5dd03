//! The age range 13920 and the early years routes, which go together.

use domain::TraineeField as F;
use serde_json::json;

use super::{early_years, with_subjects};
use crate::api::support::{Body, Register, every_version, version};

#[test]
fn v2026_1_accepts_the_range_on_early_years_routes_and_no_other_range_there() {
    let register = Register::start();
    let api = register.api(version("v2026.1"));
    for route in ["17", "18", "19", "20"] {
        let body = early_years(&api, route).with(F::last_name, format!("Route {route}"));
        for range in ["13914", "13918"] {
            let other = body.clone().with(F::course_age_range, range);
            assert!(api.send("POST", "/trainees", other).problems(&["course_age_range"])[0].contains("13920"));
        }
        api.create(body).has(&[(F::course_min_age, json!(0)), (F::course_max_age, json!(5))]);
    }
}

#[test]
fn v2026_1_refuses_the_range_on_other_routes_for_that_alone() {
    let register = Register::start();
    let api = register.api(version("v2026.1"));
    for route in ["03", "11", "16", "21"] {
        let body = with_subjects(&api, "13920", &["100403"]).with(F::training_route, route);
        assert!(api.send("POST", "/trainees", body).problems(&["course_age_range"])[0].contains("13920"));
    }
    let created = api.create(api.example());
    let body = Body::new(api.version).with(F::course_age_range, "13920");
    api.send("PATCH", &created.path(), body).problems(&["course_age_range"]);
}

#[test]
fn older_versions_do_not_know_the_range() {
    for label in ["v2025.0", "v2026.0"] {
        let register = Register::start();
        let api = register.api(version(label));
        let reply = api.send("POST", "/trainees", api.example().with(F::course_age_range, "13920"));
        let message = reply.problems(&["course_age_range"])[0];
        assert!(message.contains("\"13920\"") && message.contains("13909"), "{message}");
    }
}

#[test]
fn withdrawn_ranges_are_unknown_in_every_version() {
    every_version(|api| {
        let name = api.version.inputs.trainee.name_of(F::course_age_range).unwrap();
        for range in ["99801", "99803"] {
            api.send("POST", "/trainees", api.example().with(F::course_age_range, range)).problems(&[name]);
        }
    });
}

#[test]
fn v2026_1_asks_for_early_years_teaching_as_the_first_subject_and_lets_it_stand_twice() {
    let register = Register::start();
    let api = register.api(version("v2026.1"));
    let body = early_years(&api, "19").with(F::course_subject_1, "100511");
    assert!(api.send("POST", "/trainees", body).problems(&["course_subject_1"])[0].contains("100510"));
    let twice = early_years(&api, "19").with(F::course_subject_2, "100510").with(F::course_subject_3, "100510");
    api.create(twice).has(&[(F::course_subject_3, json!("100510"))]);
    let elsewhere = api.example().with(F::course_subject_1, "100510").with(F::last_name, "Elsewhere");
    api.create(elsewhere);
}

#[test]
fn older_versions_cannot_break_an_early_years_record() {
    for label in ["v2025.0", "v2026.0"] {
        let register = Register::start();
        let newest = register.api(version("v2026.1"));
        let created = newest.create(early_years(&newest, "18"));
        let older = register.api(version(label));
        let refused = |field, value: &str| {
            let name = older.version.inputs.trainee.name_of(field).unwrap();
            older.send("PATCH", &created.path(), Body::new(older.version).with(field, value)).problems(&[name]);
        };
        refused(F::course_subject_1, "100403");
        refused(F::course_age_range, "13914");
        assert_eq!(newest.read(created.id()).data, created.data);
    }
}
