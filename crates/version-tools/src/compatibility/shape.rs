//! The parts of a contract that the OpenAPI document does not contain: the order of fields, all
//! accepted codes, the rules that apply, the vocabulary, the words for codes, and how fields are
//! joined into a text.

use adapter_kit::shape::Shape;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireNested, WireRecord, for_each_record};
use domain::fields::field::Codes;
use domain::{List, Lists, Record, RecordField as _, Trainee, for_each_nested};
use serde_json::{Map, Value, json};

use super::{Changes, entries};

/// Returns the shape of a version.
#[must_use]
pub fn describe(version: &ApiVersion, lists: &Lists) -> Value {
    let mut rules = Map::from_iter(for_each_record!(rules(version)).into_iter().flatten());
    let gates = version
        .rules
        .gates
        .iter()
        .map(|gate| (gate.name.to_owned(), json!("gate")));
    rules.insert("gates".to_owned(), gates.collect());
    let mut replies = Map::from_iter([(
        Trainee::NAME.to_owned(),
        json!(shown(&version.shapes.trainee)),
    )]);
    for_each_nested!(add_nested(version, &mut replies));
    let mut shape = json!({
        "replies": replies,
        "requests": Map::from_iter(for_each_record!(inputs(version)).into_iter().flatten()),
        "codes": codes(version, lists),
        "exception_years": version.accepted_codes.funding_exception_years,
        "rules": rules,
        "nested_errors": version.nested_errors.name(),
        "words": { "training_partner": version.vocabulary.training_partner },
    });
    let wire = wire(version);
    if !wire.is_empty()
        && let Some(members) = shape.as_object_mut()
    {
        members.insert("wire".to_owned(), Value::Object(wire));
    }
    shape
}

/// Returns the words of each list and the parts of each joined text; empty if the version uses the
/// common form. The OpenAPI document contains all other differences of the wire form.
fn wire(version: &ApiVersion) -> Map<String, Value> {
    let words = version.wire.words.iter();
    let words = words.map(|(list, words)| {
        let words: Map<String, Value> = words
            .iter()
            .map(|(code, word)| ((*code).to_owned(), json!(word)))
            .collect();
        (list.name().to_owned(), Value::Object(words))
    });
    words
        .chain(for_each_record!(joined(version)).concat())
        .collect()
}

/// Returns the fields that each text joins, with their positions and separators, by name such as
/// `trainee.name`.
fn joined<R: WireRecord>(version: &ApiVersion) -> Vec<(String, Value)> {
    let shown = R::shape(version)
        .into_iter()
        .flat_map(|shape| shape.entries);
    let shown = shown.filter_map(|entry| Some((entry.name, entry.part?, entry.field()?)));
    let sent = R::inputs(version)
        .entries
        .iter()
        .filter_map(|input| Some((input.name, input.part?, input.field)));
    let mut texts: Vec<(String, Value)> = Vec::new();
    for (name, part, field) in shown.chain(sent) {
        let text = format!("{}.{name}", R::NAME);
        let member = json!(format!(
            "{} {} {}",
            field.info().name,
            part.index,
            part.separator
        ));
        match texts.iter_mut().find(|(known, _)| *known == text) {
            // Replies and requests usually join the same fields.
            Some((_, Value::Array(members))) if members.contains(&member) => {}
            Some((_, Value::Array(members))) => members.push(member),
            Some(_) | None => texts.push((text, json!([member]))),
        }
    }
    texts
}

fn shown<R: Record>(shape: &Shape<R>) -> Vec<&'static str> {
    shape.entries.iter().map(|entry| entry.name).collect()
}

/// Adds the fields that the version shows of a nested record: as a separate response, and in the
/// trainee if they differ there.
fn add_nested<R: WireNested>(version: &ApiVersion, replies: &mut Map<String, Value>) {
    let shapes = R::shapes(version);
    if !shapes.is_empty() {
        replies.insert(R::NAME.to_owned(), json!(shown(&shapes.alone)));
    }
    if shapes.differ() {
        replies.insert(
            format!("{}_nested", R::NAME),
            json!(shown(&shapes.in_trainee)),
        );
    }
}

/// Returns the inputs of a record, with the name of the record; `None` if the version does not have
/// the record.
fn inputs<R: WireRecord>(version: &ApiVersion) -> Option<(String, Value)> {
    let entries = R::inputs(version).entries;
    let names = entries.iter().map(|input| input.name);
    (!entries.is_empty()).then(|| (R::NAME.to_owned(), names.collect()))
}

/// Returns the rules of a record, with their stages; `None` if the version does not have the
/// record. The stage tells whether removing the rule changes recorded values.
fn rules<R: WireRecord>(version: &ApiVersion) -> Option<(String, Value)> {
    let stages = R::rules(version)
        .iter()
        .map(|rule| (rule.name.to_owned(), json!(rule.stage().name())));
    (!R::inputs(version).entries.is_empty()).then(|| (R::NAME.to_owned(), stages.collect()))
}

/// Returns the accepted codes of all lists that inputs use.
fn codes(version: &ApiVersion, lists: &Lists) -> Map<String, Value> {
    fn record_lists<R: WireRecord>(version: &ApiVersion) -> Vec<List> {
        let has_record = !R::inputs(version).entries.is_empty();
        if !has_record {
            return Vec::new();
        }
        let infos = R::Field::ALL.iter().map(|field| field.info());
        infos
            .filter(|info| info.input)
            .filter_map(|info| match info.codes? {
                Codes::Listed(list) => Some(list),
                Codes::OneOf(_) => None,
            })
            .collect()
    }
    let input_lists = for_each_record!(record_lists(version)).concat();
    let mut codes = Map::new();
    for list in List::ALL.iter().filter(|list| input_lists.contains(list)) {
        let accepted: Vec<&str> = lists
            .codes(*list)
            .filter(|code| version.accepted_codes.accepts(*list, code))
            .collect();
        codes.insert(list.name().to_owned(), json!(accepted));
    }
    codes
}

/// Compares two shapes.
pub(super) fn compare(before: &Value, now: &Value, changes: &mut Changes) {
    let years = |shape: &Value| json!({ "exception_years": shape.get("exception_years") });
    let old_years = years(before);
    let new_years = years(now);
    for (part, old, new, removed, added) in [
        (
            "replies",
            before.get("replies"),
            now.get("replies"),
            "is removed or renamed",
            "is new",
        ),
        (
            "requests",
            before.get("requests"),
            now.get("requests"),
            "is removed or renamed",
            "is new",
        ),
        (
            "codes",
            before.get("codes"),
            now.get("codes"),
            "is no longer accepted",
            "is accepted",
        ),
        (
            "years",
            Some(&old_years),
            Some(&new_years),
            "is no longer accepted",
            "is accepted",
        ),
    ] {
        for (name, old) in entries(old) {
            let new = new.and_then(|new| new.get(&name));
            changes.matched(
                &format!("{part} of {name}"),
                (listed(Some(old)), removed),
                (listed(new), added),
            );
        }
    }
    compare_rules(before, now, changes);
    for (key, subject, what) in [
        ("nested_errors", "nested_errors", "has another form"),
        ("words", "messages", "has other words"),
    ] {
        if before.get(key) != now.get(key) {
            changes.breaking("errors", subject, what);
        }
    }
    compare_wire(before, now, changes);
}

/// Compares the words that a version writes for codes, and the parts of joined texts. Every
/// difference breaks clients.
fn compare_wire(before: &Value, now: &Value, changes: &mut Changes) {
    let old = entries(before.get("wire"));
    let new = entries(now.get("wire"));
    let value = |all: &[(String, &Value)], name: &str| {
        all.iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| (*value).clone())
    };
    let mut names: Vec<&String> = old.iter().chain(&new).map(|(name, _)| name).collect();
    names.sort();
    names.dedup();
    for name in names {
        if value(&old, name) == value(&new, name) {
            continue;
        }
        // Joined texts have names such as `trainee.name`; lists have names without a dot.
        let (place, subject) = match name.split_once('.') {
            Some((record, field)) => (format!("values of {record}"), field),
            None => ("values of lists".to_owned(), name.as_str()),
        };
        changes.breaking(&place, subject, "is written in another way");
    }
}

/// Returns the elements of an array with their texts.
fn listed(array: Option<&Value>) -> Vec<(String, &Value)> {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    array
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|value| (text(value), value))
        .collect()
}

/// Compares the rules of each record. New rules break clients, and so do rules in another stage and
/// removed adjustments.
fn compare_rules(before: &Value, now: &Value, changes: &mut Changes) {
    for (record, old) in entries(before.get("rules")) {
        let place = format!("rules of {record}");
        let new = now.get("rules").and_then(|rules| rules.get(record));
        for (rule, stage) in entries(Some(old)) {
            match new.and_then(|new| new.get(&rule)) {
                Some(other) if other == stage => {}
                Some(_) => changes.breaking(&place, rule, "has another effect"),
                None if stage == "adjust" => {
                    changes.breaking(&place, rule, "no longer changes what is recorded")
                }
                None => changes.additive(&place, rule, "is no longer required"),
            }
        }
        for (rule, _) in entries(new)
            .into_iter()
            .filter(|(rule, _)| old.get(rule).is_none())
        {
            changes.breaking(&place, rule, "is new");
        }
    }
}
