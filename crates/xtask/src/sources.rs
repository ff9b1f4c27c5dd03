//! The files of the repository, and functions that run programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::failure::Failure;

/// The texts of all files that git tracks or would add, by path from the top folder.
pub(crate) struct Sources(BTreeMap<String, String>);

impl Sources {
    /// Reads the sources. The current folder must be the top folder.
    pub(crate) fn read() -> Result<Self, Failure> {
        let listed = output(Command::new("git").args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]))?;
        let mut texts = BTreeMap::new();
        for path in listed.split('\0').filter(|path| Path::new(path).is_file()) {
            texts.insert(
                path.to_owned(),
                String::from_utf8_lossy(&fs::read(path)?).into_owned(),
            );
        }
        Ok(Self(texts))
    }

    /// Returns the text of a file; empty if there is no such file.
    pub(crate) fn text(&self, path: &str) -> &str {
        self.0.get(path).map_or("", String::as_str)
    }

    /// Returns all paths, in order.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Returns the paths and texts of all files in these folders whose name has this ending.
    pub(crate) fn below<'a>(&'a self, folders: &[&str], ending: &str) -> Vec<(&'a str, &'a str)> {
        let is_below = |path: &str, folder: &str| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let files = self.0.iter().filter(|(path, _)| {
            path.ends_with(ending) && folders.iter().any(|folder| is_below(path, folder))
        });
        files
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect()
    }

    /// Returns the names of the crates in `crates`.
    pub(crate) fn crates(&self) -> Vec<&str> {
        let folders = self
            .paths()
            .filter_map(|path| path.strip_prefix("crates/")?.strip_suffix("/Cargo.toml"));
        folders.filter(|name| !name.contains('/')).collect()
    }
}

#[cfg(test)]
impl Sources {
    /// Adds a file for a test.
    pub(crate) fn insert(&mut self, path: &str, text: &str) {
        self.0.insert(path.to_owned(), text.to_owned());
    }
}

#[cfg(test)]
impl<const N: usize> From<[(&str, &str); N]> for Sources {
    fn from(files: [(&str, &str); N]) -> Self {
        Self(
            files
                .map(|(path, text)| (path.to_owned(), text.to_owned()))
                .into(),
        )
    }
}

/// Whether this character can be part of a Rust identifier.
pub(crate) fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Runs a program and shows its output. Fails if the program fails.
pub(crate) fn execute(command: &mut Command) -> Result<(), Failure> {
    if command.status()?.success() {
        Ok(())
    } else {
        Err(format!("failed: {command:?}").into())
    }
}

/// Runs a program and returns its standard output. Fails if the program fails.
pub(crate) fn output(command: &mut Command) -> Result<String, Failure> {
    let output = command.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err(format!("failed: {command:?}").into());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Copies a folder with all of its contents.
pub(crate) fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let copy = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &copy)?;
        } else {
            fs::copy(entry.path(), &copy)?;
        }
    }
    Ok(())
}
