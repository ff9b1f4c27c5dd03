//! The versions that are served side by side.
//!
//! No version names another: that a field has another name elsewhere follows from the list.

use crate::endpoint::Endpoint;
use crate::label::Label;
use crate::names::known_names::KnownNames;
use crate::names::other_names::{FormerName, OtherVersionsNames};
use crate::read::client_text::truncated;
use crate::version::ApiVersion;

/// A version among the others.
#[derive(Debug)]
pub struct Served {
    /// The version.
    pub version: &'static ApiVersion,
    /// Its label as text.
    pub label: String,
    /// What other versions call its fields.
    pub other_names: OtherVersionsNames,
    /// The version that publishes the code lists: this one, else the newest one that is served and
    /// does.
    pub reference_data: Option<Label>,
}

/// The versions that are served, oldest first.
#[derive(Debug)]
pub struct Versions {
    served: Vec<Served>,
}

impl Versions {
    /// The versions of the list, side by side, which know of no others.
    #[must_use]
    pub fn new(list: &[&'static ApiVersion]) -> Self {
        Self::among(list, list, &[])
    }

    /// The versions of the list, side by side, which know the names of others too: those that are
    /// not served here, and those that were removed.
    #[must_use]
    pub fn among(
        list: &[&'static ApiVersion],
        known: &[&'static ApiVersion],
        former: &[FormerName],
    ) -> Self {
        let mut list = list.to_vec();
        list.sort_by_key(|version| version.label);
        let names = KnownNames {
            versions: known,
            former,
        };
        let publishes_lists =
            |version: &&ApiVersion| version.endpoints.has(Endpoint::ReferenceData);
        let newest = list.iter().copied().rfind(publishes_lists);
        let served = list.iter().map(|version| Served {
            version,
            label: version.label.to_string(),
            other_names: names.unknown_to(version),
            reference_data: Some(*version)
                .filter(publishes_lists)
                .or(newest)
                .map(|version| version.label),
        });
        Self {
            served: served.collect(),
        }
    }

    /// The versions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Served> {
        self.served.iter()
    }

    /// The version with the label.
    #[must_use]
    pub fn find(&self, label: Label) -> Option<&Served> {
        self.served
            .iter()
            .find(|served| served.version.label == label)
    }

    /// The version whose label the string is.
    ///
    /// # Errors
    ///
    /// When no version of the list has that label.
    pub fn named(&self, text: &str) -> Result<&Served, UnknownVersion> {
        let label = text.trim().parse().ok();
        label
            .and_then(|label| self.find(label))
            .ok_or_else(|| UnknownVersion {
                requested: truncated(text),
                known: self
                    .served
                    .iter()
                    .map(|served| served.version.label)
                    .collect(),
            })
    }

    /// The version that comes after the one with this label, which need not be served itself.
    #[must_use]
    pub fn successor(&self, label: Label) -> Option<Label> {
        self.served
            .iter()
            .map(|served| served.version.label)
            .find(|other| *other > label)
    }

    /// The newest version.
    #[must_use]
    pub fn newest(&self) -> Option<&Served> {
        self.served.last()
    }
}

/// A string that is not the label of a version in the list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no version is called {requested}; there are {}", list(.known))]
pub struct UnknownVersion {
    /// The string, truncated.
    pub requested: String,
    /// The versions of the list, oldest first.
    pub known: Vec<Label>,
}

fn list(labels: &[Label]) -> String {
    labels
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
