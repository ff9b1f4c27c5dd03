//! A record that was read can be sent back whole.

use domain::{Action, TraineeField as F};
use serde_json::json;

use crate::api::support::{Api, Body, Shown, every_version};

/// Records of different kinds, each of another person.
fn records(api: &Api<'_>) -> Vec<Shown> {
    let bodies: [fn(Body) -> Body; 6] = [
        |body| body,
        |body| {
            body.with(F::training_partner_urn, "990004")
                .with(F::employing_school_urn, "990001")
        },
        |body| {
            body.with(F::disability2, "51")
                .with(F::disability5, "96")
                .with(F::disability9, "53")
        },
        |body| {
            body.with(F::trainee_start_date, "2026-09-14")
                .with(F::middle_names, "Maria")
        },
        |body| {
            body.with(F::course_subject_2, "100425")
                .with(F::course_subject_3, "100417")
        },
        |body| {
            body.without(F::placements)
                .without(F::degrees)
                .without(F::ethnicity)
                .without(F::disability1)
        },
    ];
    let born = |year: usize| format!("{}-04-12", 1990 + year);
    let create = |(year, change): (usize, &fn(Body) -> Body)| {
        api.create(change(api.example().with(F::date_of_birth, born(year))))
    };
    bodies.iter().enumerate().map(create).collect()
}

#[track_caller]
fn changes_nothing(api: &Api<'_>, shown: &Shown) {
    api.register.clock.set("2026-10-09T09:00:00Z");
    for method in ["PUT", "PATCH"] {
        let reply = api.send(method, &shown.path(), shown.body()).is(200);
        assert_eq!(reply.warnings(), Vec::<&str>::new());
        assert_eq!(*reply.data(), shown.data);
    }
    assert_eq!(api.read(shown.id()).data, shown.data);
}

#[test]
fn record_sent_back_whole_is_accepted_and_changes_nothing() {
    every_version(|api| {
        for created in records(api) {
            changes_nothing(api, &api.read(created.id()));
        }
    });
}

#[test]
fn withdrawn_record_sent_back_is_accepted_where_versions_allow_it() {
    every_version(|api| {
        let created = api.create(api.example());
        let withdrawn = api.withdraw(created.id());
        let closed = domain::commands::check_gates(
            &domain::Trainee {
                state: Some(domain::State::Withdrawn),
                ..domain::Trainee::default()
            },
            Action::Update,
            &api.version.rules,
        )
        .is_err();
        if closed {
            let reply = api.send("PUT", &withdrawn.path(), withdrawn.body());
            reply.transition("state");
        } else {
            changes_nothing(api, &withdrawn);
        }
    });
}

#[test]
fn record_sent_back_with_one_change_is_accepted() {
    every_version(|api| {
        for created in records(api) {
            let reply = api
                .send(
                    "PUT",
                    &created.path(),
                    created.body().with(F::last_name, "Changed"),
                )
                .is(200);
            assert_eq!(reply.warnings(), Vec::<&str>::new());
            let changed = api.shown(&reply);
            changed.has(&[(F::last_name, json!("Changed"))]);
            assert_eq!(
                created.differences(&changed),
                [F::last_name, F::updated_at].into()
            );
        }
    });
}

#[test]
fn a_strict_client_can_send_a_record_back_whole_too() {
    every_version(|api| {
        let created = api.create(api.example());
        let request = api
            .request("PUT", &created.path())
            .header("Prefer", "handling=strict")
            .json(created.body());
        assert_eq!(*request.send().is(200).data(), created.data);
    });
}
