//! Wording of a version for written documents: its field names, its path and its terms.
//!
//! Documents are written with canonical names and with the path of one version. This module does
//! not depend on their format.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::version::ApiVersion;
use adapter_kit::versions::{Served, Versions};
use adapter_kit::wire::{WireRecord, for_each_record};
use adapter_kit::{Endpoint, Label, names};
use domain::RecordField as _;

/// The wording of one version.
#[derive(Debug)]
pub struct Wording {
    version: &'static ApiVersion,
    /// Names that differ from the canonical names, by canonical name.
    renamed: BTreeMap<&'static str, &'static str>,
    /// Canonical names of fields that the version does not have.
    missing: BTreeSet<&'static str>,
    /// The path of the version in the written documents.
    written_base: String,
    /// The labels of the other versions that are served.
    others: Vec<String>,
}

impl Wording {
    /// Returns the wording of a version. `written` is the version in the written documents.
    #[must_use]
    pub fn new(served: &Served, versions: &Versions, written: Label) -> Self {
        let version = served.version;
        let known = names::all(version);
        let mut renamed = BTreeMap::new();
        let mut missing = BTreeSet::new();
        for (canonical, name) in for_each_record!(fields(version)).concat() {
            if !known.contains(name) {
                missing.insert(canonical);
            } else if name != canonical {
                renamed.entry(canonical).or_insert(name);
            }
        }
        let labels = versions
            .iter()
            .map(|other| other.version.label)
            .filter(|label| *label != version.label);
        let others = labels.map(|label| label.to_string()).collect();
        Self {
            version,
            renamed,
            missing,
            written_base: written.base_path(),
            others,
        }
    }

    /// Returns the version.
    #[must_use]
    pub fn version(&self) -> &'static ApiVersion {
        self.version
    }

    /// Rewrites a piece of code, such as a field, a path or a body, with the field names and the
    /// path of this version.
    #[must_use]
    pub fn code<'a>(&self, code: &'a str) -> Cow<'a, str> {
        let mut words = String::with_capacity(code.len());
        let mut rest = code;
        // Each step takes one word, or one character between words.
        while let Some(first) = rest.chars().next() {
            let length = rest
                .find(|c| !is_part(c))
                .unwrap_or(rest.len())
                .max(first.len_utf8());
            let (word, after) = rest.split_at(length);
            words.push_str(self.renamed.get(word).copied().unwrap_or(word));
            rest = after;
        }
        let code = if words == code {
            Cow::Borrowed(code)
        } else {
            Cow::Owned(words)
        };
        if code.contains(&self.written_base) {
            Cow::Owned(self.with_own_base(&code))
        } else {
            code
        }
    }

    /// Rewrites prose with the terms of this version.
    #[must_use]
    pub fn prose<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.version.vocabulary.apply(text)
    }

    /// Whether this is the canonical name of a field that the version does not have.
    #[must_use]
    pub fn is_missing(&self, name: &str) -> bool {
        self.missing.contains(name)
    }

    /// Whether a text mentions other versions, but not this version.
    #[must_use]
    pub fn is_about_others(&self, text: &str) -> bool {
        !text.contains(&self.version.label.to_string())
            && self
                .others
                .iter()
                .any(|label| text.contains(label.as_str()))
    }

    /// Returns a note in Markdown for a heading that ends with an endpoint that the version does
    /// not have; `None` for other headings.
    #[must_use]
    pub fn missing_endpoint(&self, heading: &str) -> Option<String> {
        let endpoint =
            endpoint_in(heading).filter(|endpoint| !self.version.endpoints.has(*endpoint))?;
        let label = self.version.label;
        let instead = self.version.endpoints.counterpart(endpoint);
        let instead = instead.map_or_else(String::new, |other| format!(" Use `{other}` instead."));
        Some(format!("{label} does not have this endpoint.{instead}"))
    }

    /// Replaces the path of the version in the written documents by the path of this version,
    /// except in addresses of endpoints that this version does not have.
    fn with_own_base(&self, code: &str) -> String {
        let own = self.version.label.base_path();
        let mut parts = code.split(self.written_base.as_str());
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            text.push_str(if self.has_path(part) {
                &own
            } else {
                &self.written_base
            });
            text.push_str(part);
        }
        text
    }

    /// Whether the first segment of this path belongs to an endpoint of the version, or to no
    /// endpoint of any version.
    fn has_path(&self, path: &str) -> bool {
        let first_segment = |path: &str| {
            path.trim_start_matches('/')
                .chars()
                .take_while(|c| is_part(*c) || *c == '-')
                .collect()
        };
        let wanted: String = first_segment(path);
        let begins = |endpoint: Endpoint| first_segment(endpoint.path()) == wanted;
        self.version.endpoints.all().any(begins) || !Endpoint::ALL.iter().copied().any(begins)
    }
}

/// Returns the endpoint at the end of a heading, such as `4.2 GET /trainees`; `None` if the heading
/// does not end with one.
#[must_use]
pub fn endpoint_in(heading: &str) -> Option<Endpoint> {
    Endpoint::ALL
        .iter()
        .copied()
        .find(|endpoint| heading.ends_with(&format!(" {endpoint}")))
}

/// Returns the canonical name of each field of a record, with its name in the version.
fn fields<R: WireRecord>(version: &ApiVersion) -> Vec<(&'static str, &'static str)> {
    R::Field::ALL
        .iter()
        .map(|field| (field.info().name, names::field(version, (*field).into())))
        .collect()
}

/// Whether a character can be a part of a field name.
fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
