//! The sections of every page and document about a difference, by what a client has to do.

use super::{Change, ChangeDetail, CodesChangeKind, Difference, Effect, FieldChangeKind};
use crate::documents::contract::slug;

/// A section. Each change belongs to one section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Section {
    /// Fields with another name.
    RenamedFields,
    /// Required fields, rules, gates and adjustments that break a client.
    Rules,
    /// Codes that the target version refuses.
    EndedCodes,
    /// All changes of endpoints.
    Endpoints,
    /// Other changes of requests that break a client.
    Requests,
    /// Other changes of responses that break a client.
    Responses,
    /// Changes that break nothing.
    Optional,
}

impl Section {
    /// All sections, in order.
    pub const ALL: [Self; 7] = [
        Self::RenamedFields,
        Self::Rules,
        Self::EndedCodes,
        Self::Endpoints,
        Self::Requests,
        Self::Responses,
        Self::Optional,
    ];

    /// Returns the section of a change.
    #[must_use]
    pub fn containing(change: &Change) -> Self {
        let others = if !change.breaking {
            Self::Optional
        } else if change.effect == Effect::ReadDifferently {
            Self::Responses
        } else {
            Self::Requests
        };
        let own = match &change.detail {
            ChangeDetail::Endpoint(_) => return Self::Endpoints,
            ChangeDetail::Field(field) => {
                let is_renamed = matches!(field.kind, FieldChangeKind::Renamed { .. });
                is_renamed.then_some(Self::RenamedFields)
            }
            ChangeDetail::Rule(_) => Some(Self::Rules),
            ChangeDetail::Codes(codes) => {
                (codes.change == CodesChangeKind::Refused).then_some(Self::EndedCodes)
            }
            ChangeDetail::ReadOnlyNames(_)
            | ChangeDetail::ExceptionYears(_)
            | ChangeDetail::Vocabulary(_)
            | ChangeDetail::NestedErrors(_)
            | ChangeDetail::NestedInLists(_)
            | ChangeDetail::Wire(_) => None,
        };
        own.filter(|_| change.breaking).unwrap_or(others)
    }

    /// Returns the heading.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Self::RenamedFields => "Renamed fields",
            Self::Rules => "Stricter rules",
            Self::EndedCodes => "Ended codes",
            Self::Endpoints => "Endpoints",
            Self::Requests => "Other changed requests",
            Self::Responses => "Other changed responses",
            Self::Optional => "Changes that break nothing",
        }
    }

    /// Returns the anchor of the heading.
    #[must_use]
    pub fn anchor(self) -> String {
        slug(self.title())
    }

    /// Describes the changes of the section in one sentence.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::RenamedFields => "Responses have only the new names.",
            Self::Rules => "Section numbers refer to the contract.",
            Self::EndedCodes => {
                "Requests with these codes are refused. Existing records keep them."
            }
            Self::Endpoints => {
                "All other endpoints have the same methods and paths in both versions."
            }
            Self::Requests => "These requests are refused, or different values are stored.",
            Self::Responses => "You must change how your client reads these responses.",
            Self::Optional => "Your client can ignore these changes.",
        }
    }
}

impl Difference {
    /// Returns the sections that have changes, with these changes.
    #[must_use]
    pub fn sections(&self) -> Vec<(Section, Vec<&Change>)> {
        let changes_in = |section: Section| {
            let changes = self.changes.iter();
            let found = changes.filter(|change| Section::containing(change) == section);
            (section, found.collect::<Vec<_>>())
        };
        let sections = Section::ALL.into_iter().map(changes_in);
        sections
            .filter(|(_, changes)| !changes.is_empty())
            .collect()
    }
}
