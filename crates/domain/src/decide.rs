//! What becomes of a request: each function takes what was sent, and gives the record as it is to be
//! stored or every problem.
//!
//! Nothing is looked up and nothing is stored here; identifiers, the caller and the time come in.

use crate::candidate::{Candidate, Sent};
use crate::degree::Degree;
use crate::lifecycle::{Action, State, next};
use crate::placement::Placement;
use crate::problem::{Notice, NoticeKind, Path, Problem, ProblemKind};
use crate::rules::{Context, Rules, judge};
use crate::trainee::{Trainee, TraineeField};
use crate::transition::{Deferral, Recommendation, Withdrawal};
use crate::value::Moment;

/// A record as it is to be stored, and what the client should know.
#[derive(Debug, Clone)]
pub struct Decision<R> {
    /// The record.
    pub record: R,
    /// Whether it differs from the stored one.
    pub changed: bool,
    /// What the client should know.
    pub notices: Vec<Notice>,
}

/// Where a record is made, by whom and when.
pub struct Origin<'a> {
    /// The moment.
    pub now: Moment,
    /// UKPRN of the provider.
    pub ukprn: &'a str,
    /// Gives the next identifier, which no record has or had. A request that is only tried out gets
    /// none.
    pub next_id: &'a dyn Fn() -> Option<String>,
}

/// A new trainee with placements and degrees (contract, section 4.8).
///
/// # Errors
///
/// All problems of the trainee and of the nested records.
pub fn create(
    mut sent: Sent<Trainee>,
    rules: &Rules,
    context: &Context<'_>,
    origin: &Origin<'_>,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let placements = std::mem::take(&mut sent.changes.placements);
    let degrees = std::mem::take(&mut sent.changes.degrees);
    let mut candidate = Candidate::new((), None, sent, context);
    judge(&mut candidate, rules.trainee, context);
    let mut problems = candidate.problems().to_vec();
    let mut notices = Vec::new();
    let placements = nested(placements, TraineeField::placements, &mut problems, &mut notices, |sent| {
        add_placement(sent, rules, context, origin)
    });
    let degrees = nested(degrees, TraineeField::degrees, &mut problems, &mut notices, |sent| {
        add_degree(sent, rules, context, origin)
    });
    problems.extend(repeated(&degrees));
    if !problems.is_empty() {
        return Err(problems);
    }
    let (mut trainee, mut own) = candidate.verdict()?;
    own.append(&mut notices);
    trainee.trainee_id = (origin.next_id)();
    trainee.ukprn = Some(origin.ukprn.to_owned());
    trainee.state = Some(State::SubmittedForTrn);
    trainee.record_source = Some("api".to_owned());
    trainee.created_at = Some(origin.now);
    trainee.updated_at = Some(origin.now);
    trainee.submitted_for_trn_at = Some(origin.now);
    trainee.placements = placements.into_iter().flatten().collect();
    trainee.degrees = degrees.into_iter().flatten().collect();
    order(&mut trainee);
    Ok(Decision { record: trainee, changed: true, notices: own })
}

/// A trainee with the changes merged into it (contract, section 4.14). Nested lists have endpoints
/// of their own and are left alone.
///
/// # Errors
///
/// All problems of the merged record that a field of the request has a part in.
pub fn update(
    stored: &Trainee,
    mut sent: Sent<Trainee>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    for (list, given) in [
        (TraineeField::placements, !std::mem::take(&mut sent.changes.placements).is_empty()),
        (TraineeField::degrees, !std::mem::take(&mut sent.changes.degrees).is_empty()),
    ] {
        if given {
            sent.notices.push(Notice { at: Path::List(list), kind: NoticeKind::UseEndpoint });
        }
    }
    let mut candidate = Candidate::new((), Some(stored), sent, context);
    judge(&mut candidate, rules.trainee, context);
    let changed = candidate.changed();
    let (mut record, notices) = candidate.verdict()?;
    if changed {
        record.updated_at = Some(now);
    }
    Ok(Decision { record, changed, notices })
}

/// A new placement (contract, section 4.9).
///
/// # Errors
///
/// All problems of the placement.
pub fn add_placement(
    sent: Sent<Placement>,
    rules: &Rules,
    context: &Context<'_>,
    origin: &Origin<'_>,
) -> Result<Decision<Placement>, Vec<Problem>> {
    let mut candidate = Candidate::new((), None, sent, context);
    judge(&mut candidate, rules.placement, context);
    let (mut record, notices) = candidate.verdict()?;
    record.placement_id = (origin.next_id)();
    record.created_at = Some(origin.now);
    record.updated_at = Some(origin.now);
    Ok(Decision { record, changed: true, notices })
}

/// A new degree (contract, section 4.10).
///
/// # Errors
///
/// All problems of the degree. Whether it repeats another one is for the caller to see.
pub fn add_degree(
    sent: Sent<Degree>,
    rules: &Rules,
    context: &Context<'_>,
    origin: &Origin<'_>,
) -> Result<Decision<Degree>, Vec<Problem>> {
    let mut candidate = Candidate::new((), None, sent, context);
    judge(&mut candidate, rules.degree, context);
    let (mut record, notices) = candidate.verdict()?;
    record.degree_id = (origin.next_id)();
    record.created_at = Some(origin.now);
    record.updated_at = Some(origin.now);
    Ok(Decision { record, changed: true, notices })
}

/// A withdrawn trainee (contract, section 4.13).
///
/// # Errors
///
/// All problems of the input, and of the state and the start of the training.
pub fn withdraw(
    trainee: &Trainee,
    sent: Sent<Withdrawal>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let mut candidate = Candidate::new(trainee.clone(), None, sent, context);
    judge(&mut candidate, rules.withdrawal, context);
    let (withdrawal, notices) = candidate.verdict()?;
    let mut record = moved(trainee, Action::Withdraw, now)?;
    record.withdrawal_date = withdrawal.withdrawal_date;
    record.withdrawal_trigger = withdrawal.trigger;
    record.withdrawal_future_interest = withdrawal.future_interest;
    record.withdrawal_reasons = withdrawal.reasons;
    record.withdrawal_another_reason = withdrawal.another_reason;
    record.withdrawal_safeguarding_concern_reasons = withdrawal.safeguarding_concern_reasons;
    Ok(Decision { record, changed: true, notices })
}

/// A deferred trainee (contract, section 4.11).
///
/// # Errors
///
/// All problems of the input, or the state.
pub fn defer(
    trainee: &Trainee,
    sent: Sent<Deferral>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let mut candidate = Candidate::new(trainee.clone(), None, sent, context);
    judge(&mut candidate, rules.deferral, context);
    let (deferral, notices) = candidate.verdict()?;
    let mut record = moved(trainee, Action::Defer, now)?;
    record.defer_date = deferral.defer_date;
    record.defer_reason = deferral.defer_reason;
    if record.commencement_status.as_deref() == Some("itt_started_on_time") {
        record.trainee_start_date = record.itt_start_date;
    }
    Ok(Decision { record, changed: true, notices })
}

/// A trainee recommended for the award (contract, section 4.12).
///
/// # Errors
///
/// All problems of the input, of the record and of its state.
pub fn recommend(
    trainee: &Trainee,
    sent: Sent<Recommendation>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let mut candidate = Candidate::new(trainee.clone(), None, sent, context);
    judge(&mut candidate, rules.recommendation, context);
    let (recommendation, notices) = candidate.verdict()?;
    let mut record = moved(trainee, Action::Recommend, now)?;
    record.outcome_date = recommendation.qts_standards_met_date;
    record.recommended_for_award_at = Some(now);
    Ok(Decision { record, changed: true, notices })
}

/// Whether the version lets the action at this record at all.
///
/// # Errors
///
/// The one problem that the gate finds.
pub fn pass_gates(trainee: &Trainee, action: Action, rules: &Rules) -> Result<(), Vec<Problem>> {
    let refused = rules.gates.iter().any(|gate| (gate.refuses)(trainee, action));
    if !refused {
        return Ok(());
    }
    let state = trainee.state.unwrap_or(State::Draft);
    Err(vec![Problem::at(TraineeField::state, ProblemKind::Transition { action, state })])
}

/// Placements stand in the order in which they were made; degrees by year of graduation.
pub fn order(trainee: &mut Trainee) {
    trainee.placements.sort_by_key(|placement| placement.created_at);
    trainee.degrees.sort_by_key(|degree| (degree.graduation_year, degree.created_at));
}

fn moved(trainee: &Trainee, action: Action, now: Moment) -> Result<Trainee, Vec<Problem>> {
    let state = trainee.state.unwrap_or(State::Draft);
    let after = next(state, action, trainee.trn.is_some()).map_err(|error| {
        vec![Problem::at(TraineeField::state, ProblemKind::Transition { action: error.action, state: error.state })]
    })?;
    Ok(Trainee { state: Some(after), updated_at: Some(now), ..trainee.clone() })
}

/// Decides on each record of a nested list; a refused one keeps its place as `None`.
fn nested<S, R>(
    sent: Vec<S>,
    list: TraineeField,
    problems: &mut Vec<Problem>,
    notices: &mut Vec<Notice>,
    decide: impl Fn(S) -> Result<Decision<R>, Vec<Problem>>,
) -> Vec<Option<R>> {
    let mut records = Vec::with_capacity(sent.len());
    for (position, sent) in sent.into_iter().enumerate() {
        match decide(sent) {
            Ok(decision) => {
                notices.extend(
                    decision
                        .notices
                        .into_iter()
                        .map(|notice| Notice { at: notice.at.nested(list, position), ..notice }),
                );
                records.push(Some(decision.record));
            }
            Err(found) => {
                problems.extend(found.into_iter().map(|problem| problem.nested(list, position)));
                records.push(None);
            }
        }
    }
    records
}

/// Degrees of one request that repeat an earlier one.
fn repeated(degrees: &[Option<Degree>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (position, degree) in degrees.iter().enumerate() {
        let earlier = degrees.iter().take(position).position(|other| {
            other.as_ref().zip(degree.as_ref()).is_some_and(|(other, degree)| degree.duplicates(other))
        });
        if let Some(earlier) = earlier {
            problems.push(Problem {
                at: Path::Position { list: TraineeField::degrees, position },
                kind: ProblemKind::RepeatsPosition { position: earlier },
            });
        }
    }
    problems
}
