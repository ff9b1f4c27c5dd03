//! Runs the tests and accepts changed snapshots.
//!
//! A changed snapshot of a released version is shown and restored, unless `ACCEPT_RELEASED=1` is
//! set. Such a change of a contract needs a line in CHANGELOG.md. A version with a
//! `tests/decided.rs` is not released yet.

use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use crate::failure::Failure;
use crate::sources::{copy_folder, execute};

/// Runs the tests with these arguments. Fails if a test fails or if a snapshot was restored.
pub(crate) fn run(arguments: &[&str]) -> Result<String, Failure> {
    let before = env::temp_dir().join(format!("snapshots-{}", process::id()));
    copy_folder(Path::new("snapshots"), &before)?;
    // A failed test does not stop the comparison, because a changed contract makes other tests
    // fail.
    let test = ["test", "--workspace", "--no-fail-fast"];
    let tested = execute(
        Command::new("cargo")
            .args(test)
            .args(arguments)
            .env("INSTA_UPDATE", "always"),
    );
    let accepts = env::var("ACCEPT_RELEASED").is_ok_and(|value| value == "1");
    let restored = restore_released(Path::new("."), &before, accepts);
    fs::remove_dir_all(&before)?;
    let mut refused: Vec<String> = restored?
        .iter()
        .map(|label| {
            format!("snapshots: {label} is released; its changes, shown above, were reverted")
        })
        .collect();
    if !refused.is_empty() {
        refused.push(
            "snapshots: to accept changes of a released version, run ACCEPT_RELEASED=1 make snapshots".to_owned(),
        );
        return Err(Failure(refused));
    }
    tested.map(|()| "snapshots: accepted".to_owned())
}

/// Shows the changes in the snapshots of released versions since `before`. Unless `accepts` is set,
/// restores changed snapshots and returns the labels of these versions.
fn restore_released(root: &Path, before: &Path, accepts: bool) -> Result<Vec<String>, Failure> {
    let mut restored = Vec::new();
    let mut folders: Vec<_> = fs::read_dir(root.join("snapshots"))?.collect::<Result<_, _>>()?;
    folders.sort_by_key(fs::DirEntry::file_name);
    for folder in folders {
        let label = folder.file_name().to_string_lossy().into_owned();
        let old = before.join(&label);
        let new = folder.path();
        let undecided = root.join(format!(
            "crates/api-{}/tests/decided.rs",
            label.replace('.', "-")
        ));
        if !label.starts_with('v') || !new.is_dir() || !old.is_dir() || undecided.exists() {
            continue;
        }
        let changed = execute(
            Command::new("diff")
                .args(["--recursive", "--unified=1"])
                .args([&old, &new]),
        )
        .is_err();
        if changed && !accepts {
            fs::remove_dir_all(&new)?;
            copy_folder(&old, &new)?;
            restored.push(label);
        }
    }
    Ok(restored)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Restores snapshots in a folder with changed snapshots of two released versions and of an
    /// undecided version, and with a new version. Returns the labels, and the snapshots of the
    /// first three versions.
    fn restore(name: &str, accepts: bool) -> (Vec<String>, [String; 3]) {
        let root = env::temp_dir().join(format!("xtask-snapshots-{name}-{}", process::id()));
        let before = root.join("before");
        for (file, text) in [
            ("before/v2029.0/shape.json", "old"),
            ("before/v2030.0/openapi.json", "old"),
            ("before/v2031.0/openapi.json", "old"),
            ("snapshots/v2029.0/shape.json", "new"),
            ("snapshots/v2030.0/openapi.json", "new"),
            ("snapshots/v2031.0/openapi.json", "new"),
            ("snapshots/v2032.0/openapi.json", "new"),
            ("snapshots/versions.snap", "new"),
            ("crates/api-v2031-0/tests/decided.rs", ""),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let restored = restore_released(&root, &before, accepts).unwrap();
        let texts = [
            "v2029.0/shape.json",
            "v2030.0/openapi.json",
            "v2031.0/openapi.json",
        ]
        .map(|file| fs::read_to_string(root.join("snapshots").join(file)).unwrap());
        fs::remove_dir_all(&root).unwrap();
        (restored, texts)
    }

    #[test]
    fn changed_snapshot_of_released_version_is_restored() {
        assert_eq!(
            restore("refused", false),
            (
                vec!["v2029.0".to_owned(), "v2030.0".to_owned()],
                ["old", "old", "new"].map(str::to_owned)
            )
        );
    }

    #[test]
    fn accepted_change_is_kept() {
        assert_eq!(
            restore("accepted", true),
            (Vec::new(), ["new", "new", "new"].map(str::to_owned))
        );
    }
}
