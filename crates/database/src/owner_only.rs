//! Creates files and folders that only their owner can read, regardless of the umask.

use std::fs::{DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

/// Only the owner can read and write.
const FILE_MODE: u32 = 0o600;
/// Only the owner can list, change and enter.
const FOLDER_MODE: u32 = 0o700;

/// Creates a folder. The parent folder must exist. An existing folder keeps its mode.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(FOLDER_MODE).create(folder) {
        Err(_) if folder.is_dir() => Ok(()),
        outcome => outcome,
    }
}

/// Writes a new file, and syncs the file and its folder to the disk. Fails if the file exists.
pub fn write_new_file(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options()
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    path.parent()
        .map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// Creates an empty file, unless it exists. An existing file keeps its mode.
///
/// An existing file is not opened, because closing it would release all locks of this process on
/// it, including those of SQLite.
pub fn create_file(path: &Path) -> io::Result<()> {
    let mut new = File::options();
    new.write(true).mode(FILE_MODE);
    match new.create_new(true).open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        Err(_) if path.exists() => Ok(()),
        // The path is a symbolic link to a missing file.
        Err(_) => new
            .create_new(false)
            .create(true)
            .truncate(false)
            .open(path)
            .map(drop),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn new_files_are_private_and_existing_ones_keep_mode() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let inner = folder.path().join("a");
        let file = folder.path().join("a/file");
        assert!(create_folder(&inner.join("b")).is_err());
        for _ in 0..2 {
            create_folder(&inner).unwrap();
        }
        create_file(&file).unwrap();
        assert_eq!([mode(folder.path()), mode(&inner)], [0o755, 0o700]);
        assert_eq!(mode(&file), 0o600);
        fs::write(&file, "content").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        create_file(&file).unwrap();
        assert_eq!(
            (mode(&file), fs::read_to_string(&file).unwrap().as_str()),
            (0o640, "content")
        );
    }

    #[test]
    fn symbolic_link_to_missing_file_creates_private_file() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        let file = folder.path().join("file");
        symlink(&file, &link).unwrap();
        create_file(&link).unwrap();
        assert_eq!(mode(&file), 0o600);
    }
}
