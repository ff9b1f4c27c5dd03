//! Packages of npm that tests use, at the versions of a lock file.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::{fs, io};

use crate::tools::{Tool, report_skipped};

/// One test of a process installs packages at a time.
static INSTALLING: Mutex<()> = Mutex::new(());

/// Installs the packages of the lock file in `sources` into `folder`, unless they are there.
/// Returns whether they are: where npm cannot get them, the calling test is reported as skipped,
/// and must return.
///
/// # Panics
///
/// When files cannot be written, or there is no npm: the test must ask for [`Tool::Npm`] first.
#[must_use]
pub fn has_npm_packages(sources: &Path, folder: &Path) -> bool {
    let _one = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let refusal =
        install(sources, folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    match refusal {
        None => true,
        Some(refusal) => {
            report_skipped(&format!("packages of the npm registry: {refusal}"));
            false
        }
    }
}

/// Returns what npm says when it cannot get the packages.
fn install(sources: &Path, folder: &Path) -> io::Result<Option<String>> {
    let lock = fs::read(sources.join("package-lock.json"))?;
    let done = folder.join("installed");
    if fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(None);
    }
    fs::create_dir_all(folder)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(sources.join(file), folder.join(file))?;
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let npm = Tool::Npm
        .command()
        .args(arguments)
        .current_dir(folder)
        .output()?;
    if !npm.status.success() {
        return Ok(Some(String::from_utf8_lossy(&npm.stderr).into_owned()));
    }
    fs::write(done, lock)?;
    Ok(None)
}
