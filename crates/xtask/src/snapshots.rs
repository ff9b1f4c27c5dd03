//! Accepts what the tests write as snapshots.
//!
//! A changed snapshot of a released version is shown and refused, unless `ACCEPT_RELEASED=1` says
//! that its contract is meant to change; such a change needs a line in CHANGELOG.md. A version is
//! not released while its `tests/decided.rs` lists what is left to decide.

use std::path::Path;
use std::process::Command;
use std::{env, fs, process};

use crate::failure::Failure;
use crate::sources::{copy_folder, execute};

/// Runs the tests with these arguments.
pub(crate) fn run(arguments: &[&str]) -> Result<String, Failure> {
    let before = env::temp_dir().join(format!("snapshots-{}", process::id()));
    copy_folder(Path::new("snapshots"), &before)?;
    // Another test may fail because the contract has changed; the snapshots are compared all the
    // same.
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
            format!(
                "snapshots: {label} is released and its snapshots would change, as shown above; they are as they were"
            )
        })
        .collect();
    if !refused.is_empty() {
        refused.push(
            "snapshots: to change the contract of a released version: ACCEPT_RELEASED=1 make snapshots".to_owned(),
        );
        return Err(Failure(refused));
    }
    tested.map(|()| "snapshots: accepted".to_owned())
}

/// Shows what has changed in the snapshots of released versions since `before`. Restores them
/// unless a change is accepted, and returns the labels of these versions.
fn restore_released(root: &Path, before: &Path, accepts: bool) -> Result<Vec<String>, Failure> {
    let mut restored = Vec::new();
    let mut folders: Vec<_> = fs::read_dir(root.join("snapshots"))?.collect::<Result<_, _>>()?;
    folders.sort_by_key(fs::DirEntry::file_name);
    for folder in folders {
        let label = folder.file_name().to_string_lossy().into_owned();
        let (old, new) = (before.join(&label), folder.path());
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

    /// A register with a changed snapshot of a released version and of one that is being decided,
    /// and one that is new.
    fn restore(name: &str, accepts: bool) -> (Vec<String>, String, String) {
        let root = env::temp_dir().join(format!("xtask-snapshots-{name}-{}", process::id()));
        let before = root.join("before");
        for (file, text) in [
            ("before/v2030.0/a.snap", "old"),
            ("before/v2031.0/a.snap", "old"),
            ("snapshots/v2030.0/a.snap", "new"),
            ("snapshots/v2031.0/a.snap", "new"),
            ("snapshots/v2032.0/a.snap", "new"),
            ("snapshots/versions.snap", "new"),
            ("crates/api-v2031-0/tests/decided.rs", ""),
        ] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let restored = restore_released(&root, &before, accepts).unwrap();
        let read = |label: &str| {
            fs::read_to_string(root.join(format!("snapshots/{label}/a.snap"))).unwrap()
        };
        let texts = (read("v2030.0"), read("v2031.0"));
        fs::remove_dir_all(&root).unwrap();
        (restored, texts.0, texts.1)
    }

    #[test]
    fn a_changed_snapshot_of_a_released_version_is_restored() {
        assert_eq!(
            restore("refused", false),
            (
                vec!["v2030.0".to_owned()],
                "old".to_owned(),
                "new".to_owned()
            )
        );
    }

    #[test]
    fn a_change_that_is_accepted_stays() {
        assert_eq!(
            restore("accepted", true),
            (Vec::new(), "new".to_owned(), "new".to_owned())
        );
    }
}
