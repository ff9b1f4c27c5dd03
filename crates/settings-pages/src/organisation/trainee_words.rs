//! Words of fields, values and changes of trainees, for people.

use domain::fields::field::Codes;
use domain::{
    Field, Kind, Lists, NestedRecord, Record, RecordField as _, Trainee, TraineeField, Value,
    for_each_nested,
};
use serde_json::Value as Json;
use storage::records::history::FieldEntry;

/// Parts of names that are written in capitals.
const ABBREVIATIONS: [&str; 6] = ["trn", "itt", "urn", "ukprn", "hesa", "id"];

/// The label of a field or a state: `first_names` becomes `First names`.
pub(crate) fn label(name: &str) -> String {
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

/// A changed field as a sentence: `Last name: Ash, before Beech`.
pub(crate) fn change_sentence(change: &FieldEntry, lists: &Lists) -> String {
    let (subject, field) = find_field(&change.path);
    let before = value_words(field, change.before(), lists);
    let after = value_words(field, change.after(), lists);
    match (before, after) {
        (None, Some(after)) => format!("{subject}: {after}"),
        (Some(before), Some(after)) => format!("{subject}: {after}, before {before}"),
        (Some(before), None) => format!("{subject}: removed, before {before}"),
        (None, None) => format!("{subject}: removed"),
    }
}

/// The label and the field of a path. A path of a nested record is
/// `placements.<placement_id>.urn`.
fn find_field(path: &str) -> (String, Option<Field>) {
    let mut parts = path.split('.');
    let (list, name) = match (parts.next(), parts.next(), parts.next()) {
        (Some(list), Some(_), Some(name)) => (Some(list), name),
        _ => (None, path),
    };
    let Some(list) = list else {
        let field = TraineeField::ALL
            .iter()
            .find(|field| field.info().name == name);
        return (label(name), field.map(|field| Field::from(*field)));
    };
    let nested = for_each_nested!(find_in_list(list, name));
    let subject = format!("{}, {}", label(list), label(name));
    (subject, nested.into_iter().flatten().next())
}

fn find_in_list<R: NestedRecord>(list: &str, name: &str) -> Option<Field> {
    if R::LIST.info().name != list {
        return None;
    }
    let field = R::Field::ALL.iter().find(|field| field.info().name == name);
    field.map(|field| (*field).into())
}

/// The value of a field for people; `None` for no value. A code has its name.
fn value_words(field: Option<Field>, value: &Json, lists: &Lists) -> Option<String> {
    let texts = match value {
        Json::Null => return None,
        Json::Bool(is_true) => vec![is_true.to_string()],
        Json::Number(number) => vec![number.to_string()],
        Json::String(text) => vec![text.clone()],
        Json::Array(values) => values
            .iter()
            .filter_map(|value| value_words(None, value, lists))
            .collect(),
        Json::Object(codes) => codes.values().map(Json::to_string).collect(),
    };
    Some(texts_words(field, texts, lists))
}

/// The texts of a value, separated by commas.
fn texts_words(field: Option<Field>, texts: Vec<String>, lists: &Lists) -> String {
    let words = texts.into_iter().map(|text| text_words(field, text, lists));
    words.collect::<Vec<_>>().join(", ")
}

fn text_words(field: Option<Field>, text: String, lists: &Lists) -> String {
    if field == Some(TraineeField::state.into()) {
        return label(&text);
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

/// A field of a record for people.
pub(crate) struct FieldLine {
    pub(crate) label: String,
    pub(crate) value: String,
}

/// The fields of a record with a value, in the order of the dictionary.
pub(crate) fn field_lines<R: Record>(record: &R, lists: &Lists) -> Vec<FieldLine> {
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
            label: label(field.info().name),
            value: texts_words(Some((*field).into()), texts, lists),
        })
    });
    fields.collect()
}

/// The nested records of a trainee, with the label of their list.
pub(crate) fn nested_lines(trainee: &Trainee, lists: &Lists) -> Vec<(String, Vec<FieldLine>)> {
    for_each_nested!(lines_of_kind(trainee, lists))
        .into_iter()
        .flatten()
        .collect()
}

fn lines_of_kind<R: NestedRecord>(
    trainee: &Trainee,
    lists: &Lists,
) -> Vec<(String, Vec<FieldLine>)> {
    let records = R::records(trainee).iter();
    let title = label(R::NAME);
    records
        .map(|record| (title.clone(), field_lines(record, lists)))
        .collect()
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
            assert_eq!(label(name), expected);
        }
    }

    #[test]
    fn value_has_name_of_code_state_and_boolean() {
        let lists = Lists::embedded();
        let words = |path: &str, value: Json| value_words(find_field(path).1, &value, lists);
        assert_eq!(words("sex", json!("10")).unwrap(), "Female (10)");
        assert_eq!(
            words("state", json!("trn_received")).unwrap(),
            "TRN received"
        );
        assert_eq!(words("applying_for_bursary", json!(true)).unwrap(), "yes");
        assert_eq!(words("last_name", json!("Ash")).unwrap(), "Ash");
        assert_eq!(words("last_name", Json::Null), None);
        assert_eq!(find_field("placements.p1.urn").0, "Placements, URN");
    }
}
