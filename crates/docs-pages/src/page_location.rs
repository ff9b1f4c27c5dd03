//! The current page in the navigation, and rendering of templates.

use actix_web::HttpResponse;
use adapter_kit::Label;
use askama::Template;
use gateway::error::ApiError;
use http_kit::paths;

/// The current page in the navigation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DocsLocation {
    Index,
    Move,
    /// Release notes or a guide.
    Written,
    Document(Label),
    Explorer(Label),
    Search(Label),
    /// For status 404.
    Missing,
}

impl DocsLocation {
    /// The version whose documents are shown.
    pub(super) fn version(self) -> Option<Label> {
        match self {
            Self::Document(label) | Self::Explorer(label) | Self::Search(label) => Some(label),
            Self::Index | Self::Move | Self::Written | Self::Missing => None,
        }
    }

    pub(super) fn is_explorer(self) -> bool {
        matches!(self, Self::Explorer(_))
    }

    pub(super) fn is_search(self) -> bool {
        matches!(self, Self::Search(_))
    }
}

/// Whether the listener of the pages also serves the settings of organisations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingsLink {
    Served,
    Missing,
}

impl SettingsLink {
    /// The page with the readiness of the reader's organisation.
    pub(super) fn readiness(self) -> Option<&'static str> {
        (self == Self::Served).then_some(paths::READINESS)
    }
}

/// Renders a page, for the cache of contents.
pub(super) fn render_content(template: &impl Template) -> Result<Vec<u8>, ApiError> {
    let page = template.render().map(String::into_bytes);
    page.map_err(ApiError::UnwritablePage)
}

/// Converts an error of a page to its response.
pub(super) fn respond(response: Result<HttpResponse, ApiError>) -> HttpResponse {
    response.unwrap_or_else(|error| error.response_without_version().into())
}
