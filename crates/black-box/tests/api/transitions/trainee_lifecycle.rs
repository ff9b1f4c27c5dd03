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
fn newer_recommendation_name_is_served() {
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
fn every_transition_matches_the_lifecycle() {
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
