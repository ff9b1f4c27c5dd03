//! Read-only names of one version that are unknown in another. A client that sends back records as
//! it reads them sends these names too.

use adapter_kit::versions::Served;
use adapter_kit::wire::{WireRecord, for_each_record};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};
use crate::documents::listed;

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
    let summary = format!(
        "With `Prefer: handling=strict`, requests with these names are refused: {}. These names are read-only in \
         {before}, which ignores them. They are unknown in {after}.",
        listed(names.iter().copied()),
    );
    let advice = "Omit these names when you send a record back. Without this preference, the `Warning` header lists them.";
    let detail = ChangeDetail::ReadOnlyNames(ReadOnlyNamesChange {
        record: R::NAME,
        names,
    });
    Some(Change::new(
        Effect::Refused,
        detail,
        R::NAME,
        summary,
        advice.to_owned(),
    ))
}
