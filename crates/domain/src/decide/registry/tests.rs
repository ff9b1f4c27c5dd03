//! What the registry and operators may do, state by state.

use chrono::TimeDelta;

use super::*;

fn at(moment: &str) -> Moment {
    moment.parse().unwrap()
}

fn now() -> Moment {
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
    Trainee { trn: Some("1234567".to_owned()), ..in_state(state) }
}

/// The record after a change, which must be one, and must have moved `updated_at`.
#[track_caller]
fn done(result: Result<Decision<Trainee>, Refusal>) -> Trainee {
    let decision = result.unwrap();
    assert!(decision.changed && decision.notices.is_empty());
    assert_eq!(decision.record.updated_at, Some(now()));
    decision.record
}

#[track_caller]
fn left_alone(result: Result<Decision<Trainee>, Refusal>, trainee: &Trainee) {
    let decision = result.unwrap();
    assert!(!decision.changed);
    assert_eq!(decision.record, *trainee);
}

/// The states in which something is refused because of the state.
fn refused_in(mut attempt: impl FnMut(&Trainee) -> Result<Decision<Trainee>, Refusal>) -> Vec<State> {
    let refused = |state: &State| matches!(attempt(&in_state(*state)), Err(Refusal::Transition(_)));
    State::ALL.into_iter().filter(refused).collect()
}

#[test]
fn a_trn_moves_a_submitted_trainee_on_and_leaves_every_other_state() {
    for (before, after) in [
        (State::SubmittedForTrn, State::TrnReceived),
        (State::TrnReceived, State::TrnReceived),
        (State::Deferred, State::Deferred),
        (State::Withdrawn, State::Withdrawn),
        (State::RecommendedForAward, State::RecommendedForAward),
    ] {
        let record = done(issue_trn(&in_state(before), &trn("1234567"), &[], now()));
        assert_eq!((record.state, record.trn.as_deref()), (Some(after), Some("1234567")));
        assert_eq!(record.slug_sent_to_registry_at, Some(now()));
    }
    assert_eq!(refused_in(|one| issue_trn(one, &trn("1234567"), &[], now())), [State::Draft, State::Awarded]);
}

#[test]
fn a_trn_is_issued_once() {
    let trainee = with_trn(State::TrnReceived);
    left_alone(issue_trn(&trainee, &trn("1234567"), &[], now()), &trainee);
    let refused = issue_trn(&trainee, &trn("7654321"), &[], now()).unwrap_err();
    assert_eq!(refused.to_string(), "the trainee has the TRN 1234567 already");
}

#[test]
fn the_trn_of_another_person_is_refused_and_that_of_the_same_person_is_not() {
    let trainee = in_state(State::SubmittedForTrn);
    let holder = |id: &str, trainee: &Trainee| {
        let person = Likeness::of(trainee, now().date_naive());
        let Likeness { date_of_birth, last_name, first_names, .. } = person;
        Holder { trainee_id: id.to_owned(), date_of_birth, last_name, first_names }
    };
    let same = holder("same", &Trainee { last_name: Some("Smith".to_owned()), ..trainee.clone() });
    let other = holder("other", &Trainee { date_of_birth: Some(day("1999-04-13")), ..trainee.clone() });
    done(issue_trn(&trainee, &trn("1234567"), std::slice::from_ref(&same), now()));
    let refused = issue_trn(&trainee, &trn("1234567"), &[same, other], now()).unwrap_err();
    assert_eq!(refused.to_string(), "the TRN is that of another person, trainee other");
}

#[test]
fn an_award_needs_a_recommendation_and_a_trn() {
    let record = done(award(&with_trn(State::RecommendedForAward), now()));
    assert_eq!((record.state, record.awarded_at), (Some(State::Awarded), Some(now())));
    left_alone(award(&record, now() + TimeDelta::days(1)), &record);
    assert_eq!(award(&in_state(State::RecommendedForAward), now()).unwrap_err(), Refusal::NoTrn);
    let refused = award(&with_trn(State::Withdrawn), now()).unwrap_err();
    assert_eq!(refused.to_string(), "cannot award a trainee in state withdrawn");
}

#[test]
fn a_deferred_trainee_comes_back_to_where_the_trn_says() {
    let deferral = Some(day("2026-09-10"));
    for (trainee, after) in
        [(in_state(State::Deferred), State::SubmittedForTrn), (with_trn(State::Deferred), State::TrnReceived)]
    {
        let trainee = Trainee { defer_date: deferral, ..trainee };
        for back in ["2026-09-10", "2026-10-05"].map(day) {
            let record = done(reinstate(&trainee, back, today(), now()));
            assert_eq!((record.state, record.reinstate_date), (Some(after), Some(back)));
            assert_eq!(record.defer_date, deferral);
            left_alone(reinstate(&record, back, today(), now() + TimeDelta::days(1)), &record);
            let again = reinstate(&record, day("2026-09-11"), today(), now()).unwrap_err();
            assert!(matches!(again, Refusal::Transition(_)), "{again}");
        }
        let early = reinstate(&trainee, day("2026-09-09"), today(), now()).unwrap_err();
        assert_eq!(early.to_string(), "the trainee was deferred on 2026-09-10, after that day");
        assert_eq!(reinstate(&trainee, day("2026-10-06"), today(), now()).unwrap_err(), Refusal::DayAhead);
    }
    assert_eq!(refused_in(|one| reinstate(one, day("2026-10-05"), today(), now())).len(), 6);
}

#[test]
fn a_returned_recommendation_leaves_no_trace_on_the_record() {
    for (trainee, after) in [
        (in_state(State::RecommendedForAward), State::SubmittedForTrn),
        (with_trn(State::RecommendedForAward), State::TrnReceived),
    ] {
        let trainee =
            Trainee { outcome_date: Some(day("2026-10-01")), recommended_for_award_at: Some(now()), ..trainee };
        let record = done(return_recommendation(&trainee, now()));
        let shown = (record.state, record.outcome_date, record.recommended_for_award_at);
        assert_eq!(shown, (Some(after), None, None));
        left_alone(return_recommendation(&record, now() + TimeDelta::days(1)), &record);
    }
    let refused = [State::Draft, State::Deferred, State::Withdrawn, State::Awarded];
    assert_eq!(refused_in(|one| return_recommendation(one, now())), refused);
}

#[test]
fn an_undone_withdrawal_leads_back_and_takes_what_was_said_along() {
    let last = |previous, undone| Some(LastWithdrawal { previous, undone });
    for (trainee, previous, after) in [
        (in_state(State::Withdrawn), State::SubmittedForTrn, State::SubmittedForTrn),
        (with_trn(State::Withdrawn), State::SubmittedForTrn, State::TrnReceived),
        (with_trn(State::Withdrawn), State::TrnReceived, State::TrnReceived),
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
        assert_eq!(crate::transition::Withdrawal::of(&record), None);
        assert_eq!((record.withdrawal_reasons.as_ref(), record.withdrawal_trigger.as_ref()), (None, None));
        left_alone(undo_withdrawal(&record, last(previous, true), now() + TimeDelta::days(1)), &record);
    }
    assert_eq!(refused_in(|one| undo_withdrawal(one, None, now())).len(), 6);
    let unknown = undo_withdrawal(&in_state(State::Withdrawn), last(State::Draft, false), now()).unwrap_err();
    assert_eq!(unknown, Refusal::UnknownPreviousState);
}

#[test]
fn nothing_becomes_of_a_discarded_trainee() {
    let record = done(discard(&in_state(State::SubmittedForTrn), now()));
    assert_eq!((record.state, record.discarded_at), (Some(State::SubmittedForTrn), Some(now())));
    left_alone(discard(&record, now() + TimeDelta::days(1)), &record);
    for result in [
        issue_trn(&record, &trn("1234567"), &[], now()),
        award(&record, now()),
        reinstate(&record, day("2026-10-01"), today(), now()),
        return_recommendation(&record, now()),
        undo_withdrawal(&record, None, now()),
    ] {
        assert_eq!(result.unwrap_err(), Refusal::Discarded);
    }
    assert_eq!(refused_in(|one| discard(one, now())), [State::RecommendedForAward, State::Awarded]);
}

#[test]
fn an_operator_is_told_where_a_trainee_stands() {
    assert_eq!(standing(&in_state(State::Deferred)), "deferred, without a TRN");
    let discarded = Trainee { discarded_at: Some(now()), ..with_trn(State::TrnReceived) };
    assert_eq!(standing(&discarded), "trn_received, TRN 1234567, discarded");
    assert_eq!(held_trn(&discarded), Some(trn("1234567")));
}
