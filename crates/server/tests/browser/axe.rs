//! axe-core, which looks for what keeps people from a page. It comes from npm, at the version of
//! the lock file.
//!
//! Tests are skipped where npm is missing or reaches no registry.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use test_support::{Tool, has_npm_packages, has_tools};

use super::driver::Browser;

/// The folder with the package file and the lock file.
const LOCKED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/browser/axe");
/// Where packages are put, which is no part of the sources.
const INSTALLED: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/axe");

/// Returns whether pages can be examined here. Otherwise reports the calling test as skipped.
pub(crate) fn is_here() -> bool {
    has_tools(&[Tool::Node, Tool::Npm]) && has_npm_packages(Path::new(LOCKED), Path::new(INSTALLED))
}

/// What axe-core finds on the page: each rule with the elements that break it. Swagger UI has
/// buttons within buttons, which pages cannot change.
pub(crate) fn violations(browser: &Browser) -> Value {
    let script =
        fs::read_to_string(Path::new(INSTALLED).join("node_modules/axe-core/axe.min.js")).unwrap();
    let run = "const done = arguments[0];
        const rules = document.getElementById('swagger-ui') === null ? {} : { 'nested-interactive': { enabled: false } };
        axe.run(document, { resultTypes: ['violations'], rules }).then(
            found => done(found.violations.map(one => ({ rule: one.id, help: one.help, at: one.nodes.slice(0, 3).map(node => node.html) }))),
            error => done([{ rule: 'axe', help: String(error) }]));";
    browser.run(&script);
    browser.run_async(run)
}

/// What is found where nothing is wrong.
pub(crate) fn nothing() -> Value {
    json!([])
}
