//! Where the copy is: a folder of CSV files, or an SQLite file. In both the program keeps what it
//! knows in an SQLite database.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::private_file::create_or_restrict;

/// The database in a folder of CSV files.
const DATABASE_OF_FOLDER: &str = "trainee-sync.db";

/// Where the copy is.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A folder with `trainees.csv`, `placements.csv` and `degrees.csv`.
    CsvFolder(PathBuf),
    SqliteFile(PathBuf),
}

/// The right to change a copy, which one process has at a time. It ends with the process, however
/// that ends.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Place {
    /// The database of the copy.
    pub(crate) fn database(&self) -> PathBuf {
        match self {
            Self::CsvFolder(folder) => folder.join(DATABASE_OF_FOLDER),
            Self::SqliteFile(file) => file.clone(),
        }
    }

    /// Makes the folder where it is missing, and keeps other processes from changing the copy.
    pub(crate) fn lock(&self) -> Result<Lock> {
        if let Self::CsvFolder(folder) = self {
            create_private_folder(folder)?;
        }
        let database = self.database();
        let lock = database.with_added_extension("lock");
        let file = create_or_restrict(&lock)?;
        match file.try_lock() {
            Ok(()) => Ok(Lock { _file: file }),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "another trainee-sync is using {}; wait until it has ended, or end it",
                    database.display()
                )
            }
            Err(TryLockError::Error(error)) => Err(error).with_context(|| {
                format!(
                    "{} cannot be locked; keep the copy on a disk of this machine",
                    lock.display()
                )
            }),
        }
    }
}

fn create_private_folder(folder: &Path) -> Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        outcome => outcome.with_context(|| {
            format!(
                "{} cannot be made; check the path and who may write there",
                folder.display()
            )
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_copy_is_made_and_not_those_above() {
        let folder = tempfile::tempdir().unwrap();
        let place = |name: &str| Place::CsvFolder(folder.path().join(name));
        assert!(
            place("absent/copy")
                .lock()
                .unwrap_err()
                .to_string()
                .contains("cannot be made")
        );
        assert!(!folder.path().join("absent").exists());
        place("copy").lock().unwrap();
        place("copy/inner").lock().unwrap();
    }

    #[test]
    fn copy_is_used_by_one_process_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::CsvFolder(folder.path().join("copy"));
        let lock = place.lock().unwrap();
        assert!(
            place
                .lock()
                .unwrap_err()
                .to_string()
                .contains("another trainee-sync")
        );
        drop(lock);
        place.lock().unwrap();
    }
}
