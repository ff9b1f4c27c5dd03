//! The names of a version on the wire, and what it calls the place of a problem.

use std::collections::BTreeSet;

use domain::{Field, Path, Record, RecordField as _, TraineeField};

use crate::shape::{Inputs, Shape};
use crate::version::{ApiVersion, Wire};

/// Longest part of a client's own key that is repeated to it, in characters.
const KEY_SHOWN: usize = 64;

/// Every name of a field in this version, in requests and in responses.
#[must_use]
pub fn all(ApiVersion { inputs, shapes, .. }: &ApiVersion) -> BTreeSet<&'static str> {
    fn set<R: Record>(inputs: &Inputs<R>) -> impl Iterator<Item = &'static str> {
        inputs.entries.iter().map(|input| input.name)
    }
    fn shown<R: Record>(shape: &Shape<R>) -> impl Iterator<Item = &'static str> {
        shape.entries.iter().map(|entry| entry.name)
    }
    set(&inputs.trainee)
        .chain(set(&inputs.placement))
        .chain(set(&inputs.degree))
        .chain(set(&inputs.withdrawal))
        .chain(set(&inputs.deferral))
        .chain(set(&inputs.recommendation))
        .chain(shown(&shapes.trainee))
        .chain(shown(&shapes.placement))
        .chain(shown(&shapes.placement_nested))
        .chain(shown(&shapes.degree))
        .collect()
}

/// The name of a field in this version: as a request spells it, else as a response does, else the
/// canonical one.
#[must_use]
pub fn field(version: &ApiVersion, field: Field) -> &'static str {
    // A nested list is called otherwise in a request; see `list`.
    if let Some(nested) =
        field.of_record().filter(|nested| [TraineeField::placements, TraineeField::degrees].contains(nested))
    {
        return version.shapes.trainee.name_of(nested).unwrap_or(nested.info().name);
    }
    list(version, field)
}

/// The name of a field, or of a nested list, in a request.
#[must_use]
pub fn list(version: &ApiVersion, field: Field) -> &'static str {
    name::<domain::Trainee>(version, field)
        .or_else(|| name::<domain::Placement>(version, field))
        .or_else(|| name::<domain::Degree>(version, field))
        .or_else(|| name::<domain::Withdrawal>(version, field))
        .or_else(|| name::<domain::Deferral>(version, field))
        .or_else(|| name::<domain::Recommendation>(version, field))
        .unwrap_or(field.info().name)
}

/// The place, as a message begins with it: positions count from 1.
#[must_use]
pub fn place(version: &ApiVersion, path: &Path) -> String {
    match path {
        Path::Data => "data".to_owned(),
        Path::Field(at) => field(version, *at).to_owned(),
        Path::List(at) => list(version, *at).to_owned(),
        Path::Nested { list: at, position, field: inner } => {
            format!("{} {} {}", list(version, *at), position + 1, field(version, *inner))
        }
        Path::Position { list: at, position } => format!("{} {}", list(version, *at), position + 1),
        Path::Key(key) => shown(key),
        Path::NestedKey { list: at, position, key } => {
            format!("{} {} {}", list(version, *at), position + 1, shown(key))
        }
    }
}

/// The place, as a program finds it in what it sent: positions count from 0.
#[must_use]
pub fn path(version: &ApiVersion, path: &Path) -> String {
    match path {
        Path::Data | Path::Field(_) | Path::List(_) | Path::Key(_) => place(version, path),
        Path::Nested { list: at, position, field: inner } => {
            format!("{}[{position}].{}", list(version, *at), field(version, *inner))
        }
        Path::Position { list: at, position } => format!("{}[{position}]", list(version, *at)),
        Path::NestedKey { list: at, position, key } => format!("{}[{position}].{}", list(version, *at), shown(key)),
    }
}

fn name<R: Wire>(version: &ApiVersion, field: Field) -> Option<&'static str> {
    let field = field.of_record::<R::Field>()?;
    R::inputs(version).name_of(field).or_else(|| R::shape(version).and_then(|shape| shape.name_of(field)))
}

/// Whether a client's own name can be repeated in a header: 1 to 64 characters of `A-Z a-z 0-9 _`.
#[must_use]
pub fn is_printable(name: &str) -> bool {
    (1..=KEY_SHOWN).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// As much of a text of the client's as is repeated to it.
#[must_use]
pub fn shown(text: &str) -> String {
    match text.char_indices().nth(KEY_SHOWN) {
        Some((end, _)) => format!("{}...", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
