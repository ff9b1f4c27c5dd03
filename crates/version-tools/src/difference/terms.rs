//! Codes and years that one version accepts and the other does not.

use std::collections::BTreeSet;

use adapter_kit::version::{ApiVersion, Wire};
use domain::field::Codes;
use domain::{Deferral, Degree, List, Lists, Placement, Recommendation, RecordField as _, Trainee, Withdrawal};
use serde::Serialize;

use super::{About, Change, Effect};
use crate::documents::listed;

/// A change of the codes of a list that a request can have.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodesChange {
    /// The name of the list.
    pub list: &'static str,
    /// The fields of a request that hold such a code, in the names of the version that is moved to.
    pub fields: Vec<&'static str>,
    /// What has become of the codes.
    pub change: CodesTurn,
    /// The codes.
    pub codes: Vec<CodeName>,
}

/// What has become of codes or years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CodesTurn {
    /// They are accepted now.
    Accepted,
    /// They are no longer accepted.
    Refused,
}

/// A code and its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CodeName {
    /// The code.
    pub code: String,
    /// Its name.
    pub name: String,
}

/// A change of the academic years in which some subjects are funded without student finance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct YearsChange {
    /// What has become of the years.
    pub change: CodesTurn,
    /// The years in which an academic year begins.
    pub years: Vec<i32>,
}

const TURNS: [CodesTurn; 2] = [CodesTurn::Accepted, CodesTurn::Refused];

/// The changes of accepted codes and years.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion, lists: &Lists) -> Vec<Change> {
    let codes = List::ALL.iter().flat_map(|list| TURNS.map(|turn| codes(*list, turn, from, to, lists)));
    codes.chain(TURNS.map(|turn| years(turn, from, to))).flatten().collect()
}

fn codes(list: List, change: CodesTurn, from: &ApiVersion, to: &ApiVersion, lists: &Lists) -> Option<Change> {
    let (with, without) = sides(change, from, to);
    let differ = lists.entries(list).iter().filter(|entry| {
        with.accepted_codes.accepts(list, &entry.code) && !without.accepted_codes.accepts(list, &entry.code)
    });
    let codes: Vec<CodeName> =
        differ.map(|entry| CodeName { code: entry.code.clone(), name: entry.name.clone() }).collect();
    if codes.is_empty() {
        return None;
    }
    let fields = fields_with(list, to);
    let told: Vec<String> = codes.iter().map(|code| format!("`{}` ({})", code.code, code.name)).collect();
    let these = if codes.len() == 1 { "this code" } else { "these codes" };
    let (told, named) = (told.join(", "), listed(fields.iter().copied()));
    let (effect, summary, advice) = match change {
        CodesTurn::Refused => (
            Effect::Refused,
            format!("No longer accepted in {named}: {told}."),
            format!("Do not send {these}. A record that has such a code already is shown with it."),
        ),
        CodesTurn::Accepted => {
            (Effect::NewlyPossible, format!("Accepted in {named}: {told}."), format!("Send {these} where you need to."))
        }
    };
    let of = format!("list {}", list.name());
    Some(Change::new(
        effect,
        About::Codes(CodesChange { list: list.name(), fields, change, codes }),
        of,
        summary,
        advice,
    ))
}

fn years(change: CodesTurn, from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (with, without) = sides(change, from, to);
    let differ = with
        .accepted_codes
        .funding_exception_years
        .iter()
        .filter(|year| !without.accepted_codes.funding_exception_years.contains(year));
    let years: Vec<i32> = differ.copied().collect();
    if years.is_empty() {
        return None;
    }
    let told: Vec<String> = years.iter().map(|year| format!("{year} to {}", year + 1)).collect();
    let told = told.join(", ");
    let (effect, summary, advice) = match change {
        CodesTurn::Refused => (
            Effect::Refused,
            format!("Starts in {told}: no subject is funded without student finance."),
            "Do not ask for such funding for trainees who start then.".to_owned(),
        ),
        CodesTurn::Accepted => (
            Effect::NewlyPossible,
            format!("Starts in {told}: some subjects are funded without student finance."),
            "Ask for such funding where it applies.".to_owned(),
        ),
    };
    Some(Change::new(effect, About::ExceptionYears(YearsChange { change, years }), "trainee", summary, advice))
}

/// The version that accepts, and the one that does not.
fn sides<'v>(change: CodesTurn, from: &'v ApiVersion, to: &'v ApiVersion) -> (&'v ApiVersion, &'v ApiVersion) {
    match change {
        CodesTurn::Accepted => (to, from),
        CodesTurn::Refused => (from, to),
    }
}

/// The fields of the requests of a version that hold a code of the list.
fn fields_with(list: List, version: &ApiVersion) -> Vec<&'static str> {
    fn of<R: Wire>(list: List, version: &ApiVersion) -> impl Iterator<Item = &'static str> {
        let holds = move |codes: Option<Codes>| codes == Some(Codes::Listed(list));
        R::inputs(version).entries.iter().filter(move |input| holds(input.field.info().codes)).map(|input| input.name)
    }
    let all = of::<Trainee>(list, version)
        .chain(of::<Placement>(list, version))
        .chain(of::<Degree>(list, version))
        .chain(of::<Withdrawal>(list, version))
        .chain(of::<Deferral>(list, version))
        .chain(of::<Recommendation>(list, version));
    let mut seen = BTreeSet::new();
    all.filter(|name| seen.insert(*name)).collect()
}
