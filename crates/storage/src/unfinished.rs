//! The unfinished files of commands: those that are being written, and those of commands that were ended before they could
//! remove them.
//!
//! A command that writes such a file holds a lock on it (`flock`, which SQLite does not use), by which the others know that it
//! is no leftover. Where the file system has no such locks, nothing is known to be a leftover, and nothing is removed.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use tempfile::NamedTempFile;

/// How the name of an unfinished file ends.
const SUFFIX: &str = ".part";
/// The characters between its beginning and its end.
const RANDOM_CHARS: usize = 6;

/// The unfinished files of one use. They are in the folder in which they are to get their names.
pub(crate) struct UnfinishedFiles {
    /// How their names begin.
    pub(crate) prefix: &'static str,
    /// What is appended to their names for the files that SQLite keeps beside them.
    pub(crate) journals: &'static [&'static str],
}

impl UnfinishedFiles {
    /// Creates one in a folder. It is locked until it is closed, and removed unless it is given a name.
    pub(crate) fn create(&self, folder: &Path) -> io::Result<NamedTempFile> {
        loop {
            let file = tempfile::Builder::new().prefix(self.prefix).suffix(SUFFIX).tempfile_in(folder)?;
            if let Err(error) = flock(&file, FlockOperation::LockExclusive) {
                log::debug!("an unfinished file cannot be locked: {error}");
            }
            // Another command may have taken it for a leftover before it was locked.
            if file.path().exists() {
                return Ok(file);
            }
        }
    }

    /// Removes those of a folder that no command writes any more, with the files that SQLite kept beside them. One that cannot
    /// be locked or removed stays.
    pub(crate) fn remove_leftovers(&self, folder: &Path) -> io::Result<()> {
        let mut names = BTreeSet::new();
        for entry in folder.read_dir()? {
            names.extend(entry?.file_name().to_str().and_then(|name| self.unfinished_name(name)).map(str::to_owned));
        }
        for name in names {
            let path = folder.join(&name);
            let file = File::open(&path);
            let is_left = match &file {
                Ok(file) => flock(file, FlockOperation::NonBlockingLockExclusive).is_ok(),
                // Only the files beside it are left.
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            if is_left {
                self.remove_journals(&path);
                // It may be gone already.
                let _ = std::fs::remove_file(&path);
            }
        }
        Ok(())
    }

    /// Removes what SQLite kept beside one of them. What cannot be removed stays: the next command tries again.
    pub(crate) fn remove_journals(&self, file: &Path) {
        for ending in self.journals {
            let mut journal = file.as_os_str().to_owned();
            journal.push(ending);
            // Most of them do not exist.
            let _ = std::fs::remove_file(journal);
        }
    }

    /// The name of the unfinished file that a file is, or beside which SQLite keeps it.
    fn unfinished_name<'n>(&self, name: &'n str) -> Option<&'n str> {
        let name = self.journals.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
        let random = name.strip_prefix(self.prefix)?.strip_suffix(SUFFIX)?;
        (random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(name)
    }
}
