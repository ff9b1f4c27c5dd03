//! Commands about versions of the API.

use clap::Subcommand;

use super::CommandError;

mod difference;

#[derive(Debug, Subcommand)]
pub(super) enum VersionCommand {
    /// Tell what changes for a client that moves from one version to another, and what to do about it
    Difference(difference::Difference),
}

impl VersionCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Difference(difference) => difference.run(),
        }
    }
}
