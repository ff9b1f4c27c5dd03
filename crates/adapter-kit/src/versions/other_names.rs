//! What other versions call things: the names that one version refuses, and those that it only names in a `Warning`.
//!
//! A version refuses other versions' names for its own inputs up to a version that it states
//! ([`ApiVersion::refuses_names_up_to`]); so a version that comes later changes nothing for its clients.

use domain::{DeferralField, DegreeField, Field, PlacementField, RecommendationField, TraineeField, WithdrawalField};

use crate::label::{Label, Stage};
use crate::version::{ApiVersion, Status, Wire};

/// What other versions call the inputs of this one, by record: names that are refused with the right one.
#[derive(Debug, Default)]
pub struct Foreign {
    /// Of a trainee.
    pub trainee: Vec<(&'static str, TraineeField)>,
    /// Of a placement.
    pub placement: Vec<(&'static str, PlacementField)>,
    /// Of a degree.
    pub degree: Vec<(&'static str, DegreeField)>,
    /// Of a withdrawal.
    pub withdrawal: Vec<(&'static str, WithdrawalField)>,
    /// Of a deferral.
    pub deferral: Vec<(&'static str, DeferralField)>,
    /// Of a recommendation.
    pub recommendation: Vec<(&'static str, RecommendationField)>,
    /// Names of other versions that are accepted and not stored.
    pub unheard: Unheard,
}

/// Names of other versions that this one neither sets, shows nor refuses, by record.
#[derive(Debug, Default)]
pub struct Unheard {
    /// Of a trainee.
    pub trainee: Vec<UnheardName>,
    /// Of a placement.
    pub placement: Vec<UnheardName>,
    /// Of a degree.
    pub degree: Vec<UnheardName>,
    /// Of a withdrawal.
    pub withdrawal: Vec<UnheardName>,
    /// Of a deferral.
    pub deferral: Vec<UnheardName>,
    /// Of a recommendation.
    pub recommendation: Vec<UnheardName>,
}

/// A name of other versions that means nothing in this one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnheardName {
    /// The name.
    pub name: &'static str,
    /// Where it comes from, when only later versions than this one have it.
    pub later: Option<LaterName>,
}

/// The origin of a name that only later versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaterName {
    /// The first version that has the name.
    pub version: Label,
    /// The field of this version that it is another name for.
    pub field: Option<Field>,
}

/// A name that a released version has for a field in requests, and that outlives the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormerName {
    /// The version.
    pub version: Label,
    /// The name.
    pub name: &'static str,
    /// The field of the dictionary.
    pub field: Field,
}

/// The names that released versions have for fields in requests where another version of the list has another name, by
/// version, in the order of their inputs.
#[must_use]
pub fn changed_names(list: &[&'static ApiVersion]) -> Vec<FormerName> {
    fn of<R: Wire>(version: &ApiVersion, list: &[&'static ApiVersion]) -> Vec<FormerName> {
        let changed = |name: &str, field| {
            list.iter().any(|other| R::inputs(other).name_of(field).is_some_and(|other| other != name))
        };
        let inputs = R::inputs(version).entries.iter().filter(|input| changed(input.name, input.field));
        inputs.map(|input| FormerName { version: version.label, name: input.name, field: input.field.into() }).collect()
    }
    let is_released =
        |version: &ApiVersion| version.publication.status == Status::Released && version.label.stage == Stage::Release;
    list.iter()
        .filter(|version| is_released(version))
        .flat_map(|version| {
            [
                of::<domain::Trainee>(version, list),
                of::<domain::Placement>(version, list),
                of::<domain::Degree>(version, list),
                of::<domain::Withdrawal>(version, list),
                of::<domain::Deferral>(version, list),
                of::<domain::Recommendation>(version, list),
            ]
            .concat()
        })
        .collect()
}

/// All names that are known: those of versions, served or not, and those of removed ones.
pub(super) struct KnownNames<'a> {
    pub(super) versions: &'a [&'static ApiVersion],
    pub(super) former: &'a [FormerName],
}

/// A name for a field in requests of a version.
type Input<R> = (Label, &'static str, <R as domain::Record>::Field);

impl KnownNames<'_> {
    /// Those of them that are not names of this version.
    pub(super) fn foreign_to(&self, version: &ApiVersion) -> Foreign {
        Foreign {
            trainee: self.refused::<domain::Trainee>(version),
            placement: self.refused::<domain::Placement>(version),
            degree: self.refused::<domain::Degree>(version),
            withdrawal: self.refused::<domain::Withdrawal>(version),
            deferral: self.refused::<domain::Deferral>(version),
            recommendation: self.refused::<domain::Recommendation>(version),
            unheard: Unheard {
                trainee: self.unheard::<domain::Trainee>(version),
                placement: self.unheard::<domain::Placement>(version),
                degree: self.unheard::<domain::Degree>(version),
                withdrawal: self.unheard::<domain::Withdrawal>(version),
                deferral: self.unheard::<domain::Deferral>(version),
                recommendation: self.unheard::<domain::Recommendation>(version),
            },
        }
    }

    /// Names that another version has for an input of this one, and that mean nothing else here.
    fn refused<R: Wire>(&self, version: &ApiVersion) -> Vec<(&'static str, R::Field)> {
        let mut names: Vec<(&'static str, R::Field)> = self
            .inputs::<R>()
            .into_iter()
            .filter(|(label, ..)| *label <= version.refuses_names_up_to)
            .filter(|(_, name, field)| R::inputs(version).name_of(*field).is_some() && !has::<R>(version, name))
            .map(|(_, name, field)| (name, field))
            .collect();
        names.dedup_by_key(|(name, _)| *name);
        names
    }

    /// Names that another version sets or shows, and that this one neither has nor refuses.
    fn unheard<R: Wire>(&self, version: &ApiVersion) -> Vec<UnheardName> {
        let refused = self.refused::<R>(version);
        let inputs = self.inputs::<R>();
        let shown = self.versions.iter().flat_map(|other| {
            let entries = R::shape(other).map_or([].as_slice(), |shape| shape.entries);
            entries.iter().map(|entry| (other.label, entry.name))
        });
        let mut names: Vec<(Label, &'static str)> =
            inputs.iter().map(|(label, name, _)| (*label, *name)).chain(shown).collect();
        names.retain(|(_, name)| !has::<R>(version, name) && !refused.iter().any(|(refused, _)| refused == name));
        names.sort_by_key(|(label, name)| (*name, *label));
        names.dedup_by_key(|(_, name)| *name);
        let field = |label, name| {
            let named = inputs.iter().find(|(known, input, _)| (*known, *input) == (label, name));
            named.map(|(.., field)| *field).filter(|field| R::inputs(version).name_of(*field).is_some())
        };
        let unheard = names.into_iter().map(|(first, name)| {
            let later = || LaterName { version: first, field: field(first, name).map(Into::into) };
            UnheardName { name, later: (first > version.label).then(later) }
        });
        unheard.collect()
    }

    /// The names for fields in requests, sorted by name, those of older versions first.
    fn inputs<R: Wire>(&self) -> Vec<Input<R>> {
        let of_versions = self.versions.iter().flat_map(|version| {
            R::inputs(version).entries.iter().map(|input| (version.label, input.name, input.field))
        });
        let former = self.former.iter().filter_map(|former| Some((former.version, former.name, R::own(former.field)?)));
        let mut inputs: Vec<Input<R>> = of_versions.chain(former).collect();
        inputs.sort_by_key(|(label, name, _)| (*name, *label));
        inputs
    }
}

/// Whether a version sets or shows a field of that name.
fn has<R: Wire>(version: &ApiVersion, name: &str) -> bool {
    R::inputs(version).field(name).is_some() || R::shape(version).is_some_and(|shape| shape.shows(name))
}
