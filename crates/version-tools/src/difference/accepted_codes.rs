//! Codes and years that one version accepts and the other does not.

use adapter_kit::reference;
use adapter_kit::version::ApiVersion;
use domain::ended_codes::{Successor, successor};
use domain::values::academic_year;
use domain::{List, Lists};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};
use crate::documents::listed;

/// A change of the codes that requests can use from a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodesChange {
    /// The name of the list.
    pub list: &'static str,
    /// The fields of requests with these codes, in the names of the target version.
    pub fields: Vec<&'static str>,
    /// How the codes changed.
    pub change: CodesChangeKind,
    /// The codes.
    pub codes: Vec<CodeName>,
    /// The replacements of ended codes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub successors: Vec<CodeSuccessor>,
}

/// The replacement of an ended code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeSuccessor {
    /// The ended code.
    pub ended: String,
    /// The code to send instead; null if there is none.
    pub code: Option<&'static str>,
    /// Advice, as a clause.
    pub advice: String,
}

impl CodeSuccessor {
    fn new(ended: &str, successor: Successor) -> Self {
        let code = match successor {
            Successor::Code(code) => Some(code),
            Successor::None { .. } => None,
        };
        Self {
            ended: ended.to_owned(),
            code,
            advice: successor.to_string(),
        }
    }
}

/// How codes or years changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodesChangeKind {
    /// The target version accepts codes or years that the old version refuses.
    Accepted,
    /// The target version refuses codes or years that the old version accepts.
    Refused,
}

/// A code and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeName {
    /// The code.
    pub code: String,
    /// The name of the code.
    pub name: String,
}

/// A change of the academic years with funding for some subjects without student finance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct YearsChange {
    /// How the years changed.
    pub change: CodesChangeKind,
    /// The calendar years when these academic years begin.
    pub years: Vec<i32>,
}

const KINDS: [CodesChangeKind; 2] = [CodesChangeKind::Accepted, CodesChangeKind::Refused];

/// Returns the changes of accepted codes and years.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion, lists: &Lists) -> Vec<Change> {
    let codes = List::ALL
        .iter()
        .flat_map(|list| KINDS.map(|kind| codes(*list, kind, from, to, lists)));
    codes
        .chain(KINDS.map(|kind| years(kind, from, to)))
        .flatten()
        .collect()
}

fn codes(
    list: List,
    change: CodesChangeKind,
    from: &ApiVersion,
    to: &ApiVersion,
    lists: &Lists,
) -> Option<Change> {
    let (with, without) = sides(change, from, to);
    let differ = lists.entries(list).iter().filter(|entry| {
        with.accepted_codes.accepts(list, &entry.code)
            && !without.accepted_codes.accepts(list, &entry.code)
    });
    let codes: Vec<CodeName> = differ
        .map(|entry| CodeName {
            code: entry.code.clone(),
            name: entry.name.clone(),
        })
        .collect();
    if codes.is_empty() {
        return None;
    }
    let fields = reference::fields_of_list(to, list.name());
    let values: Vec<String> = codes
        .iter()
        .map(|code| format!("`{}` ({})", code.code, code.name))
        .collect();
    let these = if codes.len() == 1 {
        "this code"
    } else {
        "these codes"
    };
    let values = values.join(", ");
    let named = listed(fields.iter().copied());
    let successors: Vec<CodeSuccessor> = match change {
        CodesChangeKind::Accepted => Vec::new(),
        CodesChangeKind::Refused => {
            let ended = codes.iter().map(|CodeName { code, .. }| code.as_str());
            ended
                .filter_map(|code| Some(CodeSuccessor::new(code, successor(list, code)?)))
                .collect()
        }
    };
    let instead: String = successors
        .iter()
        .map(|one| format!(" `{}`: {}.", one.ended, one.advice))
        .collect();
    let label = to.label;
    let (effect, summary, advice) = match change {
        CodesChangeKind::Refused => (
            Effect::Refused,
            format!("{label} no longer accepts {these} in {named}: {values}."),
            format!("Do not send {these}.{instead} Existing records keep {these}."),
        ),
        CodesChangeKind::Accepted => (
            Effect::NewlyPossible,
            format!("{label} accepts {these} in {named}: {values}."),
            format!("You can send {these}."),
        ),
    };
    let of = format!("list {}", list.name());
    Some(Change::new(
        effect,
        ChangeDetail::Codes(CodesChange {
            list: list.name(),
            fields,
            change,
            codes,
            successors,
        }),
        of,
        summary,
        advice,
    ))
}

/// Returns the change of the years with funding for some subjects without student finance; `None`
/// if no year is newly accepted or newly refused.
fn years(change: CodesChangeKind, from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (with, without) = sides(change, from, to);
    let differ = with
        .accepted_codes
        .funding_exception_years
        .iter()
        .filter(|year| {
            !without
                .accepted_codes
                .funding_exception_years
                .contains(year)
        });
    let years: Vec<i32> = differ.copied().collect();
    if years.is_empty() {
        return None;
    }
    let values: Vec<String> = years
        .iter()
        .map(|year| academic_year::label(*year))
        .collect();
    let values = values.join(", ");
    let (effect, summary, advice) = match change {
        CodesChangeKind::Refused => (
            Effect::Refused,
            format!("For starts in {values}, no subject is funded without student finance."),
            "Do not request funding without student finance for these starts.".to_owned(),
        ),
        CodesChangeKind::Accepted => (
            Effect::NewlyPossible,
            format!("For starts in {values}, some subjects are funded without student finance."),
            "You can request this funding.".to_owned(),
        ),
    };
    Some(Change::new(
        effect,
        ChangeDetail::ExceptionYears(YearsChange { change, years }),
        "trainee",
        summary,
        advice,
    ))
}

/// Returns the version that accepts the codes, and the version that does not.
fn sides<'v>(
    change: CodesChangeKind,
    from: &'v ApiVersion,
    to: &'v ApiVersion,
) -> (&'v ApiVersion, &'v ApiVersion) {
    match change {
        CodesChangeKind::Accepted => (to, from),
        CodesChangeKind::Refused => (from, to),
    }
}
