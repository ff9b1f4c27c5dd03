//! The form: its input, the request that it describes, and its faults.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::LazyLock;

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::read::JsonTree;
use adapter_kit::wire::WireNested;
use adapter_kit::{ApiVersion, read};
use domain::for_each_nested;
use domain::values::text::is_absent;
use version_tools::translate::{BodyKind, CodeChoice, Finding};

use super::example;

pub(super) const MAX_BODY_BYTES: usize = 262_144;
/// Form encoding can take three bytes for each byte of a body.
pub(super) const MAX_FORM_BYTES: usize = 3 * MAX_BODY_BYTES + 1_024;

const MAX_ENDED_CODES: usize = 200;

/// The button that inserts an example.
const EXAMPLE: &str = "example";

/// A kind of body that the reader can select.
struct KindChoice {
    value: &'static str,
    label: String,
    body_kind: BodyKind,
}

impl KindChoice {
    fn new(value: &'static str, label: impl Into<String>, body_kind: BodyKind) -> Self {
        Self {
            value,
            label: label.into(),
            body_kind,
        }
    }

    fn nested<R: WireNested>() -> Self {
        Self::new(
            R::NAME,
            format!("Request: add or update a {}", R::NAME),
            request(R::KIND, None),
        )
    }
}

static KINDS: LazyLock<Vec<KindChoice>> = LazyLock::new(|| {
    let unknown = BodyKind {
        record: None,
        direction: None,
        purpose: None,
    };
    let mut choices = vec![
        KindChoice::new("detect", "Detect from the body", unknown),
        KindChoice::new(
            "create",
            "Request: create a trainee",
            request(RecordKind::Trainee, Some(Purpose::Create)),
        ),
        KindChoice::new(
            "update",
            "Request: update a trainee",
            request(RecordKind::Trainee, Some(Purpose::Update)),
        ),
    ];
    choices.extend(for_each_nested!(KindChoice::nested()));
    choices.extend([
        KindChoice::new(
            "withdraw",
            "Request: withdraw a trainee",
            request(RecordKind::Withdrawal, None),
        ),
        KindChoice::new(
            "defer",
            "Request: defer a trainee",
            request(RecordKind::Deferral, None),
        ),
        KindChoice::new(
            "recommend",
            "Request: recommend a trainee for the award",
            request(RecordKind::Recommendation, None),
        ),
        KindChoice::new(
            "reply",
            "Response with a trainee",
            BodyKind {
                direction: Some(Direction::Reply),
                ..unknown
            },
        ),
    ]);
    choices
});

pub(super) fn is_kind(value: &str) -> bool {
    KINDS.iter().any(|choice| choice.value == value)
}

const fn request(record: RecordKind, purpose: Option<Purpose>) -> BodyKind {
    BodyKind {
        record: Some(record),
        direction: Some(Direction::Request),
        purpose,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FormField {
    Kind,
    Body,
}

impl FormField {
    const ALL: [Self; 2] = [Self::Kind, Self::Body];

    /// Also the identifier on the page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Body => "body",
        }
    }
}

#[derive(Debug)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) words: String,
    pub(super) chosen: bool,
}

/// The choice of a code that replaces an ended code.
#[derive(Debug)]
pub(super) struct EndedCodeField {
    /// In the target version.
    pub(super) path: String,
    pub(super) code: &'static str,
    pub(super) candidates: Vec<Choice>,
}

impl EndedCodeField {
    fn name_at(path: &str) -> String {
        format!("code:{path}")
    }

    pub(super) fn name(&self) -> String {
        Self::name_at(&self.path)
    }

    /// Returns `None` before the choice.
    pub(super) fn chosen(&self) -> Option<&Choice> {
        self.candidates.iter().find(|choice| choice.chosen)
    }
}

pub(super) struct TranslationRequest {
    pub(super) body_kind: BodyKind,
    pub(super) body: JsonTree,
}

#[derive(Debug, Default)]
pub(super) struct Form {
    fields: BTreeMap<String, String>,
    pub(super) ended_codes: Vec<EndedCodeField>,
    pub(super) faults: BTreeMap<FormField, String>,
}

impl Form {
    /// Reads an encoded form or query.
    pub(super) fn read(encoded: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(encoded).into_owned() {
            match form.fields.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                // The first value of a repeated field counts.
                Entry::Occupied(entry) => {
                    let name = entry.key();
                    let mut fields = FormField::ALL.into_iter();
                    if let Some(field) = fields.find(|field| field.name() == name) {
                        let fault = format!("The field {name} is sent more than once");
                        form.faults.insert(field, fault);
                    }
                }
            }
        }
        form
    }

    pub(super) fn value(&self, field: FormField) -> &str {
        self.fields.get(field.name()).map_or("", String::as_str)
    }

    pub(super) fn set_body(&mut self, body: String) {
        self.fields.insert(FormField::Body.name().to_owned(), body);
    }

    pub(super) fn asks_for_example(&self) -> bool {
        self.fields.contains_key(EXAMPLE)
    }

    /// Returns `None` if the value is not in the list.
    pub(super) fn body_kind(&self) -> Option<BodyKind> {
        let kind = self.value(FormField::Kind);
        KINDS
            .iter()
            .find(|choice| choice.value == kind || kind.is_empty())
            .map(|choice| choice.body_kind)
    }

    pub(super) fn fault(&self, field: FormField) -> Option<&String> {
        self.faults.get(&field)
    }

    /// Reads the request that the form describes. If fields are invalid or repeated, adds their
    /// faults to the form and returns `None`.
    pub(super) fn translation_request(&mut self) -> Option<TranslationRequest> {
        let body_kind = self.body_kind();
        if body_kind.is_none() {
            self.faults.insert(
                FormField::Kind,
                "Select the kind of body from the list".to_owned(),
            );
        }
        let body = self
            .body()
            .map_err(|fault| self.faults.insert(FormField::Body, fault))
            .ok();
        if !self.faults.is_empty() {
            return None;
        }
        Some(TranslationRequest {
            body_kind: body_kind?,
            body: body?,
        })
    }

    /// Parses the body. `Err` is the fault of the field.
    fn body(&self) -> Result<JsonTree, String> {
        let text = self.value(FormField::Body);
        if is_absent(text) {
            return Err("Enter a body".to_owned());
        }
        if text.len() > MAX_BODY_BYTES {
            return Err(format!(
                "The body is too large: the limit is {} KiB",
                MAX_BODY_BYTES / 1_024
            ));
        }
        read::parse_json(text.as_bytes())
            .map_err(|error| format!("The body is not valid JSON: {error}"))
    }

    pub(super) fn add_ended_codes(&mut self, notices: &[Finding]) {
        let fields = notices.iter().filter_map(|notice| {
            let chosen = self.fields.get(&EndedCodeField::name_at(&notice.path));
            let candidates = notice.candidates.iter().map(|candidate| Choice {
                value: candidate.code.clone(),
                words: format!("{} - {}", candidate.code, candidate.name),
                chosen: chosen == Some(&candidate.code),
            });
            Some(EndedCodeField {
                path: notice.path.clone(),
                code: notice.ended?.code,
                candidates: candidates.collect(),
            })
        });
        self.ended_codes = fields.take(MAX_ENDED_CODES).collect();
    }

    pub(super) fn code_choices(&self) -> Vec<CodeChoice> {
        let chosen = self.ended_codes.iter().filter_map(|field| {
            Some(CodeChoice {
                path: field.path.clone(),
                code: field.chosen()?.value.clone(),
            })
        });
        chosen.collect()
    }

    /// Returns `None` if the code at the path has no choice.
    pub(super) fn position_of_choice(&self, path: &str) -> Option<usize> {
        self.ended_codes.iter().position(|field| field.path == path)
    }

    /// Lists the kinds. The labels name the endpoints of `version`.
    pub(super) fn kinds(&self, version: &ApiVersion) -> Vec<Choice> {
        let chosen = self.value(FormField::Kind);
        let mut choices = Vec::new();
        for kind in KINDS.iter() {
            let record = kind.body_kind.record;
            let endpoint = record
                .and_then(|_| example::endpoint(version, kind.body_kind))
                .map_or_else(String::new, |endpoint| format!(" ({endpoint})"));
            choices.push(Choice {
                value: kind.value.to_owned(),
                words: format!("{}{endpoint}", kind.label),
                chosen: kind.value == chosen,
            });
        }
        choices
    }
}

#[cfg(test)]
mod tests {
    use adapter_kit::date;
    use domain::Lists;
    use version_tools::translate::{TranslationContext, translate};

    use super::*;

    #[test]
    fn every_example_is_accepted_by_its_version() {
        let context = TranslationContext {
            // After all dates of the examples.
            today: date(2026, 12, 1),
            lists: Lists::embedded(),
            choices: &[],
        };
        for served in versions::all().iter() {
            for choice in KINDS.iter() {
                let kind = choice.body_kind;
                let Some(example) = example::body(served.version, kind, context.lists) else {
                    continue;
                };
                let body = read::parse_json(example.to_string().as_bytes()).unwrap();
                let found = translate(&body, served, served, &kind, context);
                let label = served.version.label;
                assert!(
                    found.problems.is_empty(),
                    "{label} {}: {found:?}",
                    choice.value
                );
                assert!(found.lost.is_empty(), "{label} {}: {found:?}", choice.value);
            }
        }
    }
}
