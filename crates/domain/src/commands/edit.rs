//! Creates and updates trainees and nested records.

use super::decision::{CreationContext, Decision, decide, wrong_state};
use crate::fields::parsed::ParsedRecord;
use crate::fields::value::Timestamp;
use crate::fields::vocabulary::FROM_API;
use crate::lifecycle::{Action, State, TransitionError};
use crate::problem::{Notice, Path, Problem, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::record::Record;
use crate::records::trainee::{NestedRecord, NestedRecords, Sent, Trainee};
use crate::rules::{Rule, Rules, apply, apply_nested, set_defaults};
use crate::{for_each_nested, nested_kinds};

/// A record that requests can create and update.
pub trait Editable: Record {
    /// Returns the rules of a version for the record.
    fn rules(rules: &Rules) -> &'static [Rule<Self>];

    /// Returns the identifier and the timestamps of the record, mutable.
    fn audit_fields(&mut self) -> AuditFields<'_>;
}

/// The identifier and the timestamps of a record. Requests cannot set them.
#[derive(Debug)]
pub struct AuditFields<'a> {
    /// The identifier.
    pub id: &'a mut Option<String>,
    /// The time of the creation.
    pub created_at: &'a mut Option<Timestamp>,
    /// The time of the last change.
    pub updated_at: &'a mut Option<Timestamp>,
}

macro_rules! editable {
    ($($record:ty: $rules:ident, $id:ident;)+) => {$(
        impl Editable for $record {
            fn rules(rules: &Rules) -> &'static [Rule<Self>] {
                rules.$rules
            }

            fn audit_fields(&mut self) -> AuditFields<'_> {
                let Self { $id: id, created_at, updated_at, .. } = self;
                AuditFields { id, created_at, updated_at }
            }
        }
    )+};
}
editable! { Trainee: trainee, trainee_id; }

macro_rules! editable_kinds {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        $( editable! { crate::$record: $name, $id; } )+
    };
}
nested_kinds!([editable_kinds]);

/// Creates a nested record, such as a placement or a degree (contract, sections 4.9 and 4.10).
///
/// The caller must check for duplicates.
///
/// # Errors
///
/// All problems of the record.
pub fn add<R: NestedRecord + Editable>(
    sent: ParsedRecord<R>,
    rules: &Rules,
    context: &Context<'_>,
    creation: &CreationContext<'_>,
) -> Result<Decision<R>, Vec<Problem>> {
    let mut decision = decide((), None, sent, R::rules(rules), context)?;
    stamp(&mut decision.record, creation);
    Ok(decision)
}

/// Sets the identifier and the timestamps of a new record.
fn stamp<R: Editable>(record: &mut R, creation: &CreationContext<'_>) {
    let AuditFields {
        id,
        created_at,
        updated_at,
    } = record.audit_fields();
    *id = (creation.next_id)();
    *created_at = Some(creation.now);
    *updated_at = Some(creation.now);
}

/// Updates a record (contract, sections 4.14 to 4.16). Nested records are unchanged.
///
/// The caller must check a nested record for duplicates.
///
/// # Errors
///
/// All problems found by rules that read a changed field.
pub fn update<R: Editable<Owner = ()>>(
    stored: &R,
    sent: ParsedRecord<R>,
    rules: &Rules,
    context: &Context<'_>,
    now: Timestamp,
) -> Result<Decision<R>, Vec<Problem>> {
    let mut decision = decide((), Some(stored), sent, R::rules(rules), context)?;
    if decision.changed {
        *decision.record.audit_fields().updated_at = Some(now);
    }
    Ok(decision)
}

/// Creates a trainee with nested records (contract, section 4.8).
///
/// # Errors
///
/// All problems of the trainee and of the nested records.
pub fn create(
    mut sent: ParsedRecord<Trainee>,
    rules: &Rules,
    context: &Context<'_>,
    creation: &CreationContext<'_>,
) -> Result<Decision<Trainee>, Vec<Problem>> {
    let mut sent_nested = std::mem::take(&mut sent.nested);
    set_defaults(&mut sent, &(), rules.trainee, context);
    let mut candidate = Candidate::new((), None, sent, context);
    apply(&mut candidate, rules.trainee, context);
    let mut creator = NestedCreator {
        rules,
        context,
        creation,
        problems: Vec::new(),
        notices: Vec::new(),
    };
    let mut nested = NestedRecords::default();
    for_each_nested!(create_nested(&mut creator, &mut sent_nested, &mut nested));
    let NestedCreator {
        problems: nested_problems,
        notices: nested_notices,
        ..
    } = creator;
    if nested_problems.is_empty() {
        apply_nested(&mut candidate, &nested, rules.trainee, context);
    }
    let (record, mut notices) = match candidate.into_result() {
        Ok(accepted) if nested_problems.is_empty() => accepted,
        Ok(_) => return Err(nested_problems),
        Err(mut problems) => {
            problems.extend(nested_problems);
            return Err(problems);
        }
    };
    notices.extend(nested_notices);
    let mut trainee = Trainee::join(record, nested);
    stamp(&mut trainee, creation);
    trainee.ukprn = Some(creation.ukprn.to_owned());
    trainee.state = Some(State::SubmittedForTrn);
    trainee.record_source = Some(FROM_API.to_owned());
    trainee.submitted_for_trn_at = Some(creation.now);
    sort_nested(&mut trainee);
    Ok(Decision {
        record: trainee,
        changed: true,
        notices,
    })
}

/// Creates the nested records of a new trainee, and collects their problems and notices.
struct NestedCreator<'a> {
    rules: &'a Rules,
    context: &'a Context<'a>,
    creation: &'a CreationContext<'a>,
    problems: Vec<Problem>,
    notices: Vec<Notice>,
}

/// Creates the nested records of one kind.
fn create_nested<R: NestedRecord + Editable>(
    creator: &mut NestedCreator<'_>,
    sent: &mut NestedRecords<Sent>,
    nested: &mut NestedRecords,
) {
    let records = creator.create_all(std::mem::take(R::in_nested_mut(sent)));
    creator.problems.extend(duplicate_problems(&records));
    *R::in_nested_mut(nested) = records.into_iter().flatten().collect();
}

impl NestedCreator<'_> {
    /// Creates each record of a list. Returns `None` at the position of a rejected record.
    fn create_all<R: NestedRecord + Editable>(
        &mut self,
        sent: Vec<ParsedRecord<R>>,
    ) -> Vec<Option<R>> {
        let list = R::LIST.to_field();
        let mut records = Vec::new();
        for (position, sent) in sent.into_iter().enumerate() {
            match add(sent, self.rules, self.context, self.creation) {
                Ok(decision) => {
                    for Notice { at, kind } in decision.notices {
                        let at = at.nested(list, position);
                        self.notices.push(Notice { at, kind });
                    }
                    records.push(Some(decision.record));
                }
                Err(problems) => {
                    for problem in problems {
                        self.problems.push(problem.nested(list, position));
                    }
                    records.push(None);
                }
            }
        }
        records
    }
}

/// Returns a problem for each record of a request that duplicates an earlier record of its list.
fn duplicate_problems<R: NestedRecord>(records: &[Option<R>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (position, record) in records.iter().enumerate() {
        let Some(record) = record else { continue };
        let earlier = records.iter().take(position).position(|earlier| {
            earlier
                .as_ref()
                .is_some_and(|earlier| record.duplicates(earlier))
        });
        if let Some(earlier) = earlier {
            let at = Path::Position {
                list: R::LIST.to_field(),
                position,
            };
            let kind = ProblemKind::RepeatsPosition { position: earlier };
            problems.push(Problem { at, kind });
        }
    }
    problems
}

/// Checks that no gate of the version refuses the action on the trainee.
///
/// # Errors
///
/// The problem of the state, if a gate refuses the action.
pub fn check_gates(trainee: &Trainee, action: Action, rules: &Rules) -> Result<(), Vec<Problem>> {
    if rules
        .gates
        .iter()
        .any(|gate| (gate.refuses)(trainee, action))
    {
        return Err(wrong_state(TransitionError {
            action,
            state: trainee.state_or_draft(),
        }));
    }
    Ok(())
}

/// Sorts the nested records of each kind for display.
pub fn sort_nested(trainee: &mut Trainee) {
    for_each_nested!(sort(trainee));
}

fn sort<R: NestedRecord>(trainee: &mut Trainee) {
    R::records_mut(trainee).sort_by(R::compare);
}
