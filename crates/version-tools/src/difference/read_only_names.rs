//! Read-only names of one version that are unknown in another. A client that sends back records as
//! it reads them sends these names too.

use adapter_kit::versions::Served;
use adapter_kit::wire::{WireRecord, for_each_record};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};

/// Read-only names that one version ignores in requests and that are unknown in the other version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadOnlyNamesChange {
    /// The name of the record.
    pub record: &'static str,
    /// The names.
    pub names: Vec<&'static str>,
}

/// Returns one change for each record that has read-only names of `from` that are unknown in `to`.
pub(super) fn changes(from: &Served, to: &Served) -> Vec<Change> {
    for_each_record!(record_change(from, to))
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the change of the read-only names of a record; `None` if `to` knows all of them.
fn record_change<R: WireRecord>(from: &Served, to: &Served) -> Option<Change> {
    let inputs = R::inputs(from.version);
    let shown = R::shape(from.version)?;
    let refused = &R::other_names(&to.other_names).refused;
    let is_known = |name: &str| {
        R::inputs(to.version).field(name).is_some()
            || R::shape(to.version).is_some_and(|shape| shape.shows(name))
            || refused.iter().any(|(other, _)| *other == name)
    };
    let read_only = shown
        .entries
        .iter()
        .map(|entry| entry.name)
        .filter(|name| inputs.field(name).is_none());
    let names: Vec<&str> = read_only.filter(|name| !is_known(name)).collect();
    if names.is_empty() {
        return None;
    }
    let before = from.version.label;
    let after = to.version.label;
    // A change of the same field's name in responses advises to use the new name, so this advice
    // must also permit the new name.
    let new_name = |name: &str| {
        let entry = shown.entries.iter().find(|entry| entry.name == name)?;
        let new_name = R::shape(to.version)?.name_of(entry.field()?)?;
        let is_read_only = R::inputs(to.version).field(new_name).is_none();
        is_read_only.then_some(new_name)
    };
    let is_any_renamed = names.iter().any(|name| new_name(name).is_some());
    let described = names.iter().map(|name| match new_name(name) {
        Some(new) => format!("`{name}` (now `{new}`)"),
        None => format!("`{name}`"),
    });
    let summary = format!(
        "With `Prefer: handling=strict`, {} requests with these names are refused: {}. These names are read-only in \
         {before}, which ignores them. They are unknown in {after}.",
        R::NAME,
        described.collect::<Vec<_>>().join(", "),
    );
    let omit = if is_any_renamed {
        format!(
            "Omit these names when you send a {} back, or send the new names, which {after} ignores.",
            R::NAME
        )
    } else {
        format!("Omit these names when you send a {} back.", R::NAME)
    };
    let advice = format!("{omit} Without this preference, the `Warning` header lists them.");
    let detail = ChangeDetail::ReadOnlyNames(ReadOnlyNamesChange {
        record: R::NAME,
        names,
    });
    Some(Change::new(
        Effect::Refused,
        detail,
        R::NAME,
        summary,
        advice,
    ))
}
