//! Changes of fields in words: what changes, what it does to a client, and what to do about it.

use adapter_kit::label::Label;

use super::{Direction, FieldChange, FieldTurn};
use crate::difference::{About, Change, Effect};

/// The change in words; `refuses` says whether the version that is moved to refuses another version's name.
pub(super) fn told(change: FieldChange, to: Label, refuses: impl Fn(&str) -> bool) -> Change {
    let of = if change.nested { format!("nested {}", change.record) } else { change.record.to_owned() };
    let (effect, summary, advice) = match change.direction {
        Direction::Request => request(&change, to, refuses),
        Direction::Response => response(&change, to),
    };
    Change::new(effect, About::Field(change), of, summary, advice)
}

fn request(change: &FieldChange, to: Label, refuses: impl Fn(&str) -> bool) -> (Effect, String, String) {
    let meaning = change.meaning;
    match change.turn {
        FieldTurn::Renamed { before, after } if refuses(before) => (
            Effect::Refused,
            format!("In requests, `{before}` is called `{after}`."),
            format!("Send `{after}` instead of `{before}`; the name `{before}` is refused."),
        ),
        FieldTurn::Renamed { before, after } => (
            Effect::RecordedOtherwise,
            format!("In requests, `{before}` is called `{after}`."),
            format!("Send `{after}` instead of `{before}`; the name `{before}` no longer stands for it."),
        ),
        FieldTurn::Removed { name, same_value: Some(other) } => (
            Effect::RecordedOtherwise,
            format!("Requests no longer have `{name}`."),
            format!("Send `{other}` instead of `{name}`."),
        ),
        FieldTurn::Removed { name, same_value: None } => (
            Effect::RecordedOtherwise,
            format!("Requests no longer have `{name}`. {meaning}"),
            format!("Stop sending `{name}`: {to} does not record it."),
        ),
        FieldTurn::Added { name, .. } => (
            Effect::NewlyPossible,
            format!("Requests can have `{name}`. {meaning}"),
            format!("Send `{name}` where you have a value for it."),
        ),
        // A request leaves out what it likes.
        FieldTurn::LeftOutWhenUnset { name } | FieldTurn::AlwaysShown { name } => {
            (Effect::WorthKnowing, format!("Requests can leave out `{name}`."), "Nothing to do.".to_owned())
        }
    }
}

fn response(change: &FieldChange, to: Label) -> (Effect, String, String) {
    let meaning = change.meaning;
    match change.turn {
        FieldTurn::Renamed { before, after } => (
            Effect::ReadOtherwise,
            format!("In responses, `{before}` is called `{after}`."),
            format!("Read `{after}` instead of `{before}`."),
        ),
        FieldTurn::Removed { name, same_value: Some(other) } => (
            Effect::ReadOtherwise,
            format!("Responses no longer have `{name}`, which has the value of `{other}`."),
            format!("Stop reading `{name}`; read `{other}` instead."),
        ),
        FieldTurn::Removed { name, same_value: None } => (
            Effect::ReadOtherwise,
            format!("Responses no longer have `{name}`. {meaning}"),
            format!("Stop reading `{name}`; no single field of {to} takes its place."),
        ),
        FieldTurn::Added { name, same_value: Some(other) } => (
            Effect::NewlyPossible,
            format!("Responses have `{name}`, which has the value of `{other}`."),
            format!("Read `{name}`, or go on reading `{other}` if it is still there."),
        ),
        FieldTurn::Added { name, same_value: None } => (
            Effect::NewlyPossible,
            format!("Responses have `{name}`. {meaning}"),
            format!("Read `{name}` if you need it; ignore it otherwise."),
        ),
        FieldTurn::LeftOutWhenUnset { name } => (
            Effect::ReadOtherwise,
            format!("Responses leave out `{name}` while it has no value."),
            format!("Read an absent `{name}` as null."),
        ),
        FieldTurn::AlwaysShown { name } => (
            Effect::WorthKnowing,
            format!("Responses have `{name}` also while it has no value."),
            format!("Read a null `{name}` as no value."),
        ),
    }
}
