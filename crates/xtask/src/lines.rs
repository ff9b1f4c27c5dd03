//! Counts the lines of Rust in the product and in tests, without blank lines and comments.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::sources::{Sources, is_word};

/// Crates that only tests, measurements and checks use.
const TOOLS: &[&str] = &[
    "crates/conformance",
    "crates/bench",
    "crates/test-support",
    "crates/endurance",
    "crates/black-box",
    "crates/xtask",
];

/// Numbers of lines.
#[derive(Default, Debug, PartialEq, Eq)]
struct Lines {
    code: usize,
    tests: usize,
}

/// Returns a line for each crate, and three sums: the code of the product, all tests, and the code of
/// the test crates. A test crate is one that the server does not contain: crates for tests,
/// measurements and checks, the fuzz targets, and the clients.
pub(crate) fn report(sources: &Sources) -> String {
    let (product, others): (Vec<_>, Vec<_>) = count(sources)
        .into_iter()
        .partition(|(name, _)| name.starts_with("crates/") && !TOOLS.contains(&name.as_str()));
    let tests: usize = product
        .iter()
        .chain(&others)
        .map(|(_, lines)| lines.tests)
        .sum();
    format!(
        "{}test crates:\n{}product {}, tests {tests}, test crates {}",
        list_crates(&product),
        list_crates(&others),
        sum_code(&product),
        sum_code(&others)
    )
}

fn list_crates(crates: &[(String, Lines)]) -> String {
    crates
        .iter()
        .map(|(name, lines)| format!("{name:30} {:7} {:7} tests\n", lines.code, lines.tests))
        .collect()
}

fn sum_code(crates: &[(String, Lines)]) -> usize {
    crates.iter().map(|(_, lines)| lines.code).sum()
}

/// Counts lines by the first two parts of the path, such as `crates/domain`.
fn count(sources: &Sources) -> BTreeMap<String, Lines> {
    let files: Vec<(&str, &str)> = sources
        .paths()
        .filter(|path| path.ends_with(".rs"))
        .map(|path| (path, sources.text(path)))
        .collect();
    let test_modules: BTreeSet<String> = files
        .iter()
        .flat_map(|(path, text)| list_test_modules(path, text))
        .collect();
    let mut counted: BTreeMap<String, Lines> = BTreeMap::new();
    for (path, text) in files {
        let parts: Vec<&str> = path.split('/').take(2).collect();
        let lines = counted.entry(parts.join("/")).or_default();
        let Lines { code, tests } = count_file(text);
        if is_test_file(path, &test_modules) {
            lines.tests += code + tests;
        } else {
            lines.code += code;
            lines.tests += tests;
        }
    }
    counted
}

/// Whether all of a file is for tests: by its path, or because it is below a module for tests.
fn is_test_file(path: &str, test_modules: &BTreeSet<String>) -> bool {
    let stem = path.trim_end_matches(".rs");
    let is_in_test_module = test_modules.iter().any(|module| {
        stem.strip_prefix(module.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    });
    is_in_test_module
        || path.ends_with("_tests.rs")
        || path
            .split('/')
            .any(|part| ["tests", "benches", "tests.rs"].contains(&part))
}

/// Returns the path and the text of each file of the product, without what is only for tests.
pub(crate) fn list_product_files(sources: &Sources) -> Vec<(&str, &str)> {
    let files = sources.below(&["crates"], ".rs");
    let test_modules: BTreeSet<String> = files
        .iter()
        .flat_map(|(path, text)| list_test_modules(path, text))
        .collect();
    let is_product = |path: &str| {
        !TOOLS.iter().any(|tool| Path::new(path).starts_with(tool))
            && !is_test_file(path, &test_modules)
    };
    let files = files.into_iter().filter(|(path, _)| is_product(path));
    files
        .map(|(path, text)| (path, without_test_module(text)))
        .collect()
}

/// Returns the part of a file before its module for tests.
fn without_test_module(text: &str) -> &str {
    let modules = text.match_indices("#[cfg(test)]");
    let begins = |at: &usize| {
        let declared = text
            .get(*at..)
            .unwrap_or_default()
            .lines()
            .nth(1)
            .unwrap_or_default();
        declared_module(declared.trim(), " {").is_some()
    };
    let end = modules.map(|(at, _)| at).find(begins);
    end.and_then(|end| text.get(..end)).unwrap_or(text)
}

/// Returns the name of the module that a trimmed text declares, with or without a visibility.
/// `ending` must follow the name.
fn declared_module<'a>(text: &'a str, ending: &str) -> Option<&'a str> {
    let text = match text
        .strip_prefix("pub(")
        .and_then(|text| text.split_once(") "))
    {
        Some((_, text)) => text,
        None => text.strip_prefix("pub ").unwrap_or(text),
    };
    let declared = text.strip_prefix("mod ")?;
    let name = declared.split(|c| !is_word(c)).next()?;
    declared
        .strip_prefix(name)?
        .starts_with(ending)
        .then_some(name)
}

/// Returns the paths, without `.rs`, of the files that a file declares for tests.
fn list_test_modules(path: &str, text: &str) -> Vec<String> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let base = if ["lib.rs", "main.rs", "mod.rs"].contains(&name) {
        folder
    } else {
        path.trim_end_matches(".rs")
    };
    let mut found = Vec::new();
    for declared in text.split("#[cfg(test)]").skip(1) {
        let mut declared = declared.trim_start();
        while let Some((_, after)) = declared
            .strip_prefix("#[")
            .and_then(|attribute| attribute.split_once(']'))
        {
            declared = after.trim_start();
        }
        found.extend(declared_module(declared, ";").map(|name| format!("{base}/{name}")));
    }
    found
}

/// Counts the lines of a file. Everything from a module with `#[cfg(test)]` to the end of the file
/// counts as tests.
fn count_file(text: &str) -> Lines {
    let mut lines = Lines::default();
    let mut is_test = false;
    let mut rest = text.lines().map(str::trim).peekable();
    while let Some(line) = rest.next() {
        let is_followed = rest
            .peek()
            .is_some_and(|next| declared_module(next, " {").is_some());
        is_test |= line.starts_with("#[cfg(test)]") && is_followed;
        if line.is_empty() || line.starts_with("//") {
            continue;
        }
        if is_test {
            lines.tests += 1;
        } else {
            lines.code += 1;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_comments_do_not_count() {
        let text = "//! A file.\n\nuse a; // b\n#[cfg(test)]\nuse c;\n#[cfg(test)]\npub(crate) mod tests {\n    // d\n    fn e() {}\n}\n";
        assert_eq!(count_file(text), Lines { code: 3, tests: 4 });
    }

    #[test]
    fn test_files_count_as_tests() {
        let sources = Sources::from([
            (
                "crates/a/src/lib.rs",
                "#[cfg(test)]\n#[path = \"x\"]\nmod samples;\nmod b;\n",
            ),
            ("crates/a/src/samples.rs", "fn a() {}\n"),
            ("crates/a/src/samples/more.rs", "fn a() {}\n"),
            ("crates/a/src/samples_of_all.rs", "fn a() {}\n"),
            ("crates/a/src/b.rs", "#[cfg(test)] mod c;\n"),
            ("crates/a/src/b/c.rs", "fn a() {}\n"),
            ("crates/a/src/b_tests.rs", "fn a() {}\n"),
            ("crates/a/benches/d.rs", "fn a() {}\n"),
            ("crates/bench/src/lib.rs", "fn a() {}\n"),
            ("fuzz/a.rs", "fn a() {}\n"),
        ]);
        let line =
            |name: &str, code: usize, tests: usize| format!("{name:30} {code:7} {tests:7} tests\n");
        let expected = [
            line("crates/a", 6, 5),
            "test crates:\n".to_owned(),
            line("crates/bench", 1, 0),
            line("fuzz/a.rs", 1, 0),
            "product 6, tests 5, test crates 2".to_owned(),
        ]
        .concat();
        assert_eq!(report(&sources), expected);
    }
}
