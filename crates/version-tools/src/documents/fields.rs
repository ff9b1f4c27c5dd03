//! The fields of a version, under its names: what each is, which values it takes, and where it
//! stands.

use adapter_kit::shape::{JsonType, Part, Source};
use adapter_kit::version::{ApiVersion, capitalised};
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::{Field, Kind, RecordField as _};

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
    let input_rows = inputs.iter().map(|input| {
        let default = input.default.map(|default| {
            let codes = input.field.info().codes;
            format!(
                "A new record without it has `{}`.",
                version.wire.written_in(codes, default)
            )
        });
        let mut row = row(
            version,
            input.name,
            input.field.into(),
            [part(input.part), default],
        );
        if let (Some(accepted), Some(kind)) = (input.accepts, row.get_mut(1)) {
            *kind = match accepted {
                JsonType::Integer => "a whole number, not text".to_owned(),
                JsonType::Text => "text, not a number".to_owned(),
            };
        }
        row
    });
    let title = capitalised(R::NAME);
    let columns = ["field", "type", "longest", "values", "meaning"];
    let mut text = format!(
        "## {title}\n\n### In a request: {}\n\n{}",
        R::NAME,
        table(&columns, input_rows)
    );
    let Some(shape) = R::shape(version) else {
        return text;
    };
    let rows = shape.entries.iter().map(|entry| match &entry.source {
        Source::Field(field) => {
            let read_only = entry.read_only.then(|| "No request sets it.".to_owned());
            row(
                version,
                entry.name,
                (*field).into(),
                [part(entry.part), read_only],
            )
        }
        Source::Own(own) => {
            vec![
                name(entry.name),
                kind(own.kind),
                String::new(),
                String::new(),
                own.meaning.to_owned(),
            ]
        }
    });
    text.push_str(&format!(
        "\n### In a reply: {}\n\n{}",
        R::NAME,
        table(&columns, rows)
    ));
    text
}

fn row(version: &ApiVersion, named: &str, field: Field, notes: [Option<String>; 2]) -> Vec<String> {
    let info = field.info();
    let longest = info.max.map(|max| max.to_string()).unwrap_or_default();
    let meaning = version.vocabulary.apply(info.meaning).into_owned();
    let meaning: Vec<String> = [meaning]
        .into_iter()
        .chain(notes.into_iter().flatten())
        .collect();
    vec![
        name(named),
        kind(info.kind),
        longest,
        values(field),
        meaning.join(" "),
    ]
}

/// Which part of a text a field is.
fn part(part: Option<Part>) -> Option<String> {
    part.map(|part| {
        format!(
            "Value {} of {}, with `{}` between them.",
            part.index + 1,
            part.count,
            part.separator
        )
    })
}

fn name(name: &str) -> String {
    format!("`{name}`")
}

fn kind(kind: Kind) -> String {
    super::rules::kind(kind).to_owned()
}
