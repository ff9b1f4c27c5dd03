//! Codes and years that one version accepts and the other does not.

use adapter_kit::reference;
use adapter_kit::version::ApiVersion;
use domain::ended_codes::{EndedCode, Successor};
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
    /// The codes; an ended code has its own change.
    pub codes: Vec<CodeName>,
    /// The code to send instead of an ended code; `None` if there is no such code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub successor: Option<&'static str>,
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

/// Returns the changes of accepted codes and years: one for each ended code, and one for all newly
/// accepted codes of a list.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion, lists: &Lists) -> Vec<Change> {
    let mut changes = Vec::new();
    for list in List::ALL.iter().copied() {
        let accepted = only_in(list, to, from, lists);
        if !accepted.is_empty() {
            changes.push(accepted_change(list, accepted, to));
        }
        let ended = only_in(list, from, to, lists);
        changes.extend(
            ended
                .into_iter()
                .map(|code| ended_change(list, code, from, to)),
        );
    }
    changes.extend(
        KINDS
            .map(|kind| years(kind, from, to))
            .into_iter()
            .flatten(),
    );
    changes
}

/// Returns the codes of a list that only the first version accepts.
fn only_in(list: List, with: &ApiVersion, without: &ApiVersion, lists: &Lists) -> Vec<CodeName> {
    let codes = lists.entries(list).iter().filter(|entry| {
        with.accepted_codes.accepts(list, &entry.code)
            && !without.accepted_codes.accepts(list, &entry.code)
    });
    let named = codes.map(|entry| CodeName {
        code: entry.code.clone(),
        name: entry.name.clone(),
    });
    named.collect()
}

fn accepted_change(list: List, codes: Vec<CodeName>, to: &ApiVersion) -> Change {
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
    let summary = format!(
        "{} accepts {these} in {}: {}.",
        to.label,
        listed(fields.iter().copied()),
        values.join(", ")
    );
    Change::new(
        Effect::NewlyPossible,
        ChangeDetail::Codes(CodesChange {
            list: list.name(),
            fields,
            change: CodesChangeKind::Accepted,
            codes,
            successor: None,
        }),
        format!("list {}", list.name()),
        summary,
        format!("You can send {these}."),
    )
}

fn ended_change(list: List, code: CodeName, from: &ApiVersion, to: &ApiVersion) -> Change {
    let fields = reference::fields_of_list(to, list.name());
    let ended = EndedCode::find(list, &code.code);
    let advice = match ended {
        Some(ended) => ended.advice(),
        None => format!(
            "No code of {} replaces `{}`. Keep using {} for records with this code.",
            to.label, code.code, from.label
        ),
    };
    let summary = format!(
        "{} no longer accepts `{}` ({}) in {}.",
        to.label,
        code.code,
        code.name,
        listed(fields.iter().copied())
    );
    let successor = ended.and_then(|ended| match ended.successor {
        Successor::Code(code) => Some(code),
        Successor::None { .. } => None,
    });
    Change::new(
        Effect::Refused,
        ChangeDetail::Codes(CodesChange {
            list: list.name(),
            fields,
            change: CodesChangeKind::Refused,
            codes: vec![code],
            successor,
        }),
        format!("list {}", list.name()),
        summary,
        advice,
    )
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
