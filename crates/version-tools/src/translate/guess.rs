//! Guesses the kind of a body.

use std::cmp::Reverse;

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::for_record_kind;
use adapter_kit::versions::Served;
use adapter_kit::wire::WireRecord;
use domain::records::record::Changes as _;
use domain::{ParsedRecord, Rule, Value as Stored};
use serde_json::{Map, Value};

use super::BodyKind;

/// Maximum number of keys to consider.
const MAX_KEYS: usize = 200;

/// Returns the record and direction of a body. Takes them from `given` as far as possible.
/// Otherwise the combination with the highest score of known keys wins. With equal scores, the
/// record with fewer names wins. A body without a known key counts as a request for a trainee.
pub(super) fn record(
    object: &Map<String, Value>,
    from: &Served,
    to: &Served,
    given: BodyKind,
) -> (RecordKind, Direction) {
    if let (Some(record), Some(direction)) = (given.record, given.direction) {
        return (record, direction);
    }
    let mut best_kind = (
        given.record.unwrap_or(RecordKind::Trainee),
        given.direction.unwrap_or(Direction::Request),
    );
    let mut best_rank = None;
    for record in RecordKind::ALL.iter().copied() {
        for direction in Direction::ALL.iter().copied() {
            let is_possible = given.record.is_none_or(|given| given == record)
                && given.direction.is_none_or(|given| given == direction);
            if !is_possible {
                continue;
            }
            let Some((known, names)) = for_record_kind!(record, score(object, from, to, direction))
            else {
                continue;
            };
            let rank = Some((known, Reverse(names)));
            if known > 0 && rank > best_rank {
                best_rank = rank;
                best_kind = (record, direction);
            }
        }
    }
    best_kind
}

/// Returns a score of the known keys, and the number of names of the record. A key of `from` scores
/// 2, and a key only in `to` scores 1. Returns `None` if `from` does not show the record in
/// replies.
fn score<R: WireRecord>(
    object: &Map<String, Value>,
    from: &Served,
    to: &Served,
    direction: Direction,
) -> Option<(usize, usize)> {
    let has = |served: &Served, key: &str| match direction {
        Direction::Request => R::inputs(served.version).field(key).is_some(),
        Direction::Reply => R::shape(served.version).is_some_and(|shape| shape.shows(key)),
    };
    let names = match direction {
        Direction::Request => R::inputs(from.version).entries.len(),
        Direction::Reply => R::shape(from.version)?.entries.len(),
    };
    let score = |key: &String| {
        if has(from, key) {
            2
        } else {
            usize::from(has(to, key))
        }
    };
    Some((object.keys().take(MAX_KEYS).map(score).sum(), names))
}

/// Returns the purpose of a request: an update if it has fewer than half of the required fields.
pub(super) fn purpose<R: WireRecord>(sent: &ParsedRecord<R>, rules: &[Rule<R>]) -> Purpose {
    let required: Vec<R::Field> = rules.iter().filter_map(Rule::required_field).collect();
    let has = |field: &R::Field| {
        sent.unread.contains(*field)
            || sent
                .changes
                .requested(*field)
                .is_some_and(|value| value != Stored::Null)
    };
    let present = required.iter().copied().filter(has).count();
    if present * 2 < required.len() {
        Purpose::Update
    } else {
        Purpose::Create
    }
}
