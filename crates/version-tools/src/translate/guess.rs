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

/// Returns the record and direction of a body, unless `given` has them. The best candidate has the
/// most known keys; with equal numbers, the candidate with fewer names wins. Without any known key,
/// the body is a request for a trainee.
pub(super) fn record(
    object: &Map<String, Value>,
    from: &Served,
    to: &Served,
    given: BodyKind,
) -> (RecordKind, Direction) {
    if let (Some(record), Some(direction)) = (given.record, given.direction) {
        return (record, direction);
    }
    let records = RecordKind::ALL
        .iter()
        .copied()
        .filter(|record| given.record.is_none_or(|given| given == *record));
    let both = |record| {
        Direction::ALL
            .iter()
            .map(move |direction| (record, *direction))
    };
    let kinds = records.flat_map(both);
    let possible =
        kinds.filter(|(_, direction)| given.direction.is_none_or(|given| given == *direction));
    let scored = possible.filter_map(|kind| {
        Some((
            for_record_kind!(kind.0, score(object, from, to, kind.1))?,
            kind,
        ))
    });
    let best = scored
        .rev()
        .max_by_key(|((known, others), _)| (*known, Reverse(*others)));
    let default = (
        given.record.unwrap_or(RecordKind::Trainee),
        given.direction.unwrap_or(Direction::Request),
    );
    best.filter(|((known, _), _)| *known > 0)
        .map_or(default, |(_, kind)| kind)
}

/// Returns a score of the known keys, and the number of names of the record. A key of `from` scores
/// 2, and a key only in `to` scores 1. Returns `None` if there is no such body.
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
    let required = || rules.iter().filter_map(Rule::required_field);
    let has = |field: &R::Field| {
        sent.unread.contains(*field)
            || sent
                .changes
                .requested(*field)
                .is_some_and(|value| value != Stored::Null)
    };
    if required().filter(has).count() * 2 < required().count() {
        Purpose::Update
    } else {
        Purpose::Create
    }
}
