//! Descriptions of changed fields: the change, its effect on a client, and advice.

use adapter_kit::body_kind::Direction;
use adapter_kit::version::ApiVersion;
use domain::Kind;

use super::{Described, FieldChange, FieldChangeKind, FieldUse, Rewriting};
use crate::difference::{Change, ChangeDetail, Effect};
use crate::documents::listed;

/// Returns the effect of a change in one body. `refuses` returns whether the target version refuses
/// a name of another version.
pub(super) fn effect(change: &FieldChange, refuses: impl Fn(&str) -> bool) -> Effect {
    let is_sent = change.is_in(Direction::Request);
    if let Some(rewriting) = change.rewriting.as_ref().filter(|_| is_sent) {
        let is_refused = rewriting.before.names.iter().any(|name| refuses(name));
        return match (is_refused, rewriting.has_other_names()) {
            (true, _) => Effect::Refused,
            (false, true) => Effect::RecordedDifferently,
            (false, false) => rewriting.effect,
        };
    }
    match change.kind {
        FieldChangeKind::Added { .. } => Effect::NewlyPossible,
        FieldChangeKind::AlwaysShown { .. } => Effect::WorthKnowing,
        FieldChangeKind::Renamed { before, .. }
        | FieldChangeKind::Joined { before, .. }
        | FieldChangeKind::Split { before, .. }
            if is_sent && refuses(before) =>
        {
            Effect::Refused
        }
        FieldChangeKind::Rejoined { refused: true, .. } if is_sent => Effect::Refused,
        FieldChangeKind::Removed { .. }
        | FieldChangeKind::Renamed { .. }
        | FieldChangeKind::Redefined { .. }
        | FieldChangeKind::Rewritten { .. }
        | FieldChangeKind::Joined { .. }
        | FieldChangeKind::Split { .. }
        | FieldChangeKind::Rejoined { .. }
        | FieldChangeKind::LeftOutWhenUnset { .. } => {
            if is_sent {
                Effect::RecordedDifferently
            } else {
                Effect::ReadDifferently
            }
        }
    }
}

/// Returns the names before and after the change of a field that became a part of a joined text, or
/// that was one; `None` for other changes.
pub(super) fn joined_names(kind: FieldChangeKind) -> Option<[&'static str; 2]> {
    if let FieldChangeKind::Joined { before, after, .. }
    | FieldChangeKind::Split { before, after, .. } = kind
    {
        Some([before, after])
    } else {
        None
    }
}

/// Returns the values of a type, in words.
pub(super) const fn type_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Integer => "a whole number",
        Kind::Boolean => "true or false",
        Kind::Date => "a date",
        Kind::Timestamp => "a time",
        Kind::Year => "a year",
        Kind::TextList => "a list of texts",
        Kind::Document => "an object",
        Kind::Uuid => "a UUID",
        Kind::Records => "a list of records",
    }
}

/// Describes a change.
pub(super) fn describe(described: Described, to: &ApiVersion) -> Change {
    let Described {
        change,
        effect,
        example,
    } = described;
    let (summary, advice) = words(&change, effect, to);
    let of = uses(&change.uses);
    Change::new(effect, ChangeDetail::Field(change), of, summary, advice).with_example(example)
}

/// Returns the bodies with a field, such as `trainee requests and responses`.
fn uses(all: &[FieldUse]) -> String {
    let mut records: Vec<(String, Vec<&str>)> = Vec::new();
    for one in all {
        let nested = if one.nested { "nested " } else { "" };
        let record = format!("{nested}{}", one.record);
        let body = match one.direction {
            Direction::Request => "requests",
            Direction::Reply => "responses",
        };
        match records.iter_mut().find(|(known, _)| *known == record) {
            Some((_, bodies)) => bodies.push(body),
            None => records.push((record, vec![body])),
        }
    }
    let words = records
        .iter()
        .map(|(record, bodies)| format!("{record} {}", bodies.join(" and ")));
    words.collect::<Vec<_>>().join(", ")
}

/// Describes the position of a part in a joined text. `index` counts from 0.
fn place(index: usize, separator: &str, text: &str) -> String {
    format!(
        "part {} of the text in `{text}`, separated by `{separator}`",
        index + 1
    )
}

/// Describes a change of the form, without a final full stop.
fn rewritten(rewriting: &Rewriting) -> String {
    let Rewriting { before, after, .. } = rewriting;
    let [old, new] = [before, after].map(|members| listed(members.names.iter().copied()));
    let is = if before.names.len() > 1 { "are" } else { "is" };
    let renamed = match (before.names.len(), after.names.len()) {
        _ if !rewriting.has_other_names() => format!("{old} {is}"),
        (1, 1) => format!("{old} is renamed to {new} and"),
        (1, _) => format!("{old} is split into {new}, and"),
        (_, 1) => format!("{old} are merged into {new}, which is"),
        _ => format!("{old} are replaced by {new}, which are"),
    };
    match (&before.form, &after.form) {
        (Some(before), Some(after)) => format!("{renamed} written {after} instead of {before}"),
        (_, Some(after)) => format!("{renamed} written {after}"),
        (Some(before), None) => format!("{renamed} no longer written {before}"),
        (None, None) => format!("{renamed} written differently"),
    }
}

/// Returns the new members and their form as the object of a sentence, without a final full stop.
fn as_written(rewriting: &Rewriting) -> String {
    let after = &rewriting.after;
    let names = listed(after.names.iter().copied());
    let mut form = match &after.form {
        Some(form) => format!("{names} {form}"),
        None => format!("{names} as in the example"),
    };
    for note in &after.notes {
        form.push_str(". ");
        form.push_str(note.trim_end_matches('.'));
    }
    form
}

/// Returns a summary and advice.
fn words(change: &FieldChange, effect: Effect, to: &ApiVersion) -> (String, String) {
    let meaning = to.vocabulary.apply(change.meaning);
    let is_read = change.is_in(Direction::Reply);
    let (act, do_act, acting) = match (change.is_in(Direction::Request), is_read) {
        (true, true) => ("send and read", "Send and read", "sending and reading"),
        (true, false) => ("send", "Send", "sending"),
        (false, _) => ("read", "Read", "reading"),
    };
    if let Some(rewriting) = &change.rewriting {
        let accepts_old = effect == Effect::WorthKnowing && !is_read;
        let also = if accepts_old {
            " The earlier form is also accepted."
        } else {
            ""
        };
        return (
            format!("{}.", rewritten(rewriting)),
            format!("{do_act} {}.{also}", as_written(rewriting)),
        );
    }
    match change.kind {
        FieldChangeKind::Rewritten { before, after }
        | FieldChangeKind::Renamed { before, after } => {
            let old_name = match effect {
                Effect::Refused => format!(" Requests with `{before}` are refused."),
                Effect::RecordedDifferently => {
                    format!(" In requests, `{before}` no longer sets this field.")
                }
                Effect::ReadDifferently | Effect::WorthKnowing | Effect::NewlyPossible => {
                    String::new()
                }
            };
            (
                format!("`{before}` is renamed to `{after}`."),
                format!("{do_act} `{after}`.{old_name}"),
            )
        }
        FieldChangeKind::Removed {
            name,
            same_value: Some(other),
        } => (
            format!("`{name}` is removed. `{other}` has the same value."),
            format!("{do_act} `{other}` instead of `{name}`."),
        ),
        FieldChangeKind::Removed {
            name,
            same_value: None,
        } => (
            format!("`{name}` is removed. {meaning}"),
            if is_read {
                let to = to.label;
                format!("Stop {acting} `{name}`. No single field in {to} replaces it.")
            } else {
                format!("Stop {acting} `{name}`. {} does not store it.", to.label)
            },
        ),
        FieldChangeKind::Added {
            name,
            same_value: Some(other),
        } => (
            format!("`{name}` is new, with the value of `{other}`."),
            format!("You can {act} `{name}`."),
        ),
        FieldChangeKind::Added {
            name,
            same_value: None,
        } => (
            format!("`{name}` is new. {meaning}"),
            format!("You can {act} `{name}`."),
        ),
        FieldChangeKind::Redefined {
            name,
            meaning_before,
            type_before,
            type_after,
        } => (
            format!(
                "`{name}` keeps its name, but not its value. Before ({type_before}): {} Now ({type_after}): {meaning}",
                to.vocabulary.apply(meaning_before)
            ),
            format!("{do_act} `{name}` in its new form."),
        ),
        FieldChangeKind::Joined {
            before,
            after,
            separator,
            index,
        } => (
            format!("`{before}` is {}.", place(index, separator, after)),
            format!("{do_act} `{after}` instead of `{before}`."),
        ),
        FieldChangeKind::Split {
            before,
            after,
            separator,
            index,
        } => (
            format!("`{after}` was {}.", place(index, separator, before)),
            format!("{do_act} `{after}` instead of `{before}`."),
        ),
        FieldChangeKind::Rejoined { before, after, .. } => {
            let joins = if before == after {
                format!("`{after}` joins")
            } else {
                format!("`{before}` is renamed to `{after}` and joins")
            };
            (
                format!("{joins} its parts differently."),
                format!("{do_act} `{after}` as described in the OpenAPI document."),
            )
        }
        FieldChangeKind::LeftOutWhenUnset { name } => (
            format!("`{name}` is omitted if it has no value."),
            format!("Treat a missing `{name}` as null."),
        ),
        FieldChangeKind::AlwaysShown { name } => (
            format!("`{name}` is present even if it has no value."),
            format!("Treat null in `{name}` as no value."),
        ),
    }
}
