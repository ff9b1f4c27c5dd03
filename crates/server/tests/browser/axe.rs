//! axe-core, which looks for what keeps people from a page. It comes from npm, at the version of the lock file.
//!
//! Where npm is missing, or reaches no registry, the tests say so and pass; in continuous integration (`CI=true`) they fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::{Value, json};

use super::driver::Browser;

/// The folder with the package file and the lock file.
const LOCKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/axe");
/// Where packages are put, which is no part of the sources.
const INSTALLED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/axe");

/// The script, read once for all tests.
static SCRIPT: LazyLock<Result<String, String>> = LazyLock::new(|| {
    let script = Path::new(INSTALLED).join("node_modules/axe-core/axe.min.js");
    install().and_then(|()| fs::read_to_string(script).map_err(|error| error.to_string()))
});

/// Installs what the lock file says, unless it is there.
fn install() -> Result<(), String> {
    let folder = PathBuf::from(INSTALLED);
    let lock = fs::read(Path::new(LOCKED).join("package-lock.json")).map_err(|error| error.to_string())?;
    let done = folder.join("installed");
    if fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(Path::new(LOCKED).join(file), folder.join(file)).map_err(|error| error.to_string())?;
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let npm = Command::new("npm").args(arguments).current_dir(&folder).output().map_err(|error| error.to_string())?;
    if !npm.status.success() {
        return Err(String::from_utf8_lossy(&npm.stderr).into_owned());
    }
    fs::write(done, lock).map_err(|error| error.to_string())
}

/// Whether pages can be examined here; says so where they cannot.
pub(crate) fn is_here() -> bool {
    if let Err(reason) = &*SCRIPT {
        test_support::say_untested(&format!(
            "NO AXE-CORE: accessibility was NOT tested. {}",
            reason.replace('\n', " ")
        ));
    }
    SCRIPT.is_ok()
}

/// What axe-core finds on the page: each rule with the elements that break it.
pub(crate) fn violations(browser: &Browser) -> Value {
    let script = SCRIPT.as_deref().unwrap();
    let run = "const done = arguments[0];
        axe.run(document, { resultTypes: ['violations'] }).then(
            found => done(found.violations.map(one => ({ rule: one.id, help: one.help, at: one.nodes.slice(0, 3).map(node => node.html) }))),
            error => done([{ rule: 'axe', help: String(error) }]));";
    browser.run(script);
    browser.run_async(run)
}

/// What is found where nothing is wrong.
pub(crate) fn nothing() -> Value {
    json!([])
}
