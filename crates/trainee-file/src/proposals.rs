//! Proposes fields for the columns of a file, by their headings and their values.

use chrono::NaiveDate;

use crate::columns::{Column, LISTS, List, Names};
use crate::headings::bare_key;
use crate::repairs::dates::is_birth_date;
use crate::repairs::{CellKind, Codes};
use crate::table::Table;

/// The maximum number of examples of a column.
const MAX_EXAMPLES: usize = 3;
/// The maximum number of different values that a proposal depends on.
const MAX_VALUES: usize = 50;
/// The maximum number of fields that are proposed by values. Values of more fields tell nothing.
const MAX_PROPOSALS: usize = 3;
/// The field with mail addresses.
const EMAIL: &str = "email";

/// What proposals depend on, besides the file.
pub struct ProposalContext<'a> {
    /// The fields that a file can set.
    pub names: &'a Names,
    /// The kinds and the code lists of the fields.
    pub codes: &'a dyn Codes,
    /// Headings with the names of their columns that were chosen for earlier files. They precede
    /// other names.
    pub remembered: &'a [(String, String)],
    /// Today, for dates of birth.
    pub today: NaiveDate,
}

/// A column of a file, and its field or the fields to choose from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnProposal {
    /// The heading as in the file.
    pub heading: String,
    /// The first values, up to three different ones.
    pub examples: Vec<String>,
    /// The column, if the heading is the name of exactly one.
    pub column: Option<Column>,
    /// The columns to propose if `column` is `None`. No other heading of the file names them.
    pub proposals: Vec<Column>,
}

/// Returns the columns of a file in their order.
#[must_use]
pub fn propose_columns(table: &Table, context: &ProposalContext<'_>) -> Vec<ColumnProposal> {
    let recognised: Vec<Option<Column>> = table
        .header
        .iter()
        .map(|heading| recognise(heading, context))
        .collect();
    let is_free = |column: &Column| !recognised.iter().flatten().any(|other| other == column);
    let mut proposals = Vec::new();
    for (position, (heading, column)) in table.header.iter().zip(&recognised).enumerate() {
        let values = different_values(table, position);
        let mut proposed = Vec::new();
        if column.is_none() {
            proposed = context.names.find_columns(heading);
            proposed.retain(is_free);
            if proposed.is_empty() {
                proposed = find_by_values(&values, is_free, context);
            }
        }
        let examples = values.iter().take(MAX_EXAMPLES);
        proposals.push(ColumnProposal {
            heading: heading.clone(),
            examples: examples.map(|value| (*value).to_owned()).collect(),
            column: column.clone(),
            proposals: proposed,
        });
    }
    proposals
}

/// Returns the column of a heading by a remembered name, or else by its own.
fn recognise(heading: &str, context: &ProposalContext<'_>) -> Option<Column> {
    let key = bare_key(heading);
    let remembered = context
        .remembered
        .iter()
        .find(|(known, _)| bare_key(known) == key)
        .and_then(|(_, name)| context.names.recognise(name));
    remembered.or_else(|| context.names.recognise(heading))
}

/// The first different values of a column, without blank ones.
fn different_values(table: &Table, column: usize) -> Vec<&str> {
    let mut values = Vec::new();
    for row in &table.rows {
        let Some(value) = row.cells.get(column).filter(|cell| !cell.is_empty()) else {
            continue;
        };
        if values.len() < MAX_VALUES && !values.contains(&value.as_str()) {
            values.push(value.as_str());
        }
    }
    values
}

/// Returns the free columns of the fields that can have all values; none if these are many.
fn find_by_values(
    values: &[&str],
    is_free: impl Fn(&Column) -> bool,
    context: &ProposalContext<'_>,
) -> Vec<Column> {
    let mut found = Vec::new();
    if values.is_empty() {
        return found;
    }
    let mut last_stem = "";
    for (list, field) in all_fields(context.names) {
        // The first free one of `disability1` to `disability9` stands for all.
        let stem = field.trim_end_matches(|character: char| character.is_ascii_digit());
        let column = match list {
            None => Column::Field(field.to_owned()),
            Some(list) => Column::Nested {
                list,
                number: 1,
                field: field.to_owned(),
            },
        };
        if stem != last_stem && is_free(&column) && fits(values, list, field, context) {
            last_stem = stem;
            found.push(column);
        }
    }
    if found.len() > MAX_PROPOSALS {
        found.clear();
    }
    found
}

fn all_fields(names: &Names) -> impl Iterator<Item = (Option<List>, &str)> {
    let nested = LISTS.into_iter().flat_map(|list| {
        let fields = names.nested_fields(list).iter();
        fields.map(move |field| (Some(list), field.as_str()))
    });
    let fields = names.fields().iter();
    fields.map(|field| (None, field.as_str())).chain(nested)
}

/// Whether a field can have all values, and few other fields can.
fn fits(values: &[&str], list: Option<List>, field: &str, context: &ProposalContext<'_>) -> bool {
    let fits_one = |value: &&str| match context.codes.kind(list, field) {
        CellKind::Text => list.is_none() && field == EMAIL && is_mail_address(value),
        CellKind::BirthDate => is_birth_date(value, context.today),
        CellKind::Code => context.codes.code(list, field, value).is_some(),
        CellKind::Digits(lengths) => {
            lengths.contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
        }
        CellKind::Date | CellKind::Year => false,
    };
    values.iter().all(fits_one)
}

fn is_mail_address(text: &str) -> bool {
    let parts = text.split_once('@');
    parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
        && !text.contains(char::is_whitespace)
}
