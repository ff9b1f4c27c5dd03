//! Whether a write that one version accepted would be accepted in another, and why not.
//!
//! The body is translated into the other version, read there, and decided on with its rules: on the
//! record as it was before the write. On the record after it, an update would change nothing, so
//! that no rule would run, and a withdrawal would find a trainee who has left.
//!
//! Findings have fields and codes of the program alone, and nothing that a client chose. That an
//! endpoint has another name in the other version is no finding: the endpoint's row says it.

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

/// The code of a value for which the other version has no field.
pub const NOT_SET: &str = "not_set";

/// The code of a field that has another name in the other version.
pub const RENAMED: &str = "renamed";

/// A write that was accepted, with the stored records that it was decided on.
#[derive(Clone, Copy)]
pub struct AcceptedWrite<'a> {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The trainee before the write, unless the write created it.
    pub trainee: Option<&'a Trainee>,
    /// The identifier of the placement or the degree, where the write was for one.
    pub part_id: &'a str,
    /// The schools and training partners that the write names.
    pub organisations: &'a Organisations,
    /// When it was decided on.
    pub now: Timestamp,
    /// The code lists.
    pub lists: &'a Lists,
}

/// A reason for which the other version would refuse a write, or lose a value of it; or a name that
/// is another one there.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Finding {
    /// The field in the other version's names; after the name of the list where it is a field of a
    /// nested record. A field that the other version cannot set, or calls otherwise, has the name
    /// by which it was sent.
    pub field: String,
    /// The code of the problem, [`NOT_SET`] or [`RENAMED`].
    pub code: &'static str,
}

impl Finding {
    /// Whether the other version would not accept the write for it, once its names are used.
    #[must_use]
    pub fn is_obstacle(&self) -> bool {
        self.code != RENAMED
    }
}

/// The findings of the write in the other version, each once; no obstacle among them when it would
/// be accepted there. `None` when the endpoint is not checked, or the record does not exist.
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
    let translation = translate_names(&read::parse_json(body).ok()?, from, to, &kind);
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
    // Other keys than those that a request of the first version sets had no effect there, and what
    // is in a list that is ignored has no effect in either version.
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

/// A path such as `degrees_attributes[1].subject` as `degrees_attributes.subject`.
fn without_positions(path: &str) -> String {
    let parts = path
        .split('.')
        .map(|part| part.split('[').next().unwrap_or_default());
    parts.collect::<Vec<_>>().join(".")
}

fn findings(problems: &[Problem], version: &ApiVersion) -> impl Iterator<Item = Finding> {
    problems.iter().map(|problem| Finding {
        field: field(version, problem),
        code: problem.kind.code().name(),
    })
}

/// The field that a problem is about. A key that a client chose is never reported.
fn field(version: &ApiVersion, problem: &Problem) -> String {
    const WHOLE: &str = "data";
    match &problem.at {
        Path::Data => WHOLE.to_owned(),
        Path::Field(field) => names::field(version, *field).to_owned(),
        Path::List(list) | Path::Position { list, .. } => names::list(version, *list).to_owned(),
        Path::Nested { list, field, .. } => {
            nested_field(version, *list, names::field(version, *field))
        }
        Path::Key(_) => field_of_other_name(version, &problem.kind)
            .unwrap_or(WHOLE)
            .to_owned(),
        Path::NestedKey { list, .. } => match field_of_other_name(version, &problem.kind) {
            Some(name) => nested_field(version, *list, name),
            None => names::list(version, *list).to_owned(),
        },
    }
}

/// A field of a nested record.
fn nested_field(version: &ApiVersion, list: Field, name: &str) -> String {
    format!("{}.{name}", names::list(version, list))
}

/// The field that a name of another version is for.
fn field_of_other_name(version: &ApiVersion, kind: &ProblemKind) -> Option<&'static str> {
    if let ProblemKind::OtherVersionsName { field } = kind {
        Some(names::field(version, *field))
    } else {
        None
    }
}

#[cfg(test)]
mod tests;
