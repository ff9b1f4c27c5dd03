//! The list of rules, and which versions they bind.

use adapter_kit::version::{ApiVersion, capitalised};
use adapter_kit::versions::Versions;
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::fields::field::Codes;
use domain::rules::Gate;
use domain::{Code, Kind, Record, RecordField as _, Rule, TraineeField};

use super::{GENERATED, Table, listed};

/// The document about rules: one row for each rule, the newest version's rules in their order.
#[must_use]
pub fn rules(versions: &Versions) -> String {
    let mut sections = for_each_record!(table(versions)).to_vec();
    sections.extend([gates(versions), accepted_codes(versions), checks()]);
    sections.extend(for_each_record!(inputs()));
    format!(
        "# Rules\n\n{GENERATED}\n\n\
         What a record must satisfy, and which versions demand it. <!-- file -->Fields have the names of the newest\n\
         version. <!-- /file -->`section` is that of the [contract](api.md). Rules run in the order in which they stand, those of the stage `adjust` first: they\n\
         change what is recorded. Those of the stage `check` find problems, and a `gate` refuses an action by the state of\n\
         the record. A rule is skipped when a field that it reads has a problem already, unless the field is in brackets,\n\
         and on an update when the request changes none of them; one that reads no field runs always.\n\n{}",
        sections.join("\n")
    )
}

/// A row of the list: a rule, and the versions that it binds.
struct Row<'a> {
    name: &'a str,
    description: &'a str,
    reads: String,
    stage: &'static str,
    section: &'a str,
    versions: Vec<&'a ApiVersion>,
}

impl<'a> Row<'a> {
    fn from_rule<R: Record>(rule: &'a Rule<R>) -> Self {
        let needs = rule.needs();
        let reads = rule.reads.iter().map(|field| match needs.contains(field) {
            true => format!("`{}`", field.info().name),
            false => format!("(`{}`)", field.info().name),
        });
        let reads = reads.collect::<Vec<_>>().join(", ");
        Self {
            name: rule.name,
            description: rule.description,
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
            description,
            reads,
            stage: "gate",
            section,
            versions: Vec::new(),
        }
    }

    /// Whether the two are the same rule, which versions share.
    fn is(&self, other: &Self) -> bool {
        (self.name, self.description, &self.reads) == (other.name, other.description, &other.reads)
    }
}

fn table<R: WireRecord>(versions: &Versions) -> String {
    let of = |version| R::rules(version).iter().map(Row::from_rule).collect();
    written(&capitalised(R::NAME), versions, &merged(versions, of))
}

fn gates(versions: &Versions) -> String {
    let of =
        |version: &'static ApiVersion| version.rules.gates.iter().map(Row::from_gate).collect();
    written("Gates", versions, &merged(versions, of))
}

/// The rules of all versions, each once. One that only an older version has stands after its
/// predecessor there.
fn merged<'a>(
    versions: &'a Versions,
    rows: impl Fn(&'static ApiVersion) -> Vec<Row<'a>>,
) -> Vec<Row<'a>> {
    let mut all: Vec<Row<'a>> = Vec::new();
    for served in versions.iter().rev() {
        let mut next = 0;
        for row in rows(served.version) {
            let at = all.iter().position(|known| known.is(&row)).unwrap_or(next);
            if !all.get(at).is_some_and(|known| known.is(&row)) {
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

fn written(title: &str, versions: &Versions, rows: &[Row<'_>]) -> String {
    let mut table = Table::new(["rule", "demands", "reads", "stage", "versions", "section"]);
    for row in rows {
        let binds = bound(versions, &row.versions);
        table.row([
            &format!("`{}`", row.name),
            row.description,
            &row.reads,
            row.stage,
            &binds,
            row.section,
        ]);
    }
    format!("## {title}\n\n{}", table.0)
}

/// The versions in words, oldest first.
fn bound(versions: &Versions, bound: &[&ApiVersion]) -> String {
    let all: Vec<String> = versions
        .iter()
        .map(|served| served.version.label.to_string())
        .collect();
    if bound.len() == all.len() {
        return "all".to_owned();
    }
    let labels: Vec<String> = bound
        .iter()
        .map(|version| version.label.to_string())
        .collect();
    all.into_iter()
        .filter(|label| labels.contains(label))
        .collect::<Vec<_>>()
        .join(", ")
}

/// What the rules find in the terms of each version.
fn accepted_codes(versions: &Versions) -> String {
    let mut table = Table::new(["version", "what", "values"]);
    for version in versions.iter().map(|served| served.version) {
        let label = version.label.to_string();
        for (list, codes) in version.accepted_codes.accepted {
            table.row([
                &label,
                &format!("codes of `{}`", list.name()),
                &listed(codes.iter().copied()),
            ]);
        }
        let years: Vec<String> = version
            .accepted_codes
            .funding_exception_years
            .iter()
            .map(ToString::to_string)
            .collect();
        table.row([
            &label,
            "exception years of `funding_with_student_finance`",
            &years.join(", "),
        ]);
    }
    format!(
        "## Terms\n\nWhere versions differ in a list or a number, and not in a rule. A list that is not named is accepted whole.\n\n{}",
        table.0
    )
}

/// What the dictionary demands of every input, whatever the version.
fn checks() -> String {
    let mut table = Table::new(["check", "demands", "code"]);
    for (check, description, code) in [
        ("type", "the value is of the field's type", Code::WrongType),
        (
            "text",
            "a text has no control characters but tab and line breaks",
            Code::ControlCharacter,
        ),
        (
            "length",
            "a text has no more characters than the field holds",
            Code::TooLong,
        ),
        (
            "code",
            "a coded value is in the field's list, as far as the version accepts it",
            Code::UnknownCode,
        ),
        (
            "items",
            "a nested list is no longer than a request may have it",
            Code::TooMany,
        ),
    ] {
        table.row([check, description, &format!("`{}`", code.name())]);
    }
    format!(
        "## Checks of every input\n\nThese follow from what a field is, and hold in every version.\n\n{}",
        table.0
    )
}

fn inputs<R: WireRecord>() -> String {
    let mut table = Table::new(["field", "type", "longest", "codes"]);
    for info in R::Field::ALL
        .iter()
        .map(|field| field.info())
        .filter(|info| info.input)
    {
        let longest = info.max.map(|max| max.to_string()).unwrap_or_default();
        let codes = match info.codes {
            Some(Codes::Listed(list)) => format!("list `{}`", list.name()),
            Some(Codes::OneOf(words)) => listed(words.iter().copied()),
            None => String::new(),
        };
        table.row([
            &format!("`{}`", info.name),
            kind(info.kind),
            &longest,
            &codes,
        ]);
    }
    format!("### Inputs of a {}\n\n{}", R::NAME, table.0)
}

/// The type of a field, in words.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Text => "text",
        Kind::Integer => "whole number",
        Kind::Boolean => "true or false",
        Kind::Date => "date",
        Kind::Timestamp => "date and time",
        Kind::Year => "year",
        Kind::TextList => "texts",
        Kind::Document => "object",
        Kind::Uuid => "UUID",
        Kind::Records => "records",
    }
}
