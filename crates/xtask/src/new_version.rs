//! Makes a version of the API as a copy of another. What remains to be done is in
//! docs/adding-a-version.md.

use std::fs;
use std::path::Path;

use crate::failure::Failure;
use crate::sources::{Sources, copy_folder};
use crate::versions::{LIST, Stage, Version, add_to_lists, change, generate};

pub(crate) const USAGE: &str =
    "say which version to make and which one to copy: make new-version VERSION=LABEL FROM=LABEL";

/// The test of a version that lists what is left to decide.
const DECIDED: &str = include_str!("../templates/decided.rs");

/// Makes the version with this label as a copy of the other.
pub(crate) fn run(label: &str, from: &str) -> Result<String, Failure> {
    let from = Version::from_label(from)?;
    let version = Version::from_label(label)?;
    let (folder, copied) = (version.folder(), from.folder());
    if !Path::new(&copied).is_dir() {
        return Err(format!(
            "there is no version {} to copy: {copied} does not exist",
            from.label()
        )
        .into());
    }
    if Path::new(&folder).exists() {
        return Err(format!("there is a version {label} already: {folder}").into());
    }
    if fs::read_to_string(LIST)?.contains(&version.label_literal()) {
        return Err(
            format!("{label} was a version once, and {LIST} says that it is removed").into(),
        );
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
{label} is served, documented and tested, as a copy of {}. It is in
    {folder}
    snapshots/{label}
and is named in Cargo.toml, crates/versions/Cargo.toml and {LIST}.
What you have to decide is listed by
    cargo test --package {package} --test decided
How to go on: docs/adding-a-version.md. The way back: make remove-version VERSION={label}",
        from.label()
    ))
}

/// A file of the copied crate with the names of the version. The description in the manifest has
/// its label too.
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

/// The `lib.rs` of the version, with what is to be decided in place of what the copied version says
/// of itself.
fn begin_description(text: &str, from: &Version, version: &Version) -> String {
    let (label, from) = (version.label(), from.label());
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
    // What the crate does not know, and how to add to it, is as in the copied version.
    let recipe = text
        .lines()
        .skip_while(|line| !line.starts_with("//! The crate knows no other version"));
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
    // The copy of a version without deprecations has no date until its own is set.
    if text.contains("date(") {
        text
    } else {
        text.replace(", date};\n", "};\n")
    }
}

/// The rules of the copied version alone, with a mark that they are to be looked through.
fn mark_copied_rules(text: &str, from: &Version) -> String {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !line.contains("TO DECIDE"))
        .map(str::to_owned)
        .collect();
    let from = from.label();
    let mark = format!(
        "//! TO DECIDE: all of this was copied from {from}. What binds both belongs in the domain, and what left goes."
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
    fn the_names_of_the_copied_version_are_replaced() {
        let (from, to) = (version("v2030.0"), version("v2031.0-rc"));
        let text = "name = \"api-v2030-0\"\ndescription = \"Version v2030.0.\"\n# v2030.0\nuse api_v2030_0::V2030_0;";
        let expected = "name = \"api-v2031-0-rc\"\ndescription = \"Version v2031.0-rc.\"\n# v2030.0\nuse api_v2031_0_rc::V2031_0_RC;";
        assert_eq!(rename(text, &from, &to), expected);
    }

    #[test]
    fn what_the_copied_version_says_of_itself_is_to_be_decided() {
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
    fn a_candidate_is_labelled_by_its_stage_and_keeps_dates_in_use() {
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
        let expected = "//! Rules.\n//!\n//! TO DECIDE: all of this was copied from v2030.0. What binds both belongs in the domain, \
                        and what left goes.\n//!\n\nuse a;\n";
        assert_eq!(mark_copied_rules(text, &version("v2030.0")), expected);
    }
}
