//! The current page in the navigation, and rendering of templates.

use adapter_kit::Label;
use askama::Template;
use http_kit::paths;

/// The current page, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocsLocation {
    /// The list of versions.
    Index,
    /// The page about the move from one version to another.
    Move,
    /// Release notes or a guide.
    Written,
    /// A document of a version.
    Document(Label),
    /// The explorer of a version.
    Explorer(Label),
    /// The search in the documents of a version.
    Search(Label),
    /// The page for status 404.
    Missing,
}

impl DocsLocation {
    /// Returns the version whose documents are shown.
    pub(super) fn version(self) -> Option<Label> {
        match self {
            Self::Document(label) | Self::Explorer(label) | Self::Search(label) => Some(label),
            Self::Index | Self::Move | Self::Written | Self::Missing => None,
        }
    }

    /// Whether the page is an explorer.
    pub(super) fn is_explorer(self) -> bool {
        matches!(self, Self::Explorer(_))
    }

    /// Whether the page is the search.
    pub(super) fn is_search(self) -> bool {
        matches!(self, Self::Search(_))
    }
}

/// Whether the listener of the pages also serves the settings of organisations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsLink {
    /// The pages can link to the settings.
    Served,
    /// The listener has no settings.
    Missing,
}

impl SettingsLink {
    /// Returns the address of the page with the readiness of the reader's organisation, if this
    /// listener serves it.
    pub(super) fn readiness(self) -> Option<&'static str> {
        (self == Self::Served).then_some(paths::READINESS)
    }
}

/// Renders a page.
pub(super) fn html(template: &impl Template) -> Result<String, askama::Error> {
    template.render()
}
