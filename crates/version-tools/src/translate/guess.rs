//! Guesses the kind of a body.

use std::cmp::Reverse;

use adapter_kit::body_kind::{Direction, Purpose, RecordKind};
use adapter_kit::for_record_kind;
use adapter_kit::versions::Served;
use adapter_kit::wire::WireRecord;
use domain::records::record::Changes as _;
use domain::{Field, ParsedRecord, Rule, TraineeField, Value as Stored, nested_kinds};
use serde_json::{Map, Value};

use super::BodyKind;

/// Maximum number of keys to consider.
const MAX_KEYS: usize = 200;

macro_rules! reply_fields {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// The identifiers of records, and the state of a trainee.
        fn reply_fields() -> impl Iterator<Item = Field> {
            let trainee = [TraineeField::trainee_id, TraineeField::state].map(Field::from);
            let nested = [$(Field::from(domain::$fields::$id)),+];
            trainee.into_iter().chain(nested)
        }
    };
}
nested_kinds!([reply_fields]);

/// Returns the record and direction of a body. Takes them from `given` as far as possible; only
/// requests have a purpose. A body with the identifier of a record or with a state is a reply, any
/// other body is a request. The
/// record with the highest score of known keys wins. With equal scores, the record with fewer names
/// wins. A body without a known key counts as that of a trainee.
pub(super) fn record(
    object: &Map<String, Value>,
    from: &Served,
    to: &Served,
    given: BodyKind,
) -> (RecordKind, Direction) {
    let kinds = || {
        let all = RecordKind::ALL.iter().copied();
        all.filter(|kind| given.record.is_none_or(|given| given == *kind))
    };
    let of_purpose = given.purpose.map(|_| Direction::Request);
    let direction = given.direction.or(of_purpose).unwrap_or_else(|| {
        let is_reply =
            kinds().any(|kind| for_record_kind!(kind, has_reply_field(object, from, to)));
        if is_reply {
            Direction::Reply
        } else {
            Direction::Request
        }
    });
    let mut best_kind = given.record.unwrap_or(RecordKind::Trainee);
    let mut best_rank = None;
    for kind in kinds() {
        let Some((known, names)) = for_record_kind!(kind, score(object, from, to, direction))
        else {
            continue;
        };
        let rank = Some((known, Reverse(names)));
        if known > 0 && rank > best_rank {
            best_rank = rank;
            best_kind = kind;
        }
    }
    (best_kind, direction)
}

/// Returns the direction that a body could have instead of a guessed one; `None` for a record that
/// only requests have.
pub(super) fn other_direction<R: WireRecord>(
    guessed: Direction,
    from: &Served,
) -> Option<Direction> {
    match guessed {
        Direction::Request => R::shape(from.version).map(|_| Direction::Reply),
        Direction::Reply => Some(Direction::Request),
    }
}

/// Whether a body has the identifier of the record or its state, with the name of either version.
fn has_reply_field<R: WireRecord>(object: &Map<String, Value>, from: &Served, to: &Served) -> bool {
    let shapes = [from, to].map(|served| R::shape(served.version));
    reply_fields().filter_map(R::field_of).any(|field| {
        let mut names = shapes
            .iter()
            .flatten()
            .filter_map(|shape| shape.name_of(field));
        names.any(|name| object.get(name).is_some_and(|value| !value.is_null()))
    })
}

/// Returns a score of the known keys, and the number of names of the record. A key of `from` scores
/// 2, and a key only in `to`, or in a request a key only of replies of `from`, scores 1. Returns `None` if `from` does not show the record in
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
            let is_shown = R::shape(from.version).is_some_and(|shape| shape.shows(key));
            usize::from(is_shown || has(to, key))
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
