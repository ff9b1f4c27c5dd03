//! Where programs are looked for.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// The environment variable that, set to `on`, hides tools outside of `PATH`.
pub const PATH_ONLY_VARIABLE: &str = "TEST_TOOLS_IN_PATH_ONLY";

pub(crate) fn in_path_only() -> bool {
    std::env::var(PATH_ONLY_VARIABLE).as_deref() == Ok("on")
}

pub(crate) fn is_executable(file: &Path) -> bool {
    fs::metadata(file)
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

pub(crate) fn search_path() -> OsString {
    std::env::var_os("PATH").unwrap_or_default()
}
