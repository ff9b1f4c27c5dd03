//! Creates a version of the API as a copy of another. `docs/adding-a-version.md` lists the
//! remaining steps.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::sources::{Sources, copy_folder};
use crate::versions::{LIST, Stage, Version, add_to_lists, change, generate};

pub(crate) const USAGE: &str = "usage: make new-version VERSION=LABEL FROM=LABEL";

/// A test for the new version that lists the remaining decisions.
const DECIDED: &str = include_str!("../templates/decided.rs");

/// Creates the version with this label as a copy of `from`. Returns the report for the author.
pub(crate) fn run(label: &str, from: &str) -> Result<String, Failure> {
    let from = Version::from_label(from)?;
    let version = Version::from_label(label)?;
    let folder = version.folder();
    let copied = from.folder();
    if !Path::new(&copied).is_dir() {
        return Err(format!(
            "version {} does not exist: no folder {copied}",
            from.label()
        )
        .into());
    }
    if Path::new(&folder).exists() {
        return Err(format!("version {label} already exists: {folder}").into());
    }
    if fs::read_to_string(LIST)?.contains(&version.label_literal()) {
        return Err(format!("{label} is in the list of removed versions: {LIST}").into());
    }
    copy_folder(Path::new(&copied), Path::new(&folder))?;
    for (path, _) in Sources::read()?.below(&[&folder], "") {
        change(path, |text| Ok(rename(text, &from, &version)))?;
    }
    change(&format!("{folder}/src/lib.rs"), |text| {
        Ok(begin_description(text, &from, &version))
    })?;
    let own_rules = format!("{folder}/src/own.rs");
    if Path::new(&own_rules).exists() {
        change(&own_rules, |text| Ok(mark_copied_rules(text, &from)))?;
    }
    let decided = DECIDED
        .replace("MODULE", &version.module())
        .replace("CONSTANT", &version.constant());
    fs::write(format!("{folder}/tests/decided.rs"), decided)?;
    add_to_lists(&version)?;
    generate()?;
    let package = version.package();
    Ok(format!(
        "
Created {label} as a copy of {}. The new version is served, documented and tested. Files:
    {folder}
    snapshots/{label}
It is also listed in Cargo.toml, crates/versions/Cargo.toml and {LIST}.
To list the remaining decisions, run
    cargo test --package {package} --test decided
Next steps: docs/adding-a-version.md. To undo: make remove-version VERSION={label}",
        from.label()
    ))
}

/// Returns a file of the copied crate with the names of the new version. In the description of the
/// manifest the label is replaced too.
fn rename(text: &str, from: &Version, version: &Version) -> String {
    let rename_line = |line: &str| {
        let line = if line.starts_with("description") {
            line.replace(&from.label(), &version.label())
        } else {
            line.to_owned()
        };
        line.replace(&from.package(), &version.package())
            .replace(&from.module(), &version.module())
            .replace(&from.constant(), &version.constant())
    };
    text.split_inclusive('\n').map(rename_line).collect()
}

/// Returns the `lib.rs` of the new version. A mark `TO DECIDE` replaces the description of the
/// copied version, and the publication and notes are reset.
fn begin_description(text: &str, from: &Version, version: &Version) -> String {
    let label = version.label();
    let from = from.label();
    let literal = match version.stage {
        Stage::Release => format!("Label::release({}, {})", version.year, version.major),
        stage @ (Stage::PreRelease | Stage::Candidate) => format!(
            "Label {{ year: {}, major: {}, stage: adapter_kit::Stage::{stage:?} }}",
            version.year, version.major
        ),
    };
    let mut lines = vec![
        format!("//! Version {label} of the Trainee Register API."),
        "//!".to_owned(),
        format!(
            "//! TO DECIDE: what differs from {from}, and why, in bullets that begin with a verb."
        ),
    ];
    // The description of the crate's dependencies and the recipes for changes are kept.
    let recipe = text
        .lines()
        .skip_while(|line| !line.starts_with("//! The crate "));
    let recipe: Vec<String> = recipe
        .take_while(|line| line.starts_with("//!"))
        .map(str::to_owned)
        .collect();
    if !recipe.is_empty() {
        lines.push("//!".to_owned());
        lines.extend(recipe);
    }
    let mut is_in_notes = false;
    for line in text.lines() {
        if is_in_notes {
            is_in_notes = line != "    ],";
        } else if line.starts_with("    label: ") {
            lines.push(format!("    label: {literal},"));
        } else if line.starts_with("    publication: ") {
            lines.push(
                "    // TO DECIDE: whether it is released, or in the sandbox only.".to_owned(),
            );
            let publication = "Publication { since: None, status: Status::SandboxOnly, deprecated_on: None, sunset_on: None }";
            lines.push(format!("    publication: {publication},"));
        } else if line.starts_with("    refuses_names_up_to: ") {
            lines.push(format!("    refuses_names_up_to: {literal},"));
        } else if line.starts_with("    notes: ") {
            lines.push("    notes: &[],".to_owned());
            is_in_notes = !line.ends_with("],");
        } else if !line.starts_with("//!") {
            lines.push(line.to_owned());
        }
    }
    let text = lines.join("\n") + "\n";
    // Without a date of publication or deprecation the import of `date` is unused.
    if text.contains("date(") {
        text
    } else {
        text.replace(", date};\n", "};\n")
    }
}

/// Marks the rules copied from one version for review. Earlier marks are removed.
fn mark_copied_rules(text: &str, from: &Version) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("TO DECIDE"))
        .map(str::to_owned)
        .collect();
    let from = from.label();
    let mark = format!(
        "//! TO DECIDE: this file was copied from {from}. Move rules of both versions to the domain; delete the others."
    );
    lines.splice(1..1, ["//!".to_owned(), mark]);
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(label: &str) -> Version {
        Version::from_label(label).unwrap()
    }

    #[test]
    fn names_of_copied_version_are_replaced() {
        let from = version("v2030.0");
        let to = version("v2031.0-rc");
        let text = "name = \"api-v2030-0\"\ndescription = \"Version v2030.0.\"\n# v2030.0\nuse api_v2030_0::V2030_0;";
        let expected = "name = \"api-v2031-0-rc\"\ndescription = \"Version v2031.0-rc.\"\n# v2030.0\nuse api_v2031_0_rc::V2031_0_RC;";
        assert_eq!(rename(text, &from, &to), expected);
    }

    #[test]
    fn description_of_copied_version_is_replaced() {
        let text = "//! Version v2030.0.\n//!\n//! - Is new.\n\nuse adapter_kit::{Label, date};\n
    label: Label::release(2030, 0),
    publication: Publication { since: Some(date(2030, 9, 1)) },
    refuses_names_up_to: Label::release(2030, 0),
    notes: &[
        \"A note.\",
    ],
    rules: RULES,
";
        let expected = "//! Version v2031.0 of the Trainee Register API.
//!
//! TO DECIDE: what differs from v2030.0, and why, in bullets that begin with a verb.

use adapter_kit::{Label};

    label: Label::release(2031, 0),
    // TO DECIDE: whether it is released, or in the sandbox only.
    publication: Publication { since: None, status: Status::SandboxOnly, deprecated_on: None, sunset_on: None },
    refuses_names_up_to: Label::release(2031, 0),
    notes: &[],
    rules: RULES,
";
        assert_eq!(
            begin_description(text, &version("v2030.0"), &version("v2031.0")),
            expected
        );
    }

    #[test]
    fn prerelease_label_has_stage_and_used_dates_stay() {
        let text = "use a::{b, date};\n    label: Label::release(2030, 0),\n    notes: &[\"A.\"],\n    since: date(2030, 1, 1),\n";
        let described = begin_description(text, &version("v2030.0"), &version("v2031.0-pre"));
        let expected = "use a::{b, date};
    label: Label { year: 2031, major: 0, stage: adapter_kit::Stage::PreRelease },
    notes: &[],
    since: date(2030, 1, 1),
";
        assert!(described.ends_with(expected), "{described}");
    }

    #[test]
    fn copied_rules_are_marked_once() {
        let text = "//! Rules.\n//!\n//! TO DECIDE: this.\n\nuse a;\n";
        let expected = "//! Rules.\n//!\n//! TO DECIDE: this file was copied from v2030.0. Move rules of both versions to the \
                        domain; delete the others.\n//!\n\nuse a;\n";
        assert_eq!(mark_copied_rules(text, &version("v2030.0")), expected);
    }
}
