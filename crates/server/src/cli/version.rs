//! Commands about versions of the API.

use adapter_kit::Served;
use clap::Subcommand;

use super::CommandError;

mod check;
mod difference;
mod openapi;
mod readiness;
mod translate;

#[derive(Debug, Subcommand)]
pub(super) enum VersionCommand {
    /// Compare the served versions with their contracts, and report breaking changes
    Check(check::Check),
    /// Show what changes for a client between two versions, and how to migrate
    Difference(difference::Difference),
    /// Print the OpenAPI document of a version
    Openapi(openapi::OpenApi),
    /// Show who still uses a version, what they must change, and how many of their writes the
    /// newest version would accept
    Readiness(readiness::Readiness),
    /// Translate bodies from one version to another, and report lost values and problems
    ///
    /// The file contains one body, an array of bodies, or one body per line. Bodies are of requests
    /// or replies, with or without `data` around them. Translated bodies go to standard output.
    /// Renamed fields, lost values and problems in the other version go to standard error. The
    /// command uses no register: schools and training partners with well-formed numbers count as
    /// known.
    ///
    /// The exit status is 1 if a value is lost or a body has a problem, otherwise 0. The bodies are
    /// printed in both cases.
    Translate(translate::Translate),
}

impl VersionCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Check(check) => check.run(),
            Self::Difference(difference) => difference.run(),
            Self::Openapi(openapi) => openapi.run(),
            Self::Readiness(readiness) => readiness.run(),
            Self::Translate(translate) => translate.run(),
        }
    }
}

/// The served version with the label.
fn served(text: &str) -> Result<&'static Served, CommandError> {
    Ok(versions::all().named(text)?)
}
