//! The fields that have another name, or no field, in a version.

use adapter_kit::{Label, Served, Versions, names};
use domain::Lists;
use version_tools::Difference;
use version_tools::difference::{FieldChange, FieldChangeKind};

/// A field of another version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RenamedField {
    /// The version with the name.
    pub(super) version: Label,
    pub(super) name: &'static str,
    /// The name in the searched version; `None` if it has no such field.
    pub(super) now: Option<&'static str>,
}

/// The fields of all other versions that the searched version does not have under the same name.
#[derive(Debug, Default)]
pub(super) struct RenamedFields(Vec<RenamedField>);

impl RenamedFields {
    /// Compares a version with each other version.
    pub(super) fn new(served: &Served, versions: &Versions, lists: &Lists) -> Self {
        let own_names = names::all(served.version);
        let mut fields: Vec<RenamedField> = Vec::new();
        let others = versions
            .iter()
            .filter(|other| other.version.label != served.version.label);
        for other in others {
            for change in Difference::between(other, served, lists).fields() {
                let Some(field) = renamed_field(other.version.label, change)
                    .filter(|field| !own_names.contains(field.name))
                else {
                    continue;
                };
                let known = fields
                    .iter_mut()
                    .find(|known| (known.version, known.name) == (field.version, field.name));
                match known {
                    // A name can be removed from requests and renamed in responses.
                    Some(known) => known.now = known.now.or(field.now),
                    None => fields.push(field),
                }
            }
        }
        Self(fields)
    }

    /// Returns the fields with one of these names, regardless of case.
    pub(super) fn find<'w>(
        &self,
        words: impl Iterator<Item = &'w str> + Clone,
    ) -> Vec<&RenamedField> {
        let is_named = |field: &&RenamedField| {
            words
                .clone()
                .any(|word| word.eq_ignore_ascii_case(field.name))
        };
        self.0.iter().filter(is_named).collect()
    }
}

/// Returns the field of the other version in a change; `None` if the change is not about a name of
/// the other version.
fn renamed_field(version: Label, change: &FieldChange) -> Option<RenamedField> {
    let (name, now) = match change.kind {
        FieldChangeKind::Renamed { before, after }
        | FieldChangeKind::Joined { before, after, .. }
        | FieldChangeKind::Split { before, after, .. }
        | FieldChangeKind::Rejoined { before, after, .. } => (before, Some(after)),
        FieldChangeKind::Removed { name, same_value } => (name, same_value),
        FieldChangeKind::Added { .. }
        | FieldChangeKind::LeftOutWhenUnset { .. }
        | FieldChangeKind::AlwaysShown { .. } => return None,
    };
    Some(RenamedField { version, name, now })
}
