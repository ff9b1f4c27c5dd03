//! Messages that say what would be accepted, and where to read it.

use adapter_kit::{ApiVersion, Endpoint};
use domain::{Degree, DegreeField as D, TraineeField as F, WithdrawalField as W};
use serde_json::{Value, json};
use versions::{all, select};

use crate::api::support::bodies::input;
use crate::api::support::{Api, Body, Register, every_version, record, run_cases, wire_values};

fn publishes_lists(version: &ApiVersion) -> bool {
    version.endpoints.has(Endpoint::ReferenceData)
}

/// The codes of sexes, as the version writes them.
fn sexes(version: &ApiVersion) -> String {
    let written =
        |code: &str| wire_values::written::<domain::Trainee>(version, F::sex, json!(code));
    let codes =
        ["10", "11", "12", "96", "99"].map(|code| written(code).as_str().unwrap().to_owned());
    codes.join(", ")
}

/// Where the list of a field is, as a message says it: by the field's name where the version
/// publishes the list.
fn link(api: &Api<'_>, field: &str, list: &str) -> String {
    let newest = all().newest().unwrap().version;
    assert!(publishes_lists(newest));
    let (label, name) = if publishes_lists(api.version) {
        (api.version.label, field)
    } else {
        (newest.label, list)
    };
    format!("; see GET /api/{label}/reference-data?field={name}")
}

/// Sends a value for a field of a new trainee, and gives the message about it.
fn message(api: &Api<'_>, field: F, value: impl Into<Value>) -> String {
    let reply = api
        .send("POST", "/trainees", api.example().with(field, value))
        .is(422);
    let name = input::<domain::Trainee>(api.version, field);
    let errors = reply.errors();
    let found = errors
        .iter()
        .find(|(_, message)| message.starts_with(&format!("{name} ")));
    found
        .unwrap_or_else(|| panic!("nothing about {name} in {:#}", reply.body))
        .1
        .to_owned()
}

#[test]
fn messages_name_place_and_reason() {
    run_cases(include_str!("messages.txt"));
}

#[test]
fn value_of_another_type_names_accepted_codes() {
    every_version(|api| {
        let sex = input::<domain::Trainee>(api.version, F::sex);
        let expected = format!(
            "{sex} is invalid: it must be text; it can be {}{}",
            sexes(api.version),
            link(api, sex, "sex")
        );
        assert_eq!(message(api, F::sex, true), expected);
    });
}

#[test]
fn an_unknown_code_links_to_its_list() {
    every_version(|api| {
        let subject = input::<domain::Trainee>(api.version, F::course_subject_1);
        let told = message(api, F::course_subject_1, "x");
        assert!(
            told.ends_with(&link(api, subject, "course_subject")),
            "{told}"
        );
        let grade = input::<Degree>(api.version, D::grade);
        let degree = record::<Degree>(api.version, &[(D::grade, "x")]);
        let reply = api
            .send(
                "POST",
                "/trainees",
                api.example().with(F::degrees, json!([degree])),
            )
            .is(422);
        assert!(reply.errors().iter().any(|(_, message)| {
            message.contains(&format!(" 1 {grade} \"x\" "))
                && message.ends_with(&link(api, grade, "degree_grade"))
        }));
        let created = api.create(api.example());
        let withdrawal =
            Body::withdrawal(api.version).with_withdrawal(W::reasons, json!(["boredom"]));
        let reply = api.send("POST", &format!("{}/withdraw", created.path()), withdrawal);
        let reasons = input::<domain::Withdrawal>(api.version, W::reasons);
        assert!(reply.problems(&[reasons])[0].ends_with(&link(api, reasons, "withdrawal_reasons")));
    });
}

#[test]
fn message_without_published_lists_has_no_link() {
    for version in versions::SERVED
        .iter()
        .filter(|version| !publishes_lists(version))
    {
        let register = Register::with_versions(select(&[version.label.to_string()]).unwrap());
        let told = message(&register.api(version), F::sex, "x");
        assert!(
            told.ends_with(&format!("it can be {}", sexes(version))),
            "{told}"
        );
    }
}

#[test]
fn list_is_found_by_each_field() {
    every_version(|api| {
        if !publishes_lists(api.version) {
            return;
        }
        let name_of = |field: &str| {
            let reply = api.get(&format!("/reference-data?field={field}")).is(200);
            reply.body["metadata"]["name"].as_str().unwrap().to_owned()
        };
        let trainee = |field| input::<domain::Trainee>(api.version, field);
        for (field, list) in [
            (trainee(F::course_subject_1), "course_subject"),
            (trainee(F::course_subject_3), "course_subject"),
            (trainee(F::disability9), "disability"),
            (
                trainee(F::additional_training_initiative),
                "training_initiative",
            ),
            (trainee(F::iqts_country), "country"),
            (trainee(F::sex), "sex"),
            (input::<Degree>(api.version, D::uk_degree), "degree_type"),
            (input::<Degree>(api.version, D::subject), "degree_subject"),
            (input::<Degree>(api.version, D::country), "country"),
            (input::<Degree>(api.version, D::institution), "institution"),
            (
                input::<domain::Withdrawal>(api.version, W::reasons),
                "withdrawal_reasons",
            ),
            ("degrees_attributes[0].grade", "degree_grade"),
            ("withdrawal_reasons", "withdrawal_reasons"),
        ] {
            assert_eq!(name_of(field), list, "{field}");
        }
        api.get(&format!("/reference-data?field={}", trainee(F::email)))
            .error(404, "NotFound");
    });
}
