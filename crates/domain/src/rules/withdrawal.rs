//! Withdrawals (contract, sections 2.5 and 4.13).

use crate::candidate::Candidate;
use crate::lifecycle::{Action, State, next};
use crate::lists::WithdrawalReason;
use crate::problem::{Problem, ProblemKind};
use crate::rules::{Context, Findings, Rule, Run, found, found_if};
use crate::trainee::TraineeField;
use crate::transition::{Withdrawal, WithdrawalField};

/// The reason of a record that should never have been made: it can be withdrawn before it starts.
const ADDED_IN_ERROR: &str = "record_added_in_error";
/// A training that is known not to have started.
const NOT_YET_STARTED: &str = "itt_not_yet_started";

/// The state of the record allows a withdrawal.
pub const STATE: Rule<Withdrawal> = Rule {
    name: "withdrawal_state",
    demands: "is submitted_for_trn, trn_received or deferred",
    section: "4.13",
    reads: &[],
    run: Run::Check(state),
};

/// Nobody leaves a training that has not started. Like the state it is a gate, which is reported beside problems of the
/// fields, so that it reads none: reasons that cannot be read do not say that the record was added in error.
pub const STARTED: Rule<Withdrawal> = Rule {
    name: "withdrawal_started",
    demands: "the training has started, unless the record was added in error",
    section: "4.13",
    reads: &[],
    run: Run::Check(started),
};

macro_rules! present {
    ($($rule:ident = $field:ident),+ $(,)?) => {$(
        #[doc = concat!("`", stringify!($field), "` must be there.")]
        pub const $rule: Rule<Withdrawal> = Rule {
            name: concat!("withdrawal_", stringify!($field), "_required"),
            demands: "must be there",
            section: "4.13",
            reads: &[WithdrawalField::$field],
            run: Run::Present,
        };
    )+};
}
present! { DATE = withdrawal_date, TRIGGER = trigger, FUTURE_INTEREST = future_interest }

/// Nobody leaves before the first day.
pub const DATE_AFTER_START: Rule<Withdrawal> = Rule {
    name: "withdrawal_date_after_start",
    demands: "is not earlier than the first day of the training, unless the record was added in error",
    section: "4.13",
    reads: &[WithdrawalField::withdrawal_date, WithdrawalField::reasons],
    run: Run::CheckOf(&[WithdrawalField::withdrawal_date], date_after_start),
};

/// Each reason counts once.
pub const REASONS_ONCE: Rule<Withdrawal> = Rule {
    name: "withdrawal_reasons_once",
    demands: "each is recorded once",
    section: "4.13",
    reads: &[WithdrawalField::reasons],
    run: Run::Adjust(reasons_once),
};

/// The reasons go with the trigger. Where the trigger itself is wrong, both lists count together, so the trigger is not
/// among the fields whose problems skip the rule.
pub const REASONS: Rule<Withdrawal> = Rule {
    name: "withdrawal_reasons_for_trigger",
    demands: "at least one, and each is listed for the trigger",
    section: "2.5",
    reads: &[WithdrawalField::reasons],
    run: Run::Check(reasons),
};

/// Another reason is put in words.
pub const ANOTHER_REASON: Rule<Withdrawal> = Rule {
    name: "withdrawal_another_reason",
    demands: "must be there when a reason says that it is another",
    section: "4.13",
    reads: &[WithdrawalField::another_reason, WithdrawalField::reasons],
    run: Run::Check(another_reason),
};

/// Safeguarding concerns are put in words.
pub const SAFEGUARDING: Rule<Withdrawal> = Rule {
    name: "withdrawal_safeguarding_concern_reasons",
    demands: "must be there when safeguarding concerns are among the reasons",
    section: "4.13",
    reads: &[WithdrawalField::safeguarding_concern_reasons, WithdrawalField::reasons],
    run: Run::Check(safeguarding),
};

fn state(candidate: &Candidate<Withdrawal>, _: &Context<'_>) -> Findings {
    let trainee = &candidate.owner;
    let state = trainee.state.unwrap_or(State::Draft);
    match next(state, Action::Withdraw, trainee.trn.is_some()) {
        Ok(_) => Findings::new(),
        Err(error) => found(TraineeField::state, ProblemKind::Transition { action: error.action, state: error.state }),
    }
}

fn started(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.owner;
    if added_in_error(candidate) {
        return Findings::new();
    }
    if trainee.itt_start_date.is_some_and(|day| day > context.today) {
        return vec![Problem::at(TraineeField::itt_start_date, ProblemKind::NotStarted)];
    }
    let waiting = trainee.commencement_status.as_deref() == Some(NOT_YET_STARTED);
    found_if(waiting, TraineeField::commencement_status, || ProblemKind::NotStarted)
}

fn date_after_start(candidate: &Candidate<Withdrawal>, _: &Context<'_>) -> Findings {
    let early =
        candidate.record.withdrawal_date.zip(candidate.owner.itt_start_date).is_some_and(|(left, start)| left < start);
    found_if(early && !added_in_error(candidate), WithdrawalField::withdrawal_date, || ProblemKind::Before {
        field: TraineeField::itt_start_date.into(),
    })
}

fn reasons_once(candidate: &mut Candidate<Withdrawal>, _: &Context<'_>) {
    if let Some(reasons) = &mut candidate.record.reasons {
        let mut seen = std::collections::HashSet::new();
        reasons.retain(|reason| seen.insert(reason.clone()));
    }
}

fn reasons(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let Some(reasons) = candidate.record.reasons.as_deref().filter(|reasons| !reasons.is_empty()) else {
        return found(WithdrawalField::reasons, ProblemKind::NoReasons);
    };
    let trigger = candidate.record.trigger.as_deref();
    let mut accepted: Vec<String> = context
        .lists
        .withdrawal_reasons()
        .iter()
        .filter(|reason| trigger.is_none_or(|trigger| reason.trigger == trigger))
        .map(|reason| reason.code.clone())
        .collect();
    accepted.dedup();
    let wrong: Vec<String> = reasons.iter().filter(|reason| !accepted.contains(reason)).cloned().collect();
    found_if(!wrong.is_empty(), WithdrawalField::reasons, || ProblemKind::WrongReasons { reasons: wrong, accepted })
}

fn another_reason(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let withdrawal = &candidate.record;
    match reason_with(candidate, context, |reason| reason.requires_another_reason) {
        Some(reason) if withdrawal.another_reason.is_none() => {
            found(WithdrawalField::another_reason, ProblemKind::ReasonNeedsWords { reason })
        }
        Some(_) | None => Findings::new(),
    }
}

fn safeguarding(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let withdrawal = &candidate.record;
    match reason_with(candidate, context, |reason| reason.requires_safeguarding_concern_reasons) {
        Some(reason) if withdrawal.safeguarding_concern_reasons.is_none() => {
            found(WithdrawalField::safeguarding_concern_reasons, ProblemKind::ReasonNeedsWords { reason })
        }
        Some(_) | None => Findings::new(),
    }
}

/// The first of the reasons of which something is true.
fn reason_with(
    candidate: &Candidate<Withdrawal>,
    context: &Context<'_>,
    is: impl Fn(&WithdrawalReason) -> bool,
) -> Option<String> {
    let listed = context.lists.withdrawal_reasons();
    let sent = candidate.record.reasons.iter().flatten();
    sent.into_iter().find(|code| listed.iter().any(|reason| &reason.code == *code && is(reason))).cloned()
}

fn added_in_error(candidate: &Candidate<Withdrawal>) -> bool {
    candidate.record.reasons.iter().flatten().any(|reason| reason == ADDED_IN_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Trainee;
    use crate::dictionary::Change;
    use crate::rules::trial::{TODAY, judged, places};
    use crate::transition::WithdrawalChanges;

    fn started_on(day: chrono::NaiveDate) -> Trainee {
        Trainee { itt_start_date: Some(day), ..Trainee::default() }
    }

    fn because(trigger: Option<&str>, reasons: &[&str]) -> WithdrawalChanges {
        WithdrawalChanges {
            trigger: trigger.map_or(Change::Keep, |trigger| Change::Set(trigger.to_owned())),
            reasons: Change::Set(reasons.iter().map(|reason| (*reason).to_owned()).collect()),
            ..WithdrawalChanges::default()
        }
    }

    #[test]
    fn a_training_has_started_by_its_plan_unless_it_is_known_not_to_have() {
        let refused = |trainee| places(&judged(trainee, None, because(None, &[]), &[STARTED]));
        assert_eq!(refused(started_on(TODAY)), []);
        let tomorrow = TODAY.succ_opt().unwrap();
        assert_eq!(refused(started_on(tomorrow)), [TraineeField::itt_start_date.into()]);
        assert_eq!(refused(Trainee { trainee_start_date: Some(tomorrow), ..started_on(TODAY) }), []);
        let is = |status: &str| Trainee { commencement_status: Some(status.to_owned()), ..started_on(TODAY) };
        assert_eq!(refused(is("itt_started_later")), []);
        assert_eq!(refused(is(NOT_YET_STARTED)), [TraineeField::commencement_status.into()]);
        let error = because(Some("provider"), &[ADDED_IN_ERROR]);
        assert_eq!(places(&judged(is(NOT_YET_STARTED), None, error, &[STARTED])), []);
    }

    /// The reasons of both triggers count then, each of them listed once.
    #[test]
    fn reasons_without_a_trigger_are_those_of_either() {
        let problems =
            |reasons: &[&str]| judged(started_on(TODAY), None, because(None, reasons), &[REASONS]).problems().to_vec();
        assert_eq!(problems(&["mandatory_reasons", "trainee_workload_issues"]), []);
        let found = problems(&["nothing"]);
        let Some(ProblemKind::WrongReasons { reasons, accepted }) = found.first().map(|problem| &problem.kind) else {
            panic!("{found:?}")
        };
        assert_eq!(*reasons, ["nothing"]);
        let distinct: std::collections::BTreeSet<_> = accepted.iter().collect();
        assert_eq!((accepted.len(), distinct.len()), (15, 15));
    }

    #[test]
    fn a_record_without_a_state_is_a_draft_which_nobody_can_leave() {
        let refused = judged(started_on(TODAY), None, because(None, &[]), &[STATE]);
        let state = ProblemKind::Transition { action: Action::Withdraw, state: State::Draft };
        assert_eq!(refused.problems(), [Problem::at(TraineeField::state, state)]);
    }
}
