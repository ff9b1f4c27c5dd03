//! The wording of a version for written documents: its names, paths, bodies, codes and terms.
//!
//! Documents are written in the canonical version. Bodies in them are translated like bodies of
//! clients. This module does not depend on the format of the documents.

use std::borrow::Cow;
use std::collections::BTreeSet;

use adapter_kit::body_kind::RecordKind;
use adapter_kit::version::{ApiVersion, capitalised};
use adapter_kit::versions::Served;
use adapter_kit::wire::{WireRecord, for_each_record};
use adapter_kit::{Endpoint, Envelope, identifiers, names};
use domain::fields::field::Codes;
use domain::{Field, Lists, RecordField as _};

use super::bodies::{self, BodyForms};

/// The wording of one version.
#[derive(Debug)]
pub struct Wording<'a> {
    /// The version in the written documents.
    canonical: &'a Served,
    own: &'a Served,
    lists: &'a Lists,
    /// The records with their fields by canonical name.
    records: Vec<Record>,
    /// All names of the version.
    known: BTreeSet<&'static str>,
}

/// A record with its fields by canonical name.
type Record = (RecordKind, Vec<(&'static str, Field)>);

/// The subject of a section that a version does not have.
#[derive(Debug)]
pub struct MissingSubject {
    /// A note in Markdown.
    pub note: String,
    /// Whether the version has an endpoint that does the same, so that the section holds for it.
    pub has_counterpart: bool,
}

/// The subject of a piece of code in a document.
#[derive(Debug, Clone, Default)]
pub struct Subject {
    /// The endpoint at the end of the section's heading.
    endpoint: Option<Endpoint>,
    /// The record in the section's heading.
    record: Option<RecordKind>,
    /// The request body whose errors a code block shows.
    pub request: Option<String>,
    /// The canonical name of the last field in the paragraph or row.
    pub field: Option<String>,
}

impl Subject {
    /// Returns the subject of a section.
    #[must_use]
    pub fn from_heading(heading: &str) -> Self {
        let mut records = RecordKind::ALL.iter().copied();
        Self {
            endpoint: endpoint_in(heading),
            record: records.find(|record| heading.contains(&capitalised(record.name()))),
            ..Self::default()
        }
    }
}

/// The parameter with the number of trainees on a page.
const PER_PAGE: &str = "per_page";

impl<'a> Wording<'a> {
    /// Returns the wording of a version. `canonical` is the version in the written documents.
    #[must_use]
    pub fn new(canonical: &'a Served, own: &'a Served, lists: &'a Lists) -> Self {
        let records = for_each_record!(list_fields(canonical.version));
        Self {
            canonical,
            own,
            lists,
            records: records.into_iter().flatten().collect(),
            known: names::all(own.version),
        }
    }

    /// Rewrites a piece of code, such as a field, a path, a command or a body.
    #[must_use]
    pub fn rewrite_code(&self, code: &str, subject: &Subject) -> String {
        if let Some(value) = self.rewrite_value(code, subject) {
            return value;
        }
        let forms = BodyForms {
            canonical: self.canonical,
            own: self.own,
            lists: self.lists,
        };
        let request = subject.request.as_deref();
        bodies::rewrite(forms, code, request, &|code| {
            self.rewrite_words(code, subject)
        })
    }

    /// Rewrites prose with the terms and paths of this version.
    #[must_use]
    pub fn rewrite_prose(&self, text: &str) -> String {
        self.rewrite_paths(&self.own.version.vocabulary.apply(text))
    }

    /// Rewrites code without bodies.
    fn rewrite_words(&self, code: &str, subject: &Subject) -> String {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let paths = self.rewrite_paths(code);
        let mut words = String::with_capacity(paths.len());
        let mut rest = paths.as_str();
        // Each step takes one word and the characters after it.
        while !rest.is_empty() {
            let (word, after) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
            let (between, after) = after.split_at(after.find(is_part).unwrap_or(after.len()));
            let names = self
                .find_field(word, subject)
                .map(|field| self.list_names(word, field));
            let names = names.filter(|names| !names.is_empty());
            words += &names.map_or(word.to_owned(), |names| names.join(", "));
            words += between;
            rest = after;
        }
        words
    }

    /// Returns a field by its canonical name. A section about a record has only fields of this
    /// record. In a section about an endpoint, fields of its request come first.
    fn find_field(&self, name: &str, subject: &Subject) -> Option<Field> {
        let request = subject.endpoint.and_then(|endpoint| endpoint.row().request);
        let first = subject.record.or(request.map(|request| request.record));
        let mut records: Vec<&Record> = self.records.iter().collect();
        records.sort_by_key(|(kind, _)| first != Some(*kind));
        records.retain(|(kind, _)| subject.record.is_none_or(|record| record == *kind));
        let mut fields = records.into_iter().flat_map(|(_, fields)| fields);
        Some(fields.find(|(known, _)| *known == name)?.1)
    }

    /// Returns the names of the version for a canonical name; none if it does not have the field.
    fn list_names(&self, name: &str, field: Field) -> Vec<&'static str> {
        let sent = names::inputs(self.own.version, field);
        let is_shown = name != names::list(self.canonical.version, field) || sent.is_empty();
        let shown = names::field(self.own.version, field);
        let names = if is_shown { vec![shown] } else { sent };
        names
            .into_iter()
            .filter(|name| self.known.contains(name))
            .collect()
    }

    /// Whether a piece of code is a name whose values can follow it.
    #[must_use]
    pub fn is_name(&self, code: &str) -> bool {
        code == PER_PAGE || self.find_field(code, &Subject::default()).is_some()
    }

    /// Returns a note on a field or an endpoint: that the version does not have it, or what the
    /// version demands of the field.
    #[must_use]
    pub fn find_note(&self, code: &str) -> Option<String> {
        let endpoint = code
            .split_once(' ')
            .and_then(|(method, path)| endpoint_at(method, path));
        let has = |(endpoint, _)| self.own.version.endpoints.has(endpoint);
        let field = self.find_field(code, &Subject::default());
        let is_missing = field.is_some_and(|field| self.list_names(code, field).is_empty());
        if is_missing || !endpoint.is_none_or(has) {
            return Some(format!("not in {}", self.own.version.label));
        }
        let versions = [self.canonical.version, self.own.version];
        let notes = for_each_record!(write_note(versions, field?));
        notes.into_iter().flatten().next()
    }

    /// Returns a code of the current field, the size of a page or the status of the section's
    /// endpoint, as this version writes it; `None` for other code.
    fn rewrite_value(&self, code: &str, subject: &Subject) -> Option<String> {
        let version = self.own.version;
        if let Some(endpoint) = subject.endpoint
            && code == endpoint.row().status.to_string()
        {
            return Some(version.row(endpoint).status.to_string());
        }
        let name = subject.field.as_deref()?;
        if name == PER_PAGE {
            let (common, own) = (Envelope::COMMON.page_size, version.wire.envelope.page_size);
            let sizes = [(common.default(), own.default()), (common.max(), own.max())];
            let size = sizes.iter().find(|(common, _)| code == common.to_string());
            return size.map(|(_, own)| own.to_string());
        }
        let Some(Codes::Listed(list)) = self.find_field(name, &Subject::default())?.info().codes
        else {
            return None;
        };
        self.lists.entry(list, code)?;
        Some(version.wire.written(list, code).to_owned())
    }

    /// Returns what the version does not have, if that is the subject of a heading.
    #[must_use]
    pub fn find_missing_subject(&self, heading: &str) -> Option<MissingSubject> {
        let version = self.own.version;
        let label = version.label;
        if heading.ends_with("Errors by field") && !version.wire.problems.is_common() {
            return Some(MissingSubject {
                note: format!("{label} does not have errors by field."),
                has_counterpart: false,
            });
        }
        let endpoint = endpoint_in(heading).filter(|endpoint| !version.endpoints.has(*endpoint))?;
        let instead = version.endpoints.counterpart(endpoint);
        let advice = instead.map(|other| format!(" Use `{}` instead.", version.row(other).name()));
        let advice = advice.unwrap_or_default();
        Some(MissingSubject {
            note: format!("{label} does not have this endpoint.{advice}"),
            has_counterpart: instead.is_some(),
        })
    }

    /// Returns the identifier of the version for a canonical one. Placeholders and variables stay.
    fn write_identifier<'b>(&self, placeholder: &str, id: &'b str) -> Cow<'b, str> {
        if id.starts_with(['{', '$']) {
            return Cow::Borrowed(id);
        }
        let name = placeholder.trim_matches(['{', '}']);
        identifiers::write(self.own.version, name, id)
    }

    /// Rewrites the path of the version, and methods with paths, such as `POST /trainees` or
    /// `-X POST "$BASE/trainees"`.
    fn rewrite_paths(&self, text: &str) -> String {
        let base = self.canonical.version.label.base_path();
        let text = text.replace(&base, &self.own.version.label.base_path());
        let mut written: Vec<String> = Vec::new();
        for word in text.split(' ') {
            let method = written.last().cloned().unwrap_or_default();
            let Some((endpoint, path)) = endpoint_at(&method, word) else {
                written.push(word.to_owned());
                continue;
            };
            let row = self.own.version.row(endpoint);
            let ids = endpoint.path().split('/').zip(path.split('/'));
            let own = ids
                .filter(|(name, _)| name.starts_with('{'))
                .fold(row.path.to_owned(), |own, (name, id)| {
                    own.replace(name, &self.write_identifier(name, id))
                });
            if row.method != endpoint.method() {
                written.pop();
                // A command has one method.
                let is_command = written.last().is_some_and(|word| word.ends_with("-X"));
                let own = row.method.to_string();
                let first = own.split(" or ").next().filter(|_| is_command);
                let own = first.unwrap_or(&own);
                written.push(method.replace(&endpoint.method().to_string(), own));
            }
            written.push(word.replacen(path, &own, 1));
        }
        written.join(" ")
    }
}

/// Returns the endpoint at the end of a heading, such as `4.2 GET /trainees`; `None` if the heading
/// does not end with one.
pub(super) fn endpoint_in(heading: &str) -> Option<Endpoint> {
    Endpoint::ALL
        .iter()
        .copied()
        .find(|endpoint| heading.ends_with(&format!(" {endpoint}")))
}

/// Returns the endpoint with a method and a path in text, and the path.
fn endpoint_at<'a>(method: &str, word: &'a str) -> Option<(Endpoint, &'a str)> {
    let path = word.get(word.find('/')?..)?;
    let path = path.split(['"', '`', '?', ',', ')', '\n']).next()?;
    let fits = |endpoint: &Endpoint| {
        let methods = endpoint.method().to_string();
        let (known, sent) = (endpoint.path().split('/'), path.split('/'));
        methods.split(" or ").any(|known| method.ends_with(known))
            && known.clone().count() == sent.clone().count()
            && known
                .zip(sent)
                .all(|(known, sent)| known == sent || known.starts_with('{'))
    };
    let endpoint = Endpoint::ALL.iter().copied().find(fits)?;
    Some((endpoint, path))
}

/// Returns the fields of a record with their names in a version. A nested list has two names.
fn list_fields<R: WireRecord>(version: &ApiVersion) -> Option<Record> {
    let named = |field: Field| {
        [names::list(version, field), names::field(version, field)].map(|name| (name, field))
    };
    let fields = R::Field::ALL
        .iter()
        .flat_map(|field| named((*field).into()));
    Some((R::NAME.parse().ok()?, fields.collect()))
}

/// Returns what a version demands of a field, but not the canonical version: a value, and the form
/// of the values.
fn write_note<R: WireRecord>([canonical, own]: [&ApiVersion; 2], field: Field) -> Option<String> {
    let field = R::field_of(field)?;
    let requires = |version| {
        let mut rules = R::rules(version).iter();
        rules.any(|rule| rule.required_field() == Some(field))
    };
    let required = (requires(own) && !requires(canonical)).then(|| "Required.".to_owned());
    let mut shown = R::shape(own).map_or(&[][..], |shape| shape.entries).iter();
    let shown = shown.find(|entry| entry.field() == Some(field));
    let sent = R::inputs(own).find_by_field(field);
    let form = sent.map_or_else(|| shown.and_then(|entry| entry.form), |input| input.form);
    let form = form.map(|form| form.describe(&field.info().into()));
    let notes: Vec<String> = required.into_iter().chain(form).collect();
    (!notes.is_empty()).then(|| notes.join(" "))
}
