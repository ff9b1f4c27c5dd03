//! Writing the documents that follow from the code.

use std::path::PathBuf;

use clap::Args;

use super::CommandError;
use crate::import::reference_data::create_folder;
use crate::versions::{self, documents};

#[derive(Debug, Args)]
pub(super) struct Docs {
    /// Folder to write into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Docs {
    pub(super) fn run(self) -> Result<(), CommandError> {
        create_folder(&self.folder)
            .map_err(|source| CommandError::Document { path: self.folder.display().to_string(), source })?;
        for document in documents::all(versions::all()) {
            let path = self.folder.join(document.file);
            let folder = path.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&path, document.text))
                .map_err(|source| CommandError::Document { path: path.display().to_string(), source })?;
        }
        for path in documents::outdated(&self.folder, versions::all()) {
            std::fs::remove_file(&path)
                .map_err(|source| CommandError::Document { path: path.display().to_string(), source })?;
        }
        Ok(())
    }
}
