//! The lifecycle of trainees in each version: registered, found, corrected, deferred, recommended
//! and withdrawn.

use domain::{Action, State, TraineeField as F, lifecycle};
use serde_json::{Value, json};

use crate::api::support::versions::recommendation;
use crate::api::support::{Api, Body, Response, Shown, every_version};

/// A request for a transition that a version accepts, and the status that it gets.
fn transition(api: &Api<'_>, action: Action) -> (&'static str, Value, u16) {
    if action == Action::Defer {
        (
            "defer",
            json!({ "data": { "defer_date": "2026-10-02", "defer_reason": "Illness" } }),
            200,
        )
    } else if action == Action::Recommend {
        (
            recommendation(api.version),
            json!({ "data": { "qts_standards_met_date": "2026-10-01" } }),
            202,
        )
    } else {
        assert_eq!(action, Action::Withdraw);
        ("withdraw", Body::withdrawal(api.version).into(), 200)
    }
}

/// Asks for a transition in a way that the version accepts.
pub(crate) fn carry_out(api: &Api<'_>, shown: &Shown, action: Action) -> Response {
    let (path, body, _) = transition(api, action);
    api.send("POST", &format!("{}/{path}", shown.path()), body)
}

/// A trainee with the two placements that a recommendation needs.
pub(crate) fn ready(api: &Api<'_>, born: &str) -> Shown {
    let created = api.create(api.example().with(F::date_of_birth, born));
    let second = json!({ "data": { "urn": "990002", "name": "Second school" } });
    api.send("POST", &format!("{}/placements", created.path()), second)
        .is(201);
    created
}

#[test]
fn a_deferred_trainee_shows_when_and_why() {
    every_version(|api| {
        let created = api.create(api.example());
        let deferred = api.shown(&carry_out(api, &created, Action::Defer).is(200));
        deferred.has(&[
            (F::state, json!("deferred")),
            (F::defer_date, json!("2026-10-02")),
            (F::defer_reason, json!("Illness")),
            (F::trainee_start_date, json!("2026-09-01")),
        ]);
        assert_eq!(api.read(created.id()).data, deferred.data);
    });
}

#[test]
fn wrong_deferral_names_its_field_before_the_state_is_checked() {
    every_version(|api| {
        let created = api.create(api.example());
        let path = format!("{}/defer", created.path());
        carry_out(api, &created, Action::Withdraw).is(200);
        let long = "x".repeat(501);
        for (body, field) in [
            (json!({ "defer_reason": "Illness" }), "defer_date"),
            (json!({ "defer_date": null }), "defer_date"),
            (json!({ "defer_date": "2026-02-30" }), "defer_date"),
            (
                json!({ "defer_date": "2026-10-02", "defer_reason": long }),
                "defer_reason",
            ),
            (
                json!({ "defer_date": "2026-10-02", "defer_reason": "x".repeat(500) }),
                "state",
            ),
        ] {
            let reply = api.send("POST", &path, json!({ "data": body })).is(422);
            let errors = reply.errors();
            assert_eq!(errors.len(), 1, "{errors:?}");
            assert!(errors[0].1.starts_with(&format!("{field} ")), "{errors:?}");
            assert_eq!(errors[0].0, "UnprocessableEntity");
        }
    });
}

#[test]
fn a_trainee_is_recommended_for_the_award() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        let reply = carry_out(api, &created, Action::Recommend).is(202);
        api.shown(&reply).has(&[
            (F::state, json!("recommended_for_award")),
            (F::outcome_date, json!("2026-10-01")),
            (
                F::recommended_for_award_at,
                api.read(created.id()).value(F::updated_at).clone(),
            ),
        ]);
        assert_eq!(api.read(created.id()).data, *reply.data());
    });
}

#[test]
fn everything_that_stands_against_a_recommendation_is_said_at_once() {
    every_version(|api| {
        // A postgraduate route needs a degree and two placements.
        let body = api
            .example()
            .with(F::training_route, "12")
            .without(F::placements);
        let created = api.create_without_degrees(body);
        let path = format!("{}/{}", created.path(), recommendation(api.version));
        for (date, fields) in [
            (
                json!(null),
                &["qts_standards_met_date", "degrees", "placements"][..],
            ),
            (
                json!("2026-10-06"),
                &["qts_standards_met_date", "degrees", "placements"],
            ),
            (
                json!("2026-08-31"),
                &["qts_standards_met_date", "degrees", "placements"],
            ),
            (json!("2026-09-01"), &["degrees", "placements"]),
        ] {
            let reply = api
                .send(
                    "POST",
                    &path,
                    json!({ "data": { "qts_standards_met_date": date } }),
                )
                .is(422);
            let errors = reply.errors();
            let named: Vec<_> = errors
                .iter()
                .map(|(_, message)| message.split(' ').next().unwrap())
                .collect();
            assert_eq!(named, fields, "{date}");
            assert!(
                errors
                    .iter()
                    .all(|(error, _)| *error == "UnprocessableEntity")
            );
            assert!(errors.last().unwrap().1.contains("provider_led_postgrad"));
        }
        assert_eq!(api.read(created.id()).data, created.data);
    });
}

#[test]
fn newer_recommendation_name_is_served_where_the_version_has_it() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        let path = format!("{}/update-qts-or-eyts-status", created.path());
        let body = json!({ "data": { "qts_standards_met_date": "2026-10-01" } });
        let has = api
            .version
            .endpoints
            .has(adapter_kit::Endpoint::UpdateQtsOrEytsStatus);
        let reply = api.send("POST", &path, body);
        assert_eq!(reply.status, if has { 202 } else { 404 });
        assert_eq!(reply.header("deprecation"), None);
    });
}

#[test]
fn every_transition_from_every_state_matches_the_lifecycle() {
    every_version(|api| {
        let actions = [Action::Defer, Action::Recommend, Action::Withdraw];
        let ways: [(&[Action], State); 4] = [
            (&[], State::SubmittedForTrn),
            (&[Action::Defer], State::Deferred),
            (&[Action::Recommend], State::RecommendedForAward),
            (&[Action::Withdraw], State::Withdrawn),
        ];
        for (number, (way, state)) in ways.iter().enumerate() {
            for (other, action) in actions.iter().enumerate() {
                let created = ready(
                    api,
                    &format!("19{}{}-04-12", 8 + number % 2, number / 2 * 3 + other),
                );
                for step in *way {
                    carry_out(api, &created, *step);
                }
                let before = api.read(created.id());
                before.has(&[(F::state, json!(state.name()))]);
                let reply = carry_out(api, &before, *action);
                let allowed = lifecycle::next_state(*state, *action, false);
                match allowed {
                    Ok(after) => {
                        assert_eq!(reply.status, transition(api, *action).2);
                        api.read(created.id())
                            .has(&[(F::state, json!(after.name()))]);
                    }
                    Err(_) => {
                        let error = if *action == Action::Withdraw {
                            "StateTransitionError"
                        } else {
                            "UnprocessableEntity"
                        };
                        assert_eq!(reply.is(422).errors().len(), 1);
                        assert_eq!(carry_out(api, &before, *action).errors()[0].0, error);
                        assert_eq!(api.read(created.id()).data, before.data);
                    }
                }
            }
        }
    });
}

#[test]
fn a_deferred_trainee_who_leaves_keeps_the_deferral() {
    every_version(|api| {
        let created = api.create(api.example());
        carry_out(api, &created, Action::Defer).is(200);
        let withdrawn = api.shown(&carry_out(api, &created, Action::Withdraw).is(200));
        withdrawn.has(&[
            (F::state, json!("withdrawn")),
            (F::defer_date, json!("2026-10-02")),
            (F::defer_reason, json!("Illness")),
            (F::withdrawal_date, json!("2026-10-01")),
        ]);
    });
}
