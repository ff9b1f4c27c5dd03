//! Reads lists of reference data from files, and exports the built-in lists.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use domain::Lists;
use domain::lists::{ListError, ListErrorKind, Table};

/// The extension of the files.
const EXTENSION: &str = "csv";

/// The reasons why reference data cannot be used or written.
#[derive(Debug, thiserror::Error)]
pub enum ReferenceDataError {
    /// A file or a folder cannot be read or written.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The folder cannot be read.
    #[error(
        "{}: {source}; run `reference-data export` to write a folder of lists", .path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file to write exists already.
    #[error("{} already exists and is not overwritten: choose another folder, or move the file", .0.display())]
    Exists(PathBuf),
    /// The name of a file is not the name of a list.
    #[error(
        "{}: no list has this name; run `reference-data export` to write all lists", .0.display()
    )]
    UnknownName(PathBuf),
    /// A file is not UTF-8.
    #[error("{}: the file is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    /// A list is malformed.
    #[error("{}, line {line}: {kind}", .path.display())]
    Malformed {
        /// The file of the list.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The error in the line.
        kind: ListErrorKind,
    },
}

/// Loads the built-in lists, and replaces those that have a file of their name in the folder. Skips
/// files and folders whose names begin with a dot.
///
/// # Errors
///
/// The first file that cannot be used.
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
    log::info!(
        "reference data loaded from {}; lists: {}",
        folder.display(),
        replaced.join(", ")
    );
    // Leaked on purpose: created once at start and used until the program ends.
    Ok(Box::leak(Box::new(lists)))
}

/// Writes the built-in lists to a folder and returns their number. Creates the folder if only its
/// last component is missing.
///
/// # Errors
///
/// When a file cannot be written. An existing file is not changed.
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

/// Creates a folder unless it exists. The parent must exist: creating the whole path would hide a
/// typing error or an unmounted disk.
fn create_folder(folder: &Path) -> io::Result<()> {
    match fs::create_dir(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        outcome => outcome,
    }
}

/// The name of the file of a list.
fn file_name(table: &Table) -> String {
    format!("{}.{EXTENSION}", table.name)
}

#[cfg(test)]
mod tests {
    use domain::List;

    use super::*;

    #[test]
    fn exported_lists_are_usable_and_not_overwritten() {
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
    fn invalid_file_is_rejected_with_name_and_line() {
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
