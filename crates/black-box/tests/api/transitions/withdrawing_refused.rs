//! Withdrawals that are refused.

use domain::{TraineeField as F, Withdrawal, WithdrawalField as W};
use serde_json::{Value, json};

use crate::api::support::bodies::input;
use crate::api::support::{Api, Body, Response, Shown, every_version};

fn withdraw(api: &Api<'_>, trainee: &Shown, body: Body) -> Response {
    api.send("POST", &format!("{}/withdraw", trainee.path()), body)
}

/// What the version calls the fields of a withdrawal.
fn names<const N: usize>(api: &Api<'_>, fields: [W; N]) -> [&'static str; N] {
    fields.map(|field| input::<Withdrawal>(api.version, field))
}

#[test]
fn a_withdrawn_trainee_is_not_withdrawn_again() {
    every_version(|api| {
        let created = api.create(api.example());
        let withdrawn = api.withdraw(created.id());
        let message = withdraw(api, &created, Body::withdrawal(api.version))
            .transition("state")
            .to_owned();
        assert!(message.contains("withdrawn"), "{message}");
        assert_eq!(api.read(created.id()).data, withdrawn.data);
    });
}

#[test]
fn state_and_field_problems_are_reported_together() {
    every_version(|api| {
        let created = api.create(api.example());
        api.withdraw(created.id());
        let reply = withdraw(
            api,
            &created,
            Body::withdrawal(api.version).with_withdrawal(W::trigger, Value::Null),
        )
        .is(422);
        let errors = reply.errors();
        let [trigger] = names(api, [W::trigger]);
        assert!(
            errors
                .iter()
                .any(|(error, message)| *error == "StateTransitionError"
                    && message.starts_with("state "))
        );
        assert!(errors.iter().any(|(error, message)| {
            *error == "UnprocessableEntity" && message.starts_with(&format!("{trigger} "))
        }));
        assert_eq!(errors.len(), 2, "{errors:?}");
    });
}

#[test]
fn nobody_is_withdrawn_before_the_start() {
    every_version(|api| {
        let created = api.create(api.example().with(F::itt_start_date, "2026-10-06"));
        let body = Body::withdrawal(api.version).with_withdrawal(W::withdrawal_date, "2026-11-02");
        withdraw(api, &created, body.clone()).transition(
            api.version
                .inputs
                .trainee
                .name_of(F::itt_start_date)
                .unwrap(),
        );
        api.read(created.id())
            .has(&[(F::state, json!("submitted_for_trn"))]);
        api.register.clock.set("2026-10-06T00:00:00Z");
        withdraw(api, &created, body).is(200);
    });
}

#[test]
fn withdrawal_requires_date_trigger_future_interest_and_reasons() {
    every_version(|api| {
        let created = api.create(api.example());
        let required = names(
            api,
            [
                W::withdrawal_date,
                W::trigger,
                W::future_interest,
                W::reasons,
            ],
        );
        let absent = Body::new(api.version).with_withdrawal(W::another_reason, "Nothing else");
        let null = required.iter().fold(Body::new(api.version), |body, name| {
            body.with_key(name, Value::Null)
        });
        let with_all = |text: &str| {
            required.iter().fold(Body::new(api.version), |body, name| {
                body.with_key(name, text)
            })
        };
        let (blank, invisible) = (with_all(" "), with_all("\u{feff}\u{200b}"));
        let no_reason = null.clone().with_withdrawal(W::reasons, json!([]));
        for body in [absent, null, blank, invisible, no_reason] {
            withdraw(api, &created, body).problems(&required);
        }
        api.read(created.id())
            .has(&[(F::state, json!("submitted_for_trn"))]);
    });
}

#[test]
fn unknown_trigger_is_one_problem_and_both_reason_lists_apply() {
    every_version(|api| {
        let created = api.create(api.example());
        let with = |trigger: &str, reasons: Value| {
            Body::withdrawal(api.version)
                .with_withdrawal(W::trigger, trigger)
                .with_withdrawal(W::reasons, reasons)
        };
        let [trigger, reasons] = names(api, [W::trigger, W::reasons]);
        for unknown in ["school", ""] {
            let of_both = json!(["trainee_workload_issues", "mandatory_reasons"]);
            withdraw(api, &created, with(unknown, of_both)).problems(&[trigger]);
            let of_neither = json!(["trainee_workload_issues", "bored", "tired"]);
            withdraw(api, &created, with(unknown, of_neither)).problems(&[trigger, reasons]);
        }
        let body = with("trainee", json!(["trainee_workload_issues"]))
            .with_withdrawal(W::future_interest, "perhaps");
        let [interest] = names(api, [W::future_interest]);
        assert!(withdraw(api, &created, body).problems(&[interest])[0].contains("perhaps"));
    });
}
