//! Removes the lines of erased trainees from the files of archived months.
//!
//! The digest of the new file is recorded before the file takes the place of the old one. When that is interrupted, the old file
//! without those lines is what is recorded, so the same call goes on there.

use std::path::Path;

use super::file::{Draft, each_line, open, path_of};
use super::line::HistoryLine;
use super::{Archive, ArchiveError, ArchivedMonth, file, manifest};
use crate::erasure::OPERATION;

/// Which files an erasure takes for those of archived months.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArchiveFiles {
    /// Those whose digests the database has.
    AsRecorded,
    /// Also those with fewer entries: the database was restored from a backup that is older than an erasure from them.
    AsRecordedOrShorter,
}

/// Whether a line is the entry of an erasure itself, which holds no values.
fn is_of_erasure(line: &[u8]) -> bool {
    let entry = serde_json::from_slice::<HistoryLine>(line);
    entry.is_ok_and(|entry| entry.operation == OPERATION && entry.fields.is_empty())
}

impl Archive<'_> {
    /// Removes the entries of trainees from the files of all archived months of the history, and returns how many there were.
    /// Those of their erasures stay: they say nothing of the person. All files must be in the folder. Files that commands left
    /// unfinished are removed.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]; [`ArchiveError::Unfinished`] when all months are done. Files that were written before stay so, and the
    /// same call goes on there.
    pub fn erase(
        &mut self,
        trainee_ids: &[String],
        folder: &Path,
        accepted: ArchiveFiles,
    ) -> Result<u64, ArchiveError> {
        let beginnings: Vec<String> = trainee_ids.iter().filter_map(|id| HistoryLine::beginning(id)).collect();
        let is_of_them = |line: &[u8]| beginnings.iter().any(|beginning| line.starts_with(beginning.as_bytes()));
        let is_erased = |line: &[u8]| is_of_them(line) && !is_of_erasure(line);
        // Before the months are read: whoever begins to write after this reads entries without those of these trainees.
        let unfinished = file::remove_leftovers(folder)?;
        let mut erased = 0;
        // Whoever has just given a file its name has yet to commit that the month is recorded.
        let months = self.write_transaction(manifest::history_when_recorded)?;
        for month in months {
            erased += self.erase_from(&month, folder, accepted, is_erased)?;
        }
        unfinished.into_iter().next().map_or(Ok(erased), |path| Err(ArchiveError::Unfinished(path)))
    }

    fn erase_from(
        &mut self,
        month: &ArchivedMonth,
        folder: &Path,
        accepted: ArchiveFiles,
        is_erased: impl Fn(&[u8]) -> bool,
    ) -> Result<u64, ArchiveError> {
        let path = path_of(folder, month);
        // Before the draft makes the folder, which may not be the one that is meant.
        drop(open(&path)?);
        let (mut draft, mut erased) = (Draft::begin(folder)?, 0);
        let (mut entries, mut last, mut is_within) = (0, 0, true);
        let digest = each_line(&path, |number, _, line| {
            let malformed = || ArchiveError::Malformed { path: path.clone(), line: number };
            let entry: HistoryLine = serde_json::from_slice(line).map_err(|_| malformed())?;
            is_within &= entry.id > last && (month.first_entry..=month.last_entry).contains(&entry.id);
            (entries, last) = (entries + 1, entry.id);
            if is_erased(line) {
                erased += 1;
                return Ok(());
            }
            draft.set_key(entry.id);
            draft.add_line(line)
        })?;
        let done = draft.done();
        let is_shorter = is_within && entries < month.entries;
        let is_known = match accepted {
            ArchiveFiles::AsRecorded => digest == month.digest,
            ArchiveFiles::AsRecordedOrShorter => digest == month.digest || is_shorter,
        };
        if is_known && done.digest != month.digest {
            self.write_transaction(|connection| manifest::replace(connection, month, &done))?;
        } else if done.digest != month.digest {
            return Err(ArchiveError::Differs(path));
        }
        if erased > 0 {
            draft.finish(&path, Some(&digest))?;
        }
        Ok(erased)
    }
}
