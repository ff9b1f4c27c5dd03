//! Reads codes and facts about them from the rows of tables.

use foldhash::{HashMap, HashSet};
use uuid::Uuid;

use super::entry::{Entry, Route, WithdrawalReason};
use super::list::{List, WITHDRAWAL_REASON};
use super::table::{ListError, ListErrorKind, Row, rows};
use crate::fields::vocabulary::{LEVELS, QUALIFICATIONS, WITHDRAWAL_TRIGGERS};

/// Reads the entries of a list, in code order. An entry without an identifier in the table gets one
/// that is derived from `namespace`, the list and the code.
pub(super) fn entries(list: List, text: &str, namespace: &Uuid) -> Result<Vec<Entry>, ListError> {
    let mut seen = HashSet::default();
    let mut entries = rows(list.name(), text)?
        .iter()
        .map(|row| {
            let code = row.text("code")?;
            if !seen.insert(code.to_owned()) {
                return Err(row.error(ListErrorKind::Repeated(code.to_owned())));
            }
            let uuid = row.uuid("uuid")?.unwrap_or_else(|| {
                Uuid::new_v5(namespace, format!("{}:{code}", list.name()).as_bytes())
            });
            Ok(Entry {
                uuid,
                code: code.to_owned(),
                name: row.text("name")?.to_owned(),
                start_year: row.year("start_year")?,
                end_year: row.year("end_year")?,
            })
        })
        .collect::<Result<Vec<_>, ListError>>()?;
    entries.sort_by(|one, other| one.code.cmp(&other.code));
    Ok(entries)
}

/// Reads the reasons of withdrawals.
pub(super) fn reasons(text: &str) -> Result<Vec<WithdrawalReason>, ListError> {
    let mut seen = HashSet::default();
    let mut reasons = Vec::new();
    for row in rows(WITHDRAWAL_REASON.name, text)? {
        let code = row.text("code")?;
        let trigger = row.one_of("trigger", WITHDRAWAL_TRIGGERS)?;
        if !seen.insert((code.to_owned(), trigger)) {
            return Err(row.error(ListErrorKind::Repeated(code.to_owned())));
        }
        reasons.push(WithdrawalReason {
            code: code.to_owned(),
            name: row.text("name")?.to_owned(),
            trigger: trigger.to_owned(),
            requires_another_reason: row.flag("requires_another_reason")?,
            requires_safeguarding_concern_reasons: row
                .flag("requires_safeguarding_concern_reasons")?,
        });
    }
    Ok(reasons)
}

/// Reads a fact about each code of a list.
pub(super) fn facts<'t, T>(
    list: List,
    text: impl Fn(List) -> &'t str,
    read: impl Fn(&Row<'_>) -> Result<T, ListError>,
) -> Result<HashMap<String, T>, ListError> {
    rows(list.name(), text(list))?
        .iter()
        .map(|row| Ok((row.text("code")?.to_owned(), read(row)?)))
        .collect()
}

/// Returns the codes of a list with `true` in a column.
pub(super) fn flagged<'t>(
    list: List,
    text: impl Fn(List) -> &'t str,
    column: &str,
) -> Result<HashSet<String>, ListError> {
    let flags = facts(list, text, |row| row.flag(column))?;
    Ok(flags
        .into_iter()
        .filter_map(|(code, flag)| flag.then_some(code))
        .collect())
}

/// Reads the facts about a training route.
pub(super) fn route(row: &Row<'_>) -> Result<Route, ListError> {
    Ok(Route {
        key: row.text("key")?.to_owned(),
        level: row.one_of("level", LEVELS)?,
        qualification: row.one_of("qualification", QUALIFICATIONS)?,
        early_years: row.flag("early_years")?,
        min_placements: row.number("min_placements")?,
        degree_required: row.flag("degree_required")?,
        study_mode_required: row.flag("study_mode_required")?,
        iqts_country_required: row.flag("iqts_country_required")?,
        employing_school_required_for_award: row.flag("employing_school_required_for_award")?,
    })
}
