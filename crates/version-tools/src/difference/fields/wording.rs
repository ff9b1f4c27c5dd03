//! Descriptions of changed fields: the change, its effect on a client, and advice.

use adapter_kit::body_kind::Direction;
use adapter_kit::version::ApiVersion;
use serde_json::{Value, json};

use super::{FieldChange, FieldChangeKind};
use crate::difference::{Change, ChangeDetail, Effect, at_path};

/// Describes a change. `refuses` returns whether the target version refuses a name of another
/// version.
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

/// Returns JSON before and after the change of a field that became a part of a joined text, or that
/// was one; `None` for other changes.
fn example(kind: FieldChangeKind) -> Option<(Value, Value)> {
    let value = |path: &str| at_path(path, json!("VALUE"));
    let text = |index: usize, separator: &str| {
        // A joined text has at least two parts.
        let last = index.max(1);
        let parts = (0..=last).map(|part| if part == index { "VALUE" } else { "..." });
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

/// Describes the position of a part in a joined text. `index` counts from 0.
fn place(index: usize, separator: &str, text: &str) -> String {
    format!(
        "part {} of the text in `{text}`, separated by `{separator}`",
        index + 1
    )
}

/// Returns the beginning of a sentence about a joined text with the names `before` and `after`.
fn joins(before: &str, after: &str) -> String {
    if before == after {
        format!("`{after}` joins")
    } else {
        format!("`{before}` is renamed to `{after}` and joins")
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
            format!("In requests, `{before}` is renamed to `{after}`."),
            format!("Send `{after}` instead of `{before}`. The name `{before}` is refused."),
        ),
        FieldChangeKind::Renamed { before, after } => (
            Effect::RecordedDifferently,
            format!("In requests, `{before}` is renamed to `{after}`."),
            format!("Send `{after}` instead of `{before}`. `{before}` no longer sets this field."),
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
            format!("Stop sending `{name}`. {to} does not store it."),
        ),
        FieldChangeKind::Added { name, .. } => (
            Effect::NewlyPossible,
            format!("Requests can have `{name}`. {meaning}"),
            format!("You can send `{name}`."),
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
                "In requests, {} its parts differently.",
                joins(before, after)
            ),
            format!("Send `{after}` as described in the OpenAPI document."),
        ),
        // A request can always omit a field.
        FieldChangeKind::LeftOutWhenUnset { name } | FieldChangeKind::AlwaysShown { name } => (
            Effect::WorthKnowing,
            format!("Requests can omit `{name}`."),
            "You do not need to do anything.".to_owned(),
        ),
    }
}

fn response(change: &FieldChange, to: &ApiVersion) -> (Effect, String, String) {
    let meaning = to.vocabulary.apply(change.meaning);
    let to = to.label;
    match change.kind {
        FieldChangeKind::Renamed { before, after } => (
            Effect::ReadDifferently,
            format!("In responses, `{before}` is renamed to `{after}`."),
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
                "In responses, {} its parts differently.",
                joins(before, after)
            ),
            format!("Read `{after}` as described in the OpenAPI document."),
        ),
        FieldChangeKind::Removed {
            name,
            same_value: Some(other),
        } => (
            Effect::ReadDifferently,
            format!("Responses no longer have `{name}`, a copy of `{other}`."),
            format!("Stop reading `{name}`; read `{other}` instead."),
        ),
        FieldChangeKind::Removed {
            name,
            same_value: None,
        } => (
            Effect::ReadDifferently,
            format!("Responses no longer have `{name}`. {meaning}"),
            format!("Stop reading `{name}`. No single field in {to} replaces it."),
        ),
        FieldChangeKind::Added {
            name,
            same_value: Some(other),
        } => (
            Effect::NewlyPossible,
            format!("Responses have `{name}`, with the value of `{other}`."),
            format!(
                "You can read `{name}`, or continue to read `{other}` if responses still have it."
            ),
        ),
        FieldChangeKind::Added {
            name,
            same_value: None,
        } => (
            Effect::NewlyPossible,
            format!("Responses have `{name}`. {meaning}"),
            format!("You can read `{name}`."),
        ),
        FieldChangeKind::LeftOutWhenUnset { name } => (
            Effect::ReadDifferently,
            format!("Responses omit `{name}` if it has no value."),
            format!("Treat a missing `{name}` as null."),
        ),
        FieldChangeKind::AlwaysShown { name } => (
            Effect::WorthKnowing,
            format!("Responses include `{name}` even if it has no value."),
            format!("Treat null in `{name}` as no value."),
        ),
    }
}
