//! Placements and degrees, by themselves and nested in a new trainee.

use super::{Decision, Origin, judged};
use crate::candidate::Sent;
use crate::degree::Degree;
use crate::dictionary::Record;
use crate::placement::Placement;
use crate::problem::{Notice, Path, Problem, ProblemKind};
use crate::rules::{Context, Rule, Rules};
use crate::trainee::{Trainee, TraineeField};
use crate::value::Moment;

/// A record that is nested in a trainee and can be added, changed and removed by itself.
pub trait NestedRecord: Record<Owner = ()> + Clone {
    /// The records of a trainee.
    fn of(trainee: &Trainee) -> &Vec<Self>;

    /// The records of a trainee, to be changed.
    fn of_mut(trainee: &mut Trainee) -> &mut Vec<Self>;

    /// The identifier.
    fn id(&self) -> Option<&str>;

    /// Gives a new record its identifier and its dates.
    fn set_created(&mut self, id: Option<String>, at: Moment);

    /// Dates a change.
    fn set_updated(&mut self, at: Moment);

    /// The rules that bind the record in a version.
    fn rules(rules: &Rules) -> &'static [Rule<Self>];

    /// Whether the trainee must not have both records.
    fn duplicates(&self, other: &Self) -> bool;
}

macro_rules! nested_record {
    ($record:ident, $list:ident, $rules:ident, $id:ident, $duplicates:expr) => {
        impl NestedRecord for $record {
            fn of(trainee: &Trainee) -> &Vec<Self> {
                &trainee.$list
            }

            fn of_mut(trainee: &mut Trainee) -> &mut Vec<Self> {
                &mut trainee.$list
            }

            fn id(&self) -> Option<&str> {
                self.$id.as_deref()
            }

            fn set_created(&mut self, id: Option<String>, at: Moment) {
                self.$id = id;
                self.created_at = Some(at);
                self.updated_at = Some(at);
            }

            fn set_updated(&mut self, at: Moment) {
                self.updated_at = Some(at);
            }

            fn rules(rules: &Rules) -> &'static [Rule<Self>] {
                rules.$rules
            }

            fn duplicates(&self, other: &Self) -> bool {
                $duplicates(self, other)
            }
        }
    };
}

nested_record!(Placement, placements, placement, placement_id, |_, _| false);
nested_record!(Degree, degrees, degree, degree_id, Degree::duplicates);

/// A new placement or degree (contract, sections 4.9 and 4.10).
///
/// # Errors
///
/// All problems of the record. Whether it repeats another one is for the caller to see.
pub fn add_nested<R: NestedRecord>(
    sent: Sent<R>,
    rules: &Rules,
    context: &Context<'_>,
    origin: &Origin<'_>,
) -> Result<Decision<R>, Vec<Problem>> {
    let mut decision = judged((), None, sent, R::rules(rules), context)?;
    decision.record.set_created((origin.next_id)(), origin.now);
    Ok(decision)
}

/// A placement or a degree with the changes merged into it (contract, sections 4.15 and 4.16).
///
/// # Errors
///
/// All problems of the merged record that a field of the request has a part in. Whether it repeats another one is for the
/// caller to see.
pub fn update_nested<R: NestedRecord>(
    stored: &R,
    sent: Sent<R>,
    rules: &Rules,
    context: &Context<'_>,
    now: Moment,
) -> Result<Decision<R>, Vec<Problem>> {
    let mut decision = judged((), Some(stored), sent, R::rules(rules), context)?;
    if decision.changed {
        decision.record.set_updated(now);
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
