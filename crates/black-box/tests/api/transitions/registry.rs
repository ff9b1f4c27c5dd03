//! What clients see of what the registry and operators do, and the registry that is played in the
//! sandbox.

use std::thread;
use std::time::Duration;

use adapter_kit::view::View;
use chrono::{DateTime, SecondsFormat, TimeDelta, Utc};
use domain::commands::registry::Reinstatement;
use domain::{Action, Lists, Trainee, TraineeField as F};
use registry::actions::{Outcome, RegistryAction, RegistryActionError, perform_blocking};
use registry::simulated::{Simulated, simulate_once};
use serde_json::{Value, json};
use storage::store::Store;

use crate::api::support::register::Register;
use crate::api::support::{Api, Body, Shown, every_version};
use crate::api::transitions::trainee_lifecycle::{carry_out, ready};

/// How long the registry takes in these tests.
const DELAY: TimeDelta = TimeDelta::seconds(10);
const TRN: &str = "1234567";

fn attempt(
    register: &Register,
    id: &str,
    action: &RegistryAction,
) -> Result<Outcome, RegistryActionError> {
    perform_blocking(&register.store(), id, action, "A. Operator")
}

/// Does something to a trainee, which must change the record, and reads it.
#[track_caller]
fn after(api: &Api<'_>, trainee: &Shown, action: &RegistryAction) -> Shown {
    let before = api.read(trainee.id());
    assert!(attempt(api.register, trainee.id(), action).unwrap().changed);
    assert!(!attempt(api.register, trainee.id(), action).unwrap().changed);
    let after = api.read(trainee.id());
    assert_ne!(before.value(F::updated_at), after.value(F::updated_at));
    after
}

fn issue(trn: &str) -> RegistryAction {
    RegistryAction::IssueTrn(Some(trn.parse().unwrap()))
}

fn reinstate(day: &str) -> RegistryAction {
    RegistryAction::Reinstate(Reinstatement {
        date: Some(day.parse().unwrap()),
        itt_end_date: None,
    })
}

/// The value of a datetime field, and a later one.
fn later(moment: &Value, by: TimeDelta) -> String {
    let moment: DateTime<Utc> = moment.as_str().unwrap().parse().unwrap();
    (moment + by).to_rfc3339_opts(SecondsFormat::Millis, true)
}

fn play(store: &Store) -> Simulated {
    actix_web::rt::System::new()
        .block_on(simulate_once(store, DELAY))
        .unwrap()
}

/// How often a field changed.
fn changes(register: &Register, id: &str, field: &str) -> usize {
    let asked = id.to_owned();
    let history = register
        .operate(move |session| session.history_of(&asked))
        .unwrap();
    let fields = history.entries.iter().flat_map(|entry| &entry.fields);
    fields
        .filter(|change| change.path == field && change.before().is_null())
        .count()
}

#[test]
fn trn_advances_only_a_submitted_trainee() {
    every_version(|api| {
        for (number, (step, state)) in [
            (None, "trn_received"),
            (Some(Action::Defer), "deferred"),
            (Some(Action::Withdraw), "withdrawn"),
            (Some(Action::Recommend), "recommended_for_award"),
        ]
        .into_iter()
        .enumerate()
        {
            let created = ready(api, &format!("199{number}-04-12"));
            if let Some(action) = step {
                carry_out(api, &created, action);
            }
            let trn = format!("123456{number}");
            let shown = after(api, &created, &issue(&trn));
            shown.has(&[(F::trn, json!(trn)), (F::state, json!(state))]);
            assert_eq!(
                shown.value(F::slug_sent_to_registry_at),
                shown.value(F::updated_at)
            );
            assert_eq!(
                shown.value(F::submitted_for_trn_at),
                created.value(F::submitted_for_trn_at)
            );
        }
        assert_eq!(
            api.get("/trainees?has_trn=true")
                .is(200)
                .data()
                .as_array()
                .unwrap()
                .len(),
            4
        );
        api.get("/trainees?has_trn=false").is(404);
    });
}

#[test]
fn entity_tag_before_trn_is_stale() {
    every_version(|api| {
        let created = api.create(api.example());
        let tag = api
            .get(&created.path())
            .is(200)
            .header("etag")
            .unwrap()
            .to_owned();
        after(api, &created, &issue(TRN));
        let change = Body::new(api.version).with(F::last_name, "Newname");
        api.request("PATCH", &created.path())
            .header("If-Match", &tag)
            .json(change)
            .send()
            .is(412);
    });
}

#[test]
fn trn_belongs_to_one_person() {
    every_version(|api| {
        let other = api.register.other_provider(api.version);
        let first = api.create(api.example());
        let same = other.create(other.example().with(F::last_name, "Married"));
        let another = other.create(other.example().with(F::date_of_birth, "1998-04-12"));
        after(api, &first, &issue(TRN));
        after(&other, &same, &issue(TRN)).has(&[(F::trn, json!(TRN))]);
        let refused = attempt(api.register, another.id(), &issue(TRN)).unwrap_err();
        let expected = format!("the TRN is that of another person, trainee {}", first.id());
        assert_eq!(refused.to_string(), expected);
        other.read(another.id()).has(&[(F::trn, Value::Null)]);
        // What is discarded keeps no number.
        after_discarding(api, &first);
        after_discarding(&other, &same);
        after(&other, &another, &issue(TRN));
    });
}

/// Discards a trainee, so that no request shows it.
fn after_discarding(api: &Api<'_>, trainee: &Shown) {
    assert!(
        attempt(api.register, trainee.id(), &RegistryAction::Discard)
            .unwrap()
            .changed
    );
    assert!(
        !attempt(api.register, trainee.id(), &RegistryAction::Discard)
            .unwrap()
            .changed
    );
    api.get(&trainee.path()).is(404);
}

#[test]
fn award_requires_recommendation_and_trn() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        let refused = |action: &RegistryAction| {
            attempt(api.register, created.id(), action)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            refused(&RegistryAction::Award),
            "cannot award a trainee in state submitted_for_trn"
        );
        carry_out(api, &created, Action::Recommend).is(202);
        assert_eq!(
            refused(&RegistryAction::Award),
            "the trainee has no TRN yet"
        );
        let numbered = after(api, &created, &issue(TRN));
        let awarded = after(api, &created, &RegistryAction::Award);
        awarded.has(&[
            (F::state, json!("awarded")),
            (F::awarded_at, json!("2026-10-01T00:00:00.000Z")),
            (F::outcome_date, json!("2026-10-01")),
            (
                F::recommended_for_award_at,
                numbered.value(F::recommended_for_award_at).clone(),
            ),
        ]);
        carry_out(api, &created, Action::Withdraw).is(422);
        assert_eq!(
            refused(&RegistryAction::Discard),
            "cannot discard a trainee in state awarded"
        );
        assert_eq!(api.read(created.id()).data, awarded.data);
    });
}

#[test]
fn reinstated_trainee_can_be_deferred_again() {
    every_version(|api| {
        let created = api.create(api.example());
        carry_out(api, &created, Action::Defer).is(200);
        let early = attempt(api.register, created.id(), &reinstate("2026-10-01")).unwrap_err();
        assert_eq!(
            early.to_string(),
            "the trainee was deferred on 2026-10-02, after that day"
        );
        let ahead = attempt(api.register, created.id(), &reinstate("2026-10-06")).unwrap_err();
        assert_eq!(ahead.to_string(), "that day is still to come");
        let back = after(api, &created, &reinstate("2026-10-05"));
        back.has(&[
            (F::state, json!("submitted_for_trn")),
            (F::reinstate_date, json!("2026-10-05")),
            (F::defer_date, json!("2026-10-02")),
            (F::submitted_for_trn_at, back.value(F::updated_at).clone()),
        ]);
        carry_out(api, &created, Action::Defer).is(200);
        after(api, &created, &issue(TRN)).has(&[(F::state, json!("deferred"))]);
        after(api, &created, &reinstate("2026-10-03")).has(&[
            (F::state, json!("trn_received")),
            (
                F::submitted_for_trn_at,
                back.value(F::submitted_for_trn_at).clone(),
            ),
            (F::itt_end_date, created.value(F::itt_end_date).clone()),
        ]);
    });
}

/// The dates of what the registry does come after those of the server, also where its own clock is
/// behind.
#[test]
fn registry_change_is_later_than_last_change() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        carry_out(api, &created, Action::Recommend).is(202);
        let behind = api.register.store_behind(TimeDelta::milliseconds(500));
        let mut last = api.read(created.id()).value(F::updated_at).clone();
        for action in [issue(TRN), RegistryAction::Award] {
            assert!(
                perform_blocking(&behind, created.id(), &action, "A. Operator")
                    .unwrap()
                    .changed
            );
            let shown = api.read(created.id()).value(F::updated_at).clone();
            assert!(
                shown.as_str() > last.as_str(),
                "{action:?}: {shown} is not later than {last}"
            );
            last = shown;
        }
    });
}

/// The wait is longer than that of a request. On PostgreSQL a date that is so far ahead is that of
/// another clock.
#[test]
fn command_waits_until_its_date_is_due() {
    let register = Register::start();
    let newest = versions::all().newest().unwrap().version;
    let created = ready(&register.api(newest), "1999-04-12");
    let (behind, id) = (
        register.store_behind(TimeDelta::seconds(7)),
        created.id().to_owned(),
    );
    let waiting = thread::spawn(move || perform_blocking(&behind, &id, &issue(TRN), "A. Operator"));
    thread::sleep(Duration::from_millis(500));
    register
        .clock
        .set(&later(created.value(F::updated_at), TimeDelta::seconds(8)));
    assert!(waiting.join().unwrap().unwrap().changed);
}

#[test]
fn a_returned_recommendation_can_be_made_again() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        carry_out(api, &created, Action::Recommend).is(202);
        after(api, &created, &RegistryAction::ReturnRecommendation).has(&[
            (F::state, json!("submitted_for_trn")),
            (F::outcome_date, Value::Null),
            (F::recommended_for_award_at, Value::Null),
        ]);
        api.update(
            created.id(),
            Body::new(api.version).with(F::last_name, "Newname"),
        );
        let again = carry_out(api, &created, Action::Recommend).is(202);
        api.shown(&again)
            .has(&[(F::outcome_date, json!("2026-10-01"))]);
    });
}

#[test]
fn undone_withdrawal_leaves_no_trace() {
    every_version(|api| {
        let created = api.create(api.example());
        carry_out(api, &created, Action::Defer).is(200);
        let refused =
            attempt(api.register, created.id(), &RegistryAction::UndoWithdrawal).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "cannot undo the withdrawal of a trainee in state deferred"
        );
        let withdrawn = api.withdraw(created.id());
        let said = [
            F::withdrawal_date,
            F::withdrawal_trigger,
            F::withdrawal_future_interest,
            F::withdrawal_reasons,
            F::withdrawal_another_reason,
            F::withdrawal_safeguarding_concern_reasons,
        ];
        assert_eq!(withdrawn.value(F::withdrawal_date), "2026-10-01");
        let back = after(api, &created, &RegistryAction::UndoWithdrawal);
        back.has(&[
            (F::state, json!("deferred")),
            (F::defer_date, json!("2026-10-02")),
        ]);
        for field in said {
            assert_eq!(back.value(field), created.value(field), "{field:?}");
        }
        api.withdraw(created.id()).has(&[
            (F::state, json!("withdrawn")),
            (F::withdrawal_date, json!("2026-10-01")),
        ]);
    });
}

#[test]
fn discarded_trainee_can_be_registered_again() {
    every_version(|api| {
        let created = api.create(api.example());
        after_discarding(api, &created);
        api.send("PATCH", &created.path(), api.example()).is(404);
        carry_out(api, &created, Action::Withdraw).is(404);
        api.get("/trainees").is(404);
        let refused = attempt(api.register, created.id(), &issue(TRN)).unwrap_err();
        assert_eq!(refused.to_string(), "the trainee is discarded");
        assert_ne!(api.create(api.example()).id(), created.id());
    });
}

#[test]
fn registry_actions_are_in_the_history() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        let mut seen = vec![api.read(created.id()).data];
        let mut act = |request: Option<Action>, action: &RegistryAction| {
            if let Some(request) = request {
                carry_out(api, &created, request);
                seen.push(api.read(created.id()).data);
            }
            seen.push(after(api, &created, action).data);
        };
        act(Some(Action::Withdraw), &RegistryAction::UndoWithdrawal);
        act(Some(Action::Defer), &reinstate("2026-10-05"));
        act(
            Some(Action::Recommend),
            &RegistryAction::ReturnRecommendation,
        );
        act(None, &RegistryAction::IssueTrn(None));
        act(Some(Action::Recommend), &RegistryAction::Award);
        let id = created.id().to_owned();
        let history = api
            .register
            .operate(move |session| session.history_of(&id))
            .unwrap();
        let states = history.states().unwrap();
        let view = |state: &Trainee| {
            serde_json::to_value(View::trainee(api.version, state, Lists::embedded())).unwrap()
        };
        // The first entry is from before the second placement.
        assert_eq!(states.iter().skip(1).map(view).collect::<Vec<_>>(), seen);
        let by_operators = history
            .entries
            .iter()
            .filter(|entry| entry.operation.starts_with("registry "));
        assert_eq!(
            by_operators
                .filter(|entry| entry.token.is_none() && entry.version.is_none())
                .count(),
            5
        );
    });
}

#[test]
fn simulated_registry_acts_once_when_due() {
    every_version(|api| {
        let Register { clock, .. } = api.register;
        let store = &api.register.store();
        let created = ready(api, "1999-04-12");
        clock.set(&later(
            created.value(F::submitted_for_trn_at),
            DELAY - TimeDelta::milliseconds(1),
        ));
        assert_eq!(play(store), Simulated::default());
        clock.set(&later(created.value(F::submitted_for_trn_at), DELAY));
        assert_eq!(
            play(store),
            Simulated {
                numbers: 1,
                awards: 0
            }
        );
        assert_eq!(play(store), Simulated::default());
        let numbered = api.read(created.id());
        numbered.has(&[(F::state, json!("trn_received"))]);
        let trn = numbered.value(F::trn).as_str().unwrap();
        assert!(
            trn.len() == 7 && trn.bytes().all(|byte| byte.is_ascii_digit()),
            "{trn}"
        );

        carry_out(api, &created, Action::Recommend).is(202);
        let recommended_at = api
            .read(created.id())
            .value(F::recommended_for_award_at)
            .clone();
        clock.set(&later(&recommended_at, DELAY - TimeDelta::milliseconds(1)));
        assert_eq!(play(store), Simulated::default());
        clock.set(&later(&recommended_at, DELAY));
        assert_eq!(
            play(store),
            Simulated {
                numbers: 0,
                awards: 1
            }
        );
        assert_eq!(play(store), Simulated::default());
        let awarded = api.read(created.id());
        awarded.has(&[(F::state, json!("awarded")), (F::trn, json!(trn))]);
    });
}

#[test]
fn simulated_registry_issues_trns_in_every_state() {
    every_version(|api| {
        let trainees: Vec<(Shown, &str)> = [
            (Action::Defer, "deferred"),
            (Action::Withdraw, "withdrawn"),
            (Action::Recommend, "awarded"),
        ]
        .into_iter()
        .enumerate()
        .map(|(number, (action, state))| {
            let created = ready(api, &format!("199{number}-04-12"));
            carry_out(api, &created, action);
            (created, state)
        })
        .collect();
        let discarded = api.create(api.example());
        after_discarding(api, &discarded);
        api.register.clock.set("2026-10-05T09:01:00Z");
        assert_eq!(
            play(&api.register.store()),
            Simulated {
                numbers: 3,
                awards: 1
            }
        );
        for (trainee, state) in trainees {
            let shown = api.read(trainee.id());
            shown.has(&[(F::state, json!(state))]);
            assert!(shown.value(F::trn).is_string());
        }
    });
}

#[test]
fn unsubmitted_trainee_gets_trn_with_award() {
    every_version(|api| {
        let created = ready(api, "1999-04-12");
        carry_out(api, &created, Action::Recommend).is(202);
        let id = created.id().to_owned();
        // As an import may bring it.
        api.register.operate(move |session| {
            let cause = storage::base::cause::Cause::new("test");
            let mut provider = session.open_trainee(&id, cause)?.unwrap();
            let stored = provider.find_trainee(&id)?.unwrap();
            let changed = domain::Trainee {
                submitted_for_trn_at: None,
                ..stored.record.clone()
            };
            provider.update_trainee(&stored, &changed)
        });
        api.register.clock.set("2026-10-05T09:01:00Z");
        assert_eq!(
            play(&api.register.store()),
            Simulated {
                numbers: 0,
                awards: 1
            }
        );
        let shown = api.read(created.id());
        shown.has(&[(F::state, json!("awarded"))]);
        assert!(shown.value(F::trn).is_string());
    });
}

/// More trainees than are loaded at once.
const MANY: usize = 400;

#[test]
fn two_servers_act_once_on_each_trainee() {
    let register = Register::start();
    register.sow(MANY);
    let waiting = |store: &Store| {
        let read = |session: &mut storage::session::Session<'_>| {
            let until = session.now() - DELAY;
            let numbers = session.awaiting_trn(until, None, 1_000)?;
            Ok::<_, storage::error::StorageError>((
                numbers,
                session.awaiting_award(until, None, 1_000)?,
            ))
        };
        store.read_blocking(read).unwrap()
    };
    let (numbers, awards) = waiting(&register.store());
    assert!(
        numbers.len() > 50 && awards.len() > 5,
        "{} {}",
        numbers.len(),
        awards.len()
    );
    let (one, other) = (register.store(), register.another_store());
    let played: Vec<Simulated> = thread::scope(|scope| {
        let servers = [&one, &other].map(|store| scope.spawn(|| play(store)));
        servers
            .into_iter()
            .map(|server| server.join().unwrap())
            .collect()
    });
    let sum = Simulated {
        numbers: played.iter().map(|played| played.numbers).sum(),
        awards: played.iter().map(|played| played.awards).sum(),
    };
    assert_eq!(
        sum,
        Simulated {
            numbers: numbers.len(),
            awards: awards.len()
        }
    );
    assert_eq!(waiting(&other), (Vec::new(), Vec::new()));
    for one in &numbers {
        assert_eq!(changes(&register, &one.trainee_id, "trn"), 1);
    }
    for one in &awards {
        assert_eq!(changes(&register, &one.trainee_id, "awarded_at"), 1);
    }
}

#[test]
fn restarted_registry_goes_on_where_it_was() {
    every_version(|api| {
        let first = api.create(api.example().with(F::last_name, "Early"));
        api.register.clock.set("2026-10-05T09:00:05Z");
        let second = api.create(api.example().with(F::last_name, "Late"));
        api.register.clock.set("2026-10-05T09:00:12Z");
        assert_eq!(
            play(&api.register.store()),
            Simulated {
                numbers: 1,
                awards: 0
            }
        );
        let early = api.read(first.id());
        api.read(second.id()).has(&[(F::trn, Value::Null)]);
        api.register.clock.set("2026-10-05T10:00:00Z");
        assert_eq!(
            play(&api.register.another_store()),
            Simulated {
                numbers: 1,
                awards: 0
            }
        );
        assert!(api.read(second.id()).value(F::trn).is_string());
        assert_eq!(api.read(first.id()).data, early.data);
    });
}
