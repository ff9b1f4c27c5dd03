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

/// Maximum size of a body, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 262_144;
/// Maximum size of a form, in bytes. Form encoding can take three bytes for each byte of a body.
pub(super) const MAX_FORM_BYTES: usize = 3 * MAX_BODY_BYTES + 1_024;

/// Maximum number of ended codes with a choice.
const MAX_ENDED_CODES: usize = 200;

/// The name of the button that inserts an example.
const EXAMPLE: &str = "example";

/// A kind of body that the reader can select.
struct KindChoice {
    /// The value in the form.
    value: &'static str,
    /// The label on the page.
    label: String,
    /// The kind of body.
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

    /// A request for a record in a trainee, such as a placement.
    fn nested<R: WireNested>() -> Self {
        Self::new(
            R::NAME,
            format!("Request: add or update a {}", R::NAME),
            request(R::KIND, None),
        )
    }
}

/// All kinds that the reader can select, in order.
static KINDS: LazyLock<Vec<KindChoice>> = LazyLock::new(|| {
    let unknown = BodyKind {
        record: None,
        direction: None,
        purpose: None,
    };
    let trainee = |purpose| request(RecordKind::Trainee, Some(purpose));
    let mut choices = vec![
        KindChoice::new("detect", "Detect from the body", unknown),
        KindChoice::new(
            "create",
            "Request: create a trainee",
            trainee(Purpose::Create),
        ),
        KindChoice::new(
            "update",
            "Request: update a trainee",
            trainee(Purpose::Update),
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

/// Whether a value is in the list of kinds.
pub(super) fn is_kind(value: &str) -> bool {
    KINDS.iter().any(|choice| choice.value == value)
}

/// The kind of body of requests for a record.
const fn request(record: RecordKind, purpose: Option<Purpose>) -> BodyKind {
    BodyKind {
        record: Some(record),
        direction: Some(Direction::Request),
        purpose,
    }
}

/// A field of the form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FormField {
    /// The kind of body.
    Kind,
    /// The body.
    Body,
}

impl FormField {
    const ALL: [Self; 2] = [Self::Kind, Self::Body];

    /// Returns the name of the field, which is also its identifier on the page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Kind => "kind",
            Self::Body => "body",
        }
    }
}

/// An option of a select element.
#[derive(Debug)]
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) words: String,
    pub(super) chosen: bool,
}

/// The choice of a code that replaces an ended code of the body.
#[derive(Debug)]
pub(super) struct EndedCodeField {
    /// The path of the ended code in the target version.
    pub(super) path: String,
    /// The ended code.
    pub(super) code: &'static str,
    /// The codes that can replace it, with their names.
    pub(super) candidates: Vec<Choice>,
}

impl EndedCodeField {
    /// Returns the name of the field for an ended code at a path.
    fn name_at(path: &str) -> String {
        format!("code:{path}")
    }

    pub(super) fn name(&self) -> String {
        Self::name_at(&self.path)
    }

    /// Returns the chosen code; `None` before the choice.
    pub(super) fn chosen(&self) -> Option<&Choice> {
        self.candidates.iter().find(|choice| choice.chosen)
    }
}

/// A translation request.
pub(super) struct TranslationRequest {
    pub(super) body_kind: BodyKind,
    pub(super) body: JsonTree,
}

/// The form with the reader's input.
#[derive(Debug, Default)]
pub(super) struct Form {
    fields: BTreeMap<String, String>,
    /// The choices for the ended codes of the body.
    pub(super) ended_codes: Vec<EndedCodeField>,
    /// The faults, by field.
    pub(super) faults: BTreeMap<FormField, String>,
}

impl Form {
    /// Reads an encoded form or query. Adds a fault for each field that is sent more than once, and
    /// keeps its first value.
    pub(super) fn read(encoded: &[u8]) -> Self {
        let mut form = Self::default();
        for (name, value) in form_urlencoded::parse(encoded).into_owned() {
            match form.fields.entry(name) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
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

    /// Returns the value of a field; empty if the field is absent.
    pub(super) fn value(&self, field: FormField) -> &str {
        self.fields.get(field.name()).map_or("", String::as_str)
    }

    /// Sets the body.
    pub(super) fn set_body(&mut self, body: String) {
        self.fields.insert(FormField::Body.name().to_owned(), body);
    }

    /// Whether the reader requested an example.
    pub(super) fn asks_for_example(&self) -> bool {
        self.fields.contains_key(EXAMPLE)
    }

    /// Returns the selected kind of body; `None` if the value is not in the list.
    pub(super) fn body_kind(&self) -> Option<BodyKind> {
        let kind = self.value(FormField::Kind);
        KINDS
            .iter()
            .find(|choice| choice.value == kind || kind.is_empty())
            .map(|choice| choice.body_kind)
    }

    /// Returns the fault of a field.
    pub(super) fn fault(&self, field: FormField) -> Option<&String> {
        self.faults.get(&field)
    }

    /// Returns the request that the form describes. If fields are invalid or repeated, adds their
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

    /// Adds a choice for each ended code of the body.
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

    /// Returns the chosen codes.
    pub(super) fn code_choices(&self) -> Vec<CodeChoice> {
        let chosen = self.ended_codes.iter().filter_map(|field| {
            Some(CodeChoice {
                path: field.path.clone(),
                code: field.chosen()?.value.clone(),
            })
        });
        chosen.collect()
    }

    /// Returns the position of the choice for the code at a path; `None` if there is no choice.
    pub(super) fn position_of_choice(&self, path: &str) -> Option<usize> {
        self.ended_codes.iter().position(|field| field.path == path)
    }

    /// Returns the options for the kind of body. The labels name the endpoints of `version`.
    pub(super) fn kinds(&self, version: &ApiVersion) -> Vec<Choice> {
        let chosen = self.value(FormField::Kind);
        let choice = |KindChoice {
                          value,
                          label,
                          body_kind,
                      }: &KindChoice| {
            let endpoint = body_kind
                .record
                .and_then(|_| example::endpoint(version, *body_kind))
                .map_or_else(String::new, |endpoint| format!(" ({endpoint})"));
            Choice {
                value: (*value).to_owned(),
                words: format!("{label}{endpoint}"),
                chosen: *value == chosen,
            }
        };
        KINDS.iter().map(choice).collect()
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
