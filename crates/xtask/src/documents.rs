//! Checks all Markdown documents:
//!
//! - Each file, folder and make target that a document names exists.
//! - Each relative link leads to an existing file and heading.
//! - No blank line splits a table.
//! - Each block of Python or TypeScript is part of an example program that a test runs.
//!
//! In the change log only links and tables are checked, because it names files that existed at the
//! time of the change.

use std::collections::{HashMap, HashSet};

use crate::failure::{Failure, conclude};
use crate::sources::{Sources, is_word};

/// Names of files that documents may mention although the sources do not have them, with the
/// reason.
const EXCEPTIONS: &[&str] = &[
    // A test that a version has until it is released.
    "tests/decided.rs",
    // The settings file of a migration that runs outside a transaction. No migration has one yet.
    "metadata.toml",
    // The name of a header.
    "Refresh",
];

/// The records of decisions. Code names in them must exist in the sources, so that renaming or
/// removing an item leads to the records that rest on it.
const DECISIONS: &str = "docs/decisions/";

const CHANGE_LOG: &str = "CHANGELOG.md";

/// Documents with commands that run as pasted, with the test that runs them. Commands in other
/// documents are examples with placeholders; their blocks begin with `sh example`.
const TESTED_COMMANDS: &[(&str, &str)] = &[
    ("README.md", "crates/server/tests/program/guide.rs"),
    (
        "docs/integration.md",
        "crates/server/tests/program/guide.rs",
    ),
];

/// The folder with the example programs of generated clients, which `make test-clients` runs.
const CLIENTS: &str = "clients/";

/// The languages of code blocks that must be part of an example program, with the endings of the
/// programs.
const CLIENT_LANGUAGES: [(&str, &str); 2] = [("python\n", ".py"), ("typescript\n", ".ts")];

/// Endings of file names.
const ENDINGS: &[&str] = &[
    ".rs", ".sh", ".sql", ".snap", ".md", ".toml", ".py", ".yml", ".yaml", ".html", ".css", ".mjs",
    ".cfg",
];

/// Endings of the files with the code that decisions rest on.
const CODE_ENDINGS: &[&str] = &[".rs", ".sql", ".toml"];

/// Checks all documents.
pub(crate) fn check(sources: &Sources) -> Result<String, Failure> {
    let known = Known::new(sources);
    let documents = sources.paths().filter(|path| path.ends_with(".md"));
    let breaches = documents
        .flat_map(|path| {
            let mut breaches = check_document(path, sources.text(path), &known);
            breaches.extend(check_programs(path, sources));
            breaches
        })
        .collect();
    conclude(
        breaches,
        "documents: all named files, headings and make targets exist, and no table is split",
    )
}

/// The targets that documents can refer to.
struct Known<'a> {
    /// The names of the top-level folders and files, and of the crates.
    roots: HashSet<&'a str>,
    /// The paths of all files and folders.
    paths: HashSet<&'a str>,
    /// The paths of all files and folders, without any number of leading folders.
    ends: HashSet<&'a str>,
    /// The targets of the Makefile.
    targets: HashSet<&'a str>,
    /// The words of the code.
    words: HashSet<&'a str>,
    /// The anchors of each document, as pairs of path and anchor.
    anchors: HashSet<(&'a str, String)>,
}

impl<'a> Known<'a> {
    fn new(sources: &'a Sources) -> Self {
        let mut paths = HashSet::new();
        let mut roots = HashSet::new();
        let mut anchors = HashSet::new();
        for path in sources.paths() {
            roots.extend(path.split('/').next());
            roots.extend(
                path.strip_prefix("crates/")
                    .and_then(|path| path.split('/').next()),
            );
            paths.extend(path.match_indices('/').filter_map(|(at, _)| path.get(..at)));
            paths.insert(path);
            if path.ends_with(".md") {
                anchors.extend(
                    list_anchors(sources.text(path))
                        .into_iter()
                        .map(|anchor| (path, anchor)),
                );
            }
        }
        let mut ends = paths.clone();
        for path in &paths {
            ends.extend(
                path.match_indices('/')
                    .filter_map(|(at, _)| path.get(at + 1..)),
            );
        }
        let code = sources
            .paths()
            .filter(|path| CODE_ENDINGS.iter().any(|ending| path.ends_with(ending)));
        let words = code
            .flat_map(|path| sources.text(path).split(|c| !is_word(c)))
            .collect();
        let targets = sources
            .text("Makefile")
            .lines()
            .filter_map(|line| Some(line.split_once(':')?.0));
        let targets = targets
            .filter(|target| target.chars().all(is_in_target))
            .collect();
        Self {
            roots,
            paths,
            ends,
            targets,
            words,
            anchors,
        }
    }
}

fn is_in_target(c: char) -> bool {
    c.is_ascii_lowercase() || c == '-'
}

fn is_fence(line: &str) -> bool {
    line.trim_start_matches(' ').starts_with("```")
}

/// Whether a code block with this first line is allowed in the document. Shell blocks are allowed
/// only where a test runs them.
fn is_language_allowed(path: &str, fence: &str) -> bool {
    let language = fence.trim().trim_start_matches('`');
    !["sh", "bash", "shell", "console"].contains(&language)
        || TESTED_COMMANDS.iter().any(|(tested, _)| *tested == path)
}

/// Returns the anchors of the headings of a document.
fn list_anchors(text: &str) -> Vec<String> {
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut anchors = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= is_fence(line);
        let heading = line.trim_start_matches('#');
        if is_code || heading == line || !heading.starts_with(' ') {
            continue;
        }
        let anchor = anchor(heading.trim_start());
        let repeated = times.entry(anchor.clone()).or_default();
        anchors.push(if *repeated == 0 {
            anchor
        } else {
            format!("{anchor}-{repeated}")
        });
        *repeated += 1;
    }
    anchors
}

/// Returns the anchor that GitHub creates for a heading.
fn anchor(heading: &str) -> String {
    let mut text = heading.replace('[', "");
    while let Some((before, link)) = text.split_once("](") {
        let Some((_, after)) = link.split_once(')') else {
            break;
        };
        text = format!("{before}{after}");
    }
    let kept = text.to_lowercase().replace(' ', "-");
    kept.chars()
        .filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || ['_', '-'].contains(c))
        .collect()
}

/// Returns the breaches of one document.
fn check_document(path: &str, text: &str, known: &Known<'_>) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut is_code = false;
    let mut is_comment = false;
    let mut is_table = false;
    let mut lines = text.lines().enumerate().peekable();
    while let Some((number, line)) = lines.next() {
        let line = without_comments(line, &mut is_comment);
        if is_fence(&line) {
            is_code = !is_code;
            is_table = false;
            if is_code && !is_language_allowed(path, &line) {
                breaches.push(format!(
                    "documents: {path}:{}: no test runs these commands; begin the block with `sh example`",
                    number + 1
                ));
            }
            continue;
        }
        if is_code {
            continue;
        }
        let mut found = Vec::new();
        let was_table =
            std::mem::replace(&mut is_table, line.trim_start_matches(' ').starts_with('|'));
        if is_table && !was_table && !lines.peek().is_some_and(|(_, next)| is_below_heading(next)) {
            found.push(
                "the table has no header row; is there a blank line in the table?".to_owned(),
            );
        }
        found.extend(
            link_targets(&line)
                .into_iter()
                .filter_map(|target| check_link(path, target, known)),
        );
        if path != CHANGE_LOG {
            found.extend(
                quoted_names(&line)
                    .into_iter()
                    .filter_map(|name| check_name(name, known)),
            );
        }
        if path.starts_with(DECISIONS) {
            found.extend(
                quoted_names(&line)
                    .into_iter()
                    .filter_map(|name| check_item(name, known)),
            );
        }
        breaches.extend(
            found
                .into_iter()
                .map(|breach| format!("documents: {path}:{}: {breach}", number + 1)),
        );
    }
    breaches
}

/// Returns a breach for each block of a program that no example program contains.
fn check_programs(path: &str, sources: &Sources) -> Vec<String> {
    let mut breaches = Vec::new();
    for block in sources.text(path).split("```").skip(1).step_by(2) {
        for (language, ending) in CLIENT_LANGUAGES {
            let Some(code) = block.strip_prefix(language) else {
                continue;
            };
            let mut programs = sources
                .paths()
                .filter(|path| path.starts_with(CLIENTS) && path.ends_with(ending));
            if !programs.any(|program| sources.text(program).contains(code)) {
                let first = code.lines().next().unwrap_or_default();
                breaches.push(format!(
                    "documents: {path}: no example program in {CLIENTS} contains the block that begins with `{first}`"
                ));
            }
        }
    }
    breaches
}

/// Whether this line is the delimiter row below the header of a table.
fn is_below_heading(line: &str) -> bool {
    let cells = line.trim_start_matches(' ').strip_prefix('|');
    cells.is_some_and(|cells| !cells.is_empty() && cells.chars().all(|c| " :|-".contains(c)))
}

/// Returns the line without comments. `is_comment` says whether the line begins inside a comment,
/// and is updated for the next line. Text in comments is shown on pages only.
fn without_comments(line: &str, is_comment: &mut bool) -> String {
    let mut kept = String::new();
    let mut rest = line;
    loop {
        let (part, after) = match rest.split_once(if *is_comment { "-->" } else { "<!--" }) {
            Some((part, after)) => (part, Some(after)),
            None => (rest, None),
        };
        if !*is_comment {
            kept.push_str(part);
        }
        let Some(after) = after else { return kept };
        *is_comment = !*is_comment;
        rest = after;
    }
}

/// Returns the targets of the links in a line.
fn link_targets(line: &str) -> Vec<&str> {
    let links = line
        .match_indices("](")
        .filter_map(|(at, opening)| line.get(at + opening.len()..));
    let targets = links.filter_map(|rest| Some(rest.split_once(')')?.0));
    targets
        .filter(|target| !target.is_empty() && !target.contains(' '))
        .collect()
}

/// Returns the texts between backticks.
fn quoted_names(line: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = line;
    while let Some((_, after)) = rest.split_once('`') {
        match after.split_once('`') {
            Some(("", _)) => rest = after,
            Some((name, after)) => {
                names.push(name);
                rest = after;
            }
            None => break,
        }
    }
    names
}

/// Returns the breach of a name in backticks, if any.
fn check_name(name: &str, known: &Known<'_>) -> Option<String> {
    if let Some(arguments) = name
        .strip_prefix("make ")
        .filter(|arguments| arguments.starts_with(is_in_target))
    {
        let target = arguments.split(' ').next().unwrap_or(arguments);
        let is_known = known.targets.contains(target);
        return (!is_known)
            .then(|| format!("names the make target {target}, which does not exist"));
    }
    let is_plain = name
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_./-".contains(c))
        && !name.contains("...");
    if !is_plain || EXCEPTIONS.contains(&name) {
        return None;
    }
    let path = name.strip_suffix('/').unwrap_or(name);
    let is_below_root = path
        .split_once('/')
        .is_some_and(|(root, _)| known.roots.contains(root));
    let is_file = ENDINGS.iter().any(|ending| {
        path.strip_suffix(ending)
            .is_some_and(|stem| !stem.is_empty() && !stem.ends_with(['/', '.']))
    });
    let is_unknown = (is_file || is_below_root) && !known.ends.contains(path);
    is_unknown.then(|| format!("names {path}, which does not exist"))
}

/// Returns the breach of a name in backticks, if it is an item of the code, such as `Wire::COMMON`.
fn check_item(name: &str, known: &Known<'_>) -> Option<String> {
    let mut parts = name.trim_end_matches(['!', '(', ')']).split("::");
    let is_item = parts
        .clone()
        .all(|part| !part.is_empty() && part.chars().all(is_word));
    let is_unknown =
        is_item && !EXCEPTIONS.contains(&name) && parts.any(|part| !known.words.contains(part));
    is_unknown.then(|| {
        format!("names {name}, which the code does not have; check what the record says about it")
    })
}

/// Returns the breach of a link, if any.
fn check_link(document: &str, target: &str, known: &Known<'_>) -> Option<String> {
    let is_address = target
        .split_once(':')
        .is_some_and(|(scheme, _)| scheme.chars().all(|c| c.is_ascii_lowercase()));
    if is_address || target.starts_with('/') {
        return None;
    }
    let (path, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if path.is_empty() {
        document.to_owned()
    } else {
        resolve(document, path)
    };
    if !known.paths.contains(path.as_str()) {
        return Some(format!("links to {path}, which does not exist"));
    }
    let is_unknown =
        !heading.is_empty() && !known.anchors.contains(&(path.as_str(), heading.to_owned()));
    is_unknown.then(|| format!("links to a heading that {path} does not have: {heading}"))
}

/// Resolves a link relative to its document.
fn resolve(document: &str, target: &str) -> String {
    let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the breaches of a document, without their positions.
    fn breaches(text: &str) -> Vec<String> {
        let sources = Sources::from([
            ("Makefile", "test: build\n\tscripts/test\n"),
            ("crates/domain/src/trainee.rs", ""),
            ("docs/guide.md", text),
            (
                "docs/other.md",
                "# One [link](guide.md), two\n## A `b_c`\n```\n# none\n```\n## A `b_c`\n",
            ),
        ]);
        let lines = check(&sources).map_or_else(|failure| failure.0, |_| Vec::new());
        lines
            .into_iter()
            .map(|line| line.splitn(4, ':').last().unwrap().trim().to_owned())
            .collect()
    }

    #[test]
    fn untested_commands_must_be_marked_as_example() {
        let lines = |path: &str, language: &str| {
            let text = format!("# A\n```{language}\nmake\n```\n");
            check(&Sources::from([(path, text.as_str())]))
                .map_or_else(|failure| failure.0.len(), |_| 0)
        };
        assert_eq!(lines("docs/a.md", "sh"), 1);
        assert_eq!(lines("docs/a.md", "sh example"), 0);
        assert_eq!(lines("docs/a.md", "text"), 0);
        assert_eq!(lines("README.md", "sh"), 0);
    }

    #[test]
    fn code_blocks_must_be_part_of_example_programs() {
        let count = |program: &str| {
            let sources = Sources::from([
                ("clients/python/life.py", program),
                ("docs/a.md", "# A\n\n```python\nprint(1)\n```\n"),
            ]);
            check(&sources).map_or_else(|failure| failure.0.len(), |_| 0)
        };
        assert_eq!(count("print(0)\nprint(1)\n"), 0);
        assert_eq!(count("print(2)\n"), 1);
    }

    #[test]
    fn existing_files_folders_targets_and_links_pass() {
        let text = "`trainee.rs`, `src/trainee.rs`, `domain/src`, `crates/`, `make test all`, `make Tea`, `cargo test`, `a/b`
            `tests/decided.rs` <!-- `no.rs` --> `no/.rs` `no...rs`, ``x`
            [a](other.md) [b](../crates/domain) [c](other.md#one-link-two) [d](other.md#a-b_c-1) [e](https://x/y.md) [f](/docs)
            | a | b |
            |---|:--|
            | `c` | d |
            ```
            `no.rs`
            ```";
        assert_eq!(breaches(text), [] as [&str; 0]);
    }

    #[test]
    fn unknown_names_are_breaches() {
        assert_eq!(
            breaches("See `no.rs`."),
            ["names no.rs, which does not exist"]
        );
        assert_eq!(
            breaches("`crates/no/`"),
            ["names crates/no, which does not exist"]
        );
        assert_eq!(
            breaches("`domain/no`"),
            ["names domain/no, which does not exist"]
        );
        assert_eq!(
            breaches("`make tea`"),
            ["names the make target tea, which does not exist"]
        );
        assert_eq!(
            breaches("<!-- a\n-->`no.md`"),
            ["names no.md, which does not exist"]
        );
    }

    #[test]
    fn removed_items_in_decisions_are_breaches() {
        let record =
            "`Wire::COMMON`, `save()`, `kinds!`, `If-Match`, `a b`\n\n`Wire::OLD` and `load`";
        let sources = Sources::from([
            ("docs/decisions/0001-a.md", record),
            ("docs/other.md", "`load`"),
            (
                "crates/a/src/lib.rs",
                "impl Wire { const COMMON: u8 = 0; } fn save() { kinds!() }",
            ),
        ]);
        let Err(Failure(lines)) = check(&sources) else {
            panic!("no breach")
        };
        let breach = |name| {
            format!(
                "documents: docs/decisions/0001-a.md:3: names {name}, which the code does not have; \
                 check what the record says about it"
            )
        };
        assert_eq!(lines, ["Wire::OLD", "load"].map(breach));
    }

    #[test]
    fn broken_links_are_breaches() {
        assert_eq!(
            breaches("[a](no.md)"),
            ["links to docs/no.md, which does not exist"]
        );
        assert_eq!(
            breaches("[a](../docs/other.md#none)"),
            ["links to a heading that docs/other.md does not have: none"]
        );
        assert_eq!(
            breaches("[a](#none)"),
            ["links to a heading that docs/guide.md does not have: none"]
        );
    }

    #[test]
    fn blank_line_in_table_is_a_breach() {
        let text = "| a |\n|---|\n| b |\n\n| c |\n";
        assert_eq!(
            breaches(text),
            ["the table has no header row; is there a blank line in the table?"]
        );
    }

    #[test]
    fn change_log_may_name_removed_files() {
        let sources = Sources::from([(CHANGE_LOG, "`no.rs` [a](no.md)")]);
        let Err(Failure(lines)) = check(&sources) else {
            panic!("no breach")
        };
        assert_eq!(
            lines,
            ["documents: CHANGELOG.md:1: links to no.md, which does not exist"]
        );
    }
}
