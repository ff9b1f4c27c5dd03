//! The texts of the documents: their names, their sources and the links between them.
//!
//! Written documents are files from `docs/`, embedded in the program. Comments in them mark the
//! differences between file and page: text between `<!-- file -->` and `<!-- /file -->` is omitted
//! from the page, and the page shows the Markdown inside `<!-- page: ... -->`.

use std::sync::LazyLock;

use adapter_kit::{Label, Served, Versions, reference};
use domain::Lists;
use http_kit::paths;
use version_tools::documents::contract::{self, CHAPTERS, INTRODUCTION};
use version_tools::documents::errors::{MOVES, errors};
use version_tools::documents::fields::fields;
use version_tools::documents::funding::funding;
use version_tools::documents::rules::rules;
use version_tools::documents::wording::Wording;
use version_tools::documents::{GENERATED, lists};

use crate::markdown::{Rendered, render};
use crate::move_page::{LabelPair, pairs_about};

const GUIDE: &str = include_str!("../../../../docs/integration.md");

/// In the commands of the documents.
pub(super) const WRITTEN_ORIGIN: &str = "http://127.0.0.1:8080";

/// A document of each version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Document {
    Guide,
    Contract,
    Fields,
    /// Codes of problems, and status codes.
    Problems,
    /// With the versions that apply them.
    Rules,
    Lists,
    Funding,
}

impl Document {
    /// In the order of the navigation.
    pub(crate) const ALL: [Self; 7] = [
        Self::Guide,
        Self::Contract,
        Self::Fields,
        Self::Problems,
        Self::Rules,
        Self::Lists,
        Self::Funding,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Guide => "guide",
            Self::Contract => paths::CONTRACT,
            Self::Fields => "fields",
            Self::Problems => paths::PROBLEMS,
            Self::Rules => "rules",
            Self::Lists => "reference-data",
            Self::Funding => "funding",
        }
    }

    pub(crate) const fn words(self) -> &'static str {
        match self {
            Self::Guide => "Integration guide",
            Self::Contract => "Contract",
            Self::Fields => "Fields",
            Self::Problems => "Problems",
            Self::Rules => "Rules",
            Self::Lists => "Code lists",
            Self::Funding => "Funding",
        }
    }

    pub(super) const fn has_commands(self) -> bool {
        matches!(self, Self::Guide)
    }

    /// Lists the parts with their own pages: chapters of the contract, and code lists.
    pub(crate) fn parts(self) -> Vec<&'static str> {
        match self {
            Self::Contract => CHAPTERS.iter().map(|chapter| chapter.name).collect(),
            Self::Lists => reference::names().collect(),
            Self::Guide | Self::Fields | Self::Problems | Self::Rules | Self::Funding => Vec::new(),
        }
    }

    /// The file in `docs/`; `None` for a document that is generated for each version.
    const fn file(self) -> Option<&'static str> {
        match self {
            Self::Guide => Some("integration.md"),
            Self::Contract => Some("api/README.md"),
            Self::Problems => Some("errors.md"),
            Self::Rules => Some("rules.md"),
            Self::Fields | Self::Lists | Self::Funding => None,
        }
    }
}

/// Renders a document, or a part of it, with the names of a version. Returns `None` for an unknown
/// part.
pub(crate) fn rendered(
    document: Document,
    part: Option<&str>,
    served: &Served,
    versions: &Versions,
    codes: &Lists,
) -> Option<Rendered> {
    let version = served.version;
    let label = version.label;
    let markdown = match (document, part) {
        (Document::Guide, _) => for_page(GUIDE),
        (Document::Contract, None) => for_page(INTRODUCTION),
        (Document::Contract, Some(name)) => for_page(contract::chapter(name)?.text),
        (Document::Fields, _) => fields(version),
        (Document::Problems, _) => {
            for_page(&format!("{}\n## Statuses\n\n{}", errors(), statuses()))
        }
        (Document::Rules, _) => for_page(&rules(versions)),
        (Document::Lists, None) => lists::index(version, codes),
        (Document::Lists, Some(name)) => lists::list(name, version, versions, codes)?,
        (Document::Funding, _) => funding(version, codes),
    };
    let canonical = versions::all().find(*WRITTEN_LABEL)?;
    // A document that is generated for a version has the names of the version already.
    let wording = document
        .file()
        .map(|_| Wording::new(canonical, served, codes));
    Some(render(
        &markdown
            .replacen(GENERATED, "", 1)
            .replace(MOVES, &link_moves(label, versions)),
        wording.as_ref(),
        &|address| link(label, document, part, address),
    ))
}

/// The version in the commands of the guide, as in `/api/<version>/trainees`.
static WRITTEN_LABEL: LazyLock<Label> = LazyLock::new(|| {
    let (_, rest) = GUIDE
        .split_once(&format!("{}/", paths::API))
        .unwrap_or_default();
    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
    rest.split_at(end).0.parse().unwrap_or(Label::release(0, 0))
});

fn for_page(markdown: &str) -> String {
    const FILE_START: &str = "<!-- file -->";
    const FILE_END: &str = "<!-- /file -->";
    const PAGE_START: &str = "<!-- page:";
    const PAGE_END: &str = "-->";
    let mut parts = markdown.split(FILE_START);
    let mut without_file = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        without_file += part.split_once(FILE_END).map_or("", |(_, after)| after);
    }
    let mut parts = without_file.split(PAGE_START);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (shown, after) = part.split_once(PAGE_END).unwrap_or((part, ""));
        text += shown.trim_end();
        text += after;
    }
    text
}

/// Writes links to the pages about moves from and to a version; empty for the only version.
fn link_moves(label: Label, versions: &Versions) -> String {
    let links: Vec<String> = pairs_about(label, versions)
        .into_iter()
        .map(|LabelPair { from, to }| format!("[{from} to {to}]({})", paths::move_page(from, to)))
        .collect();
    if links.is_empty() {
        return String::new();
    }
    format!(" All changes between versions: {}.", links.join(", "))
}

/// The chapter with the table of statuses.
const ERRORS: &str = "7-errors";

fn statuses() -> String {
    let text = contract::chapter(ERRORS).map_or("", |chapter| chapter.text);
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| Status |"))
        .take_while(|line| line.starts_with('|'));
    // The links are relative to the chapter; make them relative to `docs/`.
    let rows = rows.map(|row| {
        row.replace("](", "](api/")
            .replace("](api/#", &format!("](api/{ERRORS}.md#"))
            + "\n"
    });
    rows.collect()
}

/// Finds the page for a link. Returns `None` if the target has no page.
fn link(label: Label, document: Document, part: Option<&str>, address: &str) -> Option<String> {
    let (file, anchor) = address
        .split_once('#')
        .map_or((address, None), |(file, anchor)| (file, Some(anchor)));
    let anchor = anchor.map_or_else(String::new, |anchor| format!("#{anchor}"));
    if file.is_empty() {
        return Some(super::address(label, document, part) + &anchor);
    }
    let file = if document == Document::Contract {
        relative_to_contract(file)
    } else {
        file.to_owned()
    };
    let file = file.as_str();
    let chapter = file
        .strip_prefix("api/")
        .and_then(|file| contract::chapter(file.strip_suffix(".md")?));
    let named = Document::ALL
        .into_iter()
        .find(|other| other.file() == Some(file));
    if let Some(chapter) = chapter {
        return Some(super::address(label, Document::Contract, Some(chapter.name)) + &anchor);
    }
    let page = match named {
        Some(other) => paths::document(label, other.name()),
        None if file == "versions" => paths::DOCS.to_owned(),
        None if file.starts_with(paths::DOCS) => file.to_owned(),
        None => match file
            .strip_prefix("versions/")
            .and_then(|file| file.strip_suffix(".md"))
        {
            Some(about) => paths::written(about),
            None if file.contains('.') => return None,
            // A page without a file.
            None => paths::document(label, file),
        },
    };
    Some(page + &anchor)
}

fn relative_to_contract(file: &str) -> String {
    // The contract is in `docs/api/`.
    match file.strip_prefix("../") {
        Some(file) => file.to_owned(),
        None if file.ends_with(".md") => format!("api/{file}"),
        None => file.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passages_for_files_or_pages_are_selected() {
        let text = "a <!-- file -->b\n<!-- /file -->c<!-- page: [d](e) -->. f";
        assert_eq!(for_page(text), "a c [d](e). f");
        assert_eq!(for_page("a"), "a");
    }

    #[test]
    fn guide_is_written_for_served_version() {
        assert!(versions::all().find(*WRITTEN_LABEL).is_some());
    }

    #[test]
    fn statuses_include_the_table_of_the_contract() {
        let statuses = statuses();
        for status in ["401", "404", "409", "410", "412", "422", "429", "503"] {
            assert!(
                statuses.contains(&format!("\n| {status} |")),
                "{status} in {statuses}"
            );
        }
    }

    #[test]
    fn links_between_files_become_links_to_pages() {
        let label = Label::release(1999, 1);
        let to = |address| link(label, Document::Guide, None, address);
        for (address, expected) in [
            (
                "api/9-versions.md#91-scheme",
                "/docs/v1999.1/contract/9-versions#91-scheme",
            ),
            ("api/README.md", "/docs/v1999.1/contract"),
            ("#here", "/docs/v1999.1/guide#here"),
            ("versions/x.md", "/docs/versions/x"),
            ("reference-data/sex", "/docs/v1999.1/reference-data/sex"),
        ] {
            assert_eq!(to(address).unwrap(), expected);
        }
        for (address, expected) in [
            ("7-errors.md#7", "/docs/v1999.1/contract/7-errors#7"),
            ("#a", "/docs/v1999.1/contract/8-limits#a"),
            ("../rules.md", "/docs/v1999.1/rules"),
            ("README.md", "/docs/v1999.1/contract"),
            ("../versions/x.md", "/docs/versions/x"),
        ] {
            let found = link(label, Document::Contract, Some("8-limits"), address);
            assert_eq!(found.unwrap(), expected);
        }
        assert_eq!(to("operations/install.md"), None);
    }
}
