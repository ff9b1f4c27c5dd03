//! The paths that links in headers, lists and pages lead to.
//!
//! A label has no character that must be escaped in a path or in a query.

use adapter_kit::Label;

/// The prefix of all paths for programs.
pub const API: &str = "/api";
/// The list of versions, for programs.
pub const VERSIONS: &str = "/api/versions";
/// The documentation, for people.
pub const DOCS: &str = "/docs";
/// The former address of the pages about moves, which links in headers and lists still have.
const MIGRATE: &str = "/docs/migrate";
/// The pages about the move from one version to another. The address itself leads to the page about
/// the move from the oldest version to the newest.
pub const MOVE: &str = "/docs/move";

/// The guide for users of the settings who upload files and look up trainees.
pub const DATA_MANAGERS: &str = "/docs/data-managers";

/// The pages of an organisation's settings.
pub const SETTINGS: &str = "/settings";
/// The page with what a provider has to change for the newest version.
pub const READINESS: &str = "/settings/readiness";

/// The address of a sign-in link. `site` is the address of the server, `secret` that of the link.
#[must_use]
pub fn sign_in(site: &str, secret: &str) -> String {
    format!("{}{SETTINGS}/sign-in/{secret}", site.trim_end_matches('/'))
}

/// The path of the page with the contract of a version.
#[must_use]
pub fn documentation(label: Label) -> String {
    format!("{DOCS}/{label}")
}

/// The path of a document of a version, such as [`PROBLEMS`].
#[must_use]
pub fn document(label: Label, name: &str) -> String {
    format!("{}/{name}", documentation(label))
}

/// The name of the contract among the documents of a version.
pub const CONTRACT: &str = "contract";
/// The name of the document that describes all problems.
pub const PROBLEMS: &str = "problems";

/// The path to the description of a problem. `problem` is its code, or the anchor of a status
/// ([`status_anchor`]).
#[must_use]
pub fn problem(label: Label, problem: &str) -> String {
    format!("{}#{problem}", document(label, PROBLEMS))
}

/// The anchor of a status in the document of problems.
#[must_use]
pub fn status_anchor(status: &str) -> String {
    format!("status-{status}")
}

/// A document that describes a version for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenApiDocument {
    /// All that the server accepts and answers, in OpenAPI 3.1.
    Version31,
    /// `Version31` in OpenAPI 3.0, with one form of each value, for generators of clients.
    Version30,
}

/// The former path of a document for generators, without the prefix of a version. It leads to
/// [`OpenApiDocument::Version31`].
pub const FORMER_OPENAPI_DOCUMENT: &str = "/openapi-client.json";

impl OpenApiDocument {
    /// All documents.
    pub const ALL: [Self; 2] = [Self::Version31, Self::Version30];

    /// The path without the prefix of a version.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Version31 => "/openapi.json",
            Self::Version30 => "/openapi-3.0.json",
        }
    }

    /// The path for a version.
    #[must_use]
    pub fn versioned_path(self, label: Label) -> String {
        label.base_path() + self.path()
    }

    /// The name of the file of this document in the repository.
    #[must_use]
    pub fn file(self) -> &'static str {
        self.path().trim_start_matches('/')
    }
}

/// The path of the page with what is new in a version.
#[must_use]
pub fn release_notes(label: Label) -> String {
    written(&label.to_string())
}

/// The path of a page with notes about a version, by the name of the page.
#[must_use]
pub fn written(name: &str) -> String {
    format!("{DOCS}/versions/{name}")
}

/// The path of a file that pages load. The digest of its content makes the path change with it.
#[must_use]
pub fn asset(digest: &str, name: &str) -> String {
    format!("{DOCS}/assets/{digest}/{name}")
}

/// The path of the page about the move from one served version to another.
#[must_use]
pub fn move_page(from: Label, to: Label) -> String {
    format!("{MOVE}/{from}/{to}")
}

/// The path of the guide from one version to another, also from a version that is no longer served.
/// It leads to [`move_page`] if both are served.
#[must_use]
pub fn migration_guide(from: Label, to: Label) -> String {
    format!("{MIGRATE}?from={from}&to={to}")
}
