//! Student finance, bursaries, scholarships and grants, and initiatives.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Body, Register, every_version, version};

/// Physics, which some versions fund without student finance in some years.
const PHYSICS: &str = "100425";

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
fn a_bursary_needs_student_finance_but_for_some_subjects_in_exception_years() {
    for (label, funding_exception_years) in
        [("v2025.0", [2025].as_slice()), ("v2026.0", &[2025, 2026]), ("v2026.1", &[2025, 2026])]
    {
        let register = Register::start();
        let api = register.api(version(label));
        for year in [2024, 2025, 2026] {
            let without_finance = |subject| postgraduate(&api, subject, year).with(F::funding_method, "D");
            let reply = api.send("POST", "/trainees", without_finance(PHYSICS));
            if funding_exception_years.contains(&year) {
                reply.is(201);
            } else {
                assert!(reply.problems(&["funding_method"])[0].contains("fund_code"), "{label} {year}");
            }
            // Mathematics is funded in all of these years, and excepted in none.
            api.send("POST", "/trainees", without_finance("100403")).problems(&["funding_method"]);
            let with_finance = without_finance("100403").with(F::fund_code, "7");
            api.create(with_finance.with(F::last_name, "Eligible"));
        }
    }
}

#[test]
fn funding_must_exist_for_the_year_the_route_and_the_first_subject() {
    every_version(|api| {
        let funded = |subject, year, method: &str| {
            postgraduate(api, subject, year).with(F::fund_code, "7").with(F::funding_method, method)
        };
        // A scholarship in mathematics existed until 2025.
        api.create(funded("100403", 2025, "4")).has(&[
            (F::applying_for_scholarship, json!(true)),
            (F::applying_for_bursary, json!(false)),
            (F::applying_for_grant, json!(false)),
        ]);
        api.send("POST", "/trainees", funded("100403", 2026, "4")).problems(&["funding_method"]);
        api.send("POST", "/trainees", funded("100403", 2026, "E")).problems(&["funding_method"]);
        let grant = funded("100403", 2026, "E").with(F::training_route, "03");
        api.create(grant).has(&[(F::applying_for_grant, json!(true)), (F::bursary_tier, Value::Null)]);
        let tier = funded("100403", 2026, "8");
        api.create(tier).has(&[(F::applying_for_bursary, json!(true)), (F::bursary_tier, json!("tier_two"))]);
    });
}

#[test]
fn routes_without_funding_have_no_student_finance_either() {
    every_version(|api| {
        let body = api.example().with(F::training_route, "14");
        let finance = body.clone().with(F::fund_code, "7");
        api.send("POST", "/trainees", finance).problems(&["fund_code"]);
        api.send("POST", "/trainees", body.clone().with(F::funding_method, "B")).problems(&["funding_method"]);
        api.create(body);
    });
}

#[test]
fn an_initiative_must_have_been_available_in_the_year_of_the_start() {
    every_version(|api| {
        for (year, initiative, available) in
            [(2025, "036", true), (2026, "036", false), (2024, "011", false), (2026, "026", true)]
        {
            let body = postgraduate(api, "100403", year).with(F::training_initiative, initiative);
            let reply = api.send("POST", "/trainees", body.with(F::last_name, format!("{initiative} in {year}")));
            if available {
                api.shown(&reply.is(201)).has(&[(F::training_initiative, json!(initiative))]);
            } else {
                let label = format!("{year} to {}", year + 1);
                assert!(reply.problems(&["training_initiative"])[0].contains(&label));
            }
        }
    });
}

#[test]
fn the_second_initiative_is_held_against_the_year_from_v2026_0_on() {
    for (label, refused) in [("v2025.0", false), ("v2026.0", true), ("v2026.1", true)] {
        let register = Register::start();
        let api = register.api(version(label));
        let reply = api.send("POST", "/trainees", api.example().with(F::additional_training_initiative, "036"));
        if refused {
            reply.problems(&["additional_training_initiative"]);
        } else {
            reply.is(201);
        }
        let unlisted = api.example().with(F::additional_training_initiative, "999");
        api.send("POST", "/trainees", unlisted).problems(&["additional_training_initiative"]);
    }
}

#[test]
fn the_veterans_bursary_takes_the_place_of_the_initiative() {
    every_version(|api| {
        let body = api.example().with(F::fund_code, "7").with(F::funding_method, "C");
        let created = api.create(body.with(F::training_initiative, "011"));
        created.has(&[(F::funding_method, json!("C")), (F::training_initiative, Value::Null)]);
        api.update(created.id(), Body::new(api.version).with(F::training_initiative, "026"))
            .has(&[(F::training_initiative, Value::Null)]);
    });
}
