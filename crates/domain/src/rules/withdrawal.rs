//! Withdrawals (contract, sections 2.5 and 4.13).

use crate::lifecycle::Action;
use crate::lists::WithdrawalReason;
use crate::problem::{Problem, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::trainee::TraineeField;
use crate::records::transition::{Withdrawal, WithdrawalField as F};
use crate::rules::{Findings, Run, found, found_if};

/// The reason of records created by mistake. They can be withdrawn before the training starts.
const ADDED_IN_ERROR: &str = "record_added_in_error";
/// The commencement status of a training that has not started.
const NOT_YET_STARTED: &str = "itt_not_yet_started";

required_rules! { Withdrawal:
    DATE("4.13") = "withdrawal_withdrawal_date_required": [F::withdrawal_date];
    TRIGGER("4.13") = "withdrawal_trigger_required": [F::trigger];
    FUTURE_INTEREST("4.13") = "withdrawal_future_interest_required": [F::future_interest];
}

rules! { Withdrawal:
    STATE("4.13") = "withdrawal_state": "the state is submitted_for_trn, trn_received or deferred", [] => Run::Check(state);
    // Reads no fields, so that the problem is reported together with problems of the fields.
    // Reasons that could not be read do not count as "added in error".
    STARTED("4.13") = "withdrawal_started": "the training must have started, unless the record was added in error",
        [] => Run::Check(started);
    DATE_AFTER_START("4.13") = "withdrawal_date_after_start":
        "is not earlier than the first day of the training, unless the record was added in error",
        [F::withdrawal_date, F::reasons] => Run::CheckNeeding(&[F::withdrawal_date], date_after_start);
    REASONS_ONCE("4.13") = "withdrawal_reasons_once": "each reason is stored only once",
        [F::reasons] => Run::Adjust(reasons_once);
    // Does not read the trigger: a problem of the trigger must not skip the rule. Without a valid
    // trigger, the reasons of both triggers are accepted.
    REASONS("2.5") = "withdrawal_reasons_for_trigger": "must have at least one reason, and only reasons that are listed for the trigger",
        [F::reasons] => Run::Check(reasons);
    ANOTHER_REASON("4.13") = "withdrawal_another_reason": "is required if one of the reasons is another reason",
        [F::another_reason, F::reasons] => Run::CheckNeeding(&[F::another_reason], another_reason);
    SAFEGUARDING("4.13") = "withdrawal_safeguarding_concern_reasons":
        "is required if safeguarding concerns are among the reasons",
        [F::safeguarding_concern_reasons, F::reasons]
            => Run::CheckNeeding(&[F::safeguarding_concern_reasons], safeguarding);
}

/// Reports a state of the trainee that does not allow a withdrawal.
fn state(candidate: &Candidate<Withdrawal>, _: &Context<'_>) -> Findings {
    match candidate.owner.next_state(Action::Withdraw) {
        Ok(_) => Findings::new(),
        Err(error) => found(
            TraineeField::state,
            ProblemKind::Transition {
                action: error.action,
                state: error.state,
            },
        ),
    }
}

/// Reports a training that has not started, unless the record was added in error.
fn started(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let trainee = &candidate.owner;
    if added_in_error(candidate) {
        return Findings::new();
    }
    if trainee
        .itt_start_date
        .is_some_and(|day| day > context.today)
    {
        return vec![Problem::at(
            TraineeField::itt_start_date,
            ProblemKind::NotStarted,
        )];
    }
    let is_not_started = trainee.commencement_status.as_deref() == Some(NOT_YET_STARTED);
    found_if(is_not_started, TraineeField::commencement_status, || {
        ProblemKind::NotStarted
    })
}

/// Reports a withdrawal before the planned start of the training, unless the record was added in
/// error.
fn date_after_start(candidate: &Candidate<Withdrawal>, _: &Context<'_>) -> Findings {
    let early = candidate
        .record
        .withdrawal_date
        .zip(candidate.owner.itt_start_date)
        .is_some_and(|(left, start)| left < start);
    found_if(
        early && !added_in_error(candidate),
        F::withdrawal_date,
        || ProblemKind::Before {
            field: TraineeField::itt_start_date.into(),
        },
    )
}

/// Removes repeated reasons.
fn reasons_once(candidate: &mut Candidate<Withdrawal>, _: &Context<'_>) {
    if let Some(reasons) = &mut candidate.record.reasons {
        let mut seen = std::collections::HashSet::new();
        reasons.retain(|reason| seen.insert(reason.clone()));
    }
}

/// Reports missing reasons, and reasons that are not listed for the trigger.
fn reasons(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let Some(reasons) = candidate
        .record
        .reasons
        .as_deref()
        .filter(|reasons| !reasons.is_empty())
    else {
        return found(F::reasons, ProblemKind::NoReasons);
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
    let wrong: Vec<String> = reasons
        .iter()
        .filter(|reason| !accepted.contains(reason))
        .cloned()
        .collect();
    found_if(!wrong.is_empty(), F::reasons, || {
        ProblemKind::WrongReasons {
            reasons: wrong,
            accepted,
        }
    })
}

/// Reports a missing explanation if one of the reasons requires it in `another_reason`.
fn another_reason(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let withdrawal = &candidate.record;
    match reason_with(candidate, context, |reason| reason.requires_another_reason) {
        Some(reason) if withdrawal.another_reason.is_none() => found(
            F::another_reason,
            ProblemKind::ReasonNeedsExplanation { reason },
        ),
        Some(_) | None => Findings::new(),
    }
}

/// Reports a missing explanation if one of the reasons requires it in
/// `safeguarding_concern_reasons`.
fn safeguarding(candidate: &Candidate<Withdrawal>, context: &Context<'_>) -> Findings {
    let withdrawal = &candidate.record;
    match reason_with(candidate, context, |reason| {
        reason.requires_safeguarding_concern_reasons
    }) {
        Some(reason) if withdrawal.safeguarding_concern_reasons.is_none() => found(
            F::safeguarding_concern_reasons,
            ProblemKind::ReasonNeedsExplanation { reason },
        ),
        Some(_) | None => Findings::new(),
    }
}

/// Returns the first sent reason whose entry in the list has the property; `None` if no reason has
/// it.
fn reason_with(
    candidate: &Candidate<Withdrawal>,
    context: &Context<'_>,
    has_property: impl Fn(&WithdrawalReason) -> bool,
) -> Option<String> {
    let listed = context.lists.withdrawal_reasons();
    let mut sent = candidate.record.reasons.iter().flatten();
    sent.find(|code| {
        listed
            .iter()
            .any(|reason| &reason.code == *code && has_property(reason))
    })
    .cloned()
}

/// Whether one of the reasons is that the record was added in error.
fn added_in_error(candidate: &Candidate<Withdrawal>) -> bool {
    candidate
        .record
        .reasons
        .iter()
        .flatten()
        .any(|reason| reason == ADDED_IN_ERROR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::State;
    use crate::records::record::Change;
    use crate::records::trainee::Trainee;
    use crate::records::transition::WithdrawalChanges;
    use crate::rules::testing::{TODAY, apply, paths};

    fn started_on(day: chrono::NaiveDate) -> Trainee {
        Trainee {
            itt_start_date: Some(day),
            ..Trainee::default()
        }
    }

    fn because(trigger: Option<&str>, reasons: &[&str]) -> WithdrawalChanges {
        WithdrawalChanges {
            trigger: trigger.map_or(Change::Keep, |trigger| Change::Set(trigger.to_owned())),
            reasons: Change::Set(reasons.iter().map(|reason| (*reason).to_owned()).collect()),
            ..WithdrawalChanges::default()
        }
    }

    #[test]
    fn withdrawal_requires_planned_start() {
        let refused = |trainee| paths(&apply(trainee, None, because(None, &[]), &[STARTED]));
        assert_eq!(refused(started_on(TODAY)), []);
        let tomorrow = TODAY.succ_opt().unwrap();
        assert_eq!(
            refused(started_on(tomorrow)),
            [TraineeField::itt_start_date.into()]
        );
        assert_eq!(
            refused(Trainee {
                trainee_start_date: Some(tomorrow),
                ..started_on(TODAY)
            }),
            []
        );
        let is = |status: &str| Trainee {
            commencement_status: Some(status.to_owned()),
            ..started_on(TODAY)
        };
        assert_eq!(refused(is("itt_started_later")), []);
        assert_eq!(
            refused(is(NOT_YET_STARTED)),
            [TraineeField::commencement_status.into()]
        );
        let error = because(Some("provider"), &[ADDED_IN_ERROR]);
        assert_eq!(
            paths(&apply(is(NOT_YET_STARTED), None, error, &[STARTED])),
            []
        );
    }

    /// A code with an entry for each trigger is listed once.
    #[test]
    fn reasons_need_no_trigger() {
        let problems = |reasons: &[&str]| {
            apply(started_on(TODAY), None, because(None, reasons), &[REASONS])
                .problems()
                .to_vec()
        };
        assert_eq!(
            problems(&["mandatory_reasons", "trainee_workload_issues"]),
            []
        );
        let found = problems(&["nothing"]);
        let Some(ProblemKind::WrongReasons { reasons, accepted }) =
            found.first().map(|problem| &problem.kind)
        else {
            panic!("{found:?}")
        };
        assert_eq!(*reasons, ["nothing"]);
        let distinct: std::collections::BTreeSet<_> = accepted.iter().collect();
        assert_eq!((accepted.len(), distinct.len()), (15, 15));
    }

    #[test]
    fn draft_cannot_be_withdrawn() {
        let refused = apply(started_on(TODAY), None, because(None, &[]), &[STATE]);
        let state = ProblemKind::Transition {
            action: Action::Withdraw,
            state: State::Draft,
        };
        assert_eq!(
            refused.problems(),
            [Problem::at(TraineeField::state, state)]
        );
    }

    #[test]
    fn missing_explanations_are_reported_beside_reason() {
        let reasons = [
            "trainee_chose_to_withdraw_another_reason",
            "safeguarding_concerns",
            "bogus",
        ];
        let candidate = apply(
            started_on(TODAY),
            None,
            because(Some("trainee"), &reasons),
            &[REASONS, ANOTHER_REASON, SAFEGUARDING],
        );
        let expected = [
            F::reasons,
            F::another_reason,
            F::safeguarding_concern_reasons,
        ]
        .map(Into::into);
        assert_eq!(paths(&candidate), expected);
    }
}
