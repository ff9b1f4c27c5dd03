//! The file of a month: lines of JSON.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, BufWriter, Read, Write as _};
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use tempfile::NamedTempFile;

use super::{ArchiveError, ArchivedMonth};
use crate::unfinished::UnfinishedFiles;

/// Files of months that are being written.
const UNFINISHED: UnfinishedFiles = UnfinishedFiles { prefix: ".archive-", journals: &[] };

/// A file that is being written and has no name yet. It is removed unless it is finished. Only its owner can read it.
pub(super) struct Draft {
    /// Nothing where only the digest is asked for.
    file: Option<BufWriter<NamedTempFile>>,
    digest: Sha256,
    done: Done,
}

/// What was written to a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) entries: i64,
    /// The least and the greatest key of an entry; 0 where none was noted.
    pub(super) first_entry: i64,
    pub(super) last_entry: i64,
    pub(super) bytes: i64,
    pub(super) digest: String,
}

impl Draft {
    /// Begins a file in a folder that exists.
    pub(super) fn begin(folder: &Path) -> Result<Self, ArchiveError> {
        let failed = failed_at(folder);
        let file = UNFINISHED.create(folder).map_err(&failed)?;
        Ok(Self { file: Some(BufWriter::new(file)), ..Self::of_digest() })
    }

    /// Begins what is no file, to compare its digest.
    pub(super) fn of_digest() -> Self {
        Self { file: None, digest: Sha256::new(), done: Done::default() }
    }

    /// Adds a line.
    pub(super) fn add(&mut self, line: &impl Serialize) -> Result<(), ArchiveError> {
        let mut text = serde_json::to_vec(line).map_err(|error| self.failed(error.into()))?;
        text.push(b'\n');
        self.add_line(&text)
    }

    /// Adds a line as it stands in another file, with its end.
    pub(super) fn add_line(&mut self, text: &[u8]) -> Result<(), ArchiveError> {
        self.digest.update(text);
        self.done.entries += 1;
        self.done.bytes += i64::try_from(text.len()).unwrap_or_default();
        let Some(file) = &mut self.file else { return Ok(()) };
        let outcome = file.write_all(text);
        outcome.map_err(|error| self.failed(error))
    }

    /// Notes the key of an entry that was added; keys come in their order.
    pub(super) fn set_key(&mut self, key: i64) {
        if self.done.first_entry == 0 {
            self.done.first_entry = key;
        }
        self.done.last_entry = key;
    }

    /// What was written so far.
    pub(super) fn done(&self) -> Done {
        Done { digest: HEXLOWER.encode(&self.digest.clone().finalize()), ..self.done.clone() }
    }

    /// Brings the file to the disk, so that little is left to do for [`Self::finish`].
    pub(super) fn sync(&mut self) -> Result<(), ArchiveError> {
        let Some(file) = &mut self.file else { return Ok(()) };
        let outcome = file.flush().and_then(|()| file.get_ref().as_file().sync_all());
        outcome.map_err(|error| self.failed(error))
    }

    /// Brings the file to the disk, then its name. A file of the name is replaced when it is the same, or has that digest.
    pub(super) fn finish(self, path: &Path, replaced: Option<&str>) -> Result<Done, ArchiveError> {
        let done = self.done();
        let failed = failed_at(path);
        let Some(file) = self.file else { return Ok(done) };
        let draft = file.into_inner().map_err(|error| failed(error.into_error()))?;
        draft.as_file().sync_all().map_err(&failed)?;
        if path.exists() {
            let there = digest(path)?;
            if there != done.digest && Some(there.as_str()) != replaced {
                return Err(ArchiveError::Exists(path.to_owned()));
            }
            draft.persist(path).map_err(|error| failed(error.error))?;
        } else {
            // Nobody else's file is replaced, also when it has just come.
            draft.persist_noclobber(path).map_err(|error| failed(error.error))?;
        }
        let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(&failed)?;
        Ok(done)
    }

    fn failed(&self, source: io::Error) -> ArchiveError {
        let path = self.file.as_ref().map(|file| file.get_ref().path().to_owned());
        ArchiveError::File { path: path.unwrap_or_default(), source }
    }
}

fn failed_at(path: &Path) -> impl Fn(io::Error) -> ArchiveError {
    let path = path.to_owned();
    move |source| ArchiveError::File { path: path.clone(), source }
}

pub(super) fn open(path: &Path) -> Result<File, ArchiveError> {
    File::open(path).map_err(|error| {
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if is_missing { ArchiveError::Missing(path.to_owned()) } else { failed_at(path)(error) }
    })
}

fn digest(path: &Path) -> Result<String, ArchiveError> {
    let mut file = open(path)?;
    let mut digest = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let read = file.read(&mut buffer).map_err(failed_at(path))?;
        if read == 0 {
            return Ok(HEXLOWER.encode(&digest.finalize()));
        }
        digest.update(buffer.get(..read).unwrap_or_default());
    }
}

/// Fails unless the file is what was archived.
pub(super) fn verify(path: &Path, month: &ArchivedMonth) -> Result<(), ArchiveError> {
    if digest(path)? == month.digest { Ok(()) } else { Err(ArchiveError::Differs(path.to_owned())) }
}

/// Shows each line of the file of a month, with its number and where it begins, and fails unless the file is what was
/// archived. That is only known at its end.
pub(super) fn lines(
    path: &Path,
    month: &ArchivedMonth,
    mut see: impl FnMut(u64, u64, &[u8]) -> Result<(), ArchiveError>,
) -> Result<(), ArchiveError> {
    let mut outcome = Ok(());
    let digest = each_line(path, |number, at, line| {
        // That the file is another one says more than what is wrong with its lines.
        if outcome.is_ok() {
            outcome = see(number, at, line);
        }
        Ok(())
    })?;
    if digest == month.digest { outcome } else { Err(ArchiveError::Differs(path.to_owned())) }
}

/// Shows each line of a file, with its number and where it begins, and returns the digest of the file.
pub(super) fn each_line(
    path: &Path,
    mut see: impl FnMut(u64, u64, &[u8]) -> Result<(), ArchiveError>,
) -> Result<String, ArchiveError> {
    let mut file = BufReader::new(open(path)?);
    let (mut digest, mut line) = (Sha256::new(), Vec::new());
    let (mut number, mut at) = (0, 0);
    loop {
        line.clear();
        let read = file.read_until(b'\n', &mut line).map_err(failed_at(path))?;
        if read == 0 {
            return Ok(HEXLOWER.encode(&digest.finalize()));
        }
        digest.update(&line);
        number += 1;
        see(number, at, &line)?;
        at += read as u64;
    }
}

/// Removes the drafts of a folder that no command writes any more, and returns those that stay.
pub(super) fn remove_leftovers(folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    match UNFINISHED.remove_leftovers(folder) {
        // Nothing was ever written there.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        outcome => outcome.map_err(failed_at(folder)),
    }
}

/// Where the file of a month is.
pub(super) fn path_of(folder: &Path, month: &ArchivedMonth) -> PathBuf {
    folder.join(month.file_name())
}
