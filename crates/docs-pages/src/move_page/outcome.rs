//! The result of a translation, as the page shows it.

use adapter_kit::body_kind::{Direction, Purpose};
use adapter_kit::problems::ErrorEntry;
use adapter_kit::read::client_text::truncated;
use adapter_kit::{ApiVersion, Label, Served, reference};
use domain::Code;
use http_kit::paths;
use http_kit::requests::methods::usual_method;
use version_tools::translate::{BodyKind, Finding, Translation};

use super::example;
use crate::markdown::inline_html;

const MAX_ROWS: usize = 200;

/// Notes about values that no request sets: under an unknown name, or the name of a reply.
const IGNORED: [&str; 3] = ["unknown_name", "not_an_input", "use_endpoint"];

pub(super) struct Outcome {
    pub(super) from: Label,
    pub(super) to: Label,
    pub(super) taken_for: Option<String>,
    /// Present if the body has problems as both kinds that it could have.
    pub(super) otherwise: Option<Otherwise>,
    pub(super) translated: String,
    pub(super) renames: Rows<Renamed>,
    pub(super) lost: Rows<Lost>,
    pub(super) problems: Rows<Problem>,
    /// Stricter rules that depend on a field with a problem, as HTML.
    pub(super) pending_rules: Vec<String>,
    /// The target version has an input or an endpoint for these values.
    pub(super) ignored: Rows<Noticed>,
    /// Notes that neither a shown problem nor an ignored value contains.
    pub(super) notices: Rows<Noticed>,
    /// Lets the target version check the body; `None` for a response.
    pub(super) check: Option<String>,
}

pub(super) struct Otherwise {
    pub(super) taken_for: String,
    pub(super) problems: Rows<Problem>,
}

/// The first rows, and the total number.
pub(super) struct Rows<T> {
    pub(super) rows: Vec<T>,
    pub(super) count: usize,
}

pub(super) struct Renamed {
    pub(super) path: String,
    pub(super) to: &'static str,
}

pub(super) struct Lost {
    pub(super) path: String,
    pub(super) value: String,
    pub(super) why: String,
}

pub(super) struct Problem {
    pub(super) field: String,
    pub(super) message: String,
    pub(super) code: String,
    /// Advice, as HTML.
    pub(super) ended_code: Option<String>,
    /// The accepted codes, if the problem is about a code.
    pub(super) codes: Option<String>,
    /// Stricter rules about the field, as HTML.
    pub(super) rules: Vec<String>,
}

pub(super) struct Noticed {
    pub(super) path: String,
    pub(super) message: String,
}

impl Outcome {
    /// `origin` is the address of the register for commands.
    pub(super) fn new(translation: Translation, to: &Served, origin: &str) -> Self {
        let problems = list_problems(translation.problems, to, &translation.notices);
        let otherwise = translation.otherwise.and_then(|other| {
            Some(Otherwise {
                taken_for: taken_for(&other.body_kind)?,
                problems: list_problems(other.problems, to, &translation.notices),
            })
        });
        let (ignored, notices): (Vec<&Finding>, Vec<&Finding>) = translation
            .notices
            .iter()
            .filter(|notice| {
                // The problem of the field shows the advice about its ended code.
                let mut rows = problems.rows.iter();
                notice.ended.is_none() || !rows.any(|problem| problem.field == notice.path)
            })
            .partition(|notice| IGNORED.contains(&notice.code));
        Self {
            from: translation.from,
            to: translation.to,
            taken_for: taken_for(&translation.body_kind),
            otherwise,
            check: check_command(origin, to.version, translation.body_kind),
            translated: format!("{:#}", translation.data),
            renames: Rows::new(translation.renames, |rename| Renamed {
                path: rename.path,
                to: rename.to,
            }),
            lost: Rows::new(translation.lost, |loss| Lost {
                path: loss.path,
                value: truncated(&loss.value.to_string()),
                why: loss.message,
            }),
            ignored: Rows::new(ignored, Noticed::from),
            notices: Rows::new(notices, Noticed::from),
            problems,
            pending_rules: Vec::new(),
        }
    }
}

impl From<&Finding> for Noticed {
    fn from(notice: &Finding) -> Self {
        Self {
            path: notice.path.clone(),
            message: notice.message.clone(),
        }
    }
}

fn list_problems(found: Vec<ErrorEntry>, to: &Served, notices: &[Finding]) -> Rows<Problem> {
    Rows::new(found, |problem| Problem::new(problem, to.version, notices))
}

impl Outcome {
    /// Whether the reader has to correct the body.
    pub(super) fn needs_correction(&self) -> bool {
        self.problems.count > 0 || self.ignored.count > 0
    }
}

impl Problem {
    fn new(problem: ErrorEntry, version: &ApiVersion, notices: &[Finding]) -> Self {
        let (code, field) = problem
            .located
            .map(|located| (located.code, located.field))
            .unwrap_or_default();
        let mut at_field = notices.iter().filter(|notice| notice.path == field);
        let ended = at_field.find_map(|notice| notice.ended);
        // The message about a code that depends on another field names the list in an address.
        let list = if code == Code::UnknownCode.name() {
            Some(field.as_str())
        } else {
            let in_message = problem.message.rsplit_once("/reference-data?field=");
            in_message.map(|(_, list)| list)
        };
        let list = list.and_then(|list| reference::list_named(version, list));
        Self {
            ended_code: ended.map(|ended| inline_html(&ended.advice())),
            codes: list
                .map(|list| paths::document(version.label, &format!("reference-data/{list}"))),
            field,
            message: problem.message,
            code: code.to_owned(),
            rules: Vec::new(),
        }
    }
}

impl<T> Rows<T> {
    fn new<U>(all: Vec<U>, row: impl FnMut(U) -> T) -> Self {
        Self {
            count: all.len(),
            rows: all.into_iter().take(MAX_ROWS).map(row).collect(),
        }
    }

    pub(super) fn more(&self) -> usize {
        self.count - self.rows.len()
    }
}

fn check_command(origin: &str, version: &ApiVersion, kind: BodyKind) -> Option<String> {
    if kind.direction != Some(Direction::Request) {
        return None;
    }
    let row = version.row(example::endpoint(version, kind)?);
    let method = usual_method(row.method);
    let mut path = String::new();
    for part in row.path.split_inclusive('/') {
        match part.strip_prefix('{') {
            Some(name) => path.push_str(&name.replace('}', "").to_uppercase()),
            None => path.push_str(part),
        }
    }
    Some(format!(
        "curl -i -X {method} {origin}{}{path} \\\n  -H \"Authorization: Bearer $TOKEN\" \
         -H 'Content-Type: application/json' \\\n  \
         -H 'Prefer: validate-only, handling=strict' -d @body.json",
        version.label.base_path()
    ))
}

fn taken_for(body_kind: &BodyKind) -> Option<String> {
    let record = body_kind.record?.name();
    let what = match (body_kind.direction?, body_kind.purpose) {
        (Direction::Reply, _) => "a response with a",
        (Direction::Request, Some(Purpose::Create)) => "a request that creates a",
        (Direction::Request, Some(Purpose::Update)) => "a request that updates a",
        (Direction::Request, None) => "a request for a",
    };
    Some(format!("{what} {record}"))
}
