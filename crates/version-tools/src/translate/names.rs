//! Translates the keys of a record: the field of a key in the one version, and the name of that field in the other.

use std::collections::HashMap;

use adapter_kit::body_kind::Direction;
use adapter_kit::read::client_text::truncated;
use adapter_kit::read::{MAX_UNKNOWN, nearest};
use adapter_kit::shape::{Entry, Shape, Source};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Served;
use domain::{Deferral, Degree, Kind, Placement, Recommendation, Trainee, TraineeField, Withdrawal};
use serde_json::{Map, Value};

use super::findings::{Finding, Loss, LossReason, Rename, join};
use super::{Translator, evaluate};

/// Where a record is: by itself or in a nested list, in a request or in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordPosition {
    pub(super) direction: Direction,
    pub(super) nested: bool,
}

/// A record whose keys can be translated.
pub(super) trait TranslatedRecord: evaluate::EvaluatedRecord {
    /// The shape of the record in that place.
    fn shape_at(version: &ApiVersion, _: RecordPosition) -> Option<&Shape<Self>> {
        Self::shape(version)
    }

    /// The records of a nested list.
    fn list(_: &mut Translator<'_>, _: Self::Field, value: &Value, _: RecordPosition, _: &str) -> Value {
        value.clone()
    }
}

impl TranslatedRecord for Degree {}
impl TranslatedRecord for Withdrawal {}
impl TranslatedRecord for Deferral {}
impl TranslatedRecord for Recommendation {}
impl TranslatedRecord for Placement {
    fn shape_at(version: &ApiVersion, place: RecordPosition) -> Option<&Shape<Self>> {
        Some(if place.nested { &version.shapes.placement_nested } else { &version.shapes.placement })
    }
}
impl TranslatedRecord for Trainee {
    fn list(
        translator: &mut Translator<'_>,
        list: TraineeField,
        value: &Value,
        place: RecordPosition,
        at: &str,
    ) -> Value {
        if list == TraineeField::placements {
            each::<Placement>(translator, value, place, at)
        } else {
            each::<Degree>(translator, value, place, at)
        }
    }
}

fn each<R: TranslatedRecord>(
    translator: &mut Translator<'_>,
    records: &Value,
    place: RecordPosition,
    at: &str,
) -> Value {
    let Value::Array(records) = records else { return records.clone() };
    let translated = records.iter().enumerate().map(|(position, record)| {
        let Value::Object(record) = record else { return record.clone() };
        let at = format!("{at}[{position}]");
        let translated = Value::Object(translate_keys::<R>(translator, record, place, &at));
        // The nested records of a request are evaluated together with the trainee.
        if let (Direction::Reply, Some(context)) = (place.direction, translator.context) {
            let (from, to) = (translator.from.version, translator.to);
            let evaluation = evaluate::evaluate::<R>(&translated, place.direction, None, from, to, context);
            translator.out.add(evaluation.problems, evaluation.notices, &at);
        }
        translated
    });
    translated.collect()
}

/// Translates the keys of a record.
pub(super) fn translate_keys<R: TranslatedRecord>(
    translator: &mut Translator<'_>,
    record: &Map<String, Value>,
    place: RecordPosition,
    at: &str,
) -> Map<String, Value> {
    let (from, to) = (translator.from, translator.to);
    let mappings: Vec<KeyMapping<R::Field>> = record.keys().map(|key| key_mapping::<R>(from, to, key, place)).collect();
    // The version's own name precedes another version's name for the same field, wherever it is.
    let mut owners: HashMap<&str, &str> = HashMap::with_capacity(record.len());
    for known in [true, false] {
        for ((key, _), key_mapping) in record.iter().zip(&mappings) {
            match key_mapping {
                KeyMapping::Named { name, own, .. } if *own == known => {
                    owners.entry(name).or_insert(key);
                }
                KeyMapping::Unknown if !known => {
                    owners.entry(key).or_insert(key);
                }
                KeyMapping::Named { .. } | KeyMapping::Unknown | KeyMapping::Lost { .. } => {}
            }
        }
    }
    let mut translated = Map::with_capacity(record.len());
    for ((key, value), key_mapping) in record.iter().zip(mappings) {
        let path = || join(at, key);
        let (name, list) = match key_mapping {
            KeyMapping::Lost { why, same_as } => {
                add_loss(translator, path, key, value, why, same_as);
                continue;
            }
            KeyMapping::Unknown => (key.as_str(), None),
            KeyMapping::Named { name, list, .. } => (name, list),
        };
        if let Some(owner) = owners.get(name).filter(|owner| **owner != key.as_str()) {
            if record.get(*owner) == Some(value) {
                let message = format!("{} says the same as {}, and is left out", truncated(key), truncated(owner));
                translator.out.notices.push(Finding::new(path(), "said_twice", message));
            } else {
                add_loss(translator, path, key, value, LossReason::NameTaken, Some(truncated(owner)));
            }
            continue;
        }
        match key_mapping {
            KeyMapping::Unknown => report_unknown::<R>(translator, key, place, path),
            KeyMapping::Named { name, own, .. } => {
                if name != key {
                    translator.out.renames.push(Rename { path: path(), from: truncated(key), to: name });
                }
                if !own {
                    let message = format!("{key} is the name of another version for the field");
                    translator.out.notices.push(Finding::new(path(), "foreign_name", message));
                }
            }
            KeyMapping::Lost { .. } => {}
        }
        let value = match list {
            Some((list, direction)) => {
                R::list(translator, list, value, RecordPosition { direction, nested: true }, &path())
            }
            None => value.clone(),
        };
        translated.insert(name.to_owned(), value);
    }
    translated
}

fn add_loss(
    translator: &mut Translator<'_>,
    path: impl Fn() -> String,
    key: &str,
    value: &Value,
    why: LossReason,
    same_as: Option<impl Into<String>>,
) {
    if value.is_null() {
        return;
    }
    let (from, to) = (translator.out.from, translator.out.to);
    let same_as: Option<String> = same_as.map(Into::into);
    let message = match (why, &same_as) {
        (LossReason::Copy, Some(other)) => format!("{to} has no such copy of {other}"),
        (LossReason::NameTaken, Some(other)) => format!("its name in {to} is taken by {other}"),
        (LossReason::VersionField, _) => format!("only {from} has this field"),
        (LossReason::NotSet, _) => format!("no request of {to} can set this field"),
        (LossReason::NotShown | LossReason::Copy | LossReason::NameTaken, _) => {
            format!("{to} does not show this field")
        }
    };
    translator.out.lost.push(Loss { path: path(), name: truncated(key), value: value.clone(), why, same_as, message });
}

fn report_unknown<R: TranslatedRecord>(
    translator: &mut Translator<'_>,
    key: &str,
    place: RecordPosition,
    path: impl Fn() -> String,
) {
    let (from, to) = (translator.from, translator.to);
    translator.unknown += 1;
    if translator.unknown > MAX_UNKNOWN {
        return;
    }
    let there = R::inputs(to.version).field(key).is_some()
        || R::shape_at(to.version, place).is_some_and(|shape| shape.shows(key));
    if there {
        let message = format!("{key} is no field of {}, and is one of {}", translator.out.from, translator.out.to);
        translator.out.notices.push(Finding::new(path(), "name_of_target", message));
        return;
    }
    let sent = || R::inputs(from.version).entries.iter().map(|input| input.name);
    let answered =
        || R::shape_at(from.version, place).into_iter().flat_map(|shape| shape.entries).map(|entry| entry.name);
    let nearest = match place.direction {
        Direction::Request => nearest(key, sent()),
        Direction::Reply => nearest(key, answered()),
    };
    let message = match nearest {
        Some(nearest) => format!("{} is no field of {}; did you mean {nearest}?", truncated(key), translator.out.from),
        None => format!("{} is no field of {}", truncated(key), translator.out.from),
    };
    translator.out.notices.push(Finding { nearest, ..Finding::new(path(), "unknown_name", message) });
}

/// The name of a key in the other version.
#[derive(Clone, Copy)]
enum KeyMapping<F> {
    /// The key of a field that has a name in the other version.
    Named {
        /// The name there.
        name: &'static str,
        /// Whether it is the version's own name, and not that of another one.
        own: bool,
        /// The nested list, and its direction.
        list: Option<(F, Direction)>,
    },
    /// The key of a field that the other version does not have.
    Lost { why: LossReason, same_as: Option<&'static str> },
    /// An unknown key; it stays.
    Unknown,
}

/// Maps a key of a record.
fn key_mapping<R: TranslatedRecord>(
    from: &Served,
    to: &Served,
    key: &str,
    place: RecordPosition,
) -> KeyMapping<R::Field> {
    let request_mapping = || request_mapping::<R>(from, to, key);
    let reply_mapping = || reply_mapping::<R>(from, to, key, place);
    let own = match place.direction {
        Direction::Request => request_mapping().or_else(reply_mapping),
        Direction::Reply => reply_mapping().or_else(request_mapping),
    };
    let other_name = || {
        let (_, field) = R::other_names(&from.other_names).refused.iter().find(|(name, _)| *name == key)?;
        let name = R::inputs(to.version).name_of(*field)?;
        Some(KeyMapping::Named { name, own: false, list: list(*field, Direction::Request) })
    };
    own.or_else(other_name).unwrap_or(KeyMapping::Unknown)
}

/// Maps a key that a request of the version can set.
fn request_mapping<R: TranslatedRecord>(from: &Served, to: &Served, key: &str) -> Option<KeyMapping<R::Field>> {
    let field = R::inputs(from.version).field(key)?;
    Some(match R::inputs(to.version).name_of(field) {
        Some(name) => KeyMapping::Named { name, own: true, list: list(field, Direction::Request) },
        None => KeyMapping::Lost { why: LossReason::NotSet, same_as: None },
    })
}

/// Maps a key that a reply of the version shows.
fn reply_mapping<R: TranslatedRecord>(
    from: &Served,
    to: &Served,
    key: &str,
    place: RecordPosition,
) -> Option<KeyMapping<R::Field>> {
    let shape = R::shape_at(from.version, place)?;
    let entry = shape.entries.iter().find(|entry| entry.name == key)?;
    let others = || R::shape_at(to.version, place).into_iter().flat_map(|shape| shape.entries);
    let named = |name, list| KeyMapping::Named { name, own: true, list };
    Some(match &entry.source {
        Source::Field(field) if shape.name_of(*field) == Some(entry.name) => {
            match R::shape_at(to.version, place).and_then(|shape| shape.name_of(*field)) {
                Some(name) => named(name, list(*field, Direction::Reply)),
                None => KeyMapping::Lost { why: LossReason::NotShown, same_as: None },
            }
        }
        Source::Field(field) => {
            let is_the_copy = |other: &&Entry<R>| {
                other.name == key && matches!(&other.source, Source::Field(shown) if shown == field)
            };
            match others().find(is_the_copy) {
                Some(copy) => named(copy.name, list(*field, Direction::Reply)),
                None => KeyMapping::Lost { why: LossReason::Copy, same_as: shape.name_of(*field) },
            }
        }
        Source::Own(own) => {
            let same_version = from.version.label == to.version.label;
            let is_the_same = |other: &&Entry<R>| {
                other.name == key
                    && matches!(&other.source, Source::Own(shown) if same_version || std::ptr::eq(*shown, *own))
            };
            match others().find(is_the_same) {
                Some(other) => named(other.name, None),
                None => KeyMapping::Lost { why: LossReason::VersionField, same_as: None },
            }
        }
    })
}

fn list<F: domain::RecordField>(field: F, direction: Direction) -> Option<(F, Direction)> {
    (field.info().kind == Kind::Records).then_some((field, direction))
}
