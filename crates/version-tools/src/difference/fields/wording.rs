//! Describes changes of fields: what changes, its effect on a client, and what to do.

use adapter_kit::body_kind::Direction;
use adapter_kit::version::ApiVersion;
use serde_json::{Value, json};

use super::{FieldChange, FieldChangeKind};
use crate::difference::{Change, ChangeDetail, Effect, at_path};

/// Describes the change; `refuses` says whether the version that is moved to refuses another
/// version's name.
pub(super) fn describe(
    change: FieldChange,
    to: &ApiVersion,
    refuses: impl Fn(&str) -> bool,
) -> Change {
    let of = if change.nested {
        format!("nested {}", change.record)
    } else {
        change.record.to_owned()
    };
    let (effect, summary, advice) = match change.direction {
        Direction::Request => request(&change, to, refuses),
        Direction::Reply => response(&change, to),
    };
    let example = example(change.kind);
    let change = Change::new(effect, ChangeDetail::Field(change), of, summary, advice);
    match example {
        Some((before, after)) => change.with_example(&before, &after),
        None => change,
    }
}

/// JSON before and after, where a field became a part of a text or was one.
fn example(kind: FieldChangeKind) -> Option<(Value, Value)> {
    let value = |path: &str| at_path(path, json!("VALUE"));
    let text = |index: usize, separator: &str| {
        let parts = (0..=index.max(1)).map(|part| if part == index { "VALUE" } else { "..." });
        parts.collect::<Vec<_>>().join(separator)
    };
    Some(match kind {
        FieldChangeKind::Joined {
            before,
            after,
            separator,
            index,
        } => (value(before), at_path(after, json!(text(index, separator)))),
        FieldChangeKind::Split {
            before,
            after,
            separator,
            index,
        } => (at_path(before, json!(text(index, separator))), value(after)),
        FieldChangeKind::Added { .. }
        | FieldChangeKind::Removed { .. }
        | FieldChangeKind::Renamed { .. }
        | FieldChangeKind::Rejoined { .. }
        | FieldChangeKind::LeftOutWhenUnset { .. }
        | FieldChangeKind::AlwaysShown { .. } => return None,
    })
}

/// The place of a value in a text that joins several.
fn place(index: usize, separator: &str, text: &str) -> String {
    format!(
        "value {} of the text `{text}`, whose values have `{separator}` between them",
        index + 1
    )
}

/// The beginning of a sentence about a text that joins several values.
fn joins(before: &str, after: &str) -> String {
    if before == after {
        format!("`{after}` joins")
    } else {
        format!("`{before}` is called `{after}` and joins")
    }
}

fn request(
    change: &FieldChange,
    to: &ApiVersion,
    refuses: impl Fn(&str) -> bool,
) -> (Effect, String, String) {
    let meaning = to.vocabulary.apply(change.meaning);
    let to = to.label;
    match change.kind {
        FieldChangeKind::Renamed { before, after } if refuses(before) => (
            Effect::Refused,
            format!("In requests, `{before}` is called `{after}`."),
            format!("Send `{after}` instead of `{before}`; the name `{before}` is refused."),
        ),
        FieldChangeKind::Renamed { before, after } => (
            Effect::RecordedDifferently,
            format!("In requests, `{before}` is called `{after}`."),
            format!(
                "Send `{after}` instead of `{before}`; the name `{before}` no longer stands for it."
            ),
        ),
        FieldChangeKind::Removed {
            name,
            same_value: Some(other),
        } => (
            Effect::RecordedDifferently,
            format!("Requests no longer have `{name}`."),
            format!("Send `{other}` instead of `{name}`."),
        ),
        FieldChangeKind::Removed {
            name,
            same_value: None,
        } => (
            Effect::RecordedDifferently,
            format!("Requests no longer have `{name}`. {meaning}"),
            format!("Stop sending `{name}`: {to} does not record it."),
        ),
        FieldChangeKind::Added { name, .. } => (
            Effect::NewlyPossible,
            format!("Requests can have `{name}`. {meaning}"),
            format!("Send `{name}` where you have a value for it."),
        ),
        FieldChangeKind::Joined {
            before,
            after,
            separator,
            index,
        } => (
            if refuses(before) {
                Effect::Refused
            } else {
                Effect::RecordedDifferently
            },
            format!(
                "In requests, `{before}` is {}.",
                place(index, separator, after)
            ),
            format!("Send `{after}` instead of `{before}`."),
        ),
        FieldChangeKind::Split {
            before,
            after,
            separator,
            index,
        } => (
            if refuses(before) {
                Effect::Refused
            } else {
                Effect::RecordedDifferently
            },
            format!(
                "In requests, `{after}` was {}.",
                place(index, separator, before)
            ),
            format!("Send `{after}` instead of `{before}`."),
        ),
        FieldChangeKind::Rejoined {
            before,
            after,
            refused,
        } => (
            if refused {
                Effect::Refused
            } else {
                Effect::RecordedDifferently
            },
            format!(
                "In requests, {} its values in another way.",
                joins(before, after)
            ),
            format!("Send `{after}` as its description in the OpenAPI document says."),
        ),
        // A request can always leave out a field.
        FieldChangeKind::LeftOutWhenUnset { name } | FieldChangeKind::AlwaysShown { name } => (
            Effect::WorthKnowing,
            format!("Requests can leave out `{name}`."),
            "Nothing to do.".to_owned(),
        ),
    }
}

fn response(change: &FieldChange, to: &ApiVersion) -> (Effect, String, String) {
    let meaning = to.vocabulary.apply(change.meaning);
    let to = to.label;
    match change.kind {
        FieldChangeKind::Renamed { before, after } => (
            Effect::ReadDifferently,
            format!("In responses, `{before}` is called `{after}`."),
            format!("Read `{after}` instead of `{before}`."),
        ),
        FieldChangeKind::Joined {
            before,
            after,
            separator,
            index,
        } => (
            Effect::ReadDifferently,
            format!(
                "In responses, `{before}` is {}.",
                place(index, separator, after)
            ),
            format!("Read `{after}` instead of `{before}`."),
        ),
        FieldChangeKind::Split {
            before,
            after,
            separator,
            index,
        } => (
            Effect::ReadDifferently,
            format!(
                "In responses, `{after}` was {}.",
                place(index, separator, before)
            ),
            format!("Read `{after}` instead of `{before}`."),
        ),
        FieldChangeKind::Rejoined { before, after, .. } => (
            Effect::ReadDifferently,
            format!(
                "In responses, {} its values in another way.",
                joins(before, after)
            ),
            format!("Read `{after}` as its description in the OpenAPI document says."),
        ),
        FieldChangeKind::Removed {
            name,
            same_value: Some(other),
        } => (
            Effect::ReadDifferently,
            format!("Responses no longer have `{name}`, which has the value of `{other}`."),
            format!("Stop reading `{name}`; read `{other}` instead."),
        ),
        FieldChangeKind::Removed {
            name,
            same_value: None,
        } => (
            Effect::ReadDifferently,
            format!("Responses no longer have `{name}`. {meaning}"),
            format!("Stop reading `{name}`; no single field of {to} takes its place."),
        ),
        FieldChangeKind::Added {
            name,
            same_value: Some(other),
        } => (
            Effect::NewlyPossible,
            format!("Responses have `{name}`, which has the value of `{other}`."),
            format!("Read `{name}`, or go on reading `{other}` if it is still there."),
        ),
        FieldChangeKind::Added {
            name,
            same_value: None,
        } => (
            Effect::NewlyPossible,
            format!("Responses have `{name}`. {meaning}"),
            format!("Read `{name}` if you need it; ignore it otherwise."),
        ),
        FieldChangeKind::LeftOutWhenUnset { name } => (
            Effect::ReadDifferently,
            format!("Responses leave out `{name}` while it has no value."),
            format!("Read an absent `{name}` as null."),
        ),
        FieldChangeKind::AlwaysShown { name } => (
            Effect::WorthKnowing,
            format!("Responses have `{name}` also while it has no value."),
            format!("Read a null `{name}` as no value."),
        ),
    }
}
