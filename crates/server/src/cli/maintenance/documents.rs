//! The command that writes the documents generated from the code.

use std::path::PathBuf;

use clap::Args;
use registry::import::reference_data::create_folder;
use version_tools::documents::files;

use crate::cli::error::CommandError;

#[derive(Debug, Args)]
pub(crate) struct Docs {
    /// Folder to write into
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Docs {
    /// Writes the documents and the list of versions in the README, and removes outdated documents.
    pub(crate) fn run(self) -> Result<(), CommandError> {
        create_folder(&self.folder).map_err(|source| CommandError::Document {
            path: self.folder.display().to_string(),
            source,
        })?;
        for document in files::all(versions::all()) {
            let path = self.folder.join(document.file);
            let folder = path.parent().unwrap_or(&self.folder);
            std::fs::create_dir_all(folder)
                .and_then(|()| std::fs::write(&path, document.text))
                .map_err(|source| CommandError::Document {
                    path: path.display().to_string(),
                    source,
                })?;
        }
        // The README stands next to the folder of documents.
        let readme = self.folder.join("..").join(files::README);
        let text = std::fs::read_to_string(&readme).unwrap_or_default();
        if let Some(text) = files::readme_with_versions(&text, versions::all()) {
            std::fs::write(&readme, text).map_err(|source| CommandError::Document {
                path: readme.display().to_string(),
                source,
            })?;
        }
        for path in files::outdated(&self.folder, versions::all()) {
            std::fs::remove_file(&path).map_err(|source| CommandError::Document {
                path: path.display().to_string(),
                source,
            })?;
        }
        Ok(())
    }
}
