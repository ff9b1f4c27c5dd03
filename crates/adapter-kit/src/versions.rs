//! The versions that are served side by side, and what one must know of the others: their names.
//!
//! No version names another. That a field has another name elsewhere follows from the list.

use std::fmt;

use domain::{DeferralField, DegreeField, PlacementField, RecommendationField, TraineeField, WithdrawalField};

use crate::label::Label;
use crate::names::shown;
use crate::version::{ApiVersion, Wire};

/// What other versions call the inputs of this one, by record.
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
    /// Names of what this version does not have at all.
    pub unheard: Unheard,
}

/// Names of other versions for what this one neither sets nor shows, by record.
#[derive(Debug, Default)]
pub struct Unheard {
    /// Of a trainee.
    pub trainee: Vec<&'static str>,
    /// Of a placement.
    pub placement: Vec<&'static str>,
    /// Of a degree.
    pub degree: Vec<&'static str>,
    /// Of a withdrawal.
    pub withdrawal: Vec<&'static str>,
    /// Of a deferral.
    pub deferral: Vec<&'static str>,
    /// Of a recommendation.
    pub recommendation: Vec<&'static str>,
}

/// A version among the others.
#[derive(Debug)]
pub struct Served {
    /// The version.
    pub version: &'static ApiVersion,
    /// What other versions call its inputs.
    pub foreign: Foreign,
}

/// The versions that are served, oldest first.
#[derive(Debug)]
pub struct Versions {
    served: Vec<Served>,
}

impl Versions {
    /// The versions of the list, side by side.
    #[must_use]
    pub fn new(list: &[&'static ApiVersion]) -> Self {
        let mut list = list.to_vec();
        list.sort_by_key(|version| version.label);
        let foreign = |version| Foreign {
            trainee: foreign_names::<domain::Trainee>(version, &list),
            placement: foreign_names::<domain::Placement>(version, &list),
            degree: foreign_names::<domain::Degree>(version, &list),
            withdrawal: foreign_names::<domain::Withdrawal>(version, &list),
            deferral: foreign_names::<domain::Deferral>(version, &list),
            recommendation: foreign_names::<domain::Recommendation>(version, &list),
            unheard: Unheard {
                trainee: unheard_names::<domain::Trainee>(version, &list),
                placement: unheard_names::<domain::Placement>(version, &list),
                degree: unheard_names::<domain::Degree>(version, &list),
                withdrawal: unheard_names::<domain::Withdrawal>(version, &list),
                deferral: unheard_names::<domain::Deferral>(version, &list),
                recommendation: unheard_names::<domain::Recommendation>(version, &list),
            },
        };
        Self { served: list.iter().map(|version| Served { version, foreign: foreign(version) }).collect() }
    }

    /// The versions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Served> {
        self.served.iter()
    }

    /// The version with the label.
    #[must_use]
    pub fn find(&self, label: Label) -> Option<&Served> {
        self.served.iter().find(|served| served.version.label == label)
    }

    /// The version whose label the text is.
    ///
    /// # Errors
    ///
    /// When no version of the list has that label.
    pub fn named(&self, text: &str) -> Result<&Served, UnknownVersion> {
        let label = text.trim().parse().ok();
        label.and_then(|label| self.find(label)).ok_or_else(|| UnknownVersion {
            asked: shown(text),
            known: self.served.iter().map(|served| served.version.label).collect(),
        })
    }

    /// The version that comes after the one with this label, which need not be served itself.
    #[must_use]
    pub fn successor(&self, label: Label) -> Option<Label> {
        self.served.iter().map(|served| served.version.label).find(|other| *other > label)
    }

    /// The newest version.
    #[must_use]
    pub fn newest(&self) -> Option<&Served> {
        self.served.last()
    }
}

/// A text that is no label of a version in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownVersion {
    /// The text, as much of it as is repeated.
    pub asked: String,
    /// The versions that there are, oldest first.
    pub known: Vec<Label>,
}

impl fmt::Display for UnknownVersion {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<String> = self.known.iter().map(ToString::to_string).collect();
        write!(formatter, "no version is called {}; there are {}", self.asked, known.join(", "))
    }
}

impl std::error::Error for UnknownVersion {}

/// Names that another version has for an input of this one, and that mean nothing else here.
fn foreign_names<R: Wire>(version: &ApiVersion, list: &[&'static ApiVersion]) -> Vec<(&'static str, R::Field)> {
    let own = R::inputs(version);
    let mut names: Vec<(&'static str, R::Field)> = list
        .iter()
        .flat_map(|other| R::inputs(other).entries)
        .filter(|input| own.name_of(input.field).is_some() && own.field(input.name).is_none())
        .filter(|input| R::shape(version).is_none_or(|shape| !shape.shows(input.name)))
        .map(|input| (input.name, input.field))
        .collect();
    names.sort_by_key(|(name, _)| *name);
    names.dedup_by_key(|(name, _)| *name);
    names
}

/// Names that another version sets or shows, and that mean nothing here.
fn unheard_names<R: Wire>(version: &ApiVersion, list: &[&'static ApiVersion]) -> Vec<&'static str> {
    let names = |version: &ApiVersion| {
        let shown = R::shape(version).map_or([].as_slice(), |shape| shape.entries);
        R::inputs(version).entries.iter().map(|input| input.name).chain(shown.iter().map(|entry| entry.name))
    };
    let own: Vec<&str> =
        names(version).chain(foreign_names::<R>(version, list).into_iter().map(|(name, _)| name)).collect();
    let mut unheard: Vec<&str> =
        list.iter().flat_map(|other| names(other)).filter(|name| !own.contains(name)).collect();
    unheard.sort_unstable();
    unheard.dedup();
    unheard
}
