//! Whether a write that one version accepted would be accepted in another, and what would stand against it.
//!
//! The body is spelt as the other version does, read there, and decided on with its rules: on the record as it was before
//! the write. On the record as it is afterwards an update would change nothing any more, so that no rule would run, and a
//! withdrawal would meet a trainee who has left.
//!
//! What is found is told by fields and codes of the program alone; nothing that a client chose is in it. That an endpoint
//! has another name in the other version is no finding: the value of the version says it.

use std::collections::BTreeSet;

use adapter_kit::endpoint::Endpoint;
use adapter_kit::read::{Nest, NestedLists, Reader, UnknownNames};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Served;
use adapter_kit::{names, read};
use domain::commands::CreationContext;
use domain::organisations::Organisations;
use domain::value::Timestamp;
use domain::{
    Action, Context, Deferral, Degree, Lists, ParsedRecord, Path, Placement, Problem, ProblemKind, Recommendation,
    Trainee, Withdrawal, commands,
};

use crate::translate::{About, Direction, RecordKind, Why, respell};

/// The code of a value for which the other version has no place.
pub const NOT_SET: &str = "not_set";

/// A write that was accepted, with what it met.
#[derive(Clone, Copy)]
pub struct Occasion<'a> {
    /// Where it was sent to.
    pub endpoint: Endpoint,
    /// The trainee as it was before, unless the write made it.
    pub trainee: Option<&'a Trainee>,
    /// The identifier of the placement or the degree, where the write was for one.
    pub part_id: &'a str,
    /// The schools and training partners that the write mentions.
    pub organisations: &'a Organisations,
    /// When it was.
    pub now: Timestamp,
    /// The code lists.
    pub lists: &'a Lists,
}

/// Something that stands against a write in the other version.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    /// The field, as the other version calls it; behind the name of the list where it is one of a nested record. A field
    /// that the other version cannot set has the name by which it was sent.
    pub field: String,
    /// The code of the problem, or [`NOT_SET`].
    pub code: &'static str,
}

/// What would stand against the write in the other version, each once; nothing when it would be accepted there. `None` when
/// it is no write, or its record is not there.
#[must_use]
pub fn check(body: &[u8], from: &Served, to: &Served, occasion: &Occasion<'_>) -> Option<BTreeSet<Finding>> {
    let attempt = Attempt { body, from, to, occasion };
    let rules = &to.version.rules;
    let context = attempt.context();
    let now = occasion.now;
    let origin = CreationContext { now, ukprn: "", next_id: &|| None };
    match occasion.endpoint {
        Endpoint::CreateTrainee => attempt.send(RecordKind::Trainee, NestedLists::Read, |sent| {
            Some(commands::create(sent, rules, &context, &origin).err())
        }),
        Endpoint::UpdateTrainee => {
            let trainee = occasion.trainee?;
            attempt.change(RecordKind::Trainee, NestedLists::PassOver, |sent| {
                Some(commands::update(trainee, sent, rules, &context, now).err())
            })
        }
        Endpoint::CreatePlacement => attempt.change::<Placement>(RecordKind::Placement, NestedLists::Read, |sent| {
            Some(commands::add(sent, rules, &context, &origin).err())
        }),
        Endpoint::UpdatePlacement => attempt.change(RecordKind::Placement, NestedLists::Read, |sent| {
            let mut placements = occasion.trainee?.placements.iter();
            let stored = placements.find(|placement| placement.placement_id.as_deref() == Some(occasion.part_id))?;
            Some(commands::update(stored, sent, rules, &context, now).err())
        }),
        Endpoint::CreateDegree => attempt.change::<Degree>(RecordKind::Degree, NestedLists::Read, |sent| {
            Some(commands::add(sent, rules, &context, &origin).err())
        }),
        Endpoint::UpdateDegree => attempt.change(RecordKind::Degree, NestedLists::Read, |sent| {
            let mut degrees = occasion.trainee?.degrees.iter();
            let stored = degrees.find(|degree| degree.degree_id.as_deref() == Some(occasion.part_id))?;
            Some(commands::update(stored, sent, rules, &context, now).err())
        }),
        Endpoint::DeletePlacement | Endpoint::DeleteDegree => Some(attempt.told(&attempt.stopped()?)),
        Endpoint::Defer => attempt.send::<Deferral>(RecordKind::Deferral, NestedLists::Read, |sent| {
            Some(commands::transition::<domain::Deferral>(occasion.trainee?, sent, rules, &context, now).err())
        }),
        Endpoint::Withdraw => attempt.send::<Withdrawal>(RecordKind::Withdrawal, NestedLists::Read, |sent| {
            Some(commands::transition::<domain::Withdrawal>(occasion.trainee?, sent, rules, &context, now).err())
        }),
        Endpoint::RecommendForQts | Endpoint::UpdateQtsOrEytsStatus => {
            attempt.send::<Recommendation>(RecordKind::Recommendation, NestedLists::Read, |sent| {
                Some(
                    commands::transition::<domain::Recommendation>(occasion.trainee?, sent, rules, &context, now).err(),
                )
            })
        }
        Endpoint::Info
        | Endpoint::ListTrainees
        | Endpoint::ShowTrainee
        | Endpoint::ListPlacements
        | Endpoint::ShowPlacement
        | Endpoint::ListDegrees
        | Endpoint::ShowDegree
        | Endpoint::ReferenceData => None,
    }
}

/// A write that is sent to the other version, as it were.
#[derive(Clone, Copy)]
struct Attempt<'a> {
    body: &'a [u8],
    from: &'a Served,
    to: &'a Served,
    occasion: &'a Occasion<'a>,
}

impl<'a> Attempt<'a> {
    fn context(self) -> Context<'a> {
        let Occasion { organisations, now, lists, .. } = *self.occasion;
        Context { today: now.date_naive(), lists, accepted_codes: &self.to.version.accepted_codes, organisations }
    }

    /// Sends the body for a record. A decision is `None` where there is nothing to decide on, and then its problems.
    fn send<R: Nest>(
        self,
        record: RecordKind,
        nested: NestedLists,
        decide: impl FnOnce(ParsedRecord<R>) -> Option<Option<Vec<Problem>>>,
    ) -> Option<BTreeSet<Finding>> {
        let body = read::tree(self.body).ok()?;
        let about = About { record: Some(record), direction: Some(Direction::Request), purpose: None };
        let spelt = respell(&body, self.from, self.to, &about);
        // Only a field that a request of the first version sets is named so; other keys had no effect there.
        let lost = spelt.lost.into_iter().filter(|loss| loss.why == Why::NotSet);
        // What stands in a list that is passed over has no effect in either version.
        let lost = lost.filter(|loss| nested == NestedLists::Read || loss.path == loss.name);
        let lost = lost.map(|loss| Finding { field: loss.name, code: NOT_SET });
        let body = serde_json::to_vec(&spelt.data).ok()?;
        let sent = Reader { served: self.to, unknown: UnknownNames::Tell, nested }.read::<R>(&body).ok()?;
        let problems = decide(sent)?.unwrap_or_default();
        let mut found = self.told(&problems);
        found.extend(lost);
        Some(found)
    }

    /// The same for a write that changes a trainee who is there, or what belongs to one.
    fn change<R: Nest>(
        self,
        record: RecordKind,
        nested: NestedLists,
        decide: impl FnOnce(ParsedRecord<R>) -> Option<Option<Vec<Problem>>>,
    ) -> Option<BTreeSet<Finding>> {
        let stopped = self.stopped()?;
        if stopped.is_empty() { self.send(record, nested, decide) } else { Some(self.told(&stopped)) }
    }

    /// The problems of a trainee whom the other version does not let be changed.
    fn stopped(self) -> Option<Vec<Problem>> {
        let gates = commands::check_gates(self.occasion.trainee?, Action::Update, &self.to.version.rules);
        Some(gates.err().unwrap_or_default())
    }

    fn told(self, problems: &[Problem]) -> BTreeSet<Finding> {
        let version = self.to.version;
        problems
            .iter()
            .map(|problem| Finding { field: field(version, problem), code: problem.kind.code().name() })
            .collect()
    }
}

/// The field that a problem is about. A key that a client chose is never told.
fn field(version: &ApiVersion, problem: &Problem) -> String {
    const WHOLE: &str = "data";
    match &problem.at {
        Path::Data => WHOLE.to_owned(),
        Path::Field(field) => names::field(version, *field).to_owned(),
        Path::List(list) | Path::Position { list, .. } => names::list(version, *list).to_owned(),
        Path::Nested { list, field, .. } => below(version, *list, names::field(version, *field)),
        Path::Key(_) => meant(version, &problem.kind).unwrap_or(WHOLE).to_owned(),
        Path::NestedKey { list, .. } => match meant(version, &problem.kind) {
            Some(name) => below(version, *list, name),
            None => names::list(version, *list).to_owned(),
        },
    }
}

/// A field of a nested record.
fn below(version: &ApiVersion, list: domain::Field, name: &str) -> String {
    format!("{}.{name}", names::list(version, list))
}

/// The field for which a name of another version stands.
fn meant(version: &ApiVersion, kind: &ProblemKind) -> Option<&'static str> {
    if let ProblemKind::OtherVersionsName { field } = kind { Some(names::field(version, *field)) } else { None }
}

#[cfg(test)]
mod tests;
