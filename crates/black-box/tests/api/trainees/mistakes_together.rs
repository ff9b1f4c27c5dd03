//! A mistake in one field hides no mistake in another, although a change of the one runs the rule
//! about the other.

use domain::rules::course::STUDY_MODE;
use domain::{
    DegreeField as D, Placement, PlacementField as P, TraineeField as F, WithdrawalField as W,
};
use serde_json::json;

use crate::api::support::bodies::input;
use crate::api::support::{Body, every_version, record, wire_values};

/// Where every route needs a study mode. On other versions an unknown route does not say whether it
/// does.
#[test]
fn unknown_route_and_missing_study_mode_are_reported_together() {
    every_version(|api| {
        if api
            .version
            .rules
            .trainee
            .iter()
            .all(|rule| rule.name != STUDY_MODE.name)
        {
            return;
        }
        let body = api
            .example()
            .with(F::training_route, "99")
            .without(F::study_mode);
        let places = [F::training_route, F::study_mode]
            .map(|field| api.version.inputs.trainee.name_of(field).unwrap());
        api.send("POST", "/trainees", body).problems(&places);
        let created = api.create(api.example());
        let body = Body::new(api.version)
            .with(F::training_route, "99")
            .with(F::study_mode, json!(null));
        api.send("PATCH", &created.path(), body).problems(&places);
    });
}

#[test]
fn impossible_planned_start_and_future_start_are_reported_together() {
    every_version(|api| {
        let body = api
            .example()
            .with(F::itt_start_date, "2026-13-01")
            .with(F::trainee_start_date, "2099-01-01");
        let places = [F::itt_start_date, F::trainee_start_date]
            .map(|field| api.version.inputs.trainee.name_of(field).unwrap());
        api.send("POST", "/trainees", body).problems(&places);
    });
}

#[test]
fn invalid_reasons_and_withdrawal_before_start_are_reported_together() {
    every_version(|api| {
        let created = api.create(api.example());
        let body = Body::withdrawal(api.version)
            .with_withdrawal(W::reasons, json!([5]))
            .with_withdrawal(W::withdrawal_date, "2020-01-01");
        let places = [W::reasons, W::withdrawal_date]
            .map(|field| input::<domain::Withdrawal>(api.version, field));
        api.send("POST", &format!("{}/withdraw", created.path()), body)
            .problems(&places);
    });
}

#[test]
fn malformed_urn_and_postcode_are_reported_together() {
    every_version(|api| {
        let created = api.create(api.example());
        let values = [(P::urn, "12"), (P::name, "A school"), (P::postcode, "nope")];
        let body = json!({ "data": record::<Placement>(api.version, &values) });
        let places = [P::urn, P::postcode].map(|field| input::<Placement>(api.version, field));
        api.send("POST", &format!("{}/placements", created.path()), body)
            .problems(&places);
    });
}

#[test]
fn invalid_uk_degree_and_missing_foreign_degree_are_reported_together() {
    every_version(|api| {
        let created = api.create(api.example());
        let name = |field| input::<domain::Degree>(api.version, field);
        let year =
            wire_values::written::<domain::Degree>(api.version, D::graduation_year, json!("2021"));
        let body = json!({ "data": {
            name(D::uk_degree): true, name(D::country): "FR", name(D::subject): "100485", name(D::graduation_year): year,
        } });
        let path = format!("{}/degrees", created.path());
        api.send("POST", &path, body)
            .problems(&[name(D::uk_degree), name(D::non_uk_degree)]);
        let body = json!({ "data": {
            name(D::non_uk_degree): true, name(D::subject): "100485", name(D::grade): "02",
            name(D::graduation_year): year,
        } });
        api.send("POST", &path, body)
            .problems(&[name(D::non_uk_degree), name(D::uk_degree)]);
    });
}
