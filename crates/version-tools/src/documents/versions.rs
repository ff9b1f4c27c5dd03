//! Documents about a version for its users: release notes and migration guides.

use adapter_kit::version::{ApiVersion, Status};
use adapter_kit::versions::{Served, Versions};
use domain::Lists;

use super::GENERATED;
use crate::difference::Difference;

/// Returns the release notes of a version: its state, its notes and the changes from the previous
/// version.
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
                "## Changes from {}\n\n{}\n\n{}",
                before.version.label,
                difference.counted(),
                difference.tables("###")
            )
        }
        None => "This is the oldest available version.\n".to_owned(),
    };
    let newest = versions
        .newest()
        .map(|newest| newest.version.label)
        .filter(|newest| *newest != label);
    let onward = newest.map_or_else(String::new, |newest| {
        format!("\n## Migration\n\nTo migrate to {newest}, see the [migration guide](migrating-from-{label}.md).\n")
    });
    let state = state(version.version);
    let notes = notes(version.version);
    format!("# {label}\n\n{GENERATED}\n\n{state}\n\n{notes}\n{changes}{onward}")
}

/// Returns the table of versions for the README, newest first.
#[must_use]
pub fn version_table(versions: &Versions) -> String {
    let newest = versions.newest().map(|newest| newest.version.label);
    let rows = versions.iter().rev().map(|served| {
        let label = served.version.label;
        let guide = if Some(label) == newest {
            String::new()
        } else {
            format!("[guide](docs/versions/migrating-from-{label}.md)")
        };
        let state = state(served.version);
        let end = describe_end(served.version);
        format!("| {label} | {state} | {end} | [changes](docs/versions/{label}.md) | {guide} |\n")
    });
    let rows: String = rows.collect();
    format!("| Version | State | Removal | Changes | Migration |\n|---|---|---|---|---|\n{rows}")
}

/// Returns the day when a version is removed, as text.
fn describe_end(version: &ApiVersion) -> String {
    match version.publication.sunset_on {
        Some(day) => format!("{day}"),
        None => "no date set".to_owned(),
    }
}

/// Returns the migration guide from a version to the newest one; `None` for the newest version.
#[must_use]
pub fn migration_guide(version: &Served, versions: &Versions, lists: &Lists) -> Option<String> {
    let newest = versions
        .newest()
        .filter(|newest| newest.version.label != version.version.label)?;
    let from = version.version.label;
    let to = newest.version.label;
    let difference = Difference::between(version, newest, lists);
    Some(format!(
        "# Migration from {from} to {to}\n\n{GENERATED}\n\n\
         This guide helps you move a client from {from} to {to}. Both versions share the same records, so you can use them\n\
         side by side during the migration.{}\n\
         The page `/docs/move/{from}/{to}` of your register has the same changes with steps, dates and a form that converts\n\
         a body.\n\n\
         {}\n\n\
         Work through the tables in this order. Changes that break nothing can wait.\n\
         Section numbers refer to the contract, `docs/api/README.md`.\n\n\
         {}\n\
         ## How to check\n\n\
         - Translate a body from {from} to {to} with `POST /docs/translate`, with\n\
         \x20\x20`trainee-register version translate --from {from} --to {to} FILE` or on the page\n\
         \x20\x20`/docs/move/{from}/{to}`. The result lists every lost value and every rule that the body would break.\n\
         - Send requests to `/api/{to}` with `Prefer: validate-only` to see the result without changing anything.\n\
         - Send requests with `Prefer: handling=strict`, so that unknown names are refused instead of ignored.\n{}",
        where_usable(newest.version),
        difference.counted(),
        difference.tables("##"),
        steps(version, versions),
    ))
}

/// Returns a sentence about a version that is not released for production; empty otherwise.
fn where_usable(version: &ApiVersion) -> String {
    match version.publication.status {
        Status::Released => String::new(),
        Status::SandboxOnly => {
            format!(
                "\n{} is not released for production. Migrate your sandbox client first.",
                version.label
            )
        }
    }
}

/// Returns a section with links to the release notes of all newer versions; empty if there is only
/// one newer version.
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
        "\n## Release notes\n\nThe release notes describe the changes in each version: {}.\n",
        links.join(", ")
    )
}

/// Describes the publication of a version: its release, its environments, and its end.
fn state(version: &ApiVersion) -> String {
    let publication = &version.publication;
    let mut state = match (publication.since, publication.status) {
        (None, _) => "Not released. No date is set.".to_owned(),
        (Some(since), Status::Released) => {
            format!("Released on {since}, for the sandbox and production.")
        }
        (Some(since), Status::SandboxOnly) => {
            format!("For use in the sandbox since {since}; not released for production.")
        }
    };
    if let Some(day) = publication.deprecated_on {
        state.push_str(&format!(" Deprecated from {day}."));
    }
    if let Some(day) = publication.sunset_on {
        state.push_str(&format!(" Removed on {day}."));
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
