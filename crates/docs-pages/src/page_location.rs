//! Where a reader is among the pages, and how a page is written.

use adapter_kit::Label;
use askama::Template;

/// Where a reader is, for the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocsLocation {
    /// The list of versions.
    Index,
    /// The page that rewrites a body.
    Migrate,
    /// What is written about versions.
    Written,
    /// A document of a version.
    Document(Label),
    /// The search in the documents of a version.
    Search(Label),
    /// No page.
    Missing,
}

impl DocsLocation {
    /// The version whose documents are read.
    pub(super) fn version(self) -> Option<Label> {
        match self {
            Self::Document(label) | Self::Search(label) => Some(label),
            Self::Index | Self::Migrate | Self::Written | Self::Missing => None,
        }
    }

    /// Whether the page itself is a search.
    pub(super) fn is_search(self) -> bool {
        matches!(self, Self::Search(_))
    }
}

/// The text of a page.
pub(super) fn html(template: &impl Template) -> Result<String, askama::Error> {
    template.render()
}
