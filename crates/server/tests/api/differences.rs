//! What is told about versions: the differences between any two, and what follows from them.

use adapter_kit::Difference;
use adapter_kit::difference::{About, Change};
use domain::Lists;
use serde_json::{Value, json};
use server::versions::all;

use super::support::Register;

fn between(from: &str, to: &str) -> Difference {
    Difference::between(all().named(from).unwrap(), all().named(to).unwrap(), Lists::embedded())
}

fn told(changes: &[Change]) -> Value {
    serde_json::to_value(changes).unwrap()
}

/// Whether a change speaks of all these names.
fn speaks_of(difference: &Difference, names: &[&str]) -> bool {
    difference.changes.iter().any(|change| names.iter().all(|name| change.summary.contains(&format!("`{name}`"))))
}

#[test]
fn a_version_does_not_differ_from_itself() {
    for served in all().iter() {
        let difference = Difference::between(served, served, Lists::embedded());
        assert_eq!(difference.changes, Vec::new(), "{}", served.version.label);
    }
}

#[test]
fn the_way_back_has_the_same_changes_in_each_part() {
    let count = |difference: &Difference, part: fn(&About) -> bool| {
        difference.changes.iter().filter(|change| part(&change.about)).count()
    };
    for from in all().iter() {
        for to in all().iter() {
            let there = Difference::between(from, to, Lists::embedded());
            let back = Difference::between(to, from, Lists::embedded());
            for part in [
                (|about| matches!(about, About::Field(_))) as fn(&About) -> bool,
                |about| matches!(about, About::Codes(_)),
                |about| matches!(about, About::Word(_)),
                |about| matches!(about, About::NestedErrors(_)),
            ] {
                assert_eq!(count(&there, part), count(&back, part), "{} {}", there.from, there.to);
            }
        }
    }
}

#[test]
fn every_name_that_a_change_of_fields_speaks_of_is_one_of_the_two_versions() {
    for from in all().iter() {
        for to in all().iter() {
            let known = |name: &str| {
                [from, to].iter().any(|served| {
                    let version = served.version;
                    version.inputs.trainee.field(name).is_some()
                        || version.shapes.trainee.shows(name)
                        || version.inputs.withdrawal.field(name).is_some()
                        || version.inputs.degree.field(name).is_some()
                        || version.shapes.degree.shows(name)
                        || version.inputs.placement.field(name).is_some()
                        || version.shapes.placement.shows(name)
                })
            };
            let difference = Difference::between(from, to, Lists::embedded());
            for change in difference.changes.iter().filter(|change| matches!(change.about, About::Field(_))) {
                let names = change.summary.split('`').skip(1).step_by(2);
                for name in names {
                    assert!(known(name), "{name} in {}", change.summary);
                }
            }
        }
    }
}

#[test]
fn the_renames_of_the_contract_are_told() {
    let difference = between("v2025.0", "v2026.1");
    for (old, new) in [
        ("lead_partner_urn", "training_partner_urn"),
        ("lead_partner_ukprn", "training_partner_ukprn"),
        ("lead_partner_not_applicable", "training_partner_not_applicable"),
        ("course_subject_one", "course_subject_1"),
        ("course_subject_two", "course_subject_2"),
        ("course_subject_three", "course_subject_3"),
        ("withdraw_date", "withdrawal_date"),
        ("withdraw_reasons", "withdrawal_reasons"),
    ] {
        assert!(speaks_of(&difference, &[old, new]), "{old}");
    }
    for gone in ["expected_end_date", "bursary_level", "agency_disabilities", "withdraw_reasons_dfe_details"] {
        assert!(speaks_of(&difference, &[gone]), "{gone}");
    }
}

#[test]
fn the_other_differences_of_the_contract_are_told() {
    let difference = between("v2025.0", "v2026.1");
    let summaries: Vec<&str> = difference.changes.iter().map(|change| change.summary.as_str()).collect();
    for about in [
        "iqts_country",
        "recommend-for-qts",
        "update-qts-or-eyts-status",
        "reference-data",
        "itt_end_date_not_too_late",
        "itt_end_date_not_too_early",
        "course_year_whole_number",
        "additional_training_initiative_in_year",
        "primary_subject",
        "finished_records",
        "`02`",
        "`15`",
        "`13920`",
        "2026",
        "training partner",
    ] {
        assert!(summaries.iter().any(|summary| summary.contains(about)), "{about} in {summaries:#?}");
    }
    let steps = between("v2026.0", "v2026.1");
    assert!(steps.changes.len() < difference.changes.len());
    assert!(!speaks_of(&steps, &["course_subject_one"]));
}

#[test]
fn a_difference_is_a_page_a_text_or_data() {
    let register = Register::start();
    let path = "/docs/differences/v2025.0..v2026.1";
    let data = register.request("GET", path).header("Accept", "application/json").send().is(200);
    assert_eq!(data.header("vary"), Some("Accept"));
    assert_eq!(data.body["changes"], told(&between("v2025.0", "v2026.1").changes));
    assert_eq!(register.request("GET", &format!("{path}?format=json")).send().is(200).body, data.body);
    for unknown in ["v2025.0..v1999.0", "v1999.0..v2025.0", "v2025.0", "x..y"] {
        register.request("GET", &format!("/docs/differences/{unknown}")).send().error(404, "NotFound");
    }
    register.request("POST", path).send().error(405, "MethodNotAllowed");
    assert_eq!(data.body["from"], json!("v2025.0"));
}

#[test]
fn what_is_written_about_versions_is_shown_as_pages() {
    let register = Register::start();
    let (oldest, newest) = (all().iter().next().unwrap().version.label, all().newest().unwrap().version.label);
    for name in [newest.to_string(), oldest.to_string(), format!("migrating-from-{oldest}")] {
        let page = register.request("GET", &format!("/docs/versions/{name}")).page().is(200);
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(page.text.contains("<h1>") && !page.text.contains("make docs"), "{name}");
        assert!(page.header("content-security-policy").unwrap().starts_with("default-src 'none'"));
    }
    let page = register.request("GET", &format!("/docs/versions/migrating-from-{oldest}")).page().is(200);
    assert!(page.text.contains("<table>") && page.text.contains("How to check"));
    let pair = format!("/docs/differences/{oldest}..{newest}");
    let page = register.request("GET", &pair).header("Accept", "text/html,*/*;q=0.8").page().is(200);
    assert!(page.text.contains(&format!("<h1>From {oldest} to {newest}</h1>")));
    let text = register.request("GET", &pair).page().is(200);
    assert_eq!(text.header("content-type"), Some("text/markdown; charset=utf-8"));
    register.request("GET", "/docs/versions/v1999.0").send().error(404, "NotFound");
    register.request("GET", &format!("/docs/versions/migrating-from-{newest}")).send().error(404, "NotFound");
}

#[test]
fn the_explorer_of_a_version_asks_no_other_host() {
    let register = Register::start();
    for served in all().iter() {
        let label = served.version.label;
        let lead = register.request("GET", &format!("/docs/{label}/")).page().is(200);
        assert!(lead.text.contains("swagger-ui-bundle.js") && !lead.text.contains("//"), "{}", lead.text);
        let policy = lead.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && !policy.contains("http"), "{policy}");
        let script = register.request("GET", &format!("/docs/{label}/swagger-initializer.js")).page().is(200);
        assert!(script.text.contains(&format!("/api/{label}/openapi.json")), "{}", script.text);
        assert!(script.text.contains("\"validatorUrl\": \"none\""), "{}", script.text);
        register.request("GET", &format!("/docs/{label}/nothing")).send().error(404, "NotFound");
    }
}
