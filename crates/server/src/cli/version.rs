//! Commands about the versions of the API.

use clap::Subcommand;

use super::CommandError;

mod translate;

#[derive(Debug, Subcommand)]
pub(crate) enum VersionCommand {
    /// Spell bodies of one version as another version does, and say what becomes of them there
    Translate(translate::Translate),
}

impl VersionCommand {
    pub(crate) fn run(self) -> Result<(), CommandError> {
        match self {
            Self::Translate(translate) => translate.run(),
        }
    }
}
