//! Reads the entries of trainees back from the files of removed months.

use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom};
use std::path::Path;

use super::file::{lines, path_of};
use super::line::HistoryLine;
use super::{ArchiveError, ArchivedMonth};
use crate::error::StorageError;
use crate::history::Entry;

/// The entries of one trainee in the files of months, which are read to their ends: they must be what was archived.
pub(crate) fn read_entries(
    folder: &Path,
    months: &[ArchivedMonth],
    trainee_id: &str,
) -> Result<Vec<Entry>, ArchiveError> {
    let beginning = HistoryLine::beginning(trainee_id).unwrap_or_default();
    let mut entries = Vec::new();
    for month in months {
        let path = path_of(folder, month);
        let mut found = Vec::new();
        lines(&path, month, |number, _, line| {
            if line.starts_with(beginning.as_bytes()) {
                let malformed = || ArchiveError::Malformed { path: path.clone(), line: number };
                found.push(read(line).and_then(HistoryLine::entry).ok_or_else(malformed)?);
            }
            Ok(())
        })?;
        entries.extend(found);
    }
    Ok(entries)
}

fn read(line: &[u8]) -> Option<HistoryLine> {
    serde_json::from_slice(line).ok()
}

/// Where the lines of all trainees are in the files of months, so that those of any trainee are found. It takes 24 bytes of
/// memory for each line.
pub struct ArchivedEntries {
    files: Vec<BufReader<File>>,
    /// A hash of the trainee's identifier, the file, and where the line begins.
    lines: Vec<(u64, u32, u64)>,
}

impl ArchivedEntries {
    /// Reads the files of months to their ends: they must be what was archived.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::Missing`], [`ArchiveError::Differs`], [`ArchiveError::Malformed`], or when a file cannot be read.
    pub fn open(folder: &Path, months: &[ArchivedMonth]) -> Result<Self, ArchiveError> {
        let mut found = Self { files: Vec::new(), lines: Vec::new() };
        for (number, month) in (0..).zip(months) {
            let path = path_of(folder, month);
            lines(&path, month, |line, at, text| {
                let read = read(text).ok_or_else(|| ArchiveError::Malformed { path: path.clone(), line })?;
                found.lines.push((hash(&read.trainee_id), number, at));
                Ok(())
            })?;
            let file = File::open(&path).map_err(|source| ArchiveError::File { path, source })?;
            found.files.push(BufReader::new(file));
        }
        found.lines.sort_unstable();
        Ok(found)
    }

    /// The archived entries of a trainee.
    pub(crate) fn of(&mut self, trainee_id: &str) -> Result<Vec<Entry>, StorageError> {
        let wanted = hash(trainee_id);
        let first = self.lines.partition_point(|(hash, ..)| *hash < wanted);
        let lines = self.lines.iter().skip(first).take_while(|(hash, ..)| *hash == wanted);
        let mut entries = Vec::new();
        for (_, file, at) in lines {
            let Some(file) = self.files.get_mut(*file as usize) else { continue };
            let mut text = Vec::new();
            file.seek(SeekFrom::Start(*at)).map_err(StorageError::ArchiveFile)?;
            file.read_until(b'\n', &mut text).map_err(StorageError::ArchiveFile)?;
            // Other trainees may have the same hash.
            let line = read(&text).filter(|line| line.trainee_id == trainee_id);
            entries.extend(line.and_then(HistoryLine::entry));
        }
        Ok(entries)
    }
}

fn hash(trainee_id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    trainee_id.hash(&mut hasher);
    hasher.finish()
}
