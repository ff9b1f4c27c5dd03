//! Unfinished databases, in the folder of the file whose name they take when they are complete.
//!
//! A command holds a lock on its unfinished file (`flock`, which SQLite does not use), so that
//! other commands do not take the file for a leftover of a killed command. On a file system without
//! such locks no leftover is removed.

use std::collections::BTreeSet;
use std::fs::{File, remove_file};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use super::{BackupError, JOURNALS, folder_of, sibling_file};

const PREFIX: &str = ".register-";
const SUFFIX: &str = ".part";
/// The characters between both.
const RANDOM_CHARS: usize = 6;

/// An unfinished file. Dropped, it is removed with the files that SQLite keeps beside it.
#[derive(Debug)]
pub(super) struct Part {
    /// Locked until it is closed. Only its owner can read it.
    pub(super) file: NamedTempFile,
    pub(super) journals: Journals,
}

/// The files that SQLite keeps beside the unfinished file of this path. Dropped, they are removed.
#[derive(Debug)]
pub(super) struct Journals(PathBuf);

impl Drop for Journals {
    fn drop(&mut self) {
        remove_journals(&self.0);
    }
}

/// Creates an unfinished file in the folder of another file. The folder must exist.
pub(super) fn create_beside(file: &Path) -> Result<Part, BackupError> {
    let folder = folder_of(file);
    // A leftover that cannot be removed is no reason to make no backup.
    let _ = remove_leftovers(folder);
    loop {
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .tempfile_in(folder);
        let file = file.map_err(BackupError::file_error(folder))?;
        if let Err(error) = flock(&file, FlockOperation::LockExclusive) {
            log::debug!("an unfinished file cannot be locked: {error}");
        }
        // Another command may have removed it as a leftover before it was locked.
        if file.path().exists() {
            let journals = Journals(file.path().to_owned());
            return Ok(Part { file, journals });
        }
    }
}

/// Removes unfinished files that no command writes any more, with the files that SQLite kept beside
/// them.
fn remove_leftovers(folder: &Path) -> io::Result<()> {
    let mut names = BTreeSet::new();
    for entry in folder.read_dir()? {
        names.extend(
            entry?
                .file_name()
                .to_str()
                .and_then(unfinished_name)
                .map(str::to_owned),
        );
    }
    for path in names.into_iter().map(|name| folder.join(name)) {
        let is_leftover = match &File::open(&path) {
            Ok(file) => flock(file, FlockOperation::NonBlockingLockExclusive).is_ok(),
            // Only the files beside it are left.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_leftover {
            remove_journals(&path);
            let _ = remove_file(&path);
        }
    }
    Ok(())
}

/// Removes the files that SQLite kept beside an unfinished one. The next command tries again where
/// one cannot be removed.
fn remove_journals(part: &Path) {
    for ending in JOURNALS {
        // Most of them do not exist.
        let _ = remove_file(sibling_file(part, ending));
    }
}

/// The name of the unfinished file that has this name, or that SQLite keeps a file of this name
/// for.
fn unfinished_name(name: &str) -> Option<&str> {
    let name = JOURNALS
        .iter()
        .find_map(|ending| name.strip_suffix(ending))
        .unwrap_or(name);
    let random = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    (random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric()))
        .then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unfinished_file_is_removed_with_the_files_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let part = create_beside(&folder.path().join("backup.db")).unwrap();
        for ending in JOURNALS {
            std::fs::write(sibling_file(part.file.path(), ending), "left").unwrap();
        }
        drop(part);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
