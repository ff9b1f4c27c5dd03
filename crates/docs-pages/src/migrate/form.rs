//! The form: its input, the request that it describes, and its faults.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::LazyLock;

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::read::JsonTree;
use adapter_kit::wire::WireNested;
use adapter_kit::{ApiVersion, Label, Served, Versions, read};
use domain::for_each_nested;
use domain::values::text::is_absent;
use version_tools::translate::BodyKind;

use super::example;

/// Maximum size of a body, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 262_144;
/// Maximum size of a form, in bytes. Form encoding can take three bytes for each byte of a body.
pub(super) const MAX_FORM_BYTES: usize = 3 * MAX_BODY_BYTES + 1_024;

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
    /// The source version.
    From,
    /// The target version.
    To,
    /// The kind of body.
    Kind,
    /// The body.
    Body,
}

impl FormField {
    const ALL: [Self; 4] = [Self::From, Self::To, Self::Kind, Self::Body];

    /// Returns the name of the field, which is also its identifier on the page.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::From => "from",
            Self::To => "to",
            Self::Kind => "kind",
            Self::Body => "body",
        }
    }
}

/// An option of a select element.
pub(super) struct Choice {
    pub(super) value: String,
    pub(super) words: String,
    pub(super) chosen: bool,
}

/// A translation request.
pub(super) struct TranslationRequest {
    pub(super) from: &'static Served,
    pub(super) to: &'static Served,
    pub(super) body_kind: BodyKind,
    pub(super) body: JsonTree,
}

/// The form with the reader's input.
#[derive(Debug, Default)]
pub(super) struct Form {
    fields: BTreeMap<String, String>,
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

    /// Returns an empty form with a fault.
    pub(super) fn refused(field: FormField, why: String) -> Self {
        Self {
            fields: BTreeMap::new(),
            faults: BTreeMap::from([(field, why)]),
        }
    }

    /// Returns the value of a field; empty if the field is absent.
    pub(super) fn value(&self, field: FormField) -> &str {
        self.fields.get(field.name()).map_or("", String::as_str)
    }

    /// Sets the value of a field.
    pub(super) fn set(&mut self, field: FormField, value: String) {
        self.fields.insert(field.name().to_owned(), value);
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

    /// Returns the version label in a field, also of a version that is not served.
    pub(super) fn label(&self, field: FormField) -> Option<Label> {
        self.value(field).parse().ok()
    }

    /// Returns the request that the form describes. If fields are invalid or repeated, adds their
    /// faults to the form and returns `None`.
    pub(super) fn translation_request(
        &mut self,
        versions: &'static Versions,
    ) -> Option<TranslationRequest> {
        let from = self.version(FormField::From, "Select the version of your body", versions);
        let to = self.version(
            FormField::To,
            "Select the version to translate to",
            versions,
        );
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
            from: from?,
            to: to?,
            body_kind: body_kind?,
            body: body?,
        })
    }

    /// Returns the served version in a field. If there is none, adds a fault that begins with
    /// `wanted`.
    fn version(
        &mut self,
        field: FormField,
        wanted: &str,
        versions: &'static Versions,
    ) -> Option<&'static Served> {
        let found = self.label(field).and_then(|label| versions.find(label));
        if found.is_none() {
            let fault = match self.label(field) {
                Some(label) => format!("{wanted}: {label} is not served"),
                None => wanted.to_owned(),
            };
            self.faults.insert(field, fault);
        }
        found
    }

    /// Parses the body. `Err` is the fault of the field.
    fn body(&self) -> Result<JsonTree, String> {
        let text = self.value(FormField::Body);
        if is_absent(text) {
            return Err("Enter a body".to_owned());
        }
        if text.len() > MAX_BODY_BYTES {
            return Err(too_large());
        }
        read::parse_json(text.as_bytes())
            .map_err(|error| format!("The body is not valid JSON: {error}"))
    }

    /// Returns the options for a version, newest first. The version in the field is selected; if
    /// the field has no served version, `otherwise` is selected.
    pub(super) fn versions(
        &self,
        field: FormField,
        versions: &Versions,
        otherwise: Option<Label>,
    ) -> Vec<Choice> {
        let served = self
            .label(field)
            .filter(|label| versions.find(*label).is_some());
        let chosen = served.or(otherwise);
        let labels = versions.iter().rev().map(|served| served.version.label);
        let choice = |label: Label| Choice {
            value: label.to_string(),
            words: label.to_string(),
            chosen: Some(label) == chosen,
        };
        labels.map(choice).collect()
    }

    /// Returns the options for the kind of body. The labels name the endpoints of `version`.
    pub(super) fn kinds(&self, version: Option<&ApiVersion>) -> Vec<Choice> {
        let chosen = self.value(FormField::Kind);
        let choice = |KindChoice {
                          value,
                          label,
                          body_kind,
                      }: &KindChoice| {
            let version = version.filter(|_| body_kind.record.is_some());
            let endpoint = version.and_then(|version| example::endpoint(version, *body_kind));
            let endpoint = endpoint.map_or_else(String::new, |endpoint| format!(" ({endpoint})"));
            Choice {
                value: (*value).to_owned(),
                words: format!("{label}{endpoint}"),
                chosen: *value == chosen,
            }
        };
        KINDS.iter().map(choice).collect()
    }
}

/// Returns the fault of a body that is too large.
pub(super) fn too_large() -> String {
    format!(
        "The body is too large: the limit is {} KiB",
        MAX_BODY_BYTES / 1_024
    )
}
