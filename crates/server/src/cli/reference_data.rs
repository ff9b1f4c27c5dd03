//! Commands about the code lists.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use domain::Lists;
use registry::import::reference_data;

use super::CommandError;

#[derive(Debug, Subcommand)]
pub(super) enum ReferenceDataCommand {
    /// Write the code lists that are part of the program into a folder, one file each
    ///
    /// Change a file, remove those that are to stay as they are, and give the folder to `serve
    /// --reference-data`. A file that is there already is not overwritten.
    Export {
        /// Folder to write into; it is made when it is absent
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Which code lists to use.
#[derive(Debug, Args)]
pub(super) struct CodeLists {
    /// Folder with files that take the place of the code lists in the program, as `reference-data
    /// export` writes them; a list without a file there stays as it is
    #[arg(long, value_name = "DIR", env = "REGISTER_REFERENCE_DATA")]
    reference_data: Option<PathBuf>,
}

impl CodeLists {
    /// Those of the program, with the files of the folder in their places.
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
