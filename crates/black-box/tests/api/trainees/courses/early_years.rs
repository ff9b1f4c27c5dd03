//! The age range 13920 and the early years routes, which go together.

use domain::TraineeField as F;
use serde_json::json;

use super::early_years;
use crate::api::support::{Body, Register, version};

#[test]
fn v2026_1_shows_ages_and_phase_of_early_years_routes() {
    let register = Register::start();
    let api = register.api(version("v2026.1"));
    for route in ["17", "18", "19", "20"] {
        let body = early_years(&api, route).with(F::last_name, format!("Route {route}"));
        api.create(body).has(&[
            (F::course_min_age, json!(0)),
            (F::course_max_age, json!(5)),
            (F::course_education_phase, json!("early_years")),
        ]);
    }
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
            older
                .send(
                    "PATCH",
                    &created.path(),
                    Body::new(older.version).with(field, value),
                )
                .problems(&[name]);
        };
        refused(F::course_subject_1, "100403");
        refused(F::course_age_range, "13914");
        assert_eq!(newest.read(created.id()).data, created.data);
    }
}
