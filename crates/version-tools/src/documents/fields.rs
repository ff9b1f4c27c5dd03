//! The document about the fields of a version, with their types, values and meanings.

use adapter_kit::Filter;
use adapter_kit::compose;
use adapter_kit::form::MemberForm;
use adapter_kit::shape::{JsonType, Part, Source};
use adapter_kit::version::{ApiVersion, capitalised};
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::{Field, Kind, Value};

use super::lists::values;
use super::table;

/// Returns the document about the fields of a version, with one section for each record.
#[must_use]
pub fn fields(version: &ApiVersion) -> String {
    let sections = for_each_record!(section(version));
    format!(
        "# Fields\n\nThese tables list all fields in {}. The [rules](rules.md) define which fields are \
         required.\n\n{}",
        version.label,
        [sections.as_slice(), &filters(version)].concat().join("\n")
    )
}

/// Returns the section about the filters that the version writes in another form; none without
/// such filters.
fn filters(version: &ApiVersion) -> Vec<String> {
    let forms = version.inputs.filters;
    let rows: Vec<Vec<String>> = Filter::ALL
        .into_iter()
        .filter_map(|filter| {
            let form = filter.form(forms)?.describe(&filter.form_field());
            Some(vec![
                name(filter.name()),
                format!("{} {form}", filter.meaning()),
            ])
        })
        .collect();
    if rows.is_empty() {
        return Vec::new();
    }
    let table = table(&["filter", "meaning"], rows.into_iter());
    vec![format!("## Filters of lists\n\n{table}")]
}

fn section<R: WireRecord>(version: &ApiVersion) -> String {
    let inputs = R::inputs(version).entries;
    let input_rows = inputs.iter().map(|input| {
        let default = input.default.map(|default| {
            let value = compose::written::<R>(version, input, Value::text(default));
            let value = value.unwrap_or_default();
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            format!("The default for new records is `{value}`.")
        });
        let mut row = row(
            version,
            input.name,
            input.field.into(),
            input.form,
            [part(input.part), default],
        );
        if let (Some(accepted), Some(kind)) = (input.accepts, row.get_mut(1)) {
            *kind = match accepted {
                JsonType::Integer => "whole number, not text".to_owned(),
                JsonType::Text => "text, not a number".to_owned(),
            };
        }
        row
    });
    let title = capitalised(R::NAME);
    let columns = ["field", "type", "maximum length", "values", "meaning"];
    let mut text = format!(
        "## {title}\n\n### {title} fields in requests\n\n{}",
        table(&columns, input_rows)
    );
    let Some(shape) = R::shape(version) else {
        return text;
    };
    let rows = shape.entries.iter().map(|entry| match &entry.source {
        Source::Field(field) => {
            let read_only = entry.read_only.then(|| "Read-only.".to_owned());
            row(
                version,
                entry.name,
                (*field).into(),
                entry.form,
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
        "\n### {title} fields in responses\n\n{}",
        table(&columns, rows)
    ));
    text
}

/// Returns the table row of a field: name, type, maximum length, values and meaning. `notes` follow
/// the meaning and the form.
fn row(
    version: &ApiVersion,
    named: &str,
    field: Field,
    form: Option<MemberForm>,
    notes: [Option<String>; 2],
) -> Vec<String> {
    let info = field.info();
    let longest = info.max.map(|max| max.to_string()).unwrap_or_default();
    let meaning = version.vocabulary.apply(info.meaning).into_owned();
    let meaning: Vec<String> = [meaning]
        .into_iter()
        .chain(form.map(|form| form.describe(&info.into())))
        .chain(notes.into_iter().flatten())
        .collect();
    vec![
        name(named),
        form.map_or_else(|| kind(info.kind), |form| describe_type(form, field)),
        longest,
        values(field),
        meaning.join(" "),
    ]
}

/// Describes the position of a field in a joined text.
fn part(part: Option<Part>) -> Option<String> {
    part.map(|part| {
        format!(
            "Part {} of {} in the text, separated by `{}`.",
            part.index + 1,
            part.count,
            part.separator
        )
    })
}

/// Describes the JSON types of a field in another form.
fn describe_type(form: MemberForm, field: Field) -> String {
    let schema = form.form.schema(&field.info().into());
    let types = schema.get("type").map_or(&[][..], |one| {
        one.as_array()
            .map_or(std::slice::from_ref(one), Vec::as_slice)
    });
    let types = types.iter().map(|written| match written.as_str() {
        Some("string") => kind(Kind::Text),
        Some("integer") => kind(Kind::Integer),
        Some("boolean") => kind(Kind::Boolean),
        Some("object") => kind(Kind::Document),
        Some("number") => "number".to_owned(),
        Some("array") => "list".to_owned(),
        Some(_) | None => "any value".to_owned(),
    });
    types.collect::<Vec<_>>().join(", or ")
}

fn name(name: &str) -> String {
    format!("`{name}`")
}

fn kind(kind: Kind) -> String {
    super::rules::kind(kind).to_owned()
}

#[cfg(test)]
mod tests {
    use conformance::form_version::FORM_VERSION;

    use super::*;

    #[test]
    fn field_in_a_form_has_the_type_of_the_form() {
        let text = fields(&FORM_VERSION);
        for row in [
            "| `date_of_birth` | whole number |",
            "| `is_full_time` | true or false, or text |",
            "| `course.subject` | object |",
            "| `applying_for_bursary` | text |",
        ] {
            assert!(text.contains(row), "{row} is not in {text}");
        }
    }
}
