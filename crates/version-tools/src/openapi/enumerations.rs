//! Code lists as components of the document for generated clients, one component for each list.

use adapter_kit::version::ApiVersion;
use adapter_kit::wire::for_each_record;
use domain::fields::field::{Codes, FieldInfo};
use domain::lists::Entry;
use domain::{List, Lists, Record, RecordField as _};
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::schema::{ObjectBuilder, Schema, Type};

use super::properties::in_pascal_case;

/// Maximum number of codes of a list that is written out.
const CODES_WRITTEN_OUT: usize = 32;
/// The extension with the names of the constants, for generators.
const CONSTANT_NAMES: &str = "x-enum-varnames";
/// The component for withdrawal reasons.
const WITHDRAWAL_REASON: &str = "WithdrawalReason";

/// Returns the name of the enumeration of the codes that requests can send in a field; `None` if
/// the field has no codes or too many to be written out.
pub(super) fn accepted(info: &FieldInfo, lists: &Lists) -> Option<String> {
    match info.codes? {
        Codes::Listed(list) => is_written_out(list, lists).then(|| list_name(list)),
        Codes::OneOf(words) => find_by_words(words),
    }
}

/// Returns the name of the enumeration of the codes that replies can show in a field; `None` if the
/// field has no codes or too many to be written out. Codes that replies can show but requests
/// cannot send need a separate enumeration.
pub(super) fn shown(info: &FieldInfo, lists: &Lists, version: &ApiVersion) -> Option<String> {
    let accepted = accepted(info, lists)?;
    match info.codes? {
        Codes::Listed(list) if !accepts_all(list, lists, version) => Some(recorded_list_name(list)),
        Codes::Listed(_) | Codes::OneOf(_) => Some(accepted),
    }
}

/// Returns the name of the enumeration of withdrawal reasons.
pub(super) fn withdrawal_reasons() -> String {
    WITHDRAWAL_REASON.to_owned()
}

/// Returns all enumerations by name. Documents later omit the unused ones.
pub(super) fn all(version: &ApiVersion, lists: &Lists) -> Vec<(String, RefOr<Schema>)> {
    let mut all = Vec::new();
    for list in List::ALL
        .iter()
        .filter(|list| is_written_out(**list, lists))
    {
        let entries = || lists.entries(*list).iter();
        let accepted = entries().filter(|entry| accepts(version, *list, entry));
        all.push((
            list_name(*list),
            listed(list.meaning(), *list, version, accepted),
        ));
        if !accepts_all(*list, lists, version) {
            let meaning = format!(
                "{} Also those that this version only shows.",
                list.meaning()
            );
            all.push((
                recorded_list_name(*list),
                listed(&meaning, *list, version, entries()),
            ));
        }
    }
    for (name, meaning, words) in vocabularies() {
        let object = ObjectBuilder::new()
            .schema_type(Type::String)
            .description(Some(meaning));
        all.push((name, object.enum_values(Some(words.iter().copied())).into()));
    }
    let mut reasons: Vec<(&str, &str)> = lists
        .withdrawal_reasons()
        .iter()
        .map(|reason| (reason.code.as_str(), reason.name.as_str()))
        .collect();
    reasons.sort_unstable();
    reasons.dedup_by_key(|(code, _)| *code);
    let meaning = "Why a trainee leaves. Which reasons there are depends on the trigger.";
    all.push((WITHDRAWAL_REASON.to_owned(), enumeration(meaning, &reasons)));
    all
}

/// Whether a list has few enough codes to be written out.
pub(super) fn is_written_out(list: List, lists: &Lists) -> bool {
    lists.entries(list).len() <= CODES_WRITTEN_OUT
}

fn accepts(version: &ApiVersion, list: List, entry: &Entry) -> bool {
    version.accepted_codes.accepts(list, &entry.code)
}

fn accepts_all(list: List, lists: &Lists, version: &ApiVersion) -> bool {
    lists
        .entries(list)
        .iter()
        .all(|entry| accepts(version, list, entry))
}

fn list_name(list: List) -> String {
    in_pascal_case(list.name())
}

fn recorded_list_name(list: List) -> String {
    format!("Recorded{}", list_name(list))
}

/// Returns the name of the enumeration with these words; `None` if no field uses them.
fn find_by_words(words: &[&str]) -> Option<String> {
    vocabularies()
        .into_iter()
        .find(|(_, _, others)| *others == words)
        .map(|(name, ..)| name)
}

/// Returns the vocabularies outside the code lists: the name of the enumeration, the meaning of its
/// first field, and the words.
fn vocabularies() -> Vec<(String, &'static str, &'static [&'static str])> {
    fn fields<R: Record>() -> Vec<&'static FieldInfo> {
        R::Field::ALL.iter().map(|field| field.info()).collect()
    }
    let fields = for_each_record!(fields()).concat();
    let mut all: Vec<(String, &str, &[&str])> = Vec::new();
    for info in fields {
        let Some(Codes::OneOf(words)) = info.codes else {
            continue;
        };
        if all.iter().all(|(_, _, known)| *known != words) {
            all.push((in_pascal_case(info.name), info.meaning, words));
        }
    }
    all
}

/// Builds an enumeration of some codes of a list, as the version writes them.
fn listed<'a>(
    meaning: &str,
    list: List,
    version: &ApiVersion,
    entries: impl Iterator<Item = &'a Entry>,
) -> RefOr<Schema> {
    let code = |entry: &'a Entry| (version.wire.written(list, &entry.code), entry.name.as_str());
    let codes: Vec<(&str, &str)> = entries.map(code).collect();
    enumeration(meaning, &codes)
}

/// Builds an enumeration of codes with their names.
fn enumeration(meaning: &str, codes: &[(&str, &str)]) -> RefOr<Schema> {
    let meanings: String = codes
        .iter()
        .map(|(code, name)| format!("\n- `{code}`: {name}"))
        .collect();
    let constants: Vec<String> = codes
        .iter()
        .map(|(code, name)| constant_name(code, name, codes))
        .collect();
    ObjectBuilder::new()
        .schema_type(Type::String)
        .description(Some(format!("{meaning}\n{meanings}")))
        .enum_values(Some(codes.iter().map(|(code, _)| *code)))
        .extensions(Some(
            ExtensionsBuilder::new()
                .add(CONSTANT_NAMES, json!(constants))
                .build(),
        ))
        .into()
}

/// Returns the name of a code as a constant in upper case. If several codes have the same name, the
/// code is appended.
fn constant_name(code: &str, name: &str, all: &[(&str, &str)]) -> String {
    let is_unique = all
        .iter()
        .filter(|(_, other)| constant(other) == constant(name))
        .count()
        == 1;
    let constant = if is_unique {
        constant(name)
    } else {
        format!("{}_{}", constant(name), constant(code))
    };
    // A constant cannot begin with a digit.
    if constant.starts_with(|first: char| first.is_ascii_digit()) {
        format!("N_{constant}")
    } else {
        constant
    }
}

/// Converts a text such as `Full time` to a constant such as `FULL_TIME`.
fn constant(text: &str) -> String {
    let words = text
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words
        .map(str::to_ascii_uppercase)
        .collect::<Vec<_>>()
        .join("_")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use conformance::sample_version::SAMPLE_VERSION;
    use domain::{TraineeField, WithdrawalField};

    use super::*;

    #[test]
    fn enumerations_and_constants_are_unique() {
        let all = all(&SAMPLE_VERSION, Lists::embedded());
        assert_eq!(
            all.iter()
                .map(|(name, _)| name)
                .collect::<BTreeSet<_>>()
                .len(),
            all.len()
        );
        for (name, schema) in &all {
            let schema = serde_json::to_value(schema).unwrap();
            let codes = schema["enum"].as_array().unwrap();
            let Some(constants) = schema.get(CONSTANT_NAMES) else {
                continue;
            };
            let constants: Vec<&str> = constants
                .as_array()
                .unwrap()
                .iter()
                .filter_map(|name| name.as_str())
                .collect();
            assert_eq!(
                constants.iter().collect::<BTreeSet<_>>().len(),
                codes.len(),
                "{name}: {constants:?}"
            );
            assert!(
                constants
                    .iter()
                    .all(|constant| constant.starts_with(|c: char| c.is_ascii_uppercase())),
                "{name}"
            );
        }
    }

    #[test]
    fn fields_with_same_words_share_an_enumeration() {
        let lists = Lists::embedded();
        let shown = |field: TraineeField| shown(field.info(), lists, &SAMPLE_VERSION);
        assert_eq!(
            shown(TraineeField::withdrawal_trigger),
            accepted(WithdrawalField::trigger.info(), lists)
        );
        assert_eq!(
            shown(TraineeField::study_mode).as_deref(),
            Some("StudyMode")
        );
        assert_eq!(shown(TraineeField::nationality), None);
    }
}
