//! Computes from the list of versions what each calls the fields of the others.
//!
//! A version refuses other versions' names for its own inputs up to a version that it states itself
//! ([`ApiVersion::refuses_names_up_to`]), so a later version changes nothing for its clients.

use domain::nested_kinds;

use crate::label::{Label, Stage};
use crate::names::other_names::{
    FormerName, IgnoredName, LaterName, OtherNames, OtherVersionsNames,
};
use crate::shape::group_of;
use crate::version::{ApiVersion, Status};
use crate::wire::{WireRecord, for_each_record};

/// The names that released versions have for fields in requests where another version of the list
/// has another name, by version, in the order of their inputs.
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

/// All names that are known: those of versions, served or not, and those of removed ones.
pub(crate) struct KnownNames<'a> {
    pub(crate) versions: &'a [&'static ApiVersion],
    pub(crate) former: &'a [FormerName],
}

/// A name for a field in requests of a version.
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
    /// Those of them that are not names of this version.
    pub(crate) fn unknown_to(&self, version: &ApiVersion) -> OtherVersionsNames {
        nested_kinds!([unknown_to] self, version;)
    }

    fn other_names<R: WireRecord>(&self, version: &ApiVersion) -> OtherNames<R> {
        let is_input = |field| R::inputs(version).name_of(field).is_some();
        let inputs = self.inputs::<R>();
        let others = inputs.iter().filter(|(_, name, _)| {
            !has::<R>(version, name) && visible::<R>(version, name) == *name
        });
        let until = others
            .filter(|(label, _, field)| *label <= version.refuses_names_up_to && is_input(*field));
        let mut refused: Vec<(&'static str, R::Field)> =
            until.map(|(_, name, field)| (*name, *field)).collect();
        refused.dedup_by_key(|(name, _)| *name);
        let shown = self.versions.iter().flat_map(|other| {
            let entries = R::shape(other).map_or([].as_slice(), |shape| shape.entries);
            entries.iter().map(|entry| (other.label, entry.name))
        });
        let mut names: Vec<(Label, &'static str)> = inputs
            .iter()
            .map(|(label, name, _)| (*label, *name))
            .chain(shown)
            .collect();
        names
            .iter_mut()
            .for_each(|(_, name)| *name = visible::<R>(version, name));
        names.retain(|(_, name)| {
            !has::<R>(version, name) && !refused.iter().any(|(refused, _)| refused == name)
        });
        names.sort_by_key(|(label, name)| (*name, *label));
        names.dedup_by_key(|(_, name)| *name);
        let ignored = names.into_iter().map(|(first, name)| {
            let input = inputs
                .iter()
                .find(|(label, input, _)| (*label, *input) == (first, name));
            let field = input
                .map(|(.., field)| *field)
                .filter(|field| is_input(*field))
                .map(Into::into);
            IgnoredName {
                name,
                later: (first > version.label).then_some(LaterName {
                    version: first,
                    field,
                }),
            }
        });
        OtherNames {
            ignored: ignored.collect(),
            refused,
        }
    }

    /// The names for fields in requests, sorted by name, those of older versions first.
    fn inputs<R: WireRecord>(&self) -> Vec<Input<R>> {
        let of_versions = self.versions.iter().flat_map(|version| {
            R::inputs(version)
                .entries
                .iter()
                .map(|input| (version.label, input.name, input.field))
        });
        let former = self
            .former
            .iter()
            .filter_map(|former| Some((former.version, former.name, R::field_of(former.field)?)));
        let mut inputs: Vec<Input<R>> = of_versions.chain(former).collect();
        inputs.sort_by_key(|(label, name, _)| (*name, *label));
        inputs
    }
}

/// The key that a body in the names of another version has for a field: that of its group, where
/// this version has no such group.
fn visible<R: WireRecord>(version: &ApiVersion, name: &'static str) -> &'static str {
    group_of(name)
        .filter(|group| !has_group::<R>(version, group))
        .unwrap_or(name)
}

fn has_group<R: WireRecord>(version: &ApiVersion, name: &str) -> bool {
    R::inputs(version).is_group(name)
        || R::shape(version).is_some_and(|shape| shape.group(name).is_some())
}

/// Whether a version sets or shows a field, or a group, of that name.
fn has<R: WireRecord>(version: &ApiVersion, name: &str) -> bool {
    R::inputs(version).field(name).is_some()
        || R::shape(version).is_some_and(|shape| shape.shows(name))
        || has_group::<R>(version, name)
}
