//! Removes the lines of erased trainees from the files of archived months.
//!
//! The digest of the new file is recorded before the file takes the place of the old one. When that is interrupted, the old file
//! without those lines is what is recorded, so the same call goes on there.

use std::path::Path;

use super::file::{Draft, each_line, open, path_of};
use super::line::HistoryLine;
use super::{Archive, ArchiveError, ArchivedMonth, Kind, books};
use crate::erasure::OPERATION;

/// Whether a line is the entry of an erasure itself, which holds no values.
fn is_of_erasure(line: &[u8]) -> bool {
    let entry = serde_json::from_slice::<HistoryLine>(line);
    entry.is_ok_and(|entry| entry.operation == OPERATION && entry.fields.is_empty())
}

impl Archive<'_> {
    /// Removes the entries of trainees from the files of all archived months of the history, and returns how many there were.
    /// Those of their erasures stay: they say nothing of the person. All files must be in the folder.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`]. Files that were written before stay so, and the same call goes on there.
    pub fn erase(&mut self, trainee_ids: &[String], folder: &Path) -> Result<u64, ArchiveError> {
        let beginnings: Vec<String> = trainee_ids.iter().filter_map(|id| HistoryLine::beginning(id)).collect();
        let is_of_them = |line: &[u8]| beginnings.iter().any(|beginning| line.starts_with(beginning.as_bytes()));
        let is_erased = |line: &[u8]| is_of_them(line) && !is_of_erasure(line);
        let mut erased = 0;
        for month in books::of_kind(&mut self.connection, Kind::History)? {
            erased += self.erase_from(&month, folder, is_erased)?;
        }
        Ok(erased)
    }

    fn erase_from(
        &mut self,
        month: &ArchivedMonth,
        folder: &Path,
        is_erased: impl Fn(&[u8]) -> bool,
    ) -> Result<u64, ArchiveError> {
        let path = path_of(folder, month);
        // Before the draft makes the folder, which may not be the one that is meant.
        drop(open(&path)?);
        let (mut draft, mut erased) = (Draft::begin(folder)?, 0);
        let digest = each_line(&path, |number, _, line| {
            if is_erased(line) {
                erased += 1;
                return Ok(());
            }
            let malformed = || ArchiveError::Malformed { path: path.clone(), line: number };
            let entry: HistoryLine = serde_json::from_slice(line).map_err(|_| malformed())?;
            draft.set_key(entry.id);
            draft.add_line(line)
        })?;
        let done = draft.done();
        if digest == month.digest && erased > 0 {
            self.write_transaction(|connection| books::replace(connection, month, &done))?;
        } else if digest != month.digest && done.digest != month.digest {
            return Err(ArchiveError::Differs(path));
        }
        if erased > 0 {
            draft.finish(&path, Some(&digest))?;
        }
        Ok(erased)
    }
}
