//! The served versions.
//!
//! Versions do not refer to each other. Differences in field names are computed from the list.

use crate::endpoint::Endpoint;
use crate::label::Label;
use crate::names::known_names::KnownNames;
use crate::names::other_names::{FormerName, OtherVersionsNames};
use crate::read::client_text::truncated;
use crate::version::ApiVersion;

/// A served version, with data that depends on the other versions.
#[derive(Debug)]
pub struct Served {
    /// The version.
    pub version: &'static ApiVersion,
    /// The label as text.
    pub label: String,
    /// The field names that only other versions have.
    pub other_names: OtherVersionsNames,
    /// The version that publishes the code lists: this version if it does, else the newest served
    /// version that does. `None` if no served version publishes them.
    pub reference_data: Option<Label>,
}

/// The served versions, oldest first.
#[derive(Debug)]
pub struct Versions {
    served: Vec<Served>,
}

impl Versions {
    /// Serves the versions of the list. Only their own field names are known.
    #[must_use]
    pub fn new(list: &[&'static ApiVersion]) -> Self {
        Self::among(list, list, &[])
    }

    /// Serves the versions of `list`. The field names of all `known` versions and the `former`
    /// names of removed versions are known, too.
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
        let newest_publisher = list
            .iter()
            .copied()
            .rfind(|version| publishes_code_lists(version));
        let served = list.iter().copied().map(|version| {
            let publisher = if publishes_code_lists(version) {
                Some(version)
            } else {
                newest_publisher
            };
            Served {
                version,
                label: version.label.to_string(),
                other_names: names.unknown_to(version),
                reference_data: publisher.map(|version| version.label),
            }
        });
        Self {
            served: served.collect(),
        }
    }

    /// Returns the versions, oldest first.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Served> {
        self.served.iter()
    }

    /// Returns the version with the label, or `None` if it is not served.
    #[must_use]
    pub fn find(&self, label: Label) -> Option<&Served> {
        self.served
            .iter()
            .find(|served| served.version.label == label)
    }

    /// Returns the version with a label in text form. White space around the label is ignored.
    ///
    /// # Errors
    ///
    /// [`UnknownVersion`] if no served version has the label.
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

    /// Returns the first served version after `label`, or `None` if there is none. The version
    /// `label` itself need not be served.
    #[must_use]
    pub fn successor(&self, label: Label) -> Option<Label> {
        self.served
            .iter()
            .map(|served| served.version.label)
            .find(|other| *other > label)
    }

    /// Returns the newest version, or `None` if no version is served.
    #[must_use]
    pub fn newest(&self) -> Option<&Served> {
        self.served.last()
    }
}

fn publishes_code_lists(version: &ApiVersion) -> bool {
    version.endpoints.has(Endpoint::ReferenceData)
}

/// A string that is not the label of a served version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no version is called {requested}; there are {}", list(.known))]
pub struct UnknownVersion {
    /// The string, truncated.
    pub requested: String,
    /// The labels of the served versions, oldest first.
    pub known: Vec<Label>,
}

fn list(labels: &[Label]) -> String {
    labels
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}
