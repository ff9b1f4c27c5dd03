//! Computes, for each version, the field names that only other versions have.
//!
//! A version refuses names of other versions only up to [`ApiVersion::refuses_names_up_to`].
//! Therefore a new version does not change the replies of existing ones.

use domain::nested_kinds;

use crate::label::{Label, Stage};
use crate::names::other_names::{
    FormerName, IgnoredName, LaterName, OtherNames, OtherVersionsNames,
};
use crate::shape::group_of;
use crate::version::{ApiVersion, Status};
use crate::wire::{WireRecord, for_each_record};

/// Returns the request field names of released versions that differ from the name in another
/// version of the list. The names are sorted by version, then in the order of its inputs.
#[must_use]
pub fn changed_names(list: &[&'static ApiVersion]) -> Vec<FormerName> {
    fn former_names<R: WireRecord>(
        version: &ApiVersion,
        list: &[&'static ApiVersion],
    ) -> Vec<FormerName> {
        let changed = |name: &str, field| {
            list.iter().any(|other| {
                R::inputs(other)
                    .name_of(field)
                    .is_some_and(|other| other != name)
            })
        };
        let inputs = R::inputs(version)
            .entries
            .iter()
            .filter(|input| changed(input.name, input.field));
        inputs
            .map(|input| FormerName {
                version: version.label,
                name: input.name,
                field: input.field.into(),
            })
            .collect()
    }
    let is_released = |version: &ApiVersion| {
        version.publication.status == Status::Released && version.label.stage == Stage::Release
    };
    let released = list.iter().filter(|version| is_released(version));
    released
        .flat_map(|version| for_each_record!(former_names(version, list)).concat())
        .collect()
}

/// The names of all versions: served, not served and removed.
pub(crate) struct KnownNames<'a> {
    pub(crate) versions: &'a [&'static ApiVersion],
    pub(crate) former: &'a [FormerName],
}

/// A version, a name in its requests, and the field with that name.
type Input<R> = (Label, &'static str, <R as domain::Record>::Field);

macro_rules! unknown_to {
    ($known:ident, $version:ident;
        $( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        OtherVersionsNames {
            trainee: $known.other_names($version),
            $( $name: $known.other_names($version), )+
            withdrawal: $known.other_names($version),
            deferral: $known.other_names($version),
            recommendation: $known.other_names($version),
        }
    };
}

impl KnownNames<'_> {
    /// Returns the names that this version does not have, by record.
    pub(crate) fn unknown_to(&self, version: &ApiVersion) -> OtherVersionsNames {
        nested_kinds!([unknown_to] self, version;)
    }

    /// Returns the names of a record's fields that this version does not have.
    fn other_names<R: WireRecord>(&self, version: &ApiVersion) -> OtherNames<R> {
        let inputs = self.inputs::<R>();
        let refused = refused_names::<R>(version, &inputs);
        let ignored = self.ignored_names::<R>(version, &inputs, &refused);
        OtherNames { refused, ignored }
    }

    /// Returns the names that this version ignores with a warning, sorted by name.
    fn ignored_names<R: WireRecord>(
        &self,
        version: &ApiVersion,
        inputs: &[Input<R>],
        refused: &[(&'static str, R::Field)],
    ) -> Vec<IgnoredName> {
        let shown = self.versions.iter().flat_map(|other| {
            let entries = R::shape(other).map_or([].as_slice(), |shape| shape.entries);
            entries.iter().map(|entry| (other.label, entry.name))
        });
        let mut names: Vec<(Label, &'static str)> = inputs
            .iter()
            .map(|(label, name, _)| (*label, *name))
            .chain(shown)
            .map(|(label, name)| (label, top_level_key::<R>(version, name)))
            .collect();
        names.retain(|(_, name)| {
            !has::<R>(version, name) && !refused.iter().any(|(refused, _)| refused == name)
        });
        // Of several versions with a name, the oldest remains.
        names.sort_by_key(|(label, name)| (*name, *label));
        names.dedup_by_key(|(_, name)| *name);
        let mut ignored = Vec::new();
        for (first, name) in names {
            let field = inputs
                .iter()
                .find(|(label, input, _)| (*label, *input) == (first, name))
                .map(|(.., field)| *field)
                .filter(|field| is_input::<R>(version, *field));
            let later = LaterName {
                version: first,
                field: field.map(Into::into),
            };
            ignored.push(IgnoredName {
                name,
                later: (first > version.label).then_some(later),
            });
        }
        ignored
    }

    /// Returns the names of fields in requests, sorted by name, then by version.
    fn inputs<R: WireRecord>(&self) -> Vec<Input<R>> {
        let current = self.versions.iter().flat_map(|version| {
            R::inputs(version)
                .entries
                .iter()
                .map(|input| (version.label, input.name, input.field))
        });
        let former = self
            .former
            .iter()
            .filter_map(|former| Some((former.version, former.name, R::field_of(former.field)?)));
        let mut inputs: Vec<Input<R>> = current.chain(former).collect();
        inputs.sort_by_key(|(label, name, _)| (*name, *label));
        inputs
    }
}

/// Returns the names that this version refuses, with their fields, sorted by name. Other versions
/// use these names for fields that requests of this version send under another name.
fn refused_names<R: WireRecord>(
    version: &ApiVersion,
    inputs: &[Input<R>],
) -> Vec<(&'static str, R::Field)> {
    let mut refused: Vec<(&'static str, R::Field)> = inputs
        .iter()
        .filter(|(_, name, _)| {
            !has::<R>(version, name) && top_level_key::<R>(version, name) == *name
        })
        .filter(|(label, _, field)| {
            *label <= version.refuses_names_up_to && is_input::<R>(version, *field)
        })
        .map(|(_, name, field)| (*name, *field))
        .collect();
    refused.dedup_by_key(|(name, _)| *name);
    refused
}

/// Whether requests of the version can set the field.
fn is_input<R: WireRecord>(version: &ApiVersion, field: R::Field) -> bool {
    R::inputs(version).name_of(field).is_some()
}

/// Returns the part of another version's field name that this version sees as a key. If this
/// version does not have the group of the field, that part is the name of the group.
fn top_level_key<R: WireRecord>(version: &ApiVersion, name: &'static str) -> &'static str {
    group_of(name)
        .filter(|group| !has_group::<R>(version, group))
        .unwrap_or(name)
}

/// Whether requests or responses of the version have a group of that name.
fn has_group<R: WireRecord>(version: &ApiVersion, name: &str) -> bool {
    R::inputs(version).is_group(name)
        || R::shape(version).is_some_and(|shape| shape.group(name).is_some())
}

/// Whether requests or responses of the version have a field or a group of that name.
fn has<R: WireRecord>(version: &ApiVersion, name: &str) -> bool {
    R::inputs(version).field(name).is_some()
        || R::shape(version).is_some_and(|shape| shape.shows(name))
        || has_group::<R>(version, name)
}
