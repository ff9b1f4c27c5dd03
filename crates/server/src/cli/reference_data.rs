//! Commands about the code lists.

use std::path::PathBuf;

use clap::Subcommand;

use super::CommandError;
use crate::reference_data;

#[derive(Debug, Subcommand)]
pub(super) enum ReferenceDataCommand {
    /// Write the code lists that are part of the program into a folder, one file each
    ///
    /// Change a file, remove those that are to stay as they are, and give the folder to `serve --reference-data`. A file
    /// that is there already is not overwritten.
    Export {
        /// Folder to write into; it is made when it is absent
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

impl ReferenceDataCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let Self::Export { folder } = self;
        let count = reference_data::export(&folder)?;
        eprintln!("wrote {count} lists into {}", folder.display());
        Ok(())
    }
}
