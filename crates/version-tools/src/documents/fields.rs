//! The fields of a version, under its names: what each is, which values it takes, and where it stands.

use adapter_kit::shape::Source;
use adapter_kit::version::{ApiVersion, capitalised};
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::{Field, Kind};

use super::lists::{table, values};

/// The document about the fields of a version: one section for each record.
#[must_use]
pub fn fields(version: &ApiVersion) -> String {
    let sections = for_each_record!(section(version));
    format!(
        "# Fields\n\nEvery field of {}, under its names. What must be there together with what is a matter of the \
         [rules](rules.md).\n\n{}",
        version.label,
        sections.join("\n")
    )
}

fn section<R: WireRecord>(version: &ApiVersion) -> String {
    let inputs = R::inputs(version).entries;
    let input_rows = inputs.iter().map(|input| row(version, input.name, input.field.into()));
    let title = capitalised(R::NAME);
    let columns = ["field", "type", "longest", "values", "meaning"];
    let mut text = format!("## {title}\n\n### In a request: {}\n\n{}", R::NAME, table(&columns, input_rows));
    let Some(shape) = R::shape(version) else { return text };
    let rows = shape.entries.iter().map(|entry| match &entry.source {
        Source::Field(field) => row(version, entry.name, (*field).into()),
        Source::Own(own) => {
            vec![name(entry.name), kind(own.kind), String::new(), String::new(), own.meaning.to_owned()]
        }
    });
    text.push_str(&format!("\n### In a reply: {}\n\n{}", R::NAME, table(&columns, rows)));
    text
}

fn row(version: &ApiVersion, named: &str, field: Field) -> Vec<String> {
    let info = field.info();
    let longest = info.max.map(|max| max.to_string()).unwrap_or_default();
    vec![name(named), kind(info.kind), longest, values(field), version.vocabulary.apply(info.meaning).into_owned()]
}

fn name(name: &str) -> String {
    format!("`{name}`")
}

fn kind(kind: Kind) -> String {
    super::rules::kind(kind).to_owned()
}
