//! What becomes of the names in a record.

use std::collections::HashMap;

use adapter_kit::names::shown;
use adapter_kit::read::{MAX_UNKNOWN, nearest};
use adapter_kit::shape::Shape;
use adapter_kit::version::ApiVersion;
use domain::{Deferral, Degree, Placement, Recommendation, Trainee, TraineeField, Withdrawal};
use serde_json::{Map, Value};

use super::about::Direction;
use super::fate::{Fate, fate};
use super::findings::{Loss, Remark, Rename, Why, join};
use super::{Pass, judge};

/// Where a record stands: on its own or in a nested list, sent or answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Side {
    pub(super) direction: Direction,
    pub(super) nested: bool,
}

impl Side {
    /// A record on its own.
    pub(super) fn of_record(direction: Direction) -> Self {
        Self { direction, nested: false }
    }
}

/// A record whose keys can be spelt otherwise.
pub(super) trait Spelt: judge::Judged {
    /// What a response shows of the record, where it stands.
    fn shape_at(version: &ApiVersion, _: Side) -> Option<&Shape<Self>> {
        Self::shape(version)
    }

    /// The records of a nested list.
    fn list(_: &mut Pass<'_>, _: Self::Field, value: &Value, _: Side, _: &str) -> Value {
        value.clone()
    }
}

impl Spelt for Degree {}
impl Spelt for Withdrawal {}
impl Spelt for Deferral {}
impl Spelt for Recommendation {}
impl Spelt for Placement {
    fn shape_at(version: &ApiVersion, side: Side) -> Option<&Shape<Self>> {
        Some(if side.nested { &version.shapes.placement_nested } else { &version.shapes.placement })
    }
}
impl Spelt for Trainee {
    fn list(pass: &mut Pass<'_>, list: TraineeField, value: &Value, side: Side, at: &str) -> Value {
        if list == TraineeField::placements {
            each::<Placement>(pass, value, side, at)
        } else {
            each::<Degree>(pass, value, side, at)
        }
    }
}

fn each<R: Spelt>(pass: &mut Pass<'_>, records: &Value, side: Side, at: &str) -> Value {
    let Value::Array(records) = records else { return records.clone() };
    let spelt = records.iter().enumerate().map(|(position, record)| {
        let Value::Object(record) = record else { return record.clone() };
        let at = format!("{at}[{position}]");
        let spelt = Value::Object(spell::<R>(pass, record, side, &at));
        // The records of a request are judged together with the one that holds them.
        if let (Direction::Reply, Some(setting)) = (side.direction, pass.setting) {
            let verdict = judge::verdict::<R>(&spelt, side.direction, None, pass.to, setting);
            pass.out.add(verdict, &at);
        }
        spelt
    });
    spelt.collect()
}

/// Spells a record as the other version does.
pub(super) fn spell<R: Spelt>(
    pass: &mut Pass<'_>,
    record: &Map<String, Value>,
    side: Side,
    at: &str,
) -> Map<String, Value> {
    let (from, to) = (pass.from, pass.to);
    let fates: Vec<Fate<R::Field>> = record.keys().map(|key| fate::<R>(from, to, key, side)).collect();
    // A name of the version's own comes before one that stands beside it, wherever it stands.
    let mut bearers: HashMap<&str, &str> = HashMap::with_capacity(record.len());
    for known in [true, false] {
        for ((key, _), fate) in record.iter().zip(&fates) {
            match fate {
                Fate::Named { name, own, .. } if *own == known => {
                    bearers.entry(name).or_insert(key);
                }
                Fate::Unknown if !known => {
                    bearers.entry(key).or_insert(key);
                }
                Fate::Named { .. } | Fate::Unknown | Fate::Lost { .. } => {}
            }
        }
    }
    let mut spelt = Map::with_capacity(record.len());
    for ((key, value), fate) in record.iter().zip(fates) {
        let path = || join(at, key);
        let (name, list) = match fate {
            Fate::Lost { why, same_as } => {
                lose(pass, path, key, value, why, same_as);
                continue;
            }
            Fate::Unknown => (key.as_str(), None),
            Fate::Named { name, list, .. } => (name, list),
        };
        if let Some(bearer) = bearers.get(name).filter(|bearer| **bearer != key.as_str()) {
            if record.get(*bearer) == Some(value) {
                let message = format!("{} says the same as {}, and is left out", shown(key), shown(bearer));
                pass.out.notices.push(Remark::new(path(), "said_twice", message));
            } else {
                lose(pass, path, key, value, Why::NameTaken, Some(shown(bearer)));
            }
            continue;
        }
        match fate {
            Fate::Unknown => tell_unknown::<R>(pass, key, side, path),
            Fate::Named { name, own, .. } => {
                if name != key {
                    pass.out.renames.push(Rename { path: path(), from: shown(key), to: name });
                }
                if !own {
                    let message = format!("{key} is the name of another version for the field");
                    pass.out.notices.push(Remark::new(path(), "foreign_name", message));
                }
            }
            Fate::Lost { .. } => {}
        }
        let value = match list {
            Some((list, direction)) => R::list(pass, list, value, Side { direction, nested: true }, &path()),
            None => value.clone(),
        };
        spelt.insert(name.to_owned(), value);
    }
    spelt
}

fn lose(
    pass: &mut Pass<'_>,
    path: impl Fn() -> String,
    key: &str,
    value: &Value,
    why: Why,
    same_as: Option<impl Into<String>>,
) {
    if value.is_null() {
        return;
    }
    let (from, to) = (pass.out.from, pass.out.to);
    let same_as: Option<String> = same_as.map(Into::into);
    let message = match (why, &same_as) {
        (Why::Copy, Some(other)) => format!("{to} has no such copy of {other}"),
        (Why::NameTaken, Some(other)) => format!("its name in {to} is taken by {other}"),
        (Why::OwnField, _) => format!("only {from} has this field"),
        (Why::NotSet, _) => format!("no request of {to} can set this field"),
        (Why::NotShown | Why::Copy | Why::NameTaken, _) => format!("{to} does not show this field"),
    };
    pass.out.lost.push(Loss { path: path(), name: shown(key), value: value.clone(), why, same_as, message });
}

fn tell_unknown<R: Spelt>(pass: &mut Pass<'_>, key: &str, side: Side, path: impl Fn() -> String) {
    let (from, to) = (pass.from, pass.to);
    pass.unknown += 1;
    if pass.unknown > MAX_UNKNOWN {
        return;
    }
    let there = R::inputs(to.version).field(key).is_some()
        || R::shape_at(to.version, side).is_some_and(|shape| shape.shows(key));
    if there {
        let message = format!("{key} is no field of {}, and is one of {}", pass.out.from, pass.out.to);
        pass.out.notices.push(Remark::new(path(), "name_of_target", message));
        return;
    }
    let sent = || R::inputs(from.version).entries.iter().map(|input| input.name);
    let answered =
        || R::shape_at(from.version, side).into_iter().flat_map(|shape| shape.entries).map(|entry| entry.name);
    let nearest = match side.direction {
        Direction::Request => nearest(key, sent()),
        Direction::Reply => nearest(key, answered()),
    };
    let message = match nearest {
        Some(nearest) => format!("{} is no field of {}; did you mean {nearest}?", shown(key), pass.out.from),
        None => format!("{} is no field of {}", shown(key), pass.out.from),
    };
    pass.out.notices.push(Remark { nearest, ..Remark::new(path(), "unknown_name", message) });
}
