//! The searchable entries besides the documents of a version, with the words that people search
//! for.

use adapter_kit::{Served, Versions, names};
use domain::Lists;
use http_kit::paths;
use version_tools::Difference;
use version_tools::difference::{FieldChange, FieldChangeKind};

use super::index::Entry;
use crate::move_page::{LabelPair, pairs_about};
use crate::page_location::SettingsLink;

/// The path below `/settings`, the title and the content of each page.
const SETTINGS: [(&str, &str, &str); 9] = [
    (
        "/requests",
        "Imports and refusals",
        "Your recent requests: which records of an import were refused, and what is wrong with \
         them. You can download refused rows as a CSV file.",
    ),
    (
        "/upload",
        "Upload trainees",
        "Register and change trainees with a CSV file from a spreadsheet. You can download a \
         template, check the rows, and send them.",
    ),
    (
        "/tokens",
        "API tokens",
        "Create, rotate or revoke a token. See the expiry date of each token and when it was last \
         used.",
    ),
    (
        "/sign-in",
        "Sign in to the settings",
        "Sign in or log in with a link or with your organisation's account, or get a new sign-in \
         link.",
    ),
    (
        "/readiness",
        "Readiness to migrate",
        "How many of your recent writes the newest version would accept, and the problems of the \
         others.",
    ),
    (
        "/usage",
        "Usage",
        "Your requests by version, endpoint and token, also as a CSV file.",
    ),
    (
        "/people",
        "Users",
        "Invite a colleague, change a role or remove a user of your organisation.",
    ),
    (
        "/sessions",
        "Sessions",
        "The browsers that are signed in as you. You can sign out of each of them.",
    ),
    (
        "/activity",
        "Activity",
        "The log of changes to the users and tokens of your organisation.",
    ),
];

/// Lists the pages, those of the settings only if the listener serves them.
pub(super) fn all(versions: &Versions, settings: SettingsLink) -> Vec<Entry> {
    let mut pages = Vec::new();
    if settings == SettingsLink::Served {
        pages.extend(SETTINGS.map(|(path, title, text)| Entry {
            document: "Settings".to_owned(),
            address: format!("{}{path}", paths::SETTINGS),
            title: title.to_owned(),
            text: text.to_owned(),
        }));
    }
    pages.push(Entry {
        document: "Guides".to_owned(),
        address: paths::DATA_MANAGERS.to_owned(),
        title: "Guide for data managers".to_owned(),
        text:
            "How to sign in, upload a file, correct refused rows and look up a trainee, and what \
               your role permits."
                .to_owned(),
    });
    pages.push(Entry {
        document: "Versions".to_owned(),
        address: paths::DOCS.to_owned(),
        title: "Versions and their dates".to_owned(),
        text: "When each version was released, from when it is deprecated, and its deadline: the \
               end date, when it is removed."
            .to_owned(),
    });
    for served in versions.iter() {
        let label = served.version.label;
        let newer = pairs_about(label, versions)
            .into_iter()
            .filter(|pair| pair.from == label);
        pages.extend(newer.map(|LabelPair { from, to }| Entry {
            document: "Versions".to_owned(),
            address: paths::move_page(from, to),
            title: format!("Move from {from} to {to}"),
            text: format!(
                "Migrate or upgrade from {from} to {to}: the deadline, renamed fields, stricter \
                 rules, ended codes, endpoints and steps."
            ),
        }));
    }
    pages
}

/// Lists the fields of other versions that a version does not have under the same name.
pub(super) fn renamed_fields(served: &Served, versions: &Versions, lists: &Lists) -> Vec<Entry> {
    let label = served.version.label;
    let own_names = names::all(served.version);
    let mut entries: Vec<Entry> = Vec::new();
    for other in versions.iter().filter(|other| other.version.label != label) {
        let difference = Difference::between(other, served, lists);
        // A name can be removed from requests and renamed in responses: the new name counts.
        let mut changes: Vec<_> = difference.fields().filter_map(names_in_change).collect();
        changes.sort_by_key(|names| (names.before, names.after.is_none()));
        changes.dedup_by_key(|names| names.before);
        changes.retain(|names| !own_names.contains(&names.before));
        let from = other.version.label;
        entries.extend(
            changes
                .into_iter()
                .map(|ChangedName { before, after }| Entry {
                    document: format!("Field of {from}"),
                    address: paths::move_page(from, label),
                    title: before.to_owned(),
                    text: match after {
                        Some(after) => format!("{before} of {from} is {after} in {label}."),
                        None => format!("{before} of {from} has no field in {label}."),
                    },
                }),
        );
    }
    entries
}

/// The names of a field before and after a change.
struct ChangedName {
    before: &'static str,
    after: Option<&'static str>,
}

/// Returns `None` if the change is not about a name of the version before.
fn names_in_change(change: &FieldChange) -> Option<ChangedName> {
    let (before, after) = match change.kind {
        FieldChangeKind::Renamed { before, after }
        | FieldChangeKind::Rewritten { before, after }
        | FieldChangeKind::Joined { before, after, .. }
        | FieldChangeKind::Split { before, after, .. }
        | FieldChangeKind::Rejoined { before, after, .. } => (before, Some(after)),
        FieldChangeKind::Removed { name, same_value } => (name, same_value),
        FieldChangeKind::Added { .. }
        | FieldChangeKind::Redefined { .. }
        | FieldChangeKind::LeftOutWhenUnset { .. }
        | FieldChangeKind::AlwaysShown { .. } => return None,
    };
    Some(ChangedName { before, after })
}
