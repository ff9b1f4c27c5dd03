//! Reference data in files: lists that take the place of those in the program, and the latter
//! written out.
//!
//! Knows folders and files; what is in them is for [`domain::lists`].

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use domain::Lists;
use domain::lists::{ListError, ListErrorKind, Table};

/// How the files' names end.
const EXTENSION: &str = "csv";

/// Why reference data cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceDataError {
    /// A file or a folder cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The folder cannot be read.
    #[error("{}: {source}; `reference-data export` writes a folder of lists", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file to be written is there already.
    #[error("{} is there already and stays as it is: give another folder, or move the file away", .0.display())]
    Exists(PathBuf),
    /// A file is called like no list.
    #[error("{}: no list has this name; `reference-data export` writes them all", .0.display())]
    UnknownName(PathBuf),
    /// A file is not UTF-8.
    #[error("{}: the file is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// A list is malformed.
    #[error("{}, line {line}: {kind}", .path.display())]
    Malformed {
        /// Its file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// What is wrong there.
        kind: ListErrorKind,
    },
}

/// The lists in the program, except those for which there is a file in the folder. Files and
/// folders whose names begin with a dot are passed over.
///
/// # Errors
///
/// Why a file cannot be used.
pub fn with_files_of(folder: &Path) -> Result<&'static Lists, ReferenceDataError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        |source| ReferenceDataError::File { path, source }
    };
    let mut texts = HashMap::new();
    let unreadable = |source| ReferenceDataError::Folder {
        path: folder.to_owned(),
        source,
    };
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(failed(folder))?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        let path = entry.path();
        let table = Lists::tables().find(|table| entry.file_name() == *file_name(table));
        let table = table.ok_or_else(|| ReferenceDataError::UnknownName(path.clone()))?;
        let bytes = fs::read(&path).map_err(failed(&path))?;
        texts.insert(
            table.name,
            String::from_utf8(bytes).map_err(|_| ReferenceDataError::NotText(path))?,
        );
    }
    let lists =
        Lists::with_replacements(|name| texts.get(name).map(String::as_str)).map_err(|error| {
            let ListError { list, line, kind } = error;
            ReferenceDataError::Malformed {
                path: folder.join(format!("{list}.{EXTENSION}")),
                line,
                kind,
            }
        })?;
    let mut replaced: Vec<_> = texts.into_keys().collect();
    replaced.sort_unstable();
    log::info!("lists from {}: {}", folder.display(), replaced.join(", "));
    // Made once, at start, and used as long as the program runs.
    Ok(Box::leak(Box::new(lists)))
}

/// Writes the lists in the program into a folder, which is made in one that exists when it is
/// absent, and gives their number.
///
/// # Errors
///
/// Why a file cannot be written; one that is there already is not touched.
pub fn export(folder: &Path) -> Result<usize, ReferenceDataError> {
    let write =
        |path: &Path, table: &Table| fs::File::create_new(path)?.write_all(table.text.as_bytes());
    create_folder(folder).map_err(|source| ReferenceDataError::File {
        path: folder.to_owned(),
        source,
    })?;
    let mut count = 0;
    for table in Lists::tables() {
        let path = folder.join(file_name(&table));
        write(&path, &table).map_err(|source| {
            let is_there = source.kind() == io::ErrorKind::AlreadyExists;
            if is_there {
                ReferenceDataError::Exists(path)
            } else {
                ReferenceDataError::File { path, source }
            }
        })?;
        count += 1;
    }
    Ok(count)
}

/// Makes a folder in one that exists, unless it is there already. A whole path that is made would
/// hide that it was mistyped, or that a disk is not mounted.
///
/// # Errors
///
/// Why the folder cannot be made.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        outcome => outcome,
    }
}

fn file_name(table: &Table) -> String {
    format!("{}.{EXTENSION}", table.name)
}

#[cfg(test)]
mod tests {
    use domain::List;

    use super::*;

    #[test]
    fn what_is_exported_can_be_used_and_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("lists");
        assert_eq!(export(&folder).unwrap(), List::ALL.len() + 2);
        let lists = with_files_of(&folder).unwrap();
        for list in List::ALL {
            assert_eq!(lists.entries(*list), Lists::embedded().entries(*list));
        }
        let refused = export(&folder).unwrap_err().to_string();
        assert!(refused.contains("country.csv"), "{refused}");
    }

    #[test]
    fn a_file_that_cannot_be_used_is_refused_by_name_and_line() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |name: &str, bytes: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, bytes).unwrap();
            let error = with_files_of(folder.path()).unwrap_err().to_string();
            fs::remove_file(&path).unwrap();
            error
                .strip_prefix(path.to_str().unwrap())
                .unwrap_or(&error)
                .to_owned()
        };
        assert_eq!(
            refused("sex.csv", b"code,name\n10,Female\n10,Male\n"),
            ", line 3: code 10 is there already"
        );
        assert_eq!(
            refused("sex.csv", b"code,name\n10,\xff\n"),
            ": the file is not UTF-8 text"
        );
        assert!(
            refused("sexes.csv", b"code,name\n10,Female\n").starts_with(": no list has this name")
        );
        fs::write(folder.path().join(".keep"), "").unwrap();
        with_files_of(folder.path()).unwrap();
    }
}
