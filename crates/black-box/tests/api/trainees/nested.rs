//! Placements and degrees that are created with a trainee.

use domain::{Degree, DegreeField as D, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::bodies::input;
use crate::api::support::{Api, Shown, every_version, record};

fn degrees(api: &Api<'_>, degrees: &[&[(D, &str)]]) -> crate::api::support::Body {
    let records: Value = degrees
        .iter()
        .map(|fields| record::<Degree>(api.version, fields))
        .collect();
    api.example().with(F::degrees, records)
}

/// What the first degree shows in a field.
fn first_degree_value(api: &Api<'_>, shown: &Shown, field: D) -> Value {
    shown.value(F::degrees)[0][api.version.shapes.degree.in_trainee.name_of(field).unwrap()].clone()
}

fn place(api: &Api<'_>, list: F, position: usize, field: &str) -> String {
    format!(
        "{} {position} {field}",
        input::<domain::Trainee>(api.version, list)
    )
}

const HOME: [(D, &str); 4] = [
    (D::uk_degree, "083"),
    (D::subject, "100485"),
    (D::grade, "02"),
    (D::graduation_year, "2021"),
];
const ABROAD: [(D, &str); 4] = [
    (D::non_uk_degree, "083"),
    (D::subject, "100485"),
    (D::country, "FR"),
    (D::graduation_year, "2021"),
];

#[test]
fn some_codes_of_a_degree_are_replaced() {
    every_version(|api| {
        let mut fields = HOME;
        fields[2] = (D::grade, "09");
        let fields = [fields.as_slice(), &[(D::institution, "0133")]].concat();
        let created = api.create(degrees(api, &[&fields]));
        assert_eq!(first_degree_value(api, &created, D::grade), json!("14"));
        assert_eq!(
            first_degree_value(api, &created, D::institution),
            json!("0149")
        );
    });
}

#[test]
fn each_problem_of_a_degree_is_reported_at_its_position() {
    every_version(|api| {
        let name = |field| input::<Degree>(api.version, field);
        let first: &[(D, &str)] = &[(D::grade, "77"), (D::graduation_year, "1966")];
        let second: &[(D, &str)] = &[
            (D::country, "Atlantis"),
            (D::non_uk_degree, "083"),
            (D::subject, "100485"),
        ];
        let reply = api.send("POST", "/trainees", degrees(api, &[first, &HOME, second]));
        let places = [
            place(api, F::degrees, 1, name(D::subject)),
            place(api, F::degrees, 1, name(D::uk_degree)),
            place(api, F::degrees, 1, name(D::grade)),
            place(api, F::degrees, 1, name(D::graduation_year)),
            place(api, F::degrees, 3, name(D::country)),
            place(api, F::degrees, 3, name(D::graduation_year)),
        ];
        reply.problems(&places.each_ref().map(String::as_str));
    });
}

#[test]
fn the_same_degree_twice_is_refused_as_invalid() {
    every_version(|api| {
        let with_institution = [HOME.as_slice(), &[(D::institution, "0117")]].concat();
        let reply = api.send(
            "POST",
            "/trainees",
            degrees(api, &[&HOME, &ABROAD, &with_institution]),
        );
        reply.problems(&[
            format!("{} 3", input::<domain::Trainee>(api.version, F::degrees)).as_str(),
        ]);
    });
}
