//! The program `trainee-sync`, which is a separate workspace.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds the program, and returns its path.
///
/// # Panics
///
/// If the program cannot be built.
#[must_use]
#[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
pub fn build() -> PathBuf {
    let manifest =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../clients/trainee-sync/Cargo.toml");
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap().join("trainee-sync");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build
        .args(["build", "--quiet", "--locked", "--manifest-path"])
        .arg(manifest)
        .arg("--target-dir")
        .arg(&target);
    assert!(
        build.status().unwrap().success(),
        "trainee-sync cannot be built"
    );
    target.join("debug/trainee-sync")
}
