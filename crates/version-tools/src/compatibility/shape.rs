//! What the OpenAPI document of a version does not say and its clients rely on all the same: the
//! order of fields, all codes that are accepted, the rules that bind, and its words.

use adapter_kit::shape::Shape;
use adapter_kit::version::{ApiVersion, NestedErrors, Wire};
use domain::field::Codes;
use domain::rules::{Rule, Run};
use domain::{List, Lists, Record, RecordField as _};
use serde_json::{Map, Value, json};

use super::Changes;

/// The shape of a version.
#[must_use]
pub fn of(version: &ApiVersion, lists: &Lists) -> Value {
    let rules = &version.rules;
    json!({
        "replies": {
            "trainee": shown(&version.shapes.trainee),
            "placement": shown(&version.shapes.placement),
            "placement_nested": shown(&version.shapes.placement_nested),
            "degree": shown(&version.shapes.degree),
        },
        "requests": {
            "trainee": sent::<domain::Trainee>(version),
            "placement": sent::<domain::Placement>(version),
            "degree": sent::<domain::Degree>(version),
            "withdrawal": sent::<domain::Withdrawal>(version),
            "deferral": sent::<domain::Deferral>(version),
            "recommendation": sent::<domain::Recommendation>(version),
        },
        "codes": codes(version, lists),
        "exception_years": version.accepted_codes.funding_exception_years,
        "rules": {
            "trainee": named(rules.trainee),
            "placement": named(rules.placement),
            "degree": named(rules.degree),
            "withdrawal": named(rules.withdrawal),
            "deferral": named(rules.deferral),
            "recommendation": named(rules.recommendation),
            "gates": rules.gates.iter().map(|gate| (gate.name.to_owned(), json!("gate"))).collect::<Map<_, _>>(),
        },
        "nested_errors": match version.nested_errors {
            NestedErrors::Flat => "flat",
            NestedErrors::Nested => "nested",
        },
        "words": { "training_partner": version.words.training_partner },
    })
}

fn shown<R: Record>(shape: &Shape<R>) -> Vec<&'static str> {
    shape.entries.iter().map(|entry| entry.name).collect()
}

fn sent<R: Wire>(version: &ApiVersion) -> Vec<&'static str> {
    R::inputs(version).entries.iter().map(|input| input.name).collect()
}

/// Rules by name, with what they do: one that adjusts cannot leave without changing what is recorded.
fn named<R: Record>(rules: &[Rule<R>]) -> Map<String, Value> {
    let stage = |rule: &Rule<R>| match rule.run {
        Run::Adjust(_) => "adjust",
        Run::Check(_) | Run::CheckNeeding(..) | Run::CheckNested(_) | Run::Require => "check",
    };
    rules.iter().map(|rule| (rule.name.to_owned(), json!(stage(rule)))).collect()
}

/// The codes that are accepted, of every list that an input has.
fn codes(version: &ApiVersion, lists: &Lists) -> Map<String, Value> {
    let used = |list: &&List| {
        let inputs = domain::TraineeField::ALL.iter().map(|field| field.info());
        let mut inputs = inputs.chain(domain::DegreeField::ALL.iter().map(|field| field.info()));
        inputs.any(|info| info.input && info.codes == Some(Codes::Listed(**list)))
    };
    let accepted = |list: &List| -> Vec<&str> {
        lists.codes(*list).filter(|code| version.accepted_codes.accepts(*list, code)).collect()
    };
    List::ALL.iter().filter(used).map(|list| (list.name().to_owned(), json!(accepted(list)))).collect()
}

/// Compares two shapes.
pub(super) fn compare(before: &Value, now: &Value, changes: &mut Changes) {
    for side in ["replies", "requests"] {
        compare_lists(before, now, side, "is gone, or has another name", "is new", changes);
    }
    compare_lists(before, now, "codes", "is not accepted any more", "is accepted", changes);
    let years = |shape: &Value| json!({ "years": { "exception_years": shape.get("exception_years") } });
    compare_lists(&years(before), &years(now), "years", "is not accepted any more", "is accepted", changes);
    compare_rules(before, now, changes);
    for (key, what) in [("nested_errors", "have another form"), ("words", "are others")] {
        if before.get(key) != now.get(key) {
            changes.breaking("errors", key, what);
        }
    }
}

fn entries<'a>(shape: &'a Value, key: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    shape.get(key).and_then(Value::as_object).into_iter().flat_map(Map::iter)
}

fn compare_lists(before: &Value, now: &Value, key: &str, gone: &str, came: &str, changes: &mut Changes) {
    let empty = Vec::new();
    for (name, old) in entries(before, key) {
        let place = format!("{key} of {name}");
        let old = old.as_array().unwrap_or(&empty);
        let new = now.get(key).and_then(|lists| lists.get(name)).and_then(Value::as_array).unwrap_or(&empty);
        for code in old.iter().filter(|code| !new.contains(code)) {
            changes.breaking(&place, plain(code), gone);
        }
        for code in new.iter().filter(|code| !old.contains(code)) {
            changes.additive(&place, plain(code), came);
        }
    }
}

fn compare_rules(before: &Value, now: &Value, changes: &mut Changes) {
    let none = Map::new();
    for (record, old) in entries(before, "rules") {
        let place = format!("rules of {record}");
        let old = old.as_object().unwrap_or(&none);
        let new = now.get("rules").and_then(|rules| rules.get(record)).and_then(Value::as_object).unwrap_or(&none);
        for (rule, stage) in old {
            match new.get(rule) {
                Some(other) if other == stage => {}
                Some(_) => changes.breaking(&place, rule, "does something else"),
                None if stage == "adjust" => changes.breaking(&place, rule, "changes what is recorded no more"),
                None => changes.additive(&place, rule, "is not demanded any more"),
            }
        }
        for (rule, _) in new.iter().filter(|(rule, _)| !old.contains_key(*rule)) {
            changes.breaking(&place, rule, "is new");
        }
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
