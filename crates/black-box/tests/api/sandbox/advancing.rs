//! Doing at once what the registry does next.

use chrono::TimeDelta;
use domain::{Action, TraineeField as F};
use serde_json::{Value, json};

use crate::api::support::{Api, Response, Shown, every_version};
use crate::api::transitions::trainee_lifecycle::{carry_out, ready};

fn path(trainee: &Shown) -> String {
    format!("/sandbox/trainees/{}/advance", trainee.id())
}

fn advance(api: &Api<'_>, trainee: &Shown) -> Response {
    api.request("POST", &path(trainee)).send()
}

/// Advances a trainee, who must be in a state then, as every reader sees.
#[track_caller]
fn advanced(api: &Api<'_>, trainee: &Shown, state: &str) -> Shown {
    let reply = advance(api, trainee).is(200);
    let shown = api.get(&trainee.path()).is(200);
    assert_eq!(
        (&reply.body, reply.header("etag")),
        (&shown.body, shown.header("etag"))
    );
    let shown = api.shown(&shown);
    shown.has(&[(F::state, json!(state))]);
    shown
}

#[track_caller]
fn nothing_follows(api: &Api<'_>, trainee: &Shown, message: &str) {
    let before = api.read(trainee.id());
    let reply = advance(api, trainee);
    assert_eq!(reply.transition("state"), message);
    assert_eq!(reply.body["errors"][0]["code"], "no_next_step");
    assert_eq!(api.read(trainee.id()).data, before.data);
}

#[test]
fn advancing_issues_trn_and_then_award() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        let numbered = advanced(api, &created, "trn_received");
        let trn = numbered.value(F::trn).as_str().unwrap();
        assert!(
            trn.len() == 7 && trn.bytes().all(|byte| byte.is_ascii_digit()),
            "{trn}"
        );
        let until = "state is trn_received: the registry has nothing to do until the trainee is recommended or deferred";
        nothing_follows(api, &created, until);
        carry_out(api, &created, Action::Recommend).is(202);
        let awarded = advanced(api, &created, "awarded");
        awarded.has(&[
            (F::trn, json!(trn)),
            (F::awarded_at, json!("2026-10-01T00:00:00.000Z")),
        ]);
        nothing_follows(
            api,
            &created,
            "state is awarded: nothing follows; register another trainee",
        );
    });
}

#[test]
fn advancing_recommended_trainee_issues_both() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        carry_out(api, &created, Action::Recommend).is(202);
        let awarded = advanced(api, &created, "awarded");
        assert!(awarded.value(F::trn).is_string());
        let id = created.id().to_owned();
        let history = api
            .register
            .operate(move |session| session.history_of(&id))
            .unwrap();
        let last = history.entries.last().unwrap();
        assert_eq!(
            last.operation,
            "POST /sandbox/trainees/{trainee_id}/advance"
        );
        let changed: Vec<&str> = last
            .fields
            .iter()
            .map(|field| field.path.as_str())
            .collect();
        assert!(
            ["trn", "state", "awarded_at"]
                .iter()
                .all(|field| changed.contains(field)),
            "{changed:?}"
        );
    });
}

#[test]
fn a_deferred_trainee_is_back_today() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        carry_out(api, &created, Action::Defer).is(200);
        api.register.clock.set("2026-10-20T09:00:00Z");
        let back = advanced(api, &created, "submitted_for_trn");
        back.has(&[(F::reinstate_date, json!("2026-10-20"))]);
        advanced(api, &created, "trn_received");
        // A deferral that has not begun is taken back.
        let ahead = json!({ "data": { "defer_date": "2026-12-01" } });
        api.send("POST", &format!("{}/defer", created.path()), ahead)
            .is(200);
        advanced(api, &created, "trn_received").has(&[(F::reinstate_date, json!("2026-10-20"))]);
    });
}

#[test]
fn nothing_follows_a_withdrawal() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        carry_out(api, &created, Action::Withdraw).is(200);
        nothing_follows(
            api,
            &created,
            "state is withdrawn: nothing follows; register another trainee",
        );
    });
}

#[test]
fn trainee_of_another_provider_is_not_found() {
    every_version(|api| {
        let other = api.register.other_provider(api.version);
        let theirs = other.create(other.example());
        assert_eq!(
            advance(api, &theirs).error(404, "NotFound"),
            "trainee not found"
        );
        assert_eq!(other.read(theirs.id()).data, theirs.data);
        api.request("POST", "/sandbox/trainees/none/advance")
            .send()
            .error(404, "NotFound");
    });
}

#[test]
fn advancing_supports_dry_runs_preconditions_and_keys() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        let tried = api
            .request("POST", &path(&created))
            .header("Prefer", "validate-only")
            .send()
            .is(200);
        assert_eq!(
            (tried.header("preference-applied"), tried.header("etag")),
            (Some("validate-only"), None)
        );
        api.shown(&tried)
            .has(&[(F::state, json!("trn_received")), (F::trn, Value::Null)]);
        api.read(created.id())
            .has(&[(F::state, json!("submitted_for_trn"))]);

        let with_tag = |tag: &str| {
            api.request("POST", &path(&created))
                .header("If-Match", tag)
                .send()
        };
        with_tag("\"another\"").is(412);
        let tag = api
            .get(&created.path())
            .is(200)
            .header("etag")
            .unwrap()
            .to_owned();
        with_tag(&tag).is(200);
        with_tag(&tag).is(412);

        carry_out(api, &created, Action::Defer).is(200);
        let with_key = || {
            api.request("POST", &path(&created))
                .header("Idempotency-Key", "run-7")
                .send()
                .is(200)
        };
        let first = with_key();
        let replayed = with_key();
        assert_eq!(replayed.header("idempotent-replayed"), Some("true"));
        assert_eq!((first.body, first.status), (replayed.body, replayed.status));
    });
}

#[test]
fn simulated_registry_has_nothing_left() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        carry_out(api, &created, Action::Recommend).is(202);
        advanced(api, &created, "awarded");
        api.register.clock.set("2026-10-05T10:00:00Z");
        let simulate = registry::simulated::simulate_once;
        let store = api.register.store();
        let simulated = actix_web::rt::System::new()
            .block_on(simulate(&store, TimeDelta::seconds(10)))
            .unwrap();
        assert_eq!(simulated, registry::simulated::Simulated::default());
    });
}
