//! Temporary files of unfinished databases, in the folder of the file that they will replace.
//!
//! A command holds a lock on its temporary file (`flock`, which SQLite does not use), so that other
//! commands can distinguish it from a leftover of a killed command. On a file system without such
//! locks, no leftovers are removed.

use std::collections::BTreeSet;
use std::fs::{File, remove_file};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

use super::{BackupError, JOURNALS, folder_of, sibling_file};

/// The start of the name of a temporary file.
const PREFIX: &str = ".register-";
/// The end of the name of a temporary file.
const SUFFIX: &str = ".part";
/// The number of random characters between prefix and suffix.
const RANDOM_CHARS: usize = 6;

/// A temporary file. Dropping it removes it and the files that SQLite keeps beside it.
#[derive(Debug)]
pub(super) struct Part {
    /// Locked until it is closed, and readable by its owner only.
    pub(super) file: NamedTempFile,
    pub(super) journals: Journals,
}

/// The files that SQLite keeps beside the temporary file with this path. Dropping it removes them.
#[derive(Debug)]
pub(super) struct Journals(PathBuf);

impl Drop for Journals {
    fn drop(&mut self) {
        remove_journals(&self.0);
    }
}

/// Creates a temporary file in the folder of another file. The folder must exist.
pub(super) fn create_beside(file: &Path) -> Result<Part, BackupError> {
    let folder = folder_of(file);
    // A leftover that cannot be removed does not prevent a backup.
    let _ = remove_leftovers(folder);
    loop {
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .tempfile_in(folder)
            .map_err(BackupError::file_error(folder))?;
        if let Err(error) = flock(&file, FlockOperation::LockExclusive) {
            log::debug!("temporary backup file not locked: {error}");
        }
        // Another command may have removed the file as a leftover before it was locked.
        if file.path().exists() {
            let journals = Journals(file.path().to_owned());
            return Ok(Part { file, journals });
        }
    }
}

/// Removes temporary files of ended commands, with the files that SQLite kept beside them.
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
            // The temporary file is gone. Only files beside it are left.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        };
        if is_leftover {
            remove_journals(&path);
            let _ = remove_file(&path);
        }
    }
    Ok(())
}

/// Removes the files that SQLite kept beside a temporary file. If one cannot be removed, the next
/// command tries again.
fn remove_journals(part: &Path) {
    for ending in JOURNALS {
        // Most of these files do not exist.
        let _ = remove_file(sibling_file(part, ending));
    }
}

/// The name of a temporary file, from its own name or from the name of a file that SQLite keeps
/// beside it. `None` for other files.
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
    fn dropped_part_is_removed_with_journals() {
        let folder = tempfile::tempdir().unwrap();
        let part = create_beside(&folder.path().join("backup.db")).unwrap();
        for ending in JOURNALS {
            std::fs::write(sibling_file(part.file.path(), ending), "left").unwrap();
        }
        drop(part);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }
}
