//! Writes the texts of cells as requests of the newest version have them: in the form of a field, and
//! in groups of fields. Reads groups of fields in replies.

use adapter_kit::form::{self, FormField};
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireNested, WireRecord};
use domain::{Kind, RecordField as _, Trainee, Value as Canonical, for_each_nested};
use serde_json::{Map, Value};
use trainee_file::{INPUT_SUFFIX, List};

/// Between the names of a group and of a field in it.
const GROUP: char = '.';

/// Writes the fields of a trainee, or of a nested record of a list.
pub(super) fn write_body(
    version: &ApiVersion,
    list: Option<List>,
    data: Map<String, Value>,
) -> Map<String, Value> {
    if let Some(list) = list {
        let written = for_each_nested!(write_if_named(version, list.name, &data));
        return written.into_iter().flatten().next().unwrap_or(data);
    }
    let (lists, fields) = data
        .into_iter()
        .partition::<Map<_, _>, _>(|(name, _)| name.ends_with(INPUT_SUFFIX));
    let mut body = write_fields::<Trainee>(version, fields);
    for (name, records) in lists {
        let list = name.trim_end_matches(INPUT_SUFFIX);
        let inputs = Trainee::inputs(version).entries.iter();
        let mut inputs = inputs.map(|input| (input.name, input.field.info()));
        let input = inputs.find(|(_, info)| info.kind == Kind::Records && info.name == list);
        let mut written = Vec::new();
        for record in records.as_array().into_iter().flatten() {
            let Value::Object(data) = record else {
                continue;
            };
            let record = for_each_nested!(write_if_named(version, list, data));
            written.extend(record.into_iter().flatten().next().map(Value::Object));
        }
        body.insert(
            input.map_or(name.clone(), |(name, _)| name.to_owned()),
            written.into(),
        );
    }
    body
}

fn write_if_named<R: WireNested>(
    version: &ApiVersion,
    list: &str,
    data: &Map<String, Value>,
) -> Option<Map<String, Value>> {
    (R::LIST.info().name == list).then(|| write_fields::<R>(version, data.clone()))
}

fn write_fields<R: WireRecord>(
    version: &ApiVersion,
    data: Map<String, Value>,
) -> Map<String, Value> {
    let mut body = Map::new();
    for (name, value) in data {
        let value = write_value::<R>(version, &name, value);
        match name.split_once(GROUP) {
            Some((group, member)) => {
                let group = body.entry(group).or_insert_with(|| Map::new().into());
                if let Value::Object(group) = group {
                    group.insert(member.to_owned(), value);
                }
            }
            None => {
                body.insert(name, value);
            }
        }
    }
    body
}

fn write_value<R: WireRecord>(version: &ApiVersion, name: &str, value: Value) -> Value {
    let input = R::inputs(version).input(name);
    let Some((input, form)) = input.and_then(|input| Some((input, input.form?.form))) else {
        return value;
    };
    let field = FormField::from(input.field.info());
    let Some(text) = value.as_str() else {
        return value;
    };
    // A cell has the value as the version writes it: as a text, a number or truth value of JSON, or a
    // date.
    let parsed = serde_json::from_str::<Value>(text).ok();
    let mut written = [Some(value.clone()), parsed].into_iter().flatten();
    if let Some(written) = written.find(|one| form::read(form, one, &field).is_some()) {
        return written;
    }
    match text.parse() {
        Ok(date) if field.kind == Kind::Date => form.write(&Canonical::Date(date), &field),
        // The version refuses the text.
        _ => value,
    }
}

/// Gives fields in groups the names of columns.
pub(super) fn flatten_groups(record: Value) -> Value {
    let Value::Object(fields) = record else {
        return record;
    };
    let mut flat = Map::new();
    for (name, value) in fields {
        if let Value::Object(group) = &value {
            for (member, value) in group {
                flat.insert(format!("{name}{GROUP}{member}"), value.clone());
            }
        }
        flat.insert(name, value);
    }
    flat.into()
}

#[cfg(test)]
mod tests {
    use conformance::form_version::FORM_VERSION;
    use serde_json::json;
    use trainee_file::LISTS;

    use super::*;

    fn write(list: Option<List>, data: Value) -> Value {
        let Value::Object(data) = data else {
            panic!("a record is an object");
        };
        write_body(&FORM_VERSION, list, data).into()
    }

    #[test]
    fn cells_are_written_in_forms_groups_and_lists_of_version() {
        let body = json!({
            "last_name": "7",
            "course_year": "2",
            "date_of_birth": "1999-04-12",
            "course.subject": "x",
            "placements_attributes": [{ "name": "Elm" }],
            "degrees_attributes": [{ "graduation_year": "2020", "topic": "100485" }],
        });
        assert_eq!(
            write(None, body),
            json!({
                "last_name": "7",
                "course_year": 2,
                "date_of_birth": 923_875_200,
                "course": { "subject": "x" },
                "schools": [{ "name": "Elm" }],
                "awards": [{ "graduation_year": 2020, "topic": "100485" }],
            })
        );
        assert_eq!(
            write(Some(LISTS[1]), json!({ "graduation_year": "August" })),
            json!({ "graduation_year": "August" })
        );
    }

    #[test]
    fn groups_of_shown_record_have_names_of_columns() {
        let shown = flatten_groups(json!({ "course": { "subject": "x" }, "email": "e" }));
        assert_eq!(shown["course.subject"], "x");
        assert_eq!(shown["email"], "e");
    }
}
