//! Writes of a small version, checked in a version with other names, inputs and rules.

use adapter_kit::version::AllInputs;
use adapter_kit::{Inputs, Label, Versions, inputs};
use conformance::sample_version::{SAMPLE_VERSION, TODAY};
use domain::rules::{Rule, Rules, required};
use domain::{AcceptedCodes, State, TraineeField};
use serde_json::{Value, json};

use super::*;

const INPUTS: Inputs<Trainee> = inputs! { Trainee, TraineeField:
    forenames = first_names, last_name, email, itt_start_date, itt_end_date, placements, diplomas = degrees,
};
const RULES: &[Rule<Trainee>] = &[
    domain::rules::dates::END_AFTER_START,
    required::FIRST_NAMES,
    required::EMAIL,
];

/// Returns the small version, and a version that requires an e-mail address.
fn versions() -> Versions {
    let other = ApiVersion {
        label: Label::release(2002, 0),
        inputs: AllInputs {
            trainee: INPUTS,
            ..SAMPLE_VERSION.inputs
        },
        rules: Rules {
            trainee: RULES,
            ..SAMPLE_VERSION.rules
        },
        accepted_codes: AcceptedCodes {
            accepted: &[(domain::List::DegreeSubject, &["100403"])],
            funding_exception_years: &[],
        },
        ..SAMPLE_VERSION
    };
    Versions::new(&[
        Box::leak(Box::new(SAMPLE_VERSION)),
        Box::leak(Box::new(other)),
    ])
}

/// Returns the obstacles of a write.
fn found(
    endpoint: Endpoint,
    trainee: Option<&Trainee>,
    body: &Value,
) -> Option<Vec<(String, &'static str)>> {
    let found = all_found(endpoint, trainee, body)?
        .into_iter()
        .filter(Finding::is_obstacle);
    Some(found.map(|Finding { field, code }| (field, code)).collect())
}

fn all_found(
    endpoint: Endpoint,
    trainee: Option<&Trainee>,
    body: &Value,
) -> Option<BTreeSet<Finding>> {
    let versions = versions();
    let mut both = versions.iter();
    let from = both.next().unwrap();
    let to = both.next().unwrap();
    let organisations = Organisations {
        no_schools_loaded: true,
        no_training_partners_loaded: true,
        ..Organisations::default()
    };
    let now = TODAY.and_time(chrono::NaiveTime::MIN).and_utc();
    let lists = Lists::embedded();
    let write = AcceptedWrite {
        endpoint,
        trainee,
        part_id: "",
        organisations: &organisations,
        now,
        lists,
    };
    check(body.to_string().as_bytes(), from, to, &write)
}

fn create(body: &Value) -> Vec<(String, &'static str)> {
    found(Endpoint::CreateTrainee, None, body).unwrap()
}

fn one(field: &str, code: &'static str) -> Vec<(String, &'static str)> {
    vec![(field.to_owned(), code)]
}

#[test]
fn value_without_field_in_other_version_is_an_obstacle() {
    let body =
        json!({"data": {"given_names": "A", "email": "a@b.cd", "date_of_birth": "1999-04-12"}});
    assert_eq!(create(&body), one("date_of_birth", NOT_SET));
    let blank = json!({"data": {"given_names": "A", "email": "a@b.cd", "date_of_birth": null}});
    assert_eq!(create(&blank), []);
    let shown =
        json!({"data": {"given_names": "A", "email": "a@b.cd", "state": "x", "trainee_id": "y"}});
    assert_eq!(create(&shown), [], "read-only fields are not lost");
}

#[test]
fn renamed_field_is_a_finding_but_no_obstacle() {
    let award = json!({"topic": "100485"});
    let body = json!({"data": {"given_names": "A", "email": "a@b.cd", "awards": [award, award]}});
    let found = all_found(Endpoint::CreateTrainee, None, &body).unwrap();
    let renamed: Vec<_> = found
        .iter()
        .filter(|finding| !finding.is_obstacle())
        .collect();
    assert_eq!(
        renamed
            .iter()
            .map(|finding| finding.field.as_str())
            .collect::<Vec<_>>(),
        ["awards", "given_names"]
    );
    assert!(renamed.iter().all(|finding| finding.code == RENAMED));
    // Entries of a list that has no effect in an update are not reported.
    let before = Trainee {
        first_names: Some("A".to_owned()),
        email: Some("a@b.cd".to_owned()),
        ..Trainee::default()
    };
    let update = json!({"data": {"awards": [award]}});
    let found = all_found(Endpoint::UpdateTrainee, Some(&before), &update).unwrap();
    assert_eq!(
        found
            .iter()
            .filter(|finding| finding.field.contains('.'))
            .count(),
        0,
        "{found:?}"
    );
}

#[test]
fn positions_are_removed_from_paths() {
    assert_eq!(
        without_positions("degrees_attributes[1].subject"),
        "degrees_attributes.subject"
    );
    assert_eq!(without_positions("email"), "email");
}

#[test]
fn findings_in_nested_records_have_no_positions() {
    let award =
        json!({"topic": "100485", "institution": "0117", "uk_degree": "083", "grade": "02"});
    let body =
        json!({"data": {"given_names": "A", "email": "a@b.cd", "awards": [award, award, 7]}});
    let found = create(&body);
    assert!(
        found.contains(&("diplomas.topic".to_owned(), "unknown_code")),
        "{found:?}"
    );
    assert!(
        found.contains(&("diplomas".to_owned(), "no_data")),
        "{found:?}"
    );
    let distinct: BTreeSet<_> = found.iter().collect();
    assert_eq!(distinct.len(), found.len());
}

#[test]
fn findings_never_contain_keys_of_the_client() {
    let rubbish = "Jane Example 1999-04-12";
    let body = json!({"data": {"given_names": [1], "forenames": "B", rubbish: "x",
        "email": rubbish, "awards": [{rubbish: 1, "subject": rubbish}], "schools": rubbish}});
    let found = create(&body);
    assert!(found.len() >= 2, "{found:?}");
    assert!(
        found
            .iter()
            .all(|(field, code)| !field.contains("Jane") && !code.contains("Jane")),
        "{found:?}"
    );
}

#[test]
fn transition_is_decided_in_the_state_before_the_write() {
    let body = json!({"data": {"left_on": "2026-03-01", "trigger": "trainee", "future_interest": "no",
        "reasons": ["trainee_workload_issues"]}});
    let withdraw = |state| {
        let trainee = Trainee {
            state: Some(state),
            trn: Some("1234567".to_owned()),
            trainee_start_date: TODAY.pred_opt(),
            ..Trainee::default()
        };
        found(Endpoint::Withdraw, Some(&trainee), &body).unwrap()
    };
    assert_eq!(withdraw(State::TrnReceived), []);
    assert_eq!(withdraw(State::Withdrawn).len(), 1);
}

#[test]
fn reads_and_missing_records_are_not_checked() {
    let body = json!({"data": {"email": "a@b.cd"}});
    for endpoint in [
        Endpoint::UpdateTrainee,
        Endpoint::CreatePlacement,
        Endpoint::DeleteDegree,
        Endpoint::Defer,
    ] {
        assert_eq!(found(endpoint, None, &body), None, "{endpoint}");
    }
    assert_eq!(
        found(Endpoint::ListTrainees, Some(&Trainee::default()), &body),
        None
    );
    assert_eq!(
        found(
            Endpoint::DeletePlacement,
            Some(&Trainee::default()),
            &json!({})
        ),
        Some(vec![])
    );
}
