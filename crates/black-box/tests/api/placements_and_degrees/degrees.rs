//! The two kinds of a degree: whatever is sent, a degree is one of the United Kingdom or of another
//! country, whole.

use domain::TraineeField as F;
use serde_json::{Value, json};

use crate::api::support::{Api, Shown, every_version};

/// A degree as it must be stored: `uk_degree`, `non_uk_degree`, `country`, `institution`.
type Kind = [Option<&'static str>; 4];

const UK: Kind = [Some("083"), None, None, Some("0117")];
const FOREIGN: Kind = [None, Some("051"), Some("FR"), None];

/// Outcome of a request: the stored degree, or the fields with problems.
type Outcome = Result<Kind, &'static [&'static str]>;

fn uk() -> Value {
    json!({ "subject": "100485", "uk_degree": "083", "grade": "02", "institution": "0117", "graduation_year": 2021 })
}

fn foreign() -> Value {
    json!({ "subject": "100485", "non_uk_degree": "051", "country": "FR", "graduation_year": 2021 })
}

/// Updates of a degree of the United Kingdom.
fn updates_of_uk() -> Vec<(Value, Outcome)> {
    vec![
        (json!({ "country": null }), Ok(UK)),
        (json!({ "country": "GB" }), Ok(UK)),
        (json!({ "country": "XI", "non_uk_degree": null }), Ok(UK)),
        (
            json!({ "institution": null }),
            Ok([Some("083"), None, None, None]),
        ),
        (
            json!({ "institution": "0149", "country": "FR" }),
            Ok([Some("083"), None, None, Some("0149")]),
        ),
        (
            json!({ "uk_degree": "001", "non_uk_degree": "051" }),
            Ok([Some("001"), None, None, Some("0117")]),
        ),
        (json!({ "uk_degree": null }), Err(&["uk_degree"])),
        (json!({ "non_uk_degree": "051" }), Err(&["country"])),
        (
            json!({ "non_uk_degree": "051", "uk_degree": null }),
            Err(&["country"]),
        ),
        (json!({ "country": "FR" }), Err(&["non_uk_degree"])),
        (json!({ "country": "QQ" }), Err(&["country"])),
        (
            json!({ "country": "FR", "non_uk_degree": "051" }),
            Ok(FOREIGN),
        ),
        (
            json!({ "country": "FR", "non_uk_degree": "051", "uk_degree": null, "institution": null }),
            Ok(FOREIGN),
        ),
    ]
}

/// Updates of a degree of another country.
fn updates_of_foreign() -> Vec<(Value, Outcome)> {
    vec![
        (json!({ "uk_degree": null, "institution": "" }), Ok(FOREIGN)),
        (
            json!({ "country": "DE" }),
            Ok([None, Some("051"), Some("DE"), None]),
        ),
        (json!({ "country": null }), Err(&["country"])),
        (json!({ "country": "" }), Err(&["country"])),
        (json!({ "non_uk_degree": null }), Err(&["non_uk_degree"])),
        (
            json!({ "country": null, "non_uk_degree": null }),
            Err(&["non_uk_degree", "country"]),
        ),
        (json!({ "country": "GB" }), Err(&["uk_degree", "grade"])),
        (
            json!({ "country": "XK", "uk_degree": "083" }),
            Err(&["grade"]),
        ),
        (
            json!({ "institution": "0117" }),
            Err(&["uk_degree", "grade"]),
        ),
        (
            json!({ "country": "GB", "uk_degree": "083", "grade": "02" }),
            Ok([Some("083"), None, None, None]),
        ),
        (
            json!({ "uk_degree": "083", "grade": "02" }),
            Ok([Some("083"), None, None, None]),
        ),
        (
            json!({ "uk_degree": "083", "grade": "02", "country": null, "non_uk_degree": null }),
            Ok([Some("083"), None, None, None]),
        ),
        (
            json!({ "institution": "0117", "uk_degree": "083", "grade": "02" }),
            Ok(UK),
        ),
    ]
}

/// New degrees.
fn created() -> Vec<(Value, Outcome)> {
    let with = |mut degree: Value, key: &str, value: Value| {
        degree[key] = value;
        degree
    };
    vec![
        (uk(), Ok(UK)),
        (foreign(), Ok(FOREIGN)),
        (with(uk(), "country", json!("GB")), Ok(UK)),
        (with(uk(), "country", json!("FR")), Ok(UK)),
        (with(foreign(), "uk_degree", json!("083")), Ok(FOREIGN)),
        (with(uk(), "uk_degree", json!(null)), Err(&["uk_degree"])),
        (
            with(foreign(), "non_uk_degree", json!(null)),
            Err(&["non_uk_degree"]),
        ),
        (
            with(foreign(), "country", json!(null)),
            Err(&["uk_degree", "grade"]),
        ),
        (
            with(foreign(), "country", json!("XF")),
            Err(&["uk_degree", "grade"]),
        ),
        (with(foreign(), "country", json!("QQ")), Err(&["country"])),
    ]
}

fn kind(degree: &Value) -> [Option<&str>; 4] {
    ["uk_degree", "non_uk_degree", "country", "institution"].map(|key| degree[key].as_str())
}

/// The fields that the entries of the error list name, behind what stands before them.
fn named<'a>(errors: &[(&'a str, &'a str)], before: &str) -> Vec<&'a str> {
    errors
        .iter()
        .map(|(_, message)| {
            message
                .strip_prefix(before)
                .unwrap()
                .split(' ')
                .next()
                .unwrap()
        })
        .collect()
}

fn bare(api: &Api<'_>, name: &str) -> Shown {
    api.create(
        api.example()
            .without(F::placements)
            .without(F::degrees)
            .with(F::last_name, name),
    )
}

#[test]
fn degree_update_is_complete_or_rejected_at_the_missing_field() {
    every_version(|api| {
        let trainee = bare(api, "Updated");
        let degrees = format!("{}/degrees", trainee.path());
        for (stored, updates) in [(uk(), updates_of_uk()), (foreign(), updates_of_foreign())] {
            for (at, (update, outcome)) in updates.into_iter().enumerate() {
                let created = api
                    .send("POST", &degrees, json!({ "data": stored.clone() }))
                    .is(201);
                let before = created.data()[0].clone();
                let degree = format!("{degrees}/{}", before["degree_id"].as_str().unwrap());
                let reply = api.send(
                    ["PUT", "PATCH"][at % 2],
                    &degree,
                    json!({ "data": update.clone() }),
                );
                match outcome {
                    Ok(expected) => assert_eq!(kind(reply.is(200).data()), expected, "{update}"),
                    Err(fields) => {
                        assert_eq!(named(&reply.is(422).errors(), ""), fields, "{update}");
                        assert_eq!(*api.get(&degree).is(200).data(), before, "{update}");
                    }
                }
                // As it is shown, it can be sent back.
                let shown = api.get(&degree).is(200).data().clone();
                assert_eq!(
                    *api.send("PUT", &degree, json!({ "data": shown.clone() }))
                        .is(200)
                        .data(),
                    shown
                );
                api.request("DELETE", &degree).send().is(200);
            }
        }
    });
}

#[test]
fn new_degree_is_complete_or_rejected_at_the_missing_field() {
    every_version(|api| {
        let trainee = bare(api, "Created");
        let list = api.version.inputs.trainee.name_of(F::degrees).unwrap();
        for (number, (degree, outcome)) in created().into_iter().enumerate() {
            let body = api.example().with(F::last_name, format!("Nested {number}"));
            let nested = api.send(
                "POST",
                "/trainees",
                body.with(F::degrees, json!([degree.clone()])),
            );
            let alone = api.send(
                "POST",
                &format!("{}/degrees", trainee.path()),
                json!({ "data": degree.clone() }),
            );
            match outcome {
                Ok(expected) => {
                    assert_eq!(
                        kind(&api.shown(&nested.is(201)).value(F::degrees)[0]),
                        expected,
                        "{degree}"
                    );
                    let created = alone.is(201).data()[0].clone();
                    assert_eq!(kind(&created), expected, "{degree}");
                    let path = format!(
                        "{}/degrees/{}",
                        trainee.path(),
                        created["degree_id"].as_str().unwrap()
                    );
                    api.request("DELETE", &path).send().is(200);
                }
                Err(fields) => {
                    assert_eq!(
                        named(&nested.is(422).errors(), &format!("{list} 1 ")),
                        fields,
                        "{degree}"
                    );
                    assert_eq!(named(&alone.is(422).errors(), ""), fields, "{degree}");
                }
            }
        }
    });
}

#[test]
fn the_entries_of_a_degree_have_the_published_identifiers() {
    const OTHER_UK_INSTITUTION: &str = "02132969-f5bc-47ca-be9c-b6f6d5b05e1b";
    every_version(|api| {
        let trainee = bare(api, "Published");
        let add = |degree: Value| {
            let reply = api
                .send(
                    "POST",
                    &format!("{}/degrees", trainee.path()),
                    json!({ "data": degree }),
                )
                .is(201);
            [
                "subject_uuid",
                "grade_uuid",
                "uk_degree_uuid",
                "institution_uuid",
            ]
            .map(|key| reply.data()[0][key].clone())
        };
        let published = json!({
            "subject": "100003", "grade": "02", "uk_degree": "001", "institution": "0001", "graduation_year": 2020,
        });
        let subject = "2d7f70f0-5dce-e911-a985-000d3ab79618";
        let uuids = [
            subject,
            "e2fe18d4-8655-47cf-ab1a-8c3e0b0f078f",
            "c1695652-c197-e711-80d8-005056ac45bb",
            "5c9e1d2d-3fa2-e811-812b-5065f38ba241",
        ];
        assert_eq!(add(published.clone()), uuids.map(Value::from));
        for institution in [Value::Null, json!("University of Nowhere")] {
            let mut elsewhere = published.clone();
            elsewhere["graduation_year"] = json!(if institution.is_null() { 2019 } else { 2018 });
            elsewhere["institution"] = institution;
            assert_eq!(add(elsewhere)[3], json!(OTHER_UK_INSTITUTION));
        }
        let abroad = json!({ "subject": "100003", "country": "FR", "non_uk_degree": "001", "graduation_year": 2017 });
        assert_eq!(
            add(abroad),
            [json!(subject), Value::Null, Value::Null, Value::Null]
        );
    });
}
