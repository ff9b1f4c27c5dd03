//! The document about rules and the versions that apply them.

use adapter_kit::version::{ApiVersion, capitalised};
use adapter_kit::versions::Versions;
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::rules::Gate;
use domain::{Kind, Record, RecordField as _, Rule, TraineeField};

use super::{GENERATED, listed, table};
use crate::demand::with_subject;

/// Returns the document about rules, with one row for each rule. Rules of the newest version are in
/// their order.
#[must_use]
pub fn rules(versions: &Versions) -> String {
    let mut sections = for_each_record!(record_section(versions)).to_vec();
    sections.push(gates(versions));
    format!(
        "# Rules\n\n{GENERATED}\n\n\
         The listed versions apply these rules to the records that you send. <!-- file -->Field names are those of the newest\n\
         version. <!-- /file -->Section numbers refer to the [contract](api/README.md). A rule has one of these stages:\n\n\
         - `adjust`: the rule changes values before they are stored. These rules run first.\n\
         - `check`: the rule reports problems in the request.\n\
         - `gate`: the rule refuses an action that the trainee's state does not allow.\n\n\
         Within a stage, rules run in table order. A rule is skipped in these cases:\n\n\
         - A field that the rule reads already has a problem, unless the field is in brackets.\n\
         - An update changes none of the fields that the rule reads.\n\n\
         A rule that reads no fields always runs.\n\n{}",
        sections.join("\n")
    )
}

/// A rule with the versions that apply it.
struct Row<'a> {
    name: &'a str,
    description: String,
    reads: String,
    stage: &'static str,
    section: &'a str,
    versions: Vec<&'a ApiVersion>,
}

impl<'a> Row<'a> {
    fn from_rule<R: Record>(rule: &'a Rule<R>) -> Self {
        // Brackets mark a field that may have a problem when the rule runs.
        let needs = rule.needs();
        let reads = rule.reads.iter().map(|field| match needs.contains(field) {
            true => format!("`{}`", field.info().name),
            false => format!("(`{}`)", field.info().name),
        });
        let reads = reads.collect::<Vec<_>>().join(", ");
        Self {
            name: rule.name,
            description: sentence(rule),
            reads,
            stage: rule.stage().name(),
            section: rule.section,
            versions: Vec::new(),
        }
    }

    fn from_gate(gate: &'a Gate) -> Self {
        let reads = listed([TraineeField::state.info().name]);
        let Gate {
            name,
            description,
            section,
            ..
        } = *gate;
        Self {
            name,
            description: format!("This gate {description}."),
            reads,
            stage: "gate",
            section,
            versions: Vec::new(),
        }
    }

    /// Whether both rows describe the same rule.
    fn is(&self, other: &Self) -> bool {
        (self.name, &self.description, &self.reads)
            == (other.name, &other.description, &other.reads)
    }
}

/// Returns the description of a rule as a sentence.
fn sentence<R: Record>(rule: &Rule<R>) -> String {
    let clause = match rule.reads.first() {
        Some(field) => with_subject(&format!("`{}`", field.info().name), rule.description),
        None => rule.description.to_owned(),
    };
    capitalised(&clause) + "."
}

/// Returns the section about the rules of a record.
fn record_section<R: WireRecord>(versions: &Versions) -> String {
    let rows = |version| R::rules(version).iter().map(Row::from_rule).collect();
    let title = format!("{} rules", capitalised(R::NAME));
    rules_section(&title, versions, &merged(versions, rows))
}

/// Returns the section about gates.
fn gates(versions: &Versions) -> String {
    let rows =
        |version: &'static ApiVersion| version.rules.gates.iter().map(Row::from_gate).collect();
    rules_section("Gates", versions, &merged(versions, rows))
}

/// Returns the rules of all versions without duplicates, in the order of the newest version. A rule
/// that only older versions have is placed after the rule that precedes it in the older version.
fn merged<'a>(
    versions: &'a Versions,
    rows: impl Fn(&'static ApiVersion) -> Vec<Row<'a>>,
) -> Vec<Row<'a>> {
    let mut all: Vec<Row<'a>> = Vec::new();
    for served in versions.iter().rev() {
        // The position after the previous rule of this version.
        let mut next = 0;
        for row in rows(served.version) {
            let found = all.iter().position(|known| known.is(&row));
            let at = found.unwrap_or(next);
            if found.is_none() {
                all.insert(at, row);
            }
            if let Some(row) = all.get_mut(at) {
                row.versions.push(served.version);
            }
            next = at + 1;
        }
    }
    all
}

/// Returns a section with a table of rules.
fn rules_section(title: &str, versions: &Versions, rows: &[Row<'_>]) -> String {
    let columns = [
        "rule",
        "description",
        "fields read",
        "stage",
        "versions",
        "section",
    ];
    let rows = rows.iter().map(|row| {
        vec![
            format!("`{}`", row.name),
            row.description.clone(),
            row.reads.clone(),
            row.stage.to_owned(),
            version_labels(versions, &row.versions),
            row.section.to_owned(),
        ]
    });
    format!("## {title}\n\n{}", table(&columns, rows))
}

/// Returns the labels of the versions in `some`, oldest first, separated by commas; `all` if these
/// are all versions.
fn version_labels(versions: &Versions, some: &[&ApiVersion]) -> String {
    let all: Vec<String> = versions
        .iter()
        .map(|served| served.version.label.to_string())
        .collect();
    if some.len() == all.len() {
        return "all".to_owned();
    }
    let labels: Vec<String> = some
        .iter()
        .map(|version| version.label.to_string())
        .collect();
    all.into_iter()
        .filter(|label| labels.contains(label))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns the name of a type.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Integer => "whole number",
        Kind::Boolean => "true or false",
        Kind::Date => "date",
        Kind::Timestamp => "date and time",
        Kind::Year => "year",
        Kind::TextList => "list of texts",
        Kind::Document => "object",
        Kind::Uuid => "UUID",
        Kind::Records => "list of records",
    }
}
