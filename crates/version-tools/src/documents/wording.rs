//! A written document in the words of one version: what its fields, its path and its terms are.
//!
//! The documents are written once, with canonical names and with the path of one version. Knows
//! neither their form nor where they are shown.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use adapter_kit::version::ApiVersion;
use adapter_kit::versions::{Served, Versions};
use adapter_kit::wire::{WireRecord, for_each_record};
use adapter_kit::{Endpoint, Label, names};
use domain::RecordField as _;

/// The words of one version.
#[derive(Debug)]
pub struct Wording {
    version: &'static ApiVersion,
    /// The names that differ from the canonical ones, by these.
    renamed: BTreeMap<&'static str, &'static str>,
    /// Canonical names of fields that the version does not have.
    missing: BTreeSet<&'static str>,
    /// The path of the version that the documents are written for.
    written_base: String,
    /// The labels of the other versions that are served.
    others: Vec<String>,
}

impl Wording {
    /// The words of a version, for documents that are written for the version with this label.
    #[must_use]
    pub fn new(served: &Served, versions: &Versions, written: Label) -> Self {
        let version = served.version;
        let known = names::all(version);
        let (mut renamed, mut missing) = (BTreeMap::new(), BTreeSet::new());
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

    /// The version.
    #[must_use]
    pub fn version(&self) -> &'static ApiVersion {
        self.version
    }

    /// A piece of code, such as a field, a path or a body.
    #[must_use]
    pub fn code<'a>(&self, code: &'a str) -> Cow<'a, str> {
        let mut words = String::with_capacity(code.len());
        let mut rest = code;
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

    /// Text of sentences.
    #[must_use]
    pub fn prose<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.version.vocabulary.apply(text)
    }

    /// Whether a name is that of a field that the version does not have.
    #[must_use]
    pub fn is_missing(&self, name: &str) -> bool {
        self.missing.contains(name)
    }

    /// Whether a text is about other versions alone.
    #[must_use]
    pub fn is_about_others(&self, text: &str) -> bool {
        !text.contains(&self.version.label.to_string())
            && self
                .others
                .iter()
                .any(|label| text.contains(label.as_str()))
    }

    /// What to say below a heading that names an endpoint which the version does not have, in
    /// Markdown.
    #[must_use]
    pub fn missing_endpoint(&self, heading: &str) -> Option<String> {
        let endpoint =
            endpoint_in(heading).filter(|endpoint| !self.version.endpoints.has(*endpoint))?;
        let label = self.version.label;
        let instead = self.version.endpoints.counterpart(endpoint);
        let instead =
            instead.map_or_else(String::new, |other| format!(" It has `{other}` instead."));
        Some(format!("{label} does not have this endpoint.{instead}"))
    }

    /// The code with the path of the version, but where that version has nothing at a path.
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

    /// Whether an endpoint of the version has a path that begins as this one does, or no endpoint
    /// of any version.
    fn has_path(&self, path: &str) -> bool {
        let first = |path: &str| {
            path.trim_start_matches('/')
                .chars()
                .take_while(|c| is_part(*c) || *c == '-')
                .collect()
        };
        let wanted: String = first(path);
        let begins = |endpoint: Endpoint| first(endpoint.path()) == wanted;
        self.version.endpoints.all().any(begins) || !Endpoint::ALL.iter().copied().any(begins)
    }
}

/// The endpoint that a heading ends with.
#[must_use]
pub fn endpoint_in(heading: &str) -> Option<Endpoint> {
    Endpoint::ALL
        .iter()
        .copied()
        .find(|endpoint| heading.ends_with(&format!(" {endpoint}")))
}

/// The canonical name of each field of a record, with its name in the version.
fn fields<R: WireRecord>(version: &ApiVersion) -> Vec<(&'static str, &'static str)> {
    R::Field::ALL
        .iter()
        .map(|field| (field.info().name, names::field(version, (*field).into())))
        .collect()
}

fn is_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}
