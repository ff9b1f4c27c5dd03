//! Placements and degrees, by themselves and nested in a new trainee.

use super::{Decision, Origin, judged};
use crate::candidate::Sent;
use crate::degree::Degree;
use crate::placement::Placement;
use crate::problem::{Notice, Path, Problem, ProblemKind};
use crate::rules::{Context, Rules};
use crate::trainee::TraineeField;
use crate::value::Moment;

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
    let mut decision = judged((), None, sent, rules.placement, context)?;
    decision.record.placement_id = (origin.next_id)();
    decision.record.created_at = Some(origin.now);
    decision.record.updated_at = Some(origin.now);
    Ok(decision)
}

/// A placement with the changes merged into it (contract, section 4.15).
///
/// # Errors
///
/// All problems of the merged placement that a field of the request has a part in.
pub fn update_placement(
    stored: &Placement,
    sent: Sent<Placement>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Placement>, Vec<Problem>> {
    let mut decision = judged((), Some(stored), sent, rules.placement, context)?;
    if decision.changed {
        decision.record.updated_at = Some(now);
    }
    Ok(decision)
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
    let mut decision = judged((), None, sent, rules.degree, context)?;
    decision.record.degree_id = (origin.next_id)();
    decision.record.created_at = Some(origin.now);
    decision.record.updated_at = Some(origin.now);
    Ok(decision)
}

/// A degree with the changes merged into it (contract, section 4.16).
///
/// # Errors
///
/// All problems of the merged degree that a field of the request has a part in. Whether it repeats another one is for
/// the caller to see.
pub fn update_degree(
    stored: &Degree,
    sent: Sent<Degree>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<Degree>, Vec<Problem>> {
    let mut decision = judged((), Some(stored), sent, rules.degree, context)?;
    if decision.changed {
        decision.record.updated_at = Some(now);
    }
    Ok(decision)
}

/// Decides on each record of a nested list; a refused one keeps its place as `None`.
pub(super) fn each<S, R>(
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
pub(super) fn repeated(degrees: &[Option<Degree>]) -> Vec<Problem> {
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
