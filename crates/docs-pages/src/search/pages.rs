//! The searchable pages besides the documents of a version, with the words that people search for.

use adapter_kit::Versions;
use http_kit::paths;

use crate::migrate::pairs_about;
use crate::page_location::SettingsLink;

/// A searchable page.
pub(super) struct SearchPage {
    pub(super) address: String,
    /// The group of the page, shown after its title.
    pub(super) kind: &'static str,
    pub(super) title: String,
    /// A description of the page, in words that readers may search for.
    pub(super) text: String,
}

/// The settings of an organisation: the path below `/settings`, the title and the content.
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

/// Returns the pages, those of the settings only if the listener serves them.
pub(super) fn all(versions: &Versions, settings: SettingsLink) -> Vec<SearchPage> {
    let mut pages = Vec::new();
    if settings == SettingsLink::Served {
        pages.extend(SETTINGS.map(|(path, title, text)| SearchPage {
            address: format!("{}{path}", paths::SETTINGS),
            kind: "Settings",
            title: title.to_owned(),
            text: text.to_owned(),
        }));
    }
    pages.push(SearchPage {
        address: paths::DOCS.to_owned(),
        kind: "Versions",
        title: "Versions and their dates".to_owned(),
        text: "When each version was released, from when it is deprecated, and its deadline: the \
               end date, when it is removed."
            .to_owned(),
    });
    for served in versions.iter() {
        let label = served.version.label;
        let newer = pairs_about(label, versions)
            .into_iter()
            .filter(|(from, _)| *from == label);
        pages.extend(newer.map(|(from, to)| SearchPage {
            address: paths::move_page(from, to),
            kind: "Versions",
            title: format!("Move from {from} to {to}"),
            text: format!(
                "Migrate or upgrade from {from} to {to}: the deadline, renamed fields, stricter \
                 rules, ended codes, endpoints and steps."
            ),
        }));
    }
    pages
}
