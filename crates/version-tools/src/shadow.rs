//! Checks whether another version would accept a write that one version accepted.
//!
//! The body is translated into the other version, read, and decided on with its rules. The decision
//! uses the record before the write: on the record after it, an update would change nothing, so
//! that no rule would run, and a withdrawal would find a withdrawn trainee.
//!
//! Findings contain only fields and codes of the program, never text from the client. A renamed
//! endpoint is not a finding.

use std::collections::BTreeSet;

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::endpoint::{Endpoint, RequestBody};
use adapter_kit::read::{NestedLists, Reader, UnknownNames};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Served;
use adapter_kit::{for_record_kind, names, read};
use domain::fields::value::Timestamp;
use domain::records::organisations::Organisations;
use domain::{Action, Context, Field, Lists, Path, Problem, ProblemKind, Trainee, commands};

use crate::decision::{DecidedRecord, Target};
use crate::translate::{BodyKind, LossReason, translate_names};

/// The code of a value without a field in the other version.
pub const NOT_SET: &str = "not_set";

/// The code of a field that has another name in the other version.
pub const RENAMED: &str = "renamed";

/// An accepted write, with the stored records that the decision used.
#[derive(Clone, Copy)]
pub struct AcceptedWrite<'a> {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The trainee before the write, unless the write created it.
    pub trainee: Option<&'a Trainee>,
    /// The identifier of the placement or degree; empty if the write was for a trainee.
    pub part_id: &'a str,
    /// The schools and training partners that the write names.
    pub organisations: &'a Organisations,
    /// The time of the write.
    pub now: Timestamp,
    /// The code lists.
    pub lists: &'a Lists,
}

/// A problem of the write in the other version, a lost value, or a renamed field.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    /// The field in the other version's names. The name of a nested record's field follows the name
    /// of its list. A lost or renamed field has the name from the request.
    pub field: String,
    /// The code of the problem, [`NOT_SET`] or [`RENAMED`].
    pub code: &'static str,
}

impl Finding {
    /// Whether the other version would refuse the write or lose a value even with its own names.
    #[must_use]
    pub fn is_obstacle(&self) -> bool {
        self.code != RENAMED
    }
}

/// Returns the distinct findings of the write in the version `to`. There are no obstacles if `to`
/// would accept the write. Returns `None` if writes to the endpoint are not checked, or if the
/// record does not exist.
#[must_use]
pub fn check(
    body: &[u8],
    from: &Served,
    to: &Served,
    write: &AcceptedWrite<'_>,
) -> Option<BTreeSet<Finding>> {
    let row = write.endpoint.row();
    if !row.shadow_checked {
        return None;
    }
    // Gates refuse changes and deletions. Transitions, whose bodies have no purpose, check the
    // state themselves.
    let changes_trainee =
        row.request.is_none_or(|request| request.purpose.is_some()) && row.takes_if_match();
    if changes_trainee {
        let refused = commands::check_gates(write.trainee?, Action::Update, &to.version.rules);
        if let Err(problems) = refused {
            return Some(findings(&problems, to.version).collect());
        }
    }
    let Some(request) = row.request else {
        return Some(BTreeSet::new());
    };
    for_record_kind!(request.record, check_body(request, body, from, to, write))
}

/// Translates and decides on the body of a write. Returns the findings, or `None` if the body
/// cannot be read or the record does not exist.
fn check_body<R: DecidedRecord>(
    request: RequestBody,
    body: &[u8],
    from: &Served,
    to: &Served,
    write: &AcceptedWrite<'_>,
) -> Option<BTreeSet<Finding>> {
    let RequestBody {
        record, purpose, ..
    } = request;
    let is_update = record == RecordKind::Trainee && purpose == Some(Purpose::Update);
    let nested = if is_update {
        NestedLists::Ignore
    } else {
        NestedLists::Read
    };
    let kind = BodyKind {
        record: Some(record),
        direction: Some(Direction::Request),
        purpose,
    };
    let translation = translate_names(&read::parse_json(body).ok()?.value, from, to, &kind);
    let translated = serde_json::to_vec(&translation.data).ok()?;
    let sent = Reader {
        served: to,
        unknown: UnknownNames::Warn,
        nested,
    }
    .read::<R>(&translated)
    .ok()?;
    let AcceptedWrite {
        trainee,
        part_id: nested_id,
        organisations,
        now,
        lists,
        ..
    } = *write;
    let context = Context {
        today: now.date_naive(),
        lists,
        accepted_codes: &to.version.accepted_codes,
        organisations,
    };
    let target = Target {
        purpose,
        trainee,
        nested_id,
        now,
    };
    let problems = R::decide(sent, target, &to.version.rules, &context)?
        .err()
        .unwrap_or_default();
    // Keys that no request of the first version sets had no effect there. Entries of an ignored
    // list have no effect in either version.
    let lost = translation
        .lost
        .into_iter()
        .filter(|loss| loss.why == LossReason::NotSet);
    let lost = lost.filter(|loss| nested == NestedLists::Read || loss.path == loss.name);
    let lost = lost.map(|loss| Finding {
        field: loss.name,
        code: NOT_SET,
    });
    let renamed = translation.renames.into_iter();
    let renamed =
        renamed.filter(|rename| nested == NestedLists::Read || rename.path == rename.from);
    let renamed = renamed.map(|rename| Finding {
        field: without_positions(&rename.path),
        code: RENAMED,
    });
    Some(
        findings(&problems, to.version)
            .chain(lost)
            .chain(renamed)
            .collect(),
    )
}

/// Removes positions from a path: `degrees_attributes[1].subject` becomes
/// `degrees_attributes.subject`.
fn without_positions(path: &str) -> String {
    let parts = path
        .split('.')
        .map(|part| part.split('[').next().unwrap_or_default());
    parts.collect::<Vec<_>>().join(".")
}

/// Returns a finding for each problem.
fn findings(problems: &[Problem], version: &ApiVersion) -> impl Iterator<Item = Finding> {
    problems.iter().map(|problem| Finding {
        field: field(version, problem),
        code: problem.kind.code().name(),
    })
}

/// Returns the field of a problem. A key chosen by the client is never returned.
fn field(version: &ApiVersion, problem: &Problem) -> String {
    let whole = version.wire.envelope.request;
    match &problem.at {
        Path::Data => whole.to_owned(),
        Path::Field(field) => names::field(version, *field).to_owned(),
        Path::List(list) | Path::Position { list, .. } => names::list(version, *list).to_owned(),
        Path::Nested { list, field, .. } => {
            nested_field(version, *list, names::field(version, *field))
        }
        Path::Key(_) => field_of_other_name(version, &problem.kind)
            .unwrap_or(whole)
            .to_owned(),
        Path::NestedKey { list, .. } => match field_of_other_name(version, &problem.kind) {
            Some(name) => nested_field(version, *list, name),
            None => names::list(version, *list).to_owned(),
        },
    }
}

/// Returns a field of a nested record with the name of its list.
fn nested_field(version: &ApiVersion, list: Field, name: &str) -> String {
    format!("{}.{name}", names::list(version, list))
}

/// Returns this version's name of a field that a request named as in another version; `None` for
/// other problems.
fn field_of_other_name(version: &ApiVersion, kind: &ProblemKind) -> Option<&'static str> {
    if let ProblemKind::OtherVersionsName { field } = kind {
        Some(names::field(version, *field))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
