//! Where things are: the paths that links in headers, lists and pages lead to.
//!
//! A label has no character that must be escaped in a path or in a query. What is behind a path is
//! not known here.

use adapter_kit::Label;

/// All that is for programs.
pub const API: &str = "/api";
/// The list of versions, for programs.
pub const VERSIONS: &str = "/api/versions";
/// The pages for people.
pub const DOCS: &str = "/docs";
/// The page that rewrites a body for another version.
pub const MIGRATE: &str = "/docs/migrate";
/// The pages about the move from one version to another.
pub const MOVE: &str = "/docs/move";

/// The pages of an organisation's settings.
pub const SETTINGS: &str = "/settings";
/// The page with what a provider has to change for the newest version.
pub const READINESS: &str = "/settings/readiness";

/// The address of a sign-in link at the site of the settings.
#[must_use]
pub fn sign_in(site: &str, secret: &str) -> String {
    format!("{}{SETTINGS}/sign-in/{secret}", site.trim_end_matches('/'))
}

/// The contract of a version, for people.
#[must_use]
pub fn documentation(label: Label) -> String {
    format!("{DOCS}/{label}")
}

/// A document of a version, by its name.
#[must_use]
pub fn document(label: Label, name: &str) -> String {
    format!("{}/{name}", documentation(label))
}

/// The name of the contract among the documents of a version.
pub const CONTRACT: &str = "contract";
/// The name of the document of problems.
pub const PROBLEMS: &str = "problems";

/// Where a problem is described, by its code, or a status by its anchor ([`status_anchor`]).
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
    Complete,
    /// What a generated client sends and reads.
    Client,
    /// Like `Client`, in OpenAPI 3.0 for generators without support for 3.1.
    Client30,
}

impl OpenApiDocument {
    /// All documents.
    pub const ALL: [Self; 3] = [Self::Complete, Self::Client, Self::Client30];

    /// The path below that of a version.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Complete => "/openapi.json",
            Self::Client => "/openapi-client.json",
            Self::Client30 => "/openapi-3.0.json",
        }
    }

    /// The path for a version.
    #[must_use]
    pub fn versioned_path(self, label: Label) -> String {
        label.base_path() + self.path()
    }

    /// The name of its committed file.
    #[must_use]
    pub fn file(self) -> &'static str {
        self.path().trim_start_matches('/')
    }
}

/// What is new in a version.
#[must_use]
pub fn release_notes(label: Label) -> String {
    written(&label.to_string())
}

/// What is written about a version, by its name.
#[must_use]
pub fn written(name: &str) -> String {
    format!("{DOCS}/versions/{name}")
}

/// A file that pages load, by the digest of its content and its name.
#[must_use]
pub fn asset(digest: &str, name: &str) -> String {
    format!("{DOCS}/assets/{digest}/{name}")
}

/// The page about the move from one served version to another.
#[must_use]
pub fn move_page(from: Label, to: Label) -> String {
    format!("{MOVE}/{from}/{to}")
}

/// How to get from one version to another, also from a version that is no longer served. Leads to
/// [`move_page`] where both are served.
#[must_use]
pub fn migration_guide(from: Label, to: Label) -> String {
    format!("{MIGRATE}?from={from}&to={to}")
}

/// All that differs between two versions.
#[must_use]
pub fn differences(from: Label, to: Label) -> String {
    format!("{DOCS}/differences/{from}..{to}")
}
