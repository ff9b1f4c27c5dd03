//! Words of fields, values and changes of trainees, for people.

use domain::fields::field::Codes;
use domain::{
    Field, Kind, Lists, NestedRecord, Record, RecordField as _, Trainee, TraineeField, Value,
    for_each_nested,
};
use serde_json::Value as Json;
use storage::records::history::FieldEntry;

/// Parts of names in capitals.
const ABBREVIATIONS: [&str; 6] = ["trn", "itt", "urn", "ukprn", "hesa", "id"];

/// Formats the name of a field or a state: `first_names` becomes `First names`.
pub(crate) fn format_label(name: &str) -> String {
    let mut label = String::new();
    for (number, part) in name.split('_').enumerate() {
        if number > 0 {
            label.push(' ');
        }
        if ABBREVIATIONS.contains(&part) {
            label.push_str(&part.to_uppercase());
        } else if let (0, Some(first)) = (number, part.chars().next()) {
            label.extend(first.to_uppercase());
            label.push_str(part.get(first.len_utf8()..).unwrap_or_default());
        } else {
            label.push_str(part);
        }
    }
    label
}

/// Describes a changed field: `Last name: Ash, before Beech`.
pub(crate) fn describe_change(change: &FieldEntry, lists: &Lists) -> String {
    let Subject {
        label: subject,
        field,
    } = find_field(&change.path);
    let before = describe_value(field, change.before(), lists);
    let after = describe_value(field, change.after(), lists);
    match (before, after) {
        (None, Some(after)) => format!("{subject}: {after}"),
        (Some(before), Some(after)) => format!("{subject}: {after}, before {before}"),
        (Some(before), None) => format!("{subject}: removed, before {before}"),
        (None, None) => format!("{subject}: removed"),
    }
}

/// What a change is about.
struct Subject {
    label: String,
    /// `None` for a field that this release does not have.
    field: Option<Field>,
}

fn find_field(path: &str) -> Subject {
    // A path of a nested record is `placements.<placement_id>.urn`.
    let mut parts = path.split('.');
    let (list, name) = match (parts.next(), parts.next(), parts.next()) {
        (Some(list), Some(_), Some(name)) => (Some(list), name),
        _ => (None, path),
    };
    let Some(list) = list else {
        let field = TraineeField::ALL
            .iter()
            .find(|field| field.info().name == name);
        return Subject {
            label: format_label(name),
            field: field.map(|field| Field::from(*field)),
        };
    };
    let nested = for_each_nested!(find_in_list(list, name));
    Subject {
        label: format!("{}, {}", format_label(list), format_label(name)),
        field: nested.into_iter().flatten().next(),
    }
}

fn find_in_list<R: NestedRecord>(list: &str, name: &str) -> Option<Field> {
    if R::LIST.info().name != list {
        return None;
    }
    let field = R::Field::ALL.iter().find(|field| field.info().name == name);
    field.map(|field| (*field).into())
}

/// Describes a value, with the name of a code. Returns `None` for no value.
fn describe_value(field: Option<Field>, value: &Json, lists: &Lists) -> Option<String> {
    let texts = match value {
        Json::Null => return None,
        Json::Bool(is_true) => vec![is_true.to_string()],
        Json::Number(number) => vec![number.to_string()],
        Json::String(text) => vec![text.clone()],
        Json::Array(values) => values
            .iter()
            .filter_map(|value| describe_value(None, value, lists))
            .collect(),
        Json::Object(codes) => codes.values().map(Json::to_string).collect(),
    };
    Some(describe_texts(field, texts, lists))
}

fn describe_texts(field: Option<Field>, texts: Vec<String>, lists: &Lists) -> String {
    let words = texts
        .into_iter()
        .map(|text| describe_text(field, text, lists));
    words.collect::<Vec<_>>().join(", ")
}

fn describe_text(field: Option<Field>, text: String, lists: &Lists) -> String {
    if field == Some(TraineeField::state.into()) {
        return format_label(&text);
    }
    let Some(info) = field.map(Field::info) else {
        return text;
    };
    let name = match (info.kind, info.codes) {
        (Kind::Boolean, _) if text == "true" => return "yes".to_owned(),
        (Kind::Boolean, _) => return "no".to_owned(),
        (_, Some(Codes::Listed(list))) => lists.entry(list, &text).map(|entry| &entry.name),
        _ => None,
    };
    match name {
        Some(name) => format!("{name} ({text})"),
        None => text,
    }
}

pub(crate) struct FieldLine {
    pub(crate) label: String,
    pub(crate) value: String,
}

/// Lists the fields with a value, in the order of the dictionary.
pub(crate) fn list_fields<R: Record>(record: &R, lists: &Lists) -> Vec<FieldLine> {
    let fields = R::Field::ALL.iter().filter_map(|field| {
        let value = record.value(*field, lists);
        let texts = match &value {
            Value::TextList(texts) => texts.iter().map(ToString::to_string).collect(),
            Value::Codes(codes) => codes.iter().map(|(_, code)| code.to_string()).collect(),
            Value::Null
            | Value::Text(_)
            | Value::Integer(_)
            | Value::Boolean(_)
            | Value::Date(_)
            | Value::Timestamp(_)
            | Value::Uuid(_)
            | Value::Document(_) => vec![value.to_plain_text()?.into_owned()],
        };
        Some(FieldLine {
            label: format_label(field.info().name),
            value: describe_texts(Some((*field).into()), texts, lists),
        })
    });
    fields.collect()
}

/// A nested record, with the label of its list.
pub(crate) struct NestedLines {
    pub(crate) title: String,
    pub(crate) fields: Vec<FieldLine>,
}

pub(crate) fn list_nested_records(trainee: &Trainee, lists: &Lists) -> Vec<NestedLines> {
    for_each_nested!(list_records_of_kind(trainee, lists))
        .into_iter()
        .flatten()
        .collect()
}

fn list_records_of_kind<R: NestedRecord>(trainee: &Trainee, lists: &Lists) -> Vec<NestedLines> {
    let records = R::records(trainee).iter();
    let lines = records.map(|record| NestedLines {
        title: format_label(R::NAME),
        fields: list_fields(record, lists),
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn label_has_capital_and_abbreviations() {
        for (name, expected) in [
            ("first_names", "First names"),
            ("trn", "TRN"),
            ("provider_trainee_id", "Provider trainee ID"),
            ("itt_start_date", "ITT start date"),
            ("trn_received", "TRN received"),
        ] {
            assert_eq!(format_label(name), expected);
        }
    }

    #[test]
    fn value_has_name_of_code_state_and_boolean() {
        let lists = Lists::embedded();
        let words = |path: &str, value: Json| describe_value(find_field(path).field, &value, lists);
        assert_eq!(words("sex", json!("10")).unwrap(), "Female (10)");
        assert_eq!(
            words("state", json!("trn_received")).unwrap(),
            "TRN received"
        );
        assert_eq!(words("applying_for_bursary", json!(true)).unwrap(), "yes");
        assert_eq!(words("last_name", json!("Ash")).unwrap(), "Ash");
        assert_eq!(words("last_name", Json::Null), None);
        assert_eq!(find_field("placements.p1.urn").label, "Placements, URN");
    }
}
