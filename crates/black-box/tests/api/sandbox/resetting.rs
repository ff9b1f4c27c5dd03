//! Emptying the sandbox of one provider.

use domain::{Action, TraineeField as F};
use registry::actions::{RegistryAction, perform_blocking};
use serde_json::json;

use crate::api::support::{Api, Shown, every_version};
use crate::api::transitions::trainee_lifecycle::{carry_out, ready};

fn reset(api: &Api<'_>) -> (i64, i64) {
    let reply = api.request("POST", "/sandbox/reset").send().is(200);
    (
        reply.data()["discarded"].as_i64().unwrap(),
        reply.data()["remaining"].as_i64().unwrap(),
    )
}

/// A trainee in each state that the API shows.
fn in_every_state(api: &Api<'_>) -> Vec<Shown> {
    let advance = |trainee: &Shown| {
        api.request(
            "POST",
            &format!("/sandbox/trainees/{}/advance", trainee.id()),
        )
        .send()
        .is(200);
    };
    let trainees: Vec<Shown> = (0..6)
        .map(|number| ready(api, &format!("199{number}-04-12")))
        .collect();
    advance(&trainees[1]);
    carry_out(api, &trainees[2], Action::Defer).is(200);
    carry_out(api, &trainees[3], Action::Withdraw).is(200);
    carry_out(api, &trainees[4], Action::Recommend).is(202);
    carry_out(api, &trainees[5], Action::Recommend).is(202);
    advance(&trainees[5]);
    trainees
}

#[test]
fn reset_discards_only_trainees_of_provider() {
    every_version(|api| {
        let other = api.register.other_provider(api.version);
        let theirs = other.create(other.example());
        let trainees = in_every_state(api);
        // A trainee of another academic cycle.
        let earlier = api.create(
            api.example()
                .with(F::itt_start_date, "2025-09-01")
                .with(F::last_name, "Earlier"),
        );
        assert_eq!(reset(api), (7, 0));
        for trainee in trainees.iter().chain([&earlier]) {
            assert_eq!(
                api.get(&trainee.path()).error(404, "NotFound"),
                "trainee not found"
            );
        }
        for cycle in [2025, 2026] {
            api.get(&format!("/trainees?academic_cycle={cycle}"))
                .error(404, "NotFound");
        }
        assert_eq!(reset(api), (0, 0));
        assert_eq!(other.read(theirs.id()).data, theirs.data);
        // The same person can be registered again.
        let again = api.create(api.example().with(F::date_of_birth, "1990-04-12"));
        assert_ne!(again.id(), trainees[0].id());
        assert_eq!(
            api.get("/trainees")
                .is(200)
                .data()
                .as_array()
                .unwrap()
                .len(),
            1
        );
    });
}

#[test]
fn reset_leaves_dated_tombstone_and_history_entry() {
    every_version(|api| {
        let created = api.create(api.example());
        api.register.clock.set("2026-10-06T09:00:00Z");
        let request = api
            .request("POST", "/sandbox/reset")
            .header("X-Request-Id", "run-7");
        request.send().is(200);
        let id = created.id().to_owned();
        let history = api
            .register
            .operate(move |session| session.history_of(&id))
            .unwrap();
        let last = history.entries.last().unwrap();
        assert_eq!(
            (last.operation.as_str(), last.request_id.as_deref()),
            ("POST /sandbox/reset", Some("run-7"))
        );
        let discarded = last
            .fields
            .iter()
            .find(|field| field.path == "discarded_at")
            .unwrap();
        assert!(discarded.before().is_null());
        assert!(
            discarded
                .after()
                .to_string()
                .contains("2026-10-06T09:00:00"),
            "{}",
            discarded.after()
        );
        // What is discarded cannot be brought back.
        let action = RegistryAction::Award;
        perform_blocking(&api.register.store(), created.id(), &action, "A. Operator").unwrap_err();
    });
}

#[test]
fn reset_discards_1000_trainees_and_reports_rest() {
    every_version(|api| {
        api.register.sow(1_200);
        let (mut discarded, mut remaining) = (0, 1_200);
        while remaining > 0 {
            let (now, left) = reset(api);
            // A slow machine does less in its time, and never more.
            assert!(
                (1..=1_000).contains(&now) && now + left == remaining,
                "{now} {left}"
            );
            (discarded, remaining) = (discarded + now, left);
        }
        assert_eq!(discarded, 1_200);
        api.get("/trainees?academic_cycle=2026").is(404);
    });
}

#[test]
fn reset_supports_dry_runs_and_idempotency_keys() {
    every_version(|api| {
        let first = api.create(api.example());
        let tried = api
            .request("POST", "/sandbox/reset")
            .header("Prefer", "validate-only")
            .send()
            .is(200);
        assert_eq!(tried.header("preference-applied"), Some("validate-only"));
        assert_eq!(*tried.data(), json!({ "discarded": 1, "remaining": 0 }));
        assert_eq!(api.read(first.id()).data, first.data);

        let with_key = || {
            api.request("POST", "/sandbox/reset")
                .header("Idempotency-Key", "run-7")
                .send()
                .is(200)
        };
        assert_eq!(with_key().header("idempotent-replayed"), None);
        let second = api.create(api.example());
        let replayed = with_key();
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        assert_eq!(*replayed.data(), json!({ "discarded": 1, "remaining": 0 }));
        assert_eq!(api.read(second.id()).data, second.data);
        // A body is not looked at.
        api.send(
            "POST",
            "/sandbox/reset",
            json!({ "data": { "trainee_id": "none" } }),
        )
        .is(200);
        api.get(&second.path()).is(404);
    });
}

#[test]
fn request_before_reset_is_not_replayed() {
    every_version(|api| {
        let create = || {
            api.request("POST", "/trainees")
                .header("Idempotency-Key", "fixed")
                .json(api.example())
                .send()
        };
        let before = create().is(201);
        api.request("POST", "/sandbox/reset").send().is(200);
        let after = create().is(201);
        assert_ne!(before.data()["trainee_id"], after.data()["trainee_id"]);
        assert_eq!(after.header("idempotent-replayed"), None);
    });
}
