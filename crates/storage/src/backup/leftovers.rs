//! The unfinished files of commands that were ended before they could remove them.
//!
//! A command that writes such a file holds a lock on it (`flock`, which SQLite does not use), by which the others know that it
//! is no leftover.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

use super::{JOURNALS, beside};

/// How the name of an unfinished file begins.
pub(super) const PREFIX: &str = ".register-";
/// How it ends.
pub(super) const SUFFIX: &str = ".part";
/// The characters between the two.
const RANDOM_CHARS: usize = 6;

/// Marks an unfinished file until it is closed. Where the file system has no such locks nothing is marked, and nothing removed.
pub(super) fn mark_in_use(part: &File) {
    if let Err(error) = flock(part, FlockOperation::LockExclusive) {
        log::debug!("an unfinished file cannot be locked: {error}");
    }
}

/// Removes the unfinished files of a folder that no command writes any more, with the files that SQLite kept beside them.
/// What cannot be removed stays: it is no reason to make no backup.
pub(super) fn remove(folder: &Path) {
    let Ok(entries) = folder.read_dir() else { return };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let parts: BTreeSet<String> = names.filter_map(|name| part_name(&name).map(str::to_owned)).collect();
    for part in parts.iter().map(|name| folder.join(name)) {
        let file = File::open(&part);
        let is_left = match &file {
            Ok(file) => flock(file, FlockOperation::NonBlockingLockExclusive).is_ok(),
            // Only the files beside it are left.
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        };
        if is_left {
            for left in JOURNALS.map(|ending| beside(&part, ending)).iter().chain([&part]) {
                // Most of them do not exist.
                let _ = std::fs::remove_file(left);
            }
        }
    }
}

/// The name of the unfinished file that a file is, or beside which SQLite keeps it.
fn part_name(name: &str) -> Option<&str> {
    let part = JOURNALS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let random = part.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    (random.len() == RANDOM_CHARS && random.bytes().all(|byte| byte.is_ascii_alphanumeric())).then_some(part)
}
