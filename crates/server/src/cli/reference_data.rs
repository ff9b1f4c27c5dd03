//! Commands about the code lists.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::Lists;
use registry::import::reference_data;

use super::CommandError;

#[derive(Debug, Subcommand)]
pub(super) enum ReferenceDataCommand {
    /// Write the built-in code lists into a folder, one file per list
    ///
    /// To replace code lists, edit their files, delete the other files, and start `serve` with
    /// --reference-data and the folder. Existing files are not overwritten.
    #[command(after_help = "Example: trainee-register reference-data export lists")]
    Export {
        /// Folder to write into; created if it does not exist
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// The option with the code lists to use.
#[derive(Debug, Args)]
pub(super) struct CodeLists {
    /// Folder with files that replace built-in code lists, in the format of `reference-data
    /// export`; lists without a file do not change
    #[arg(long, value_name = "DIR", env = "REGISTER_REFERENCE_DATA")]
    reference_data: Option<PathBuf>,
}

impl CodeLists {
    /// The built-in code lists. Files in the folder of the option replace the lists of their names.
    pub(super) fn read(&self) -> Result<&'static Lists, reference_data::ReferenceDataError> {
        self.reference_data
            .as_deref()
            .map_or_else(|| Ok(Lists::embedded()), reference_data::with_files_of)
    }
}

impl ReferenceDataCommand {
    pub(super) fn run(self) -> Result<(), CommandError> {
        let Self::Export { folder } = self;
        let count = reference_data::export(&folder)?;
        eprintln!("wrote {count} lists into {}", folder.display());
        Ok(())
    }
}
