//! Withdrawing a trainee.

use domain::{TraineeField as F, Withdrawal, WithdrawalField as W};
use serde_json::{Value, json};

use crate::api::support::bodies::input;
use crate::api::support::{Api, Body, Shown, every_version};

fn path(trainee: &Shown) -> String {
    format!("{}/withdraw", trainee.path())
}

/// Registers a trainee, another person for each number.
fn person(api: &Api<'_>, number: usize) -> Shown {
    api.create(api.example().with(F::last_name, format!("Person {number}")))
}

#[test]
fn a_withdrawn_trainee_shows_when_by_whom_and_why() {
    every_version(|api| {
        let created = api.create(api.example());
        api.register.clock.set("2026-10-07T15:00:00.500Z");
        let body = Body::withdrawal(api.version)
            .with_withdrawal(W::reasons, json!(["never_intended_to_obtain_qts"]));
        let withdrawn = api.shown(&api.send("POST", &path(&created), body).is(200));
        withdrawn.has(&[
            (F::state, json!("withdrawn")),
            (F::withdrawal_date, json!("2026-10-01")),
            (F::withdrawal_trigger, json!("trainee")),
            (F::withdrawal_future_interest, json!("no")),
            (
                F::withdrawal_reasons,
                json!(["never_intended_to_obtain_qts"]),
            ),
            (F::withdrawal_another_reason, Value::Null),
            (F::withdrawal_safeguarding_concern_reasons, Value::Null),
            (F::updated_at, json!("2026-10-07T15:00:00.500Z")),
        ]);
        let moved = [
            F::state,
            F::withdrawal_date,
            F::withdrawal_trigger,
            F::withdrawal_future_interest,
            F::withdrawal_reasons,
            F::updated_at,
        ];
        assert_eq!(created.differences(&withdrawn), moved.into());
        assert_eq!(api.read(created.id()).data, withdrawn.data);
    });
}

#[test]
fn each_listed_reason_is_accepted_only_with_its_trigger() {
    let listed: [(&str, &[&str]); 2] = [
        (
            "trainee",
            &[
                "unacceptable_behaviour",
                "did_not_make_progress",
                "lack_of_progress_during_placements",
                "trainee_workload_issues",
                "not_meeting_qts_standards",
                "change_in_personal_or_health_circumstances",
                "does_not_want_to_become_a_teacher",
                "never_intended_to_obtain_qts",
                "moved_to_different_itt_course",
                "trainee_chose_to_withdraw_another_reason",
                "safeguarding_concerns",
            ],
        ),
        (
            "provider",
            &[
                "record_added_in_error",
                "mandatory_reasons",
                "stopped_responding_to_messages",
                "unacceptable_behaviour",
                "lack_of_progress_during_placements",
                "did_not_make_progress",
                "not_meeting_qts_standards",
                "had_to_withdraw_trainee_another_reason",
                "safeguarding_concerns",
            ],
        ),
    ];
    every_version(|api| {
        let with = |trigger: &str, reasons: Vec<&str>| {
            Body::withdrawal(api.version)
                .with_withdrawal(W::trigger, trigger)
                .with_withdrawal(W::reasons, reasons)
                .with_withdrawal(W::another_reason, "In words")
                .with_withdrawal(W::safeguarding_concern_reasons, "In words, too")
        };
        for (number, (trigger, reasons)) in listed.iter().enumerate() {
            let trainee = person(api, number);
            let (other_trigger, others) = listed[1 - number];
            let alien: Vec<&str> = reasons
                .iter()
                .copied()
                .filter(|reason| !others.contains(reason))
                .collect();
            assert!(alien.len() > 1);
            let reply = api.send("POST", &path(&trainee), with(other_trigger, alien.clone()));
            let message = reply.problems(&[input::<Withdrawal>(api.version, W::reasons)])[0];
            assert!(
                message.contains(alien[0]) && message.contains(alien[1]),
                "{message}"
            );
            let reply = api
                .send("POST", &path(&trainee), with(trigger, reasons.to_vec()))
                .is(200);
            api.shown(&reply).has(&[
                (F::withdrawal_trigger, json!(trigger)),
                (F::withdrawal_reasons, json!(reasons)),
                (F::withdrawal_another_reason, json!("In words")),
                (
                    F::withdrawal_safeguarding_concern_reasons,
                    json!("In words, too"),
                ),
            ]);
        }
    });
}

#[test]
fn a_reason_that_is_sent_twice_is_recorded_once() {
    every_version(|api| {
        let created = api.create(api.example());
        let reasons = json!([
            "trainee_workload_issues",
            "did_not_make_progress",
            "trainee_workload_issues"
        ]);
        let body = Body::withdrawal(api.version).with_withdrawal(W::reasons, reasons);
        let reply = api.send("POST", &path(&created), body).is(200);
        let recorded = json!(["trainee_workload_issues", "did_not_make_progress"]);
        api.shown(&reply).has(&[(F::withdrawal_reasons, recorded)]);
    });
}

#[test]
fn explanation_without_a_reason_that_needs_it_is_stored() {
    every_version(|api| {
        let created = api.create(api.example());
        let body = Body::withdrawal(api.version)
            .with_withdrawal(W::another_reason, "Besides")
            .with_withdrawal(W::safeguarding_concern_reasons, "No concern");
        let reply = api.send("POST", &path(&created), body).is(200);
        api.shown(&reply).has(&[
            (F::withdrawal_another_reason, json!("Besides")),
            (
                F::withdrawal_safeguarding_concern_reasons,
                json!("No concern"),
            ),
        ]);
    });
}

#[test]
fn withdrawal_date_can_be_first_day_future_or_date_time() {
    every_version(|api| {
        for (number, (sent, shown)) in [
            ("2026-09-01", "2026-09-01"),
            ("2027-02-28", "2027-02-28"),
            ("2026-09-30T23:00:00Z", "2026-09-30"),
        ]
        .into_iter()
        .enumerate()
        {
            let trainee = person(api, number);
            let body = Body::withdrawal(api.version).with_withdrawal(W::withdrawal_date, sent);
            let reply = api.send("POST", &path(&trainee), body).is(200);
            api.shown(&reply).has(&[(F::withdrawal_date, json!(shown))]);
        }
    });
}
