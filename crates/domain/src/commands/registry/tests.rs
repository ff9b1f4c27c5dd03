//! Tests of the actions of the registry and of operators, by state.

use chrono::TimeDelta;

use super::*;

fn at(timestamp: &str) -> Timestamp {
    timestamp.parse().unwrap()
}

fn now() -> Timestamp {
    at("2026-10-05T09:00:00Z")
}

fn today() -> Date {
    now().date_naive()
}

fn day(text: &str) -> Date {
    text.parse().unwrap()
}

fn trn(text: &str) -> Trn {
    text.parse().unwrap()
}

fn in_state(state: State) -> Trainee {
    Trainee {
        trainee_id: Some("one".to_owned()),
        first_names: Some("Ayo".to_owned()),
        last_name: Some("Okafor".to_owned()),
        date_of_birth: Some(day("1999-04-12")),
        state: Some(state),
        updated_at: Some(now() - TimeDelta::days(1)),
        ..Trainee::default()
    }
}

fn with_trn(state: State) -> Trainee {
    Trainee {
        trn: Some("1234567".to_owned()),
        ..in_state(state)
    }
}

/// Asserts that the action has changed the record and `updated_at`. Returns the record.
#[track_caller]
fn done(result: Result<Decision<Trainee>, RegistryError>) -> Trainee {
    let decision = result.unwrap();
    assert!(decision.changed && decision.notices.is_empty());
    assert_eq!(decision.record.updated_at, Some(now()));
    decision.record
}

/// Asserts that the action has not changed the trainee.
#[track_caller]
fn left_alone(result: Result<Decision<Trainee>, RegistryError>, trainee: &Trainee) {
    let decision = result.unwrap();
    assert!(!decision.changed);
    assert_eq!(decision.record, *trainee);
}

/// Returns the states that do not allow an action.
fn refused_in(
    mut attempt: impl FnMut(&Trainee) -> Result<Decision<Trainee>, RegistryError>,
) -> Vec<State> {
    let refused = |state: &State| {
        matches!(
            attempt(&in_state(*state)),
            Err(RegistryError::Transition(_))
        )
    };
    State::ALL.iter().copied().filter(refused).collect()
}

#[test]
fn issued_trn_changes_state_of_submitted_trainees() {
    for (before, after) in [
        (State::SubmittedForTrn, State::TrnReceived),
        (State::TrnReceived, State::TrnReceived),
        (State::Deferred, State::Deferred),
        (State::Withdrawn, State::Withdrawn),
        (State::RecommendedForAward, State::RecommendedForAward),
    ] {
        let record = done(issue_trn(
            &in_state(before),
            &trn("1234567"),
            &[],
            now().date_naive(),
            now(),
        ));
        assert_eq!(
            (record.state, record.trn.as_deref()),
            (Some(after), Some("1234567"))
        );
        assert_eq!(record.slug_sent_to_registry_at, Some(now()));
    }
    assert_eq!(
        refused_in(|one| issue_trn(one, &trn("1234567"), &[], now().date_naive(), now())),
        [State::Draft, State::Awarded]
    );
}

#[test]
fn trn_is_issued_once() {
    let trainee = with_trn(State::TrnReceived);
    left_alone(
        issue_trn(&trainee, &trn("1234567"), &[], now().date_naive(), now()),
        &trainee,
    );
    let refused = issue_trn(&trainee, &trn("7654321"), &[], now().date_naive(), now()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the trainee has the TRN 1234567 already"
    );
}

#[test]
fn trn_of_another_person_is_refused() {
    let trainee = in_state(State::SubmittedForTrn);
    let holder = |id: &str, trainee: &Trainee| {
        let person = DuplicateKey::from_trainee(trainee, now().date_naive());
        let DuplicateKey {
            date_of_birth,
            last_name,
            first_names,
            ..
        } = person;
        Holder {
            trainee_id: id.to_owned(),
            date_of_birth,
            last_name,
            first_names,
        }
    };
    let same = holder(
        "same",
        &Trainee {
            last_name: Some("Smith".to_owned()),
            ..trainee.clone()
        },
    );
    let other = holder(
        "other",
        &Trainee {
            date_of_birth: Some(day("1999-04-13")),
            ..trainee.clone()
        },
    );
    done(issue_trn(
        &trainee,
        &trn("1234567"),
        std::slice::from_ref(&same),
        now().date_naive(),
        now(),
    ));
    let refused = issue_trn(
        &trainee,
        &trn("1234567"),
        &[same, other],
        now().date_naive(),
        now(),
    )
    .unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the TRN is that of another person, trainee other"
    );
}

#[test]
fn award_requires_recommendation_trn_and_outcome_date() {
    let recommended = Trainee {
        outcome_date: Some(day("2026-10-01")),
        ..with_trn(State::RecommendedForAward)
    };
    let record = done(award(&recommended, now()));
    assert_eq!(
        (record.state, record.awarded_at),
        (Some(State::Awarded), Some(at("2026-10-01T00:00:00Z")))
    );
    left_alone(award(&record, now() + TimeDelta::days(1)), &record);
    assert_eq!(
        award(
            &Trainee {
                trn: None,
                ..recommended
            },
            now()
        )
        .unwrap_err(),
        RegistryError::NoTrn
    );
    let undated = award(&with_trn(State::RecommendedForAward), now()).unwrap_err();
    assert_eq!(undated.to_string(), "the trainee has no outcome_date");
    let refused = award(&with_trn(State::Withdrawn), now()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "cannot award a trainee in state withdrawn"
    );
}

#[test]
fn reinstated_state_depends_on_trn() {
    let deferral = Some(day("2026-09-10"));
    for (trainee, after) in [
        (in_state(State::Deferred), State::SubmittedForTrn),
        (with_trn(State::Deferred), State::TrnReceived),
    ] {
        let trainee = Trainee {
            defer_date: deferral,
            ..trainee
        };
        for back in ["2026-09-10", "2026-10-05"].map(on) {
            let record = done(reinstate(&trainee, back, today(), now()));
            assert_eq!(
                (record.state, record.reinstate_date),
                (Some(after), back.date)
            );
            assert_eq!(record.defer_date, deferral);
            left_alone(
                reinstate(&record, back, today(), now() + TimeDelta::days(1)),
                &record,
            );
            let again = reinstate(&record, on("2026-09-11"), today(), now()).unwrap_err();
            assert!(matches!(again, RegistryError::Transition(_)), "{again}");
        }
        let early = reinstate(&trainee, on("2026-09-09"), today(), now()).unwrap_err();
        assert_eq!(
            early.to_string(),
            "the trainee was deferred on 2026-09-10, after that day"
        );
        assert_eq!(
            reinstate(&trainee, on("2026-10-06"), today(), now()).unwrap_err(),
            RegistryError::DayAhead
        );
        assert_eq!(
            reinstate(&trainee, Reinstatement::default(), today(), now()).unwrap_err(),
            RegistryError::NoReturnDate
        );
    }
    assert_eq!(
        refused_in(|one| reinstate(one, on("2026-10-05"), today(), now())).len(),
        6
    );
}

/// Returns a reinstatement on a day, without a new end of the training.
fn on(date: &str) -> Reinstatement {
    Reinstatement {
        date: Some(day(date)),
        itt_end_date: None,
    }
}

#[test]
fn reinstatement_without_trn_submits_trainee_again() {
    let submitted_at = Some(at("2026-09-01T12:00:00Z"));
    let submitted_again_at = |trainee: Trainee| {
        let trainee = Trainee {
            defer_date: Some(day("2026-09-10")),
            submitted_for_trn_at: submitted_at,
            ..trainee
        };
        done(reinstate(&trainee, on("2026-10-05"), today(), now())).submitted_for_trn_at
    };
    assert_eq!(submitted_again_at(in_state(State::Deferred)), Some(now()));
    assert_eq!(submitted_again_at(with_trn(State::Deferred)), submitted_at);
}

#[test]
fn reinstatement_can_change_end_of_training() {
    let trainee = Trainee {
        defer_date: Some(day("2026-09-10")),
        itt_start_date: Some(day("2026-09-01")),
        itt_end_date: Some(day("2027-07-01")),
        ..in_state(State::Deferred)
    };
    let ending = |end: &str| {
        let back = Reinstatement {
            itt_end_date: Some(day(end)),
            ..on("2026-10-05")
        };
        reinstate(&trainee, back, today(), now())
    };
    for end in ["2026-09-02", "2027-07-01", "2031-12-31"] {
        let record = done(ending(end));
        assert_eq!(record.itt_end_date, Some(day(end)));
        let again = Reinstatement {
            itt_end_date: Some(day(end)),
            ..on("2026-10-05")
        };
        left_alone(reinstate(&record, again, today(), now()), &record);
        left_alone(
            reinstate(&record, on("2026-10-05"), today(), now()),
            &record,
        );
    }
    for (end, reason) in [
        (
            "2026-09-01",
            "itt_end_date must be later than itt_start_date, 2026-09-01",
        ),
        ("2032-01-01", "itt_end_date must be in 2031 or earlier"),
    ] {
        assert_eq!(ending(end).unwrap_err().to_string(), reason);
    }
    let undated = Trainee {
        itt_start_date: None,
        ..trainee.clone()
    };
    let back = Reinstatement {
        itt_end_date: Some(day("2016-10-04")),
        ..on("2026-10-05")
    };
    let refused = reinstate(&undated, back, today(), now()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "itt_end_date must not be before 2016-10-05"
    );
    assert_eq!(
        done(reinstate(&trainee, on("2026-10-05"), today(), now())).itt_end_date,
        trainee.itt_end_date
    );
}

#[test]
fn reinstatement_before_missed_training_changes_state() {
    for (start, deferral) in [
        ("2026-10-06", "2026-09-10"),
        ("2026-09-01", "2026-10-06"),
        ("2026-10-06", "2026-10-20"),
    ] {
        for said in [
            Reinstatement::default(),
            Reinstatement {
                itt_end_date: Some(day("2030-01-01")),
                ..on("2026-10-05")
            },
        ] {
            let trainee = Trainee {
                defer_date: Some(day(deferral)),
                itt_start_date: Some(day(start)),
                submitted_for_trn_at: Some(at("2026-09-01T12:00:00Z")),
                ..in_state(State::Deferred)
            };
            let record = done(reinstate(&trainee, said, today(), now()));
            let moved = Trainee {
                state: Some(State::SubmittedForTrn),
                updated_at: Some(now()),
                ..trainee.clone()
            };
            assert_eq!(record, moved);
            left_alone(
                reinstate(&record, said, today(), now() + TimeDelta::days(1)),
                &record,
            );
            // On the day itself the course and the deferral have begun.
            let later = reinstate(&trainee, Reinstatement::default(), day("2026-10-20"), now())
                .unwrap_err();
            assert_eq!(later, RegistryError::NoReturnDate);
        }
    }
}

#[test]
fn returned_recommendation_is_removed_from_record() {
    for (trainee, after) in [
        (in_state(State::RecommendedForAward), State::SubmittedForTrn),
        (with_trn(State::RecommendedForAward), State::TrnReceived),
    ] {
        let trainee = Trainee {
            outcome_date: Some(day("2026-10-01")),
            recommended_for_award_at: Some(now()),
            ..trainee
        };
        let record = done(return_recommendation(&trainee, now()));
        let shown = (
            record.state,
            record.outcome_date,
            record.recommended_for_award_at,
        );
        assert_eq!(shown, (Some(after), None, None));
        left_alone(
            return_recommendation(&record, now() + TimeDelta::days(1)),
            &record,
        );
    }
    let refused = [
        State::Draft,
        State::Deferred,
        State::Withdrawn,
        State::Awarded,
    ];
    assert_eq!(refused_in(|one| return_recommendation(one, now())), refused);
}

#[test]
fn undone_withdrawal_restores_state() {
    let last = |previous, undone| Some(LastWithdrawal { previous, undone });
    for (trainee, previous, after) in [
        (
            in_state(State::Withdrawn),
            State::SubmittedForTrn,
            State::SubmittedForTrn,
        ),
        (
            with_trn(State::Withdrawn),
            State::SubmittedForTrn,
            State::TrnReceived,
        ),
        (
            with_trn(State::Withdrawn),
            State::TrnReceived,
            State::TrnReceived,
        ),
        (with_trn(State::Withdrawn), State::Deferred, State::Deferred),
    ] {
        let trainee = Trainee {
            withdrawal_date: Some(day("2026-10-01")),
            withdrawal_trigger: Some("provider".to_owned()),
            withdrawal_future_interest: Some("no".to_owned()),
            withdrawal_reasons: Some(vec!["01".to_owned()]),
            withdrawal_another_reason: Some("Moved".to_owned()),
            withdrawal_safeguarding_concern_reasons: Some("None".to_owned()),
            ..trainee
        };
        let record = done(undo_withdrawal(&trainee, last(previous, false), now()));
        assert_eq!(record.state, Some(after));
        assert_eq!(
            crate::records::transition::Withdrawal::from_trainee(&record),
            None
        );
        assert_eq!(
            (
                record.withdrawal_reasons.as_ref(),
                record.withdrawal_trigger.as_ref()
            ),
            (None, None)
        );
        left_alone(
            undo_withdrawal(&record, last(previous, true), now() + TimeDelta::days(1)),
            &record,
        );
    }
    assert_eq!(refused_in(|one| undo_withdrawal(one, None, now())).len(), 6);
    let unknown = undo_withdrawal(
        &in_state(State::Withdrawn),
        last(State::Draft, false),
        now(),
    )
    .unwrap_err();
    assert_eq!(unknown, RegistryError::UnknownPreviousState);
}

#[test]
fn discarded_trainee_refuses_all_actions() {
    let record = done(discard(&in_state(State::SubmittedForTrn), now()));
    assert_eq!(
        (record.state, record.discarded_at),
        (Some(State::SubmittedForTrn), Some(now()))
    );
    left_alone(discard(&record, now() + TimeDelta::days(1)), &record);
    for result in [
        issue_trn(&record, &trn("1234567"), &[], now().date_naive(), now()),
        award(&record, now()),
        reinstate(&record, on("2026-10-01"), today(), now()),
        return_recommendation(&record, now()),
        undo_withdrawal(&record, None, now()),
    ] {
        assert_eq!(result.unwrap_err(), RegistryError::Discarded);
    }
    assert_eq!(
        refused_in(|one| discard(one, now())),
        [State::RecommendedForAward, State::Awarded]
    );
}

#[test]
fn reset_discards_every_state_except_draft() {
    let record = done(reset(&with_trn(State::Awarded), now()));
    assert_eq!(
        (record.state, record.discarded_at),
        (Some(State::Awarded), Some(now()))
    );
    left_alone(reset(&record, now() + TimeDelta::days(1)), &record);
    assert_eq!(refused_in(|one| reset(one, now())), [State::Draft]);
}

#[test]
fn status_summary_names_state_and_trn() {
    assert_eq!(
        status_summary(&in_state(State::Deferred)),
        "deferred, without a TRN"
    );
    let discarded = Trainee {
        discarded_at: Some(now()),
        ..with_trn(State::TrnReceived)
    };
    assert_eq!(
        status_summary(&discarded),
        "trn_received, TRN 1234567, discarded"
    );
    assert_eq!(trn_of(&discarded), Some(trn("1234567")));
}
