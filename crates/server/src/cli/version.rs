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
    /// Compare what is served with what was promised, and name every change that breaks a client
    Check(check::Check),
    /// Tell what changes for a client that moves from one version to another, and what to do about
    /// it
    Difference(difference::Difference),
    /// Print the OpenAPI document of a version
    Openapi(openapi::OpenApi),
    /// Tell who still uses a version, what they have to change, and how many of their writes the
    /// newest one would accept
    Readiness(readiness::Readiness),
    /// Spell bodies of one version as another version does, and say what becomes of them there
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

/// The version with that label.
fn served(text: &str) -> Result<&'static Served, CommandError> {
    Ok(versions::all().named(text)?)
}
