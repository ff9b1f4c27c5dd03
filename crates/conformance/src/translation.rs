//! Checks that translating a body to another version and back is lossless, except for the declared
//! losses.

use adapter_kit::ApiVersion;
use adapter_kit::body_kind::{Direction, RecordKind};
use adapter_kit::versions::{Served, Versions};
use adapter_kit::view::View;
use adapter_kit::wire::{WireNested, WireRecord, for_each_record};
use domain::{Deferral, Lists, Recommendation, Trainee, Withdrawal, for_each_nested};
use fixtures::random::Random;
use serde_json::{Map, Value, json};
use version_tools::translate::{BodyKind, Loss, Translation, translate_names};

use crate::alternative_spellings;
use crate::case::{Case, CheckFailure};
use crate::paths::flattened;
use crate::sample::Sample;

mod added_names;

use added_names::{AddedNames, Name};

const CHECK: &str = "translation_matches_target_version";

/// A name that no version has.
const UNKNOWN_KEY: &str = "no such name";

/// A function that translates a body.
type TranslateNames = fn(&Value, &Served, &Served, &BodyKind) -> Translation;

/// Checks every ordered pair of versions with the requests and replies that the first version
/// writes for each record:
///
/// 1. The translation equals the body that the second version writes for the same record, except
///    for names that only the second version has: its own fields, its copies of fields, and fields
///    that the first version cannot set or does not show. A field without a value may be null or
///    absent.
/// 2. Translating back restores the first body, in the same order, except for the values that were
///    declared lost, with their paths, and for nulls. Translating back loses nothing.
///
/// Translation into the same version changes nothing and declares no losses. An unknown key is
/// kept.
///
/// # Errors
///
/// Returns the first case that fails.
pub fn translation_matches_target_version(
    versions: &Versions,
    sample: &Sample,
) -> Result<(), CheckFailure> {
    check_translations(translate_names, versions, sample)
}

/// Runs the check of [`translation_matches_target_version`] with a function that translates bodies.
fn check_translations(
    translate_names: TranslateNames,
    versions: &Versions,
    sample: &Sample,
) -> Result<(), CheckFailure> {
    let all: Vec<&Served> = versions.iter().collect();
    let added = |from: &&Served| -> Vec<AddedNames> {
        all.iter()
            .map(|to| AddedNames::new(from.version, to.version))
            .collect()
    };
    let added: Vec<Vec<AddedNames>> = all.iter().map(added).collect();
    let random = sample.random();
    let stored = sample
        .stored
        .iter()
        .map(|trainee| (trainee, None))
        .enumerate();
    let untidy = sample
        .untidy
        .iter()
        .map(|trainee| (trainee, Some(&random)))
        .enumerate();
    for (at, (trainee, loosely)) in stored.chain(untidy) {
        // Each version writes the record once for all of its pairs.
        let case = |served| Case {
            record: Some(at),
            ..Case::new(CHECK, served, sample)
        };
        let written: Vec<Vec<Body>> = all
            .iter()
            .map(|served| bodies(case(served), trainee, loosely))
            .collect::<Result<_, _>>()?;
        for ((from, bodies), added) in all.iter().zip(&written).zip(&added) {
            for ((to, own), added) in all.iter().zip(&written).zip(added) {
                let pair = Pair {
                    case: case(from),
                    to,
                    translate_names,
                    added,
                };
                bodies
                    .iter()
                    .zip(own)
                    .try_for_each(|(body, own)| pair.check(body, own))?;
            }
        }
    }
    Ok(())
}

/// A record as written by a version.
struct Body {
    kind: RecordKind,
    direction: Direction,
    data: Value,
    /// Whether the spelling of values is random, so that bodies of two versions cannot be compared.
    varied: bool,
}

/// Returns all bodies that a version writes for a trainee. The number and order of bodies are the
/// same in every version.
fn bodies(
    case: Case<'_>,
    trainee: &Trainee,
    loosely: Option<&Random>,
) -> Result<Vec<Body>, CheckFailure> {
    let version = case.version();
    let lists = Lists::embedded();
    let mut object = case.request(trainee)?;
    if let Some(random) = loosely {
        alternative_spellings::vary(&mut object, version, random);
        object.insert(UNKNOWN_KEY.to_owned(), Value::from(vec![1, 2]));
    }
    let envelope = &version.wire.envelope;
    let request = |kind, record| Body {
        kind,
        direction: Direction::Request,
        data: json!({ envelope.request: record }),
        varied: loosely.is_some(),
    };
    let mut bodies = vec![
        request(RecordKind::Trainee, object),
        Body {
            kind: RecordKind::Trainee,
            direction: Direction::Reply,
            data: json!({ envelope.record: View::trainee(version, trainee, lists) }),
            varied: false,
        },
    ];
    bodies.extend(
        for_each_nested!(nested_replies(version, trainee))
            .into_iter()
            .flatten(),
    );
    if let Some(withdrawal) = Withdrawal::from_trainee(trainee) {
        bodies.push(request(RecordKind::Withdrawal, case.request(&withdrawal)?));
    }
    if let Some(deferral) = Deferral::from_trainee(trainee) {
        bodies.push(request(RecordKind::Deferral, case.request(&deferral)?));
    }
    if let Some(recommendation) = Recommendation::from_trainee(trainee) {
        bodies.push(request(
            RecordKind::Recommendation,
            case.request(&recommendation)?,
        ));
    }
    Ok(bodies)
}

/// Returns the replies with one nested record of a kind.
fn nested_replies<R: WireNested>(version: &ApiVersion, trainee: &Trainee) -> Vec<Body> {
    let views = R::records(trainee)
        .iter()
        .map(|record| View::new(version, record, Lists::embedded()));
    views
        .map(|view| Body {
            kind: R::KIND,
            direction: Direction::Reply,
            data: json!({ version.wire.envelope.record: view }),
            varied: false,
        })
        .collect()
}

/// A case with the target version of the translation.
#[derive(Clone, Copy)]
struct Pair<'a> {
    case: Case<'a>,
    to: &'a Served,
    translate_names: TranslateNames,
    /// The names that only the target version writes.
    added: &'a AddedNames,
}

impl Pair<'_> {
    /// Checks the translation of a body against `own`, the body of the target version.
    fn check(self, body: &Body, own: &Body) -> Result<(), CheckFailure> {
        let body_kind = BodyKind {
            record: Some(body.kind),
            direction: Some(body.direction),
            purpose: None,
        };
        let translated = self.translate_both_ways(body, body_kind)?;
        if body.varied {
            return Ok(());
        }
        self.agrees(
            &translated,
            own,
            self.added.names(body.kind, body.direction),
        )
    }

    /// Translates a body and translates the result back. Returns the translated body.
    fn translate_both_ways(self, body: &Body, body_kind: BodyKind) -> Result<Value, CheckFailure> {
        let Self {
            case,
            to,
            translate_names,
            ..
        } = self;
        let there = translate_names(&body.data, case.served, to, &body_kind);
        let back = translate_names(&there.data, to, case.served, &body_kind);
        if let Some(lost) = back.lost.first() {
            return case.fail(
                lost.path.as_str(),
                format!("is lost on the way back from {}", to.version.label),
            );
        }
        let label = case.version().label;
        if to.version.label == label
            && (there.data != body.data || !there.lost.is_empty() || !there.renames.is_empty())
        {
            return case.fail(
                body_kind.record.map_or("a body", RecordKind::name),
                "is changed by translation into its own version",
            );
        }
        let mut explained = 0;
        self.same(
            "",
            inner(&body.data, case.version(), body.direction),
            inner(&back.data, case.version(), body.direction),
            &there.lost,
            &mut explained,
        )?;
        match there.lost.get(explained) {
            Some(_) => case.fail(
                "a value",
                format!("is declared lost in {} but is not lost", to.version.label),
            ),
            None => Ok(there.data),
        }
    }

    /// Checks that `after` equals `before` without the declared losses. Nulls may be absent.
    /// `explained` counts the losses found.
    fn same(
        self,
        at: &str,
        before: &Value,
        after: &Value,
        lost: &[Loss],
        explained: &mut usize,
    ) -> Result<(), CheckFailure> {
        match (before, after) {
            (Value::Object(before), Value::Object(after)) => {
                for (key, value) in before {
                    let path = if at.is_empty() {
                        key.clone()
                    } else {
                        format!("{at}.{key}")
                    };
                    let here: Vec<&Loss> = lost.iter().filter(|loss| loss.path == path).collect();
                    if !here.is_empty()
                        && here
                            .iter()
                            .all(|loss| loss.value == *value || self.is_part(loss, value))
                    {
                        *explained += here.len();
                    } else if let Some(after) = after.get(key) {
                        // Equal objects may have their keys in another order.
                        if value.is_object() || value.is_array() || value != after {
                            self.same(&path, value, after, lost, explained)?;
                        }
                    } else if !has_no_value(value) {
                        let fault = format!(
                            "is lost by translation to {} and back",
                            self.to.version.label
                        );
                        return self.case.fail(path, fault);
                    }
                }
                if let Some((key, _)) = after
                    .iter()
                    .find(|(key, value)| !before.contains_key(*key) && !has_no_value(value))
                {
                    return self.case.fail(key, "is added");
                }
                self.same_order(at, before, after)
            }
            // A group without values is null.
            (Value::Object(_), Value::Null) | (Value::Null, Value::Object(_))
                if has_no_value(before) && has_no_value(after) =>
            {
                Ok(())
            }
            (Value::Object(_), Value::Null) => {
                self.same(at, before, &Value::Object(Map::new()), lost, explained)
            }
            (Value::Array(before), Value::Array(after)) if before.len() == after.len() => {
                let pairs = before.iter().zip(after).enumerate();
                pairs
                    .into_iter()
                    .try_for_each(|(position, (before, after))| {
                        self.same(&format!("{at}[{position}]"), before, after, lost, explained)
                    })
            }
            (before, after) if before == after => Ok(()),
            // A version that accepts only text gets a number as text, and the reverse.
            (Value::Number(number), Value::String(text))
            | (Value::String(text), Value::Number(number))
                if number.to_string() == *text
                    && [self.case.version(), self.to.version]
                        .into_iter()
                        .any(restricts_types) =>
            {
                Ok(())
            }
            (before, after) => self.case.fail(
                at,
                format!("was {before} and is {after} after translation and back"),
            ),
        }
    }

    /// Checks the order of keys. A version that writes groups or joined texts may change the order.
    fn same_order(
        self,
        at: &str,
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) -> Result<(), CheckFailure> {
        if [self.case.version(), self.to.version]
            .into_iter()
            .any(restructures)
        {
            return Ok(());
        }
        let mut kept = before.keys().filter(|key| after.contains_key(*key));
        match after
            .keys()
            .filter(|key| before.contains_key(*key))
            .find(|key| kept.next() != Some(*key))
        {
            Some(key) if at.is_empty() => self.case.fail(key, "is moved"),
            Some(key) => self.case.fail(format!("{at}.{key}"), "is moved"),
            None => Ok(()),
        }
    }

    /// Checks that the translation equals the body of the target version, except for the added
    /// names.
    fn agrees(self, there: &Value, own: &Body, added: &[Name]) -> Result<(), CheckFailure> {
        let record = |body| inner(body, self.to.version, own.direction).as_object();
        let (Some(there), Some(own)) = (record(there), record(&own.data)) else {
            return self.case.fail("data", "is not a record");
        };
        self.same_fields("", &flattened(there), &flattened(own), added)
    }

    /// Whether the lost value is a part of a joined text.
    fn is_part(self, loss: &Loss, text: &Value) -> bool {
        let part = loss
            .value
            .as_str()
            .map_or_else(|| loss.value.to_string(), str::to_owned);
        let separators = [self.case.version(), self.to.version]
            .into_iter()
            .flat_map(separators);
        let has_part = |text: &str| {
            separators
                .into_iter()
                .any(|separator| text.split(separator).any(|one| one == part))
        };
        text.as_str().is_some_and(has_part)
    }

    /// Checks that a translated record has the values of the record that the target version writes.
    /// `at` is the name of the nested list, or empty. Names in `added` may be missing.
    fn same_fields(
        self,
        at: &str,
        there: &Map<String, Value>,
        own: &Map<String, Value>,
        added: &[Name],
    ) -> Result<(), CheckFailure> {
        let label = self.to.version.label;
        for (key, value) in own {
            let translated = there.get(key).unwrap_or(&Value::Null);
            match (value, translated) {
                (Value::Array(own), Value::Array(there)) if own.len() == there.len() => {
                    for (own, there) in own.iter().zip(there) {
                        match (own, there) {
                            (Value::Object(own), Value::Object(there)) => {
                                self.same_fields(key, &flattened(there), &flattened(own), added)?;
                            }
                            (own, there) if own == there => {}
                            (own, there) => {
                                return self
                                    .case
                                    .fail(key, format!("has {there} in {label} instead of {own}"));
                            }
                        }
                    }
                }
                (own, there) if own == there => {}
                (_, Value::Null) if is_listed(added, at, key) => {}
                (own, there) => {
                    return self
                        .case
                        .fail(key, format!("becomes {there} in {label} instead of {own}"));
                }
            }
        }
        match there
            .iter()
            .find(|(key, value)| !value.is_null() && !own.contains_key(*key))
        {
            Some((key, _)) => self.case.fail(key, format!("is not written by {label}")),
            None => Ok(()),
        }
    }
}

/// Whether the version restricts some input to one JSON type.
fn restricts_types(version: &ApiVersion) -> bool {
    fn restricts<R: WireRecord>(version: &ApiVersion) -> bool {
        R::inputs(version)
            .entries
            .iter()
            .any(|input| input.accepts.is_some())
    }
    for_each_record!(restricts(version)).contains(&true)
}

/// Whether the version writes fields in groups or as parts of a joined text.
fn restructures(version: &ApiVersion) -> bool {
    fn has_groups<R: WireRecord>(version: &ApiVersion) -> bool {
        R::inputs(version).has_groups || R::shape(version).is_some_and(|shape| shape.has_groups)
    }
    for_each_record!(has_groups(version)).contains(&true) || !separators(version).is_empty()
}

/// Returns the separators of the joined texts of the version.
fn separators(version: &ApiVersion) -> Vec<&'static str> {
    fn record_separators<R: WireRecord>(version: &ApiVersion) -> Vec<&'static str> {
        let shown = R::shape(version)
            .into_iter()
            .flat_map(|shape| shape.entries)
            .filter_map(|entry| entry.part);
        let sent = R::inputs(version)
            .entries
            .iter()
            .filter_map(|input| input.part);
        shown.chain(sent).map(|part| part.separator).collect()
    }
    for_each_record!(record_separators(version)).concat()
}

/// Whether a value is null, or an object with only nulls and empty lists.
fn has_no_value(value: &Value) -> bool {
    let is_absent =
        |member: &Value| member.is_null() || member.as_array().is_some_and(Vec::is_empty);
    value.is_null()
        || value
            .as_object()
            .is_some_and(|members| members.values().all(is_absent))
}

/// Whether a name is among the added names of the record or of the nested list `at`.
fn is_listed(added: &[Name], at: &str, key: &str) -> bool {
    // If a value is an object, `added` contains its name, but not the names of the fields in it.
    let name = |added: &Name| {
        added.name == key
            || key
                .split_once('.')
                .is_some_and(|(name, _)| name == added.name)
    };
    added
        .iter()
        .any(|added| added.list.unwrap_or_default() == at && name(added))
}

/// Returns the record in a body of a version.
fn inner<'a>(body: &'a Value, version: &ApiVersion, direction: Direction) -> &'a Value {
    let envelope = &version.wire.envelope;
    let key = match direction {
        Direction::Request => envelope.request,
        Direction::Reply => envelope.record,
    };
    body.get(key).unwrap_or(&Value::Null)
}

#[cfg(test)]
mod tests;
