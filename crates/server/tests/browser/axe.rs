//! axe-core, which looks for what keeps people from a page. It comes from npm, at the version of the lock file.
//!
//! Where npm is missing, the tests say so and pass; in continuous integration (`CI=true`) they fail. Where npm reaches no registry,
//! they say so and pass.

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
static SCRIPT: LazyLock<Result<String, Missing>> = LazyLock::new(|| {
    let script = Path::new(INSTALLED).join("node_modules/axe-core/axe.min.js");
    install().and_then(|()| fs::read_to_string(script).map_err(Missing::from))
});

/// Why there is no script.
enum Missing {
    /// There is no npm, or it does not run.
    Program(String),
    /// npm could not get the package.
    Package(String),
}

impl From<std::io::Error> for Missing {
    fn from(error: std::io::Error) -> Self {
        Self::Program(error.to_string())
    }
}

/// Installs what the lock file says, unless it is there.
fn install() -> Result<(), Missing> {
    let folder = PathBuf::from(INSTALLED);
    let lock = fs::read(Path::new(LOCKED).join("package-lock.json"))?;
    let done = folder.join("installed");
    if fs::read(&done).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    fs::create_dir_all(&folder)?;
    for file in ["package.json", "package-lock.json"] {
        fs::copy(Path::new(LOCKED).join(file), folder.join(file))?;
    }
    let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
    let npm = Command::new("npm").args(arguments).current_dir(&folder).output()?;
    if !npm.status.success() {
        return Err(Missing::Package(String::from_utf8_lossy(&npm.stderr).into_owned()));
    }
    Ok(fs::write(done, lock)?)
}

/// Whether pages can be examined here; says so where they cannot.
pub(crate) fn is_here() -> bool {
    let untested = |reason: &str| format!("NO AXE-CORE: accessibility was NOT tested. {}", reason.replace('\n', " "));
    match &*SCRIPT {
        Ok(_) => {}
        Err(Missing::Program(reason)) => test_support::say_untested(&untested(reason)),
        Err(Missing::Package(reason)) => eprintln!("{}", untested(reason)),
    }
    SCRIPT.is_ok()
}

/// What axe-core finds on the page: each rule with the elements that break it.
pub(crate) fn violations(browser: &Browser) -> Value {
    let Ok(script) = &*SCRIPT else { panic!("there is no axe-core") };
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
