//! Read-only names of one version that another does not know: a client that sends records back as
//! it reads them sends these too.

use adapter_kit::versions::Served;
use adapter_kit::wire::{WireRecord, for_each_record};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};
use crate::documents::listed;

/// Names that one version ignores in requests, because it only shows them, and that the other does
/// not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReadOnlyNamesChange {
    /// The name of the record.
    pub record: &'static str,
    /// The names.
    pub names: Vec<&'static str>,
}

/// The names of each record, in one change.
pub(super) fn changes(from: &Served, to: &Served) -> Vec<Change> {
    for_each_record!(record_change(from, to))
        .into_iter()
        .flatten()
        .collect()
}

fn record_change<R: WireRecord>(from: &Served, to: &Served) -> Option<Change> {
    let (inputs, shown) = (R::inputs(from.version), R::shape(from.version)?);
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
    let (before, after) = (from.version.label, to.version.label);
    let summary = format!(
        "With `Prefer: handling=strict`, requests with these names are refused: {}. {before} ignores them, because it only \
         shows them; {after} does not know them.",
        listed(names.iter().copied()),
    );
    let advice = "Leave them out when you send a record back. Without that preference each is named in `Warning`.";
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
