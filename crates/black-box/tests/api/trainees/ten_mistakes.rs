//! Ten different mistakes in one body, which are all reported at once.

use domain::{Degree, DegreeField as D, Placement, PlacementField as P, TraineeField as F};
use serde_json::json;

use crate::api::support::{Api, Body, record};

/// A name that another version has for a field, where this one has its own name.
fn foreign_name(api: &Api<'_>, field: F) -> &'static str {
    let names = &api.served().other_names.trainee.refused;
    names
        .iter()
        .find(|(_, named)| *named == field)
        .map(|(name, _)| *name)
        .unwrap()
}

/// The body, and where each of its ten mistakes is.
pub(crate) fn body_and_places(api: &Api<'_>) -> (Body, [String; 10]) {
    let input = |field| {
        api.version
            .inputs
            .trainee
            .name_of(field)
            .unwrap()
            .to_owned()
    };
    let placement = record::<Placement>(api.version, &[(P::urn, "900020"), (P::name, " ")]);
    let degree = |subject| {
        record::<Degree>(
            api.version,
            &[
                (D::uk_degree, "083"),
                (D::subject, subject),
                (D::grade, "02"),
                (D::graduation_year, "2021"),
            ],
        )
    };
    let foreign = foreign_name(api, F::training_partner_urn);
    let body = api
        .example()
        .with(F::course_subject_2, "999999")
        .with(F::itt_end_date, "2027-02-30")
        .with(F::first_names, "x".repeat(61))
        .without(F::agency_id)
        .with(F::email, "trainee.example.com")
        .with(F::nationality, true)
        .with_key(foreign, "990004")
        .with(F::date_of_birth, "2027-01-01")
        .with(F::placements, json!([placement]))
        .with(F::degrees, json!([degree("100485"), degree("1")]));
    let places = [
        input(F::course_subject_2),
        input(F::itt_end_date),
        input(F::first_names),
        input(F::agency_id),
        input(F::email),
        input(F::nationality),
        foreign.to_owned(),
        input(F::date_of_birth),
        format!(
            "{} 1 {}",
            input(F::placements),
            api.version.inputs.placement.name_of(P::name).unwrap()
        ),
        format!(
            "{} 2 {}",
            input(F::degrees),
            api.version.inputs.degree.name_of(D::subject).unwrap()
        ),
    ];
    (body, places)
}

/// The places as paths; items count from 0.
pub(crate) fn paths(places: &[String; 10]) -> [String; 10] {
    places
        .each_ref()
        .map(|place| match place.split(' ').collect::<Vec<_>>()[..] {
            [list, number, field] => {
                format!("{list}[{}].{field}", number.parse::<usize>().unwrap() - 1)
            }
            _ => place.clone(),
        })
}
