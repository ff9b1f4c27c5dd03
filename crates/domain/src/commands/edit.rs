//! Creating and updating trainees and nested records.

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
use crate::rules::{Rule, Rules, apply, apply_nested};
use crate::{for_each_nested, nested_kinds};

/// A record that a request can create and update.
pub trait Editable: Record {
    /// The rules of a version that bind it.
    fn rules(rules: &Rules) -> &'static [Rule<Self>];

    /// The fields that no request sets, and every record has.
    fn audit_fields(&mut self) -> AuditFields<'_>;
}

/// The fields that no request sets, and every record has.
#[derive(Debug)]
pub struct AuditFields<'a> {
    /// The identifier.
    pub id: &'a mut Option<String>,
    /// When the record was made.
    pub created_at: &'a mut Option<Timestamp>,
    /// When it was changed last.
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

/// A new nested record, such as a placement or a degree (contract, sections 4.9 and 4.10).
///
/// # Errors
///
/// All problems of the record. Whether it repeats another one is for the caller to check.
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

fn stamp<R: Editable>(record: &mut R, creation: &CreationContext<'_>) {
    let AuditFields {
        id,
        created_at,
        updated_at,
    } = record.audit_fields();
    *id = (creation.next_id)();
    (*created_at, *updated_at) = (Some(creation.now), Some(creation.now));
}

/// A record with the changes merged into it (contract, sections 4.14 to 4.16). Nested records stay
/// as they are.
///
/// # Errors
///
/// All problems of the merged record that a field of the request has a part in. Whether a nested
/// record repeats another one is for the caller to check.
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

/// A new trainee with nested records (contract, section 4.8).
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
    let mut candidate = Candidate::new((), None, sent, context);
    apply(&mut candidate, rules.trainee, context);
    let (mut problems, mut notices) = (Vec::new(), Vec::new());
    let mut adding = Adding {
        rules,
        context,
        creation,
        problems: &mut problems,
        notices: &mut notices,
    };
    let mut nested = NestedRecords::default();
    for_each_nested!(add_all(&mut adding, &mut sent_nested, &mut nested));
    if problems.is_empty() {
        apply_nested(&mut candidate, &nested, rules.trainee, context);
    }
    let (record, mut all_notices) = match (candidate.into_result(), problems.is_empty()) {
        (Ok(accepted), true) => accepted,
        (Ok(_), false) => return Err(problems),
        (Err(mut found), _) => {
            found.append(&mut problems);
            return Err(found);
        }
    };
    all_notices.append(&mut notices);
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
        notices: all_notices,
    })
}

/// What the nested records of a new trainee need and report.
struct Adding<'a> {
    rules: &'a Rules,
    context: &'a Context<'a>,
    creation: &'a CreationContext<'a>,
    problems: &'a mut Vec<Problem>,
    notices: &'a mut Vec<Notice>,
}

/// Adds the nested records of a kind.
fn add_all<R: NestedRecord + Editable>(
    adding: &mut Adding<'_>,
    sent: &mut NestedRecords<Sent>,
    nested: &mut NestedRecords,
) {
    let records = adding.add(std::mem::take(R::in_nested_mut(sent)));
    adding.problems.extend(repeated(&records));
    *R::in_nested_mut(nested) = records.into_iter().flatten().collect();
}

impl Adding<'_> {
    /// Adds each record of a list; a rejected one keeps its position as `None`.
    fn add<R: NestedRecord + Editable>(&mut self, sent: Vec<ParsedRecord<R>>) -> Vec<Option<R>> {
        let list = R::LIST.to_field();
        let decisions = sent
            .into_iter()
            .map(|sent| add(sent, self.rules, self.context, self.creation));
        let mut records = Vec::new();
        for (position, decision) in decisions.enumerate() {
            let (problems, notices, record) = match decision {
                Ok(Decision {
                    record, notices, ..
                }) => (Vec::new(), notices, Some(record)),
                Err(problems) => (problems, Vec::new(), None),
            };
            self.problems.extend(
                problems
                    .into_iter()
                    .map(|problem| problem.nested(list, position)),
            );
            let notices = notices.into_iter();
            self.notices.extend(notices.map(|notice| Notice {
                at: notice.at.nested(list, position),
                ..notice
            }));
            records.push(record);
        }
        records
    }
}

/// The problems of records of one request that repeat an earlier one.
fn repeated<R: NestedRecord>(records: &[Option<R>]) -> Vec<Problem> {
    let repeats = |one: &Option<R>, other: &Option<R>| {
        one.as_ref()
            .zip(other.as_ref())
            .is_some_and(|(one, other)| one.duplicates(other))
    };
    let found = records.iter().enumerate().filter_map(|(position, record)| {
        let earlier = records
            .iter()
            .take(position)
            .position(|other| repeats(record, other))?;
        let at = Path::Position {
            list: R::LIST.to_field(),
            position,
        };
        Some(Problem {
            at,
            kind: ProblemKind::RepeatsPosition { position: earlier },
        })
    });
    found.collect()
}

/// Whether the gates of the version allow the action on this record.
///
/// # Errors
///
/// The one problem that the gate finds.
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

/// Sorts the nested records of each kind into the order in which they are shown.
pub fn sort_nested(trainee: &mut Trainee) {
    for_each_nested!(sort(trainee));
}

fn sort<R: NestedRecord>(trainee: &mut Trainee) {
    R::records_mut(trainee).sort_by(R::compare);
}
