//! What is written about a version for those who use it: its release notes, and the guide away from
//! it.

use adapter_kit::version::{ApiVersion, Status};
use adapter_kit::versions::{Served, Versions};
use domain::Lists;

use super::GENERATED;
use crate::difference::Difference;

/// The release notes of a version: what it is, and what is different from the one before.
#[must_use]
pub fn release_notes(version: &Served, versions: &Versions, lists: &Lists) -> String {
    let label = version.version.label;
    let before = versions
        .iter()
        .rev()
        .find(|served| served.version.label < label);
    let changes = match before {
        Some(before) => {
            let difference = Difference::between(before, version, lists);
            format!(
                "## What changes from {}\n\n{}\n\n{}",
                before.version.label,
                difference.counted(),
                difference.tables("###")
            )
        }
        None => "It is the oldest version that is served.\n".to_owned(),
    };
    let newest = versions
        .newest()
        .map(|newest| newest.version.label)
        .filter(|newest| *newest != label);
    let onward = newest.map_or_else(String::new, |newest| {
        format!("\n## Moving on\n\nThe way to {newest} is in [migrating-from-{label}](migrating-from-{label}.md).\n")
    });
    let (state, notes) = (state(version.version), notes(version.version));
    format!("# {label}\n\n{GENERATED}\n\n{state}\n\n{notes}\n{changes}{onward}")
}

/// The versions with their state and their documents as a table for the README, the newest first.
#[must_use]
pub fn version_table(versions: &Versions) -> String {
    let newest = versions.newest().map(|newest| newest.version.label);
    let rows = versions.iter().rev().map(|served| {
        let label = served.version.label;
        let guide = if Some(label) == newest {
            String::new()
        } else {
            format!("[move](docs/versions/migrating-from-{label}.md)")
        };
        let (state, end) = (state(served.version), describe_end(served.version));
        format!("| {label} | {state} | {end} | [changes](docs/versions/{label}.md) | {guide} |\n")
    });
    let rows: String = rows.collect();
    format!("| Version | State | Ends | Changes | Guide |\n|---|---|---|---|---|\n{rows}")
}

/// The end of a version for a table.
fn describe_end(version: &ApiVersion) -> String {
    match version.publication.sunset_on {
        Some(day) => format!("{day}"),
        None => "no date is set".to_owned(),
    }
}

/// The guide from a version to the newest one; `None` for the newest one itself.
#[must_use]
pub fn migration_guide(version: &Served, versions: &Versions, lists: &Lists) -> Option<String> {
    let newest = versions
        .newest()
        .filter(|newest| newest.version.label != version.version.label)?;
    let (from, to) = (version.version.label, newest.version.label);
    let difference = Difference::between(version, newest, lists);
    Some(format!(
        "# From {from} to {to}\n\n{GENERATED}\n\n\
         For a client of {from} that moves to {to}. The records are the same ones: what was written in one version is read in\n\
         the other, so both can be used side by side until the last request has moved.{}\n\n\
         {}\n\n\
         The tables stand in the order in which to move: what would be refused comes first, and what breaks nothing can wait.\n\
         Sections are those of the contract, `docs/api.md`.\n\n\
         {}\n\
         ## How to check\n\n\
         - `POST /docs/translate`, `trainee-register version translate --from {from} --to {to} FILE` and the page\n\
         \x20\x20`/docs/migrate?from={from}&to={to}` spell a body of {from} as {to} does, and name every value that has no place there\n\
         \x20\x20and every rule that it would break.\n\
         - `Prefer: validate-only` on a request to `/api/{to}` tells what would be answered, and changes nothing.\n\
         - `Prefer: handling=strict` turns names that nobody knows into problems, so that no value is left out unseen.\n{}",
        where_usable(newest.version),
        difference.counted(),
        difference.tables("##"),
        steps(version, versions),
    ))
}

/// What a client must know before it moves all that it does.
fn where_usable(version: &ApiVersion) -> String {
    match version.publication.status {
        Status::Released => String::new(),
        Status::SandboxOnly => {
            format!(
                "\nSo far {} can be used in the sandbox only: move there first.",
                version.label
            )
        }
    }
}

/// The same way one version at a time, where there are versions between.
fn steps(version: &Served, versions: &Versions) -> String {
    let newer = versions
        .iter()
        .filter(|served| served.version.label > version.version.label);
    let links: Vec<String> = newer
        .map(|served| format!("[{0}]({0}.md)", served.version.label))
        .collect();
    if links.len() < 2 {
        return String::new();
    }
    format!(
        "\n## In steps\n\nWhat came with each version on the way is in its release notes: {}.\n",
        links.join(", ")
    )
}

fn state(version: &ApiVersion) -> String {
    let publication = &version.publication;
    let mut state = match (publication.since, publication.status) {
        (None, _) => "Not released; no date is set.".to_owned(),
        (Some(since), Status::Released) => {
            format!("Released on {since}, in the sandbox and in production.")
        }
        (Some(since), Status::SandboxOnly) => format!("In the sandbox since {since}."),
    };
    if let Some(day) = publication.deprecated_on {
        state.push_str(&format!(" It should no longer be used from {day}."));
    }
    if let Some(day) = publication.sunset_on {
        state.push_str(&format!(" It is removed on {day}."));
    }
    state
}

fn notes(version: &ApiVersion) -> String {
    version
        .notes
        .iter()
        .map(|note| format!("- {note}\n"))
        .collect()
}
