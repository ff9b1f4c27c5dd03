//! Files that only their owner can read, and that are there whole or not at all.
//!
//! On systems without Unix permissions, who can read a file follows from its folder.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// From here on, whatever this process creates can be read by its owner alone, also what SQLite
/// creates beside its file.
pub(crate) fn restrict_new_files() {
    #[cfg(unix)]
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// Creates the file if it is missing, and takes from others the right to read it if it is there.
pub(crate) fn create_or_restrict(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path);
    let file = file.with_context(|| {
        format!(
            "{} cannot be opened; check the path and who may write there",
            path.display()
        )
    })?;
    restrict(&file).with_context(|| {
        format!(
            "{} cannot be made private; it must belong to you",
            path.display()
        )
    })?;
    Ok(file)
}

#[cfg(unix)]
fn restrict(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    if file.metadata()?.permissions().mode() & 0o077 != 0 {
        file.set_permissions(fs::Permissions::from_mode(0o600))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn restrict(_: &File) -> io::Result<()> {
    Ok(())
}

/// Whether others than the owner can read the file.
#[cfg(unix)]
pub(crate) fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o077 != 0)
}

/// Whether others than the owner can read the file.
#[cfg(not(unix))]
pub(crate) fn is_readable_by_others(_: &Path) -> bool {
    false
}

/// A file that is being written beside the place where it belongs. It takes that place with
/// [`PrivateFile::finish`], and leaves nothing behind if that is never called.
pub(crate) struct PrivateFile {
    target: PathBuf,
    temporary: PathBuf,
    writer: Option<BufWriter<File>>,
}

impl PrivateFile {
    /// Begins a file that will be at `target`.
    pub(crate) fn create(target: &Path) -> Result<Self> {
        let mut name = OsString::from(".");
        name.push(target.file_name().context("a file needs a name")?);
        name.push(".tmp");
        let temporary = target.with_file_name(name);
        let file = create_anew(&temporary);
        let file = file.with_context(|| {
            format!(
                "{} cannot be written; check that its folder exists and who may write there",
                target.display()
            )
        })?;
        Ok(Self {
            target: target.to_owned(),
            temporary,
            writer: Some(BufWriter::new(file)),
        })
    }

    /// Brings the file to the disk and to its place.
    pub(crate) fn finish(mut self) -> Result<()> {
        let finished = self.put_in_place();
        finished.with_context(|| {
            format!(
                "{} cannot be written; check the space on the disk",
                self.target.display()
            )
        })
    }

    fn put_in_place(&mut self) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            writer
                .into_inner()
                .map_err(io::IntoInnerError::into_error)?
                .sync_all()?;
        }
        fs::rename(&self.temporary, &self.target)?;
        sync_folder(&self.target)
    }
}

impl Write for PrivateFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer
            .as_mut()
            .map_or(Ok(0), |writer| writer.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.as_mut().map_or(Ok(()), Write::flush)
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        if self.writer.is_some() {
            let _ = fs::remove_file(&self.temporary);
        }
    }
}

/// A new file: what a killed run has left is removed, and an existing link is not followed.
fn create_anew(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    OpenOptions::new().write(true).create_new(true).open(path)
}

/// A renamed file is there after a loss of power once its folder has been written.
#[cfg(unix)]
fn sync_folder(file: &Path) -> io::Result<()> {
    let folder = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}
