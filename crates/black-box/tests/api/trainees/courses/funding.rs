//! Student finance, bursaries, scholarships and grants, and initiatives.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Body, every_version};

/// A postgraduate course in a subject, which starts in September of a year.
fn postgraduate(api: &Api<'_>, subject: &str, year: u16) -> Body {
    api.example()
        .with(F::training_route, "12")
        .with(F::course_subject_1, subject)
        .with(F::itt_start_date, format!("{year}-09-01"))
        .with(F::itt_end_date, format!("{}-07-16", year + 1))
        .with(F::last_name, format!("Starter of {year}"))
}

#[test]
fn funding_is_shown_by_its_kind() {
    every_version(|api| {
        let funded = |subject, year, method: &str| {
            postgraduate(api, subject, year)
                .with(F::fund_code, "7")
                .with(F::funding_method, method)
        };
        api.create(funded("100403", 2025, "4")).has(&[
            (F::applying_for_scholarship, json!(true)),
            (F::applying_for_bursary, json!(false)),
            (F::applying_for_grant, json!(false)),
        ]);
        let grant = funded("100403", 2026, "E").with(F::training_route, "03");
        api.create(grant).has(&[
            (F::applying_for_grant, json!(true)),
            (F::bursary_tier, Value::Null),
        ]);
        let tier = funded("100403", 2026, "8");
        api.create(tier).has(&[
            (F::applying_for_bursary, json!(true)),
            (F::bursary_tier, json!("tier_two")),
        ]);
    });
}

#[test]
fn the_veterans_bursary_takes_the_place_of_the_initiative() {
    every_version(|api| {
        let body = api
            .example()
            .with(F::fund_code, "7")
            .with(F::funding_method, "C");
        let created = api.create(body.with(F::training_initiative, "011"));
        created.has(&[
            (F::funding_method, json!("C")),
            (F::training_initiative, Value::Null),
        ]);
        api.update(
            created.id(),
            Body::new(api.version).with(F::training_initiative, "026"),
        )
        .has(&[(F::training_initiative, Value::Null)]);
    });
}
