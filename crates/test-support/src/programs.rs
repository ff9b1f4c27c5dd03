//! Where PostgreSQL's programs are, and as whom they run.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::search_path::{in_path_only, is_executable, search_path};

/// Where Debian keeps the programs of each version of PostgreSQL; they are not in `PATH`.
const VERSIONS: &str = "/usr/lib/postgresql";
/// The user that Debian's package makes for servers.
const SERVANT: &str = "postgres";

/// The installed programs.
#[derive(Debug)]
pub(crate) struct Programs {
    pub(crate) folder: PathBuf,
}

impl Programs {
    /// The programs in `PATH`, otherwise the newest that Debian has installed.
    pub(crate) fn find() -> Option<Self> {
        let outside_path = if in_path_only() {
            Vec::new()
        } else {
            installed(Path::new(VERSIONS))
        };
        let path = search_path();
        let mut folders = std::env::split_paths(&path).chain(outside_path);
        folders
            .find(|folder| is_executable(&folder.join("initdb")))
            .map(|folder| Self { folder })
    }
}

/// The folders of programs below that of all versions, the newest first.
fn installed(versions: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(versions) else {
        return Vec::new();
    };
    let mut found: Vec<(u32, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            Some((
                entry.file_name().to_str()?.parse().ok()?,
                entry.path().join("bin"),
            ))
        })
        .collect();
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, folder)| folder).collect()
}

/// The user and the group that a server in the folder must run as. `None` if it may run as the
/// current user.
///
/// PostgreSQL refuses to run as root.
pub(crate) fn servant(folder: &Path) -> Result<Option<(u32, u32)>, String> {
    let owner = std::fs::metadata(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))?
        .uid();
    Ok(if owner == 0 {
        Some((id("-u")?, id("-g")?))
    } else {
        None
    })
}

fn id(which: &str) -> Result<u32, String> {
    let answer = Command::new("id").args([which, SERVANT]).output();
    let number = answer
        .ok()
        .and_then(|answer| String::from_utf8(answer.stdout).ok()?.trim().parse().ok());
    number.ok_or(format!(
        "a PostgreSQL server does not run as root, and there is no user {SERVANT}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_comes_first() {
        let versions = tempfile::tempdir().unwrap();
        for name in ["9", "17", "15", "common"] {
            std::fs::create_dir(versions.path().join(name)).unwrap();
        }
        let expected = ["17/bin", "15/bin", "9/bin"].map(|name| versions.path().join(name));
        assert_eq!(installed(versions.path()), expected);
    }
}
