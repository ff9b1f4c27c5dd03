//! The result of a translation, as the pages show it.

use std::collections::BTreeSet;

use adapter_kit::body_kind::{Direction, Purpose};
use adapter_kit::problems::ErrorEntry;
use adapter_kit::read::client_text::truncated;
use adapter_kit::{ApiVersion, Label, Served, reference};
use domain::{Code, List, Lists};
use http_kit::requests::methods::usual_method;
use serde_json::Value;
use version_tools::translate::{BodyKind, Finding, Translation};

use super::marked::{self, Marked};
use super::{code_list_page, example};
use crate::markdown::inline_html;

/// Maximum number of rows in a table or list of findings.
const MAX_ROWS: usize = 200;
/// Maximum number of codes listed beside a problem. Longer lists are linked.
const MAX_CODES: usize = 100;

/// The result of a translation.
pub(super) struct Outcome {
    pub(super) from: Label,
    pub(super) to: Label,
    pub(super) taken_for: Option<String>,
    /// The other kind that the body could have; present if it has problems as both.
    pub(super) otherwise: Option<Otherwise>,
    pub(super) old: Marked,
    pub(super) new: Marked,
    pub(super) plain: String,
    pub(super) renames: Rows<Renamed>,
    pub(super) lost: Rows<Lost>,
    pub(super) problems: Rows<Problem>,
    /// The stricter rules that depend on a field with a problem, as HTML.
    pub(super) pending_rules: Vec<String>,
    /// The notes that no shown problem contains.
    pub(super) notices: Rows<Noticed>,
    /// The command that lets the target version check the body; `None` for a response.
    pub(super) check: Option<String>,
}

/// The result for the other kind of body.
pub(super) struct Otherwise {
    pub(super) taken_for: String,
    pub(super) problems: Rows<Problem>,
}

/// The first rows of findings, and the total number.
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
    pub(super) remedy: Remedy,
    /// The accepted codes, if the problem is about a code.
    pub(super) codes: Option<CodesHelp>,
    /// The stricter rules about the field, as HTML.
    pub(super) rules: Vec<String>,
}

/// What to do about a problem.
pub(super) enum Remedy {
    /// The general advice for the code of the problem; empty for a problem without a code.
    General(&'static str),
    /// The advice for an ended code, as HTML.
    EndedCode(String),
}

/// Where the reader finds the accepted codes.
pub(super) enum CodesHelp {
    /// Beside the problem.
    Listed(AcceptedCodes),
    /// Beside an earlier problem about the list with this name.
    ListedBefore(&'static str),
    /// On the page at this address.
    Page(String),
}

/// The codes of a list that a version accepts.
pub(super) struct AcceptedCodes {
    /// The name of the list.
    pub(super) list: &'static str,
    /// The page about the list.
    pub(super) page: String,
    pub(super) codes: Vec<AcceptedCode>,
}

pub(super) struct AcceptedCode {
    pub(super) code: String,
    pub(super) name: String,
}

pub(super) struct Noticed {
    pub(super) path: String,
    pub(super) message: String,
}

impl Outcome {
    /// Describes the translation of a body. `origin` is the address of the register for commands.
    pub(super) fn new(
        sent: &Value,
        translation: Translation,
        to: &Served,
        lists: &Lists,
        origin: &str,
    ) -> Self {
        let (old, new) = marked::sides(sent, &translation);
        let mut rows = ProblemRows {
            to,
            lists,
            notices: &translation.notices,
            listed: BTreeSet::new(),
        };
        let problems = Rows::new(translation.problems, |problem| rows.row(problem));
        let otherwise = translation.otherwise.and_then(|other| {
            Some(Otherwise {
                taken_for: taken_for(&other.body_kind)?,
                problems: Rows::new(other.problems, |problem| rows.row(problem)),
            })
        });
        let is_in_problem = |notice: &Finding| {
            let mut rows = problems.rows.iter();
            notice.ended.is_some() && rows.any(|problem| problem.field == notice.path)
        };
        let notices: Vec<&Finding> = translation
            .notices
            .iter()
            .filter(|notice| !is_in_problem(notice))
            .collect();
        Self {
            from: translation.from,
            to: translation.to,
            taken_for: taken_for(&translation.body_kind),
            otherwise,
            check: check_command(origin, to.version, translation.body_kind),
            old,
            new,
            plain: format!("{:#}", translation.data),
            renames: Rows::new(translation.renames, |rename| Renamed {
                path: rename.path,
                to: rename.to,
            }),
            lost: Rows::new(translation.lost, |loss| Lost {
                path: loss.path,
                value: truncated(&loss.value.to_string()),
                why: loss.message,
            }),
            notices: Rows::new(notices, |notice| Noticed {
                path: notice.path.clone(),
                message: notice.message.clone(),
            }),
            problems,
            pending_rules: Vec::new(),
        }
    }
}

/// Turns problems into rows.
struct ProblemRows<'a> {
    to: &'a Served,
    lists: &'a Lists,
    notices: &'a [Finding],
    /// The lists whose codes are beside an earlier problem.
    listed: BTreeSet<&'static str>,
}

impl ProblemRows<'_> {
    fn row(&mut self, problem: ErrorEntry) -> Problem {
        let (code, field) = problem
            .located
            .map(|located| (located.code, located.field))
            .unwrap_or_default();
        let known = Code::ALL.iter().copied().find(|known| known.name() == code);
        let mut at_field = self.notices.iter().filter(|notice| notice.path == field);
        let ended = at_field.find_map(|notice| notice.ended);
        Problem {
            codes: known.and_then(|code| self.codes_help(code, &field, &problem.message)),
            remedy: match ended {
                Some(ended) => Remedy::EndedCode(inline_html(&ended.advice())),
                None => Remedy::General(known.map_or("", Code::remedy)),
            },
            field,
            message: problem.message,
            code: code.to_owned(),
            rules: Vec::new(),
        }
    }

    fn codes_help(&mut self, code: Code, field: &str, message: &str) -> Option<CodesHelp> {
        let version = self.to.version;
        let is_unknown_code = code == Code::UnknownCode;
        let name = if is_unknown_code {
            field
        } else {
            let (_, name) = message.rsplit_once("/reference-data?field=")?;
            name
        };
        let name = reference::list_named(version, name)?;
        let page = code_list_page(version.label, name);
        let list = List::ALL.iter().copied().find(|list| list.name() == name);
        let Some(list) = list.filter(|_| is_unknown_code) else {
            return Some(CodesHelp::Page(page));
        };
        let entries = self.lists.entries(list).iter();
        let accepted = entries.filter(|entry| version.accepted_codes.accepts(list, &entry.code));
        let codes: Vec<AcceptedCode> = accepted
            .map(|entry| AcceptedCode {
                code: version.wire.written(list, &entry.code).to_owned(),
                name: entry.name.clone(),
            })
            .collect();
        Some(if codes.len() > MAX_CODES {
            CodesHelp::Page(page)
        } else if self.listed.insert(name) {
            CodesHelp::Listed(AcceptedCodes {
                list: name,
                page,
                codes,
            })
        } else {
            CodesHelp::ListedBefore(name)
        })
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

/// Returns the command that lets a version check a request without storing anything; `None` for a
/// response.
fn check_command(origin: &str, version: &ApiVersion, kind: BodyKind) -> Option<String> {
    if kind.direction != Some(Direction::Request) {
        return None;
    }
    let endpoint = example::endpoint(version, kind)?;
    let method = usual_method(endpoint.method());
    let mut path = String::new();
    for part in endpoint.path().split_inclusive('/') {
        match part.strip_prefix('{') {
            Some(name) => path.push_str(&name.replace('}', "").to_uppercase()),
            None => path.push_str(part),
        }
    }
    Some(format!(
        "curl -i -X {method} {origin}{}{path} \\\n  -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: \
         application/json' \\\n  -H 'Prefer: validate-only, handling=strict' -d @body.json",
        version.label.base_path()
    ))
}

/// Describes the detected kind of a body.
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
