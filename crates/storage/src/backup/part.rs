//! Unfinished databases, in the folder of the file whose name they take when they are whole.

use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::{BackupError, JOURNALS, folder_of};
use crate::unfinished::UnfinishedFiles;

const UNFINISHED: UnfinishedFiles = UnfinishedFiles { prefix: ".register-", journals: &JOURNALS };

/// An unfinished file, which is removed unless it is put in place. Only its owner can read it.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) file: NamedTempFile,
    /// Removed after the file.
    pub(super) journals: Journals,
}

/// The files that SQLite keeps beside an unfinished one. Dropped, they are removed.
#[derive(Debug)]
pub(super) struct Journals {
    part: PathBuf,
}

impl Part {
    /// A new one in the folder of another file, which must exist.
    pub(super) fn beside(file: &Path) -> Result<Self, BackupError> {
        let folder = folder_of(file);
        let failed = |source| BackupError::File { path: folder.to_owned(), source };
        // A leftover that cannot be removed is no reason to make no backup.
        let _ = UNFINISHED.remove_leftovers(folder);
        let file = UNFINISHED.create(folder).map_err(failed)?;
        let journals = Journals { part: file.path().to_owned() };
        Ok(Self { file, journals })
    }

    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }
}

impl Drop for Journals {
    fn drop(&mut self) {
        UNFINISHED.remove_journals(&self.part);
    }
}

#[cfg(test)]
mod tests {
    use super::super::beside;
    use super::*;

    #[test]
    fn an_unfinished_file_is_removed_with_the_files_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let part = Part::beside(&folder.path().join("backup.db")).unwrap();
        for ending in JOURNALS {
            std::fs::write(beside(part.path(), ending), "left").unwrap();
        }
        drop(part);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
