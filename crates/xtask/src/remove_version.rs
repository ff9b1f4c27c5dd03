//! Removes a version of the API and its files.
//!
//! A version that has been published is added to the list of removed versions, so that requests for
//! it get status 410. The field names of a released version are kept, so that a client that still
//! sends them gets the current names. An unpublished version leaves no trace.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use crate::failure::Failure;
use crate::sources::{Sources, execute, output};
use crate::versions::{
    FORMER_NAMES, LIST, Stage, Version, add_to_removed, generate, remove_from_lists,
};

pub(crate) const USAGE: &str = "usage: make remove-version VERSION=LABEL";

/// Removes the version with this label. Returns a report with the remaining steps.
pub(crate) fn run(label: &str) -> Result<String, Failure> {
    let version = Version::from_label(label)?;
    let folder = version.folder();
    if !Path::new(&folder).is_dir() {
        return Err(format!("version {label} does not exist: no folder {folder}").into());
    }
    let sources = Sources::read()?;
    if sources
        .crates()
        .iter()
        .filter(|name| name.starts_with("api-"))
        .count()
        == 1
    {
        return Err(format!("{label} is the only version").into());
    }
    let lib = format!("{folder}/src/lib.rs");
    let since = read_since(&lib, sources.text(&lib))?;
    let today = output(Command::new("date").args(["-u", "+%Y%m%d"]))?;
    let only_used = list_only_used(label)?;

    remove_from_lists(&version)?;
    fs::remove_dir_all(&folder)?;
    let snapshots = format!("snapshots/{label}");
    // If creating the version failed, there are no snapshots.
    if Path::new(&snapshots).exists() {
        fs::remove_dir_all(&snapshots)?;
    }
    for (path, _) in sources.below(&["docs"], "") {
        if is_document_about(path, label) {
            fs::remove_file(path)?;
        }
    }
    let mut report = Vec::new();
    if let Some(since) = since.filter(|since| format_day(since).as_str() <= today.trim()) {
        add_to_removed(&version, &since)?;
        let day = format_day(&since);
        report.push(format!(
            "{label} was published on {day}. It is now in the list of removed versions in {LIST}, and requests for it get status 410."
        ));
    }
    generate()?;
    report.extend(describe_rest(&version, &only_used, &Sources::read()?));
    Ok(report.join("\n"))
}

/// Returns the publication date of a version, such as `2030, 9, 1`; `None` if it has no date. Fails
/// if `lib.rs` has neither a date nor `None`.
fn read_since(lib: &str, text: &str) -> Result<Option<String>, Failure> {
    let publication = text
        .lines()
        .find_map(|line| line.strip_prefix("    publication: "));
    let since = publication
        .and_then(|line| Some(line.split_once("since: ")?.1))
        .unwrap_or_default();
    if since.starts_with("None") {
        return Ok(None);
    }
    match since
        .strip_prefix("Some(date(")
        .and_then(|day| day.split_once("))"))
    {
        Some((day, _)) => Ok(Some(day.to_owned())),
        None => Err(format!("{lib} has no publication date").into()),
    }
}

/// Formats a date such as `2030, 9, 1` as `20300901`.
fn format_day(date: &str) -> String {
    date.split(", ")
        .map(|number| format!("{number:0>2}"))
        .collect()
}

/// Returns the shared parts that only this version uses, one a line. The build selects the same
/// crates as `make test`, so that no crate is compiled twice.
fn list_only_used(label: &str) -> Result<String, Failure> {
    let build = [
        "build",
        "--quiet",
        "--locked",
        "--workspace",
        "--example",
        "only-used-by",
    ];
    execute(Command::new("cargo").args(build))?;
    let target = env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".to_owned());
    output(Command::new(format!("{target}/debug/examples/only-used-by")).arg(label))
}

/// Whether the name of a document contains exactly this label. `v1.1` differs from `v1.10` and from
/// `v1.1-rc`.
fn is_document_about(path: &str, label: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let mut rests = name.split(label).skip(1).peekable();
    rests.peek().is_some()
        && rests.all(|rest| !rest.starts_with(|c: char| c == '-' || c.is_ascii_digit()))
}

/// Returns the report about a removed version with the remaining manual steps.
fn describe_rest(version: &Version, only_used: &str, sources: &Sources) -> Vec<String> {
    let label = version.label();
    let mut report = Vec::new();
    let released = format!(
        "version: Label::release({}, {}),",
        version.year, version.major
    );
    if version.stage == Stage::Release && sources.text(FORMER_NAMES).contains(&released) {
        report.push(format!(
            "The field names of {label} stay in {FORMER_NAMES}, so that errors can report the current names."
        ));
    }
    report.push(format!("{label} is removed."));
    let mut named = [
        sources.below(&["crates", "bench/plain/src"], ".rs"),
        sources.below(&["crates", "docs"], ".md"),
    ]
    .concat();
    named.extend(["README.md", "CHANGELOG.md"].map(|path| (path, sources.text(path))));
    named.retain(|(path, text)| {
        *path != LIST && (text.contains(&label) || text.contains(&version.module()))
    });
    if !named.is_empty() {
        report.push("These files still mention it; review each:".to_owned());
        report.extend(named.iter().map(|(path, _)| format!("    {path}")));
    }
    let parts: Vec<String> = only_used
        .lines()
        .filter_map(|part| with_file(part, sources))
        .collect();
    if !parts.is_empty() {
        report.push(format!(
            "Only {label} used these; remove them, or leave them for a later version:"
        ));
        report.extend(parts.iter().map(|part| format!("    {part}")));
    }
    report
}

/// Returns a part with the file to change; `None` for a rule of the removed crate.
fn with_file(part: &str, sources: &Sources) -> Option<String> {
    let mut words = part.split(' ');
    let file = match (words.next()?, words.next()?) {
        ("endpoint", _) => "crates/adapter-kit/src/endpoint.rs".to_owned(),
        ("rule", name) => {
            let name = format!("\"{name}\"");
            let rules = sources.below(&["crates/domain/src/rules"], ".rs");
            rules
                .iter()
                .find(|(_, text)| text.contains(&name))?
                .0
                .to_owned()
        }
        ("nested", "record") => "crates/domain/src/records/trainee/nested.rs".to_owned(),
        ("field", _) => match words.next_back()? {
            "withdrawal" | "deferral" | "recommendation" => {
                "crates/domain/src/records/transition.rs".to_owned()
            }
            record => format!("crates/domain/src/records/{record}.rs"),
        },
        _ => return Some(part.to_owned()),
    };
    Some(format!("{part} ({file})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn publication_date_is_read() {
        let lib = |since: &str| {
            format!(
                "//! A version.\n    publication: Publication {{ since: {since}, status: S }},\n"
            )
        };
        assert_eq!(
            read_since("lib.rs", &lib("Some(date(2030, 9, 1))")).unwrap(),
            Some("2030, 9, 1".to_owned())
        );
        assert_eq!(read_since("lib.rs", &lib("None")).unwrap(), None);
        assert!(read_since("lib.rs", &lib("today()")).is_err());
        assert!(read_since("lib.rs", "").is_err());
        assert_eq!(format_day("2030, 9, 1"), "20300901");
    }

    #[test]
    fn documents_are_matched_by_exact_label() {
        for path in ["docs/v2030.1.md", "docs/versions/migrating-from-v2030.1.md"] {
            assert!(is_document_about(path, "v2030.1"), "{path}");
        }
        for path in [
            "docs/v2030.1-rc.md",
            "docs/v2030.10.md",
            "docs/v2030.1/a.md",
            "docs/v2030.0.md",
        ] {
            assert!(!is_document_about(path, "v2030.1"), "{path}");
        }
    }

    #[test]
    fn remaining_parts_are_listed_with_their_files() {
        let version = Version::from_label("v2030.1").unwrap();
        let sources = Sources::from([
            (
                FORMER_NAMES,
                "FormerName { version: Label::release(2030, 1), name: \"a\" },",
            ),
            (LIST, "v2030.1"),
            ("README.md", ""),
            ("docs/api.md", "v2030.1"),
            ("crates/server/tests/a.rs", "api_v2030_1::names()"),
            ("crates/domain/src/rules/dates.rs", "\"end_after_start\""),
        ]);
        let only_used = "endpoint Info\nrule end_after_start\nrule own\nfield day of withdrawal\nfield a of degree\nnested record d\nterm b c\n";
        let expected = [
            "The field names of v2030.1 stay in crates/versions/src/former_names.rs, so that errors can report the current names.",
            "v2030.1 is removed.",
            "These files still mention it; review each:",
            "    crates/server/tests/a.rs",
            "    docs/api.md",
            "Only v2030.1 used these; remove them, or leave them for a later version:",
            "    endpoint Info (crates/adapter-kit/src/endpoint.rs)",
            "    rule end_after_start (crates/domain/src/rules/dates.rs)",
            "    field day of withdrawal (crates/domain/src/records/transition.rs)",
            "    field a of degree (crates/domain/src/records/degree.rs)",
            "    nested record d (crates/domain/src/records/trainee/nested.rs)",
            "    term b c",
        ];
        assert_eq!(describe_rest(&version, only_used, &sources), expected);
    }

    #[test]
    fn version_without_remains_is_reported_as_removed() {
        let version = Version::from_label("v2030.1-rc").unwrap();
        assert_eq!(
            describe_rest(&version, "rule own\n", &Sources::from([])),
            ["v2030.1-rc is removed."]
        );
    }
}
