//! Deferral, recommendation and withdrawal.

use domain::{TraineeField as F, WithdrawalField as W};
use serde_json::{Value, json};

use super::tried;
use crate::api::support::bodies::input;
use crate::api::support::versions::recommendation;
use crate::api::support::{Api, Body, every_version};

#[track_caller]
fn check(api: &Api<'_>, path: &str, body: Body, field: Option<&str>) {
    assert_eq!(
        tried(api, path, body),
        field.into_iter().map(str::to_owned).collect(),
        "{path}"
    );
}

#[test]
fn every_clause_about_withdrawals() {
    every_version(|api| {
        let path = format!("{}/withdraw", api.create(api.example()).path());
        let named = |field| input::<domain::Withdrawal>(api.version, field);
        let good = || Body::withdrawal(api.version);
        let reasons = |trigger: &str, reasons: Value| {
            good()
                .with_withdrawal(W::trigger, trigger)
                .with_withdrawal(W::reasons, reasons)
        };
        for (body, field) in [
            (good(), None),
            (
                good().with_withdrawal(W::withdrawal_date, Value::Null),
                Some(W::withdrawal_date),
            ),
            (
                good().with_withdrawal(W::withdrawal_date, "2026-02-30"),
                Some(W::withdrawal_date),
            ),
            (
                good().with_withdrawal(W::withdrawal_date, "2026-08-31"),
                Some(W::withdrawal_date),
            ),
            (
                good().with_withdrawal(W::withdrawal_date, "2026-09-01"),
                None,
            ),
            (
                good().with_withdrawal(W::withdrawal_date, "2030-01-01"),
                None,
            ),
            (
                good().with_withdrawal(W::trigger, Value::Null),
                Some(W::trigger),
            ),
            (
                good().with_withdrawal(W::trigger, "unknown"),
                Some(W::trigger),
            ),
            (
                good().with_withdrawal(W::future_interest, Value::Null),
                Some(W::future_interest),
            ),
            (
                good().with_withdrawal(W::future_interest, "maybe"),
                Some(W::future_interest),
            ),
            (
                good().with_withdrawal(W::reasons, Value::Null),
                Some(W::reasons),
            ),
            (
                good().with_withdrawal(W::reasons, json!([])),
                Some(W::reasons),
            ),
            (
                good().with_withdrawal(W::reasons, json!("did_not_make_progress")),
                Some(W::reasons),
            ),
            (
                good().with_withdrawal(W::reasons, json!([7])),
                Some(W::reasons),
            ),
            (
                good().with_withdrawal(W::reasons, json!({ "reason": "bored" })),
                Some(W::reasons),
            ),
            (
                good().with_withdrawal(W::reasons, json!(true)),
                Some(W::reasons),
            ),
            (
                reasons("trainee", json!(["mandatory_reasons"])),
                Some(W::reasons),
            ),
            (
                reasons(
                    "provider",
                    json!(["mandatory_reasons", "did_not_make_progress"]),
                ),
                None,
            ),
            (
                reasons("provider", json!(["trainee_workload_issues", "nothing"])),
                Some(W::reasons),
            ),
            (
                reasons(
                    "trainee",
                    json!(["trainee_chose_to_withdraw_another_reason"]),
                ),
                Some(W::another_reason),
            ),
            (
                reasons(
                    "provider",
                    json!(["had_to_withdraw_trainee_another_reason"]),
                ),
                Some(W::another_reason),
            ),
            (
                reasons(
                    "provider",
                    json!(["had_to_withdraw_trainee_another_reason"]),
                )
                .with_withdrawal(W::another_reason, "Moved"),
                None,
            ),
            (
                reasons(
                    "provider",
                    json!(["had_to_withdraw_trainee_another_reason"]),
                )
                .with_withdrawal(W::another_reason, json!(["Moved"])),
                Some(W::another_reason),
            ),
            (
                reasons(
                    "trainee",
                    json!(["trainee_chose_to_withdraw_another_reason"]),
                )
                .with_withdrawal(W::another_reason, " \n "),
                Some(W::another_reason),
            ),
            (
                reasons("trainee", json!(["safeguarding_concerns"])),
                Some(W::safeguarding_concern_reasons),
            ),
            (
                reasons("provider", json!(["safeguarding_concerns"])),
                Some(W::safeguarding_concern_reasons),
            ),
            (
                reasons("provider", json!(["safeguarding_concerns"]))
                    .with_withdrawal(W::safeguarding_concern_reasons, json!(["Some"])),
                Some(W::safeguarding_concern_reasons),
            ),
            (
                reasons("provider", json!(["safeguarding_concerns"]))
                    .with_withdrawal(W::safeguarding_concern_reasons, "Some"),
                None,
            ),
            (
                reasons("provider", json!(["record_added_in_error"]))
                    .with_withdrawal(W::withdrawal_date, "2020-01-01"),
                None,
            ),
        ] {
            check(api, &path, body, field.map(named));
        }
        let waiting = api.create(
            api.example()
                .with(F::itt_start_date, "2026-10-06")
                .with(F::last_name, "Waiting"),
        );
        let path = format!("{}/withdraw", waiting.path());
        let late = || good().with_withdrawal(W::withdrawal_date, "2026-11-01");
        check(api, &path, late(), Some("itt_start_date"));
        let error = reasons("provider", json!(["record_added_in_error"]));
        check(api, &path, error, None);
    });
}

#[test]
fn every_clause_about_deferrals() {
    every_version(|api| {
        let path = format!("{}/defer", api.create(api.example()).path());
        let date = |day: Value| Body::new(api.version).with_key("defer_date", day);
        for (body, field) in [
            (date(json!("1999-01-01")), None),
            (date(json!("2040-01-01T10:00:00Z")), None),
            (date(Value::Null), Some("defer_date")),
            (date(json!("2026-13-01")), Some("defer_date")),
            (
                date(json!("2026-10-01")).with_key("defer_reason", "é".repeat(500)),
                None,
            ),
            (
                date(json!("2026-10-01")).with_key("defer_reason", "é".repeat(501)),
                Some("defer_reason"),
            ),
            (date(json!("2026-10-01")).with_key("defer_reason", ""), None),
        ] {
            check(api, &path, body, field);
        }
    });
}

#[test]
fn every_clause_about_recommendations() {
    every_version(|api| {
        let met = |day: Value| Body::new(api.version).with_key("qts_standards_met_date", day);
        let create = |name: &str, route: &str, placements: usize, with_degree: bool| {
            let schools: Vec<Value> = (0..placements)
                .map(|_| json!({ "urn": "990001" }))
                .collect();
            let body = api
                .example()
                .with(F::last_name, name)
                .with(F::training_route, route)
                .with(F::placements, schools);
            let created = if with_degree {
                api.create(body)
            } else {
                api.create_without_degrees(body)
            };
            format!("{}/{}", created.path(), recommendation(api.version))
        };
        let path = create("Ready", "12", 2, true);
        for (day, field) in [
            (json!("2026-10-05"), None),
            (json!("2026-09-01"), None),
            (json!("2026-10-06"), Some("qts_standards_met_date")),
            (json!("2026-08-31"), Some("qts_standards_met_date")),
            (Value::Null, Some("qts_standards_met_date")),
            (json!("soon"), Some("qts_standards_met_date")),
        ] {
            check(api, &path, met(day), field);
        }
        for (name, route, placements, with_degree, field) in [
            ("No degree", "12", 2, false, Some("degrees")),
            ("One placement", "12", 1, true, Some("placements")),
            ("Undergraduate", "11", 2, false, None),
            ("Undergraduate without", "11", 1, false, Some("placements")),
            ("Apprentice", "14", 2, false, None),
            ("Salaried", "03", 2, false, Some("degrees")),
        ] {
            check(
                api,
                &create(name, route, placements, with_degree),
                met(json!("2026-10-01")),
                field,
            );
        }
    });
}

/// The newer routes, in the versions that have them.
#[test]
fn every_clause_about_recommendations_on_the_newer_routes() {
    every_version(|api| {
        if api
            .version
            .inputs
            .trainee
            .name_of(F::iqts_country)
            .is_none()
        {
            return;
        }
        let met = || Body::new(api.version).with_key("qts_standards_met_date", "2026-10-01");
        let early = |body: Body| {
            body.with(F::course_subject_1, "100510")
                .with(F::course_age_range, "13920")
        };
        let none = json!([]);
        let one = json!([{ "urn": "900020", "name": "Placement" }]);
        for (name, body, field) in [
            (
                "iQTS",
                api.example()
                    .with(F::training_route, "15")
                    .with(F::iqts_country, "FR")
                    .with(F::placements, one.clone()),
                None,
            ),
            (
                "iQTS without",
                api.example()
                    .with(F::training_route, "15")
                    .with(F::iqts_country, "FR")
                    .with(F::placements, none.clone()),
                Some("placements"),
            ),
            (
                "Assessed",
                api.example()
                    .with(F::training_route, "16")
                    .with(F::placements, none.clone()),
                Some("employing_school_urn"),
            ),
            (
                "Assessed at a school",
                api.example()
                    .with(F::training_route, "16")
                    .with(F::placements, none.clone())
                    .with(F::employing_school_urn, "990001"),
                None,
            ),
            (
                "Assessed at none",
                api.example()
                    .with(F::training_route, "16")
                    .with(F::employing_school_urn, "900010"),
                Some("employing_school_urn"),
            ),
            (
                "Early",
                early(api.example())
                    .with(F::training_route, "17")
                    .with(F::placements, none.clone()),
                None,
            ),
            (
                "Early undergraduate",
                early(api.example()).with(F::training_route, "18"),
                None,
            ),
            (
                "Early postgraduate",
                early(api.example()).with(F::training_route, "19"),
                Some("degrees"),
            ),
            (
                "HPITT",
                api.example()
                    .with(F::training_route, "21")
                    .with(F::placements, one.clone()),
                Some("placements"),
            ),
            (
                "HPITT with two",
                api.example().with(F::training_route, "21"),
                None,
            ),
        ] {
            let body = body.with(F::last_name, name);
            let without_degrees = name == "Early undergraduate" || field == Some("degrees");
            let created = if without_degrees {
                api.create_without_degrees(body)
            } else {
                api.create(body)
            };
            check(
                api,
                &format!("{}/{}", created.path(), recommendation(api.version)),
                met(),
                field,
            );
        }
    });
}
