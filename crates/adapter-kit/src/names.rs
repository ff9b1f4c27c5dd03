//! The field names of a version, and the paths of problems in these names.

use std::collections::BTreeSet;

use domain::{
    Field, Kind, Path, Problem, ProblemKind, RecordField as _, TraineeField, for_each_nested,
};

use crate::form::MemberForm;
use crate::read::client_text::truncated;
use crate::shape::{JsonType, Part};
use crate::version::ApiVersion;
use crate::wire::{WireNested, WireRecord, for_each_record};

pub mod known_names;
pub mod other_names;

/// Returns all field names of the version, in requests and in responses.
#[must_use]
pub fn all(version: &ApiVersion) -> BTreeSet<&'static str> {
    fn record_names<R: WireRecord>(version: &ApiVersion) -> Vec<&'static str> {
        let inputs = R::inputs(version).entries.iter().map(|input| input.name);
        inputs
            .chain(
                R::shape(version)
                    .into_iter()
                    .flat_map(|shape| shape.entries)
                    .map(|entry| entry.name),
            )
            .collect()
    }
    fn nested_names<R: WireNested>(version: &ApiVersion) -> Vec<&'static str> {
        R::shapes(version)
            .in_trainee
            .entries
            .iter()
            .map(|entry| entry.name)
            .collect()
    }
    for_each_record!(record_names(version))
        .into_iter()
        .chain(for_each_nested!(nested_names(version)))
        .flatten()
        .collect()
}

/// Returns the name of a field in this version: the name in requests, else the name in responses,
/// else the canonical name.
#[must_use]
pub fn field(version: &ApiVersion, field: Field) -> &'static str {
    // Nested lists have a separate name in requests; see `list`.
    if let Some(nested) = field.to_record_field::<TraineeField>()
        && nested.info().kind == Kind::Records
    {
        return version
            .shapes
            .trainee
            .name_of(nested)
            .unwrap_or(nested.info().name);
    }
    list(version, field)
}

/// Returns the names of all members of a field in requests: several if the version splits its
/// values, otherwise the name of the field.
#[must_use]
pub fn members(version: &ApiVersion, field: Field) -> Vec<&'static str> {
    fn names<R: WireRecord>(version: &ApiVersion, field: Field) -> Vec<&'static str> {
        let inputs = R::field_of(field).map(|field| R::inputs(version).all_of_field(field));
        inputs
            .into_iter()
            .flatten()
            .map(|input| input.name)
            .collect()
    }
    let names = for_each_record!(names(version, field)).concat();
    if names.len() > 1 {
        names
    } else {
        vec![self::field(version, field)]
    }
}

/// Returns the name of a field or of a nested list in requests. Falls back to the name in
/// responses, then to the canonical name.
#[must_use]
pub fn list(version: &ApiVersion, field: Field) -> &'static str {
    fn name<R: WireRecord>(version: &ApiVersion, field: Field) -> Option<&'static str> {
        let field = R::field_of(field)?;
        R::inputs(version)
            .name_of(field)
            .or_else(|| R::shape(version).and_then(|shape| shape.name_of(field)))
    }
    for_each_record!(name(version, field))
        .into_iter()
        .flatten()
        .next()
        .unwrap_or(field.info().name)
}

/// Returns all names of a field in requests: several names if the version splits its values.
#[must_use]
pub fn inputs(version: &ApiVersion, field: Field) -> Vec<&'static str> {
    fn names<R: WireRecord>(version: &ApiVersion, field: Field) -> Vec<&'static str> {
        let Some(field) = R::field_of(field) else {
            return Vec::new();
        };
        let inputs = R::inputs(version).all_of_field(field);
        inputs.map(|input| input.name).collect()
    }
    for_each_record!(names(version, field)).concat()
}

/// The form that a version requires for the value of a field in requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct InputForm {
    /// The only accepted JSON type; `None` if the version accepts every type of the field.
    pub accepts: Option<JsonType>,
    /// The position of the field in a joined text; `None` if the field is sent by itself.
    pub part: Option<Part>,
    /// The form of the values; `None` for the common form.
    pub form: Option<MemberForm>,
}

/// Returns the form that a version requires for the value of a field in requests.
#[must_use]
pub fn input_form(version: &ApiVersion, field: Field) -> InputForm {
    fn form<R: WireRecord>(version: &ApiVersion, field: Field) -> Option<InputForm> {
        let input = R::inputs(version).find_by_field(R::field_of(field)?)?;
        Some(InputForm {
            accepts: input.accepts,
            part: input.part,
            form: input.form,
        })
    }
    for_each_record!(form(version, field))
        .into_iter()
        .flatten()
        .next()
        .unwrap_or_default()
}

/// Returns the form of the input with a name, or `None` if no input has the name and a form.
#[must_use]
pub fn form_named(version: &ApiVersion, name: &str) -> Option<MemberForm> {
    fn form<R: WireRecord>(version: &ApiVersion, name: &str) -> Option<MemberForm> {
        R::inputs(version).input(name)?.form
    }
    for_each_record!(form(version, name))
        .into_iter()
        .flatten()
        .next()
}

/// Returns the path for the beginning of a message, such as `placements_attributes 1 name`.
/// Positions count from 1.
#[must_use]
pub fn path_in_message(version: &ApiVersion, path: &Path) -> String {
    match path {
        Path::Data => version.wire.envelope.request.to_owned(),
        Path::Field(at) => field(version, *at).to_owned(),
        Path::List(at) => list(version, *at).to_owned(),
        Path::Nested {
            list: at,
            position,
            field: inner,
        } => {
            format!(
                "{} {} {}",
                list(version, *at),
                position + 1,
                field(version, *inner)
            )
        }
        Path::Position { list: at, position } => format!("{} {}", list(version, *at), position + 1),
        Path::Key(key) => truncated(key),
        Path::NestedKey {
            list: at,
            position,
            key,
        } => {
            format!("{} {} {}", list(version, *at), position + 1, truncated(key))
        }
    }
}

/// Returns the path for programs, such as `placements_attributes[0].name`. Positions count from 0.
#[must_use]
pub fn path(version: &ApiVersion, path: &Path) -> String {
    match path {
        Path::Data | Path::Field(_) | Path::List(_) | Path::Key(_) => {
            path_in_message(version, path)
        }
        Path::Nested {
            list: at,
            position,
            field: inner,
        } => {
            format!(
                "{}[{position}].{}",
                list(version, *at),
                field(version, *inner)
            )
        }
        Path::Position { list: at, position } => format!("{}[{position}]", list(version, *at)),
        Path::NestedKey {
            list: at,
            position,
            key,
        } => {
            format!("{}[{position}].{}", list(version, *at), truncated(key))
        }
    }
}

/// Returns the [`path`] of a problem without keys that are unknown to the service. For such a key,
/// returns the path of the record that has it, such as `data` or `placements_attributes[1]`.
#[must_use]
pub fn path_without_unknown_keys(version: &ApiVersion, problem: &Problem) -> String {
    let (Path::Key(key) | Path::NestedKey { key, .. }) = &problem.at else {
        return path(version, &problem.at);
    };
    // Problems of these kinds are reported only at keys that are known: names of other versions,
    // nested lists and `idempotency_key`.
    let has_known_key = matches!(
        problem.kind,
        ProblemKind::OtherVersionsName { .. }
            | ProblemKind::UseEndpoint
            | ProblemKind::NotAnInput { .. }
            | ProblemKind::Blank
            | ProblemKind::MalformedKey
            | ProblemKind::RepeatsPosition { .. }
    );
    let is_known = has_known_key || all(version).contains(key.as_str());
    match &problem.at {
        at if is_known => path(version, at),
        Path::NestedKey {
            list: at, position, ..
        } => path(
            version,
            &Path::Position {
                list: *at,
                position: *position,
            },
        ),
        Path::Data
        | Path::Field(_)
        | Path::List(_)
        | Path::Nested { .. }
        | Path::Position { .. }
        | Path::Key(_) => path(version, &Path::Data),
    }
}
