//! Guesses what a body is from its keys.

use std::cmp::Reverse;

use adapter_kit::version::Wire;
use adapter_kit::versions::Served;
use serde_json::{Map, Value};

use super::about::{About, Direction, RecordKind, of_kind};

/// The most keys that are looked at.
const KEYS: usize = 200;

/// The record and the direction in which most of the keys are known, as far as they are not said. Of two
/// that know as many, the one that knows fewer others; without any known key, a request for a trainee.
pub(super) fn guess(object: &Map<String, Value>, from: &Served, to: &Served, about: About) -> (RecordKind, Direction) {
    let records = RecordKind::ALL.iter().copied().filter(|kind| about.record.is_none_or(|said| said == *kind));
    let both = |kind| Direction::ALL.iter().map(move |direction| (kind, *direction));
    let said = records.flat_map(both).filter(|(_, direction)| about.direction.is_none_or(|said| said == *direction));
    let scored = said.filter_map(|what| Some((of_kind!(what.0, score(object, from, to, what.1))?, what)));
    let best = scored.rev().max_by_key(|((known, others), _)| (*known, Reverse(*others)));
    let default = (about.record.unwrap_or(RecordKind::Trainee), about.direction.unwrap_or(Direction::Request));
    match best {
        Some(((known, _), what)) if known > 0 => what,
        Some(_) | None => default,
    }
}

/// How well the keys are known, and how many names there are; `None` when there is no such body. A name
/// of another version counts half.
fn score<R: Wire>(
    object: &Map<String, Value>,
    from: &Served,
    to: &Served,
    direction: Direction,
) -> Option<(usize, usize)> {
    let names = |served: &Served, key: &str| match direction {
        Direction::Request => R::inputs(served.version).field(key).is_some(),
        Direction::Reply => R::shape(served.version).is_some_and(|shape| shape.shows(key)),
    };
    let others = match direction {
        Direction::Request => R::inputs(from.version).entries.len(),
        Direction::Reply => R::shape(from.version)?.entries.len(),
    };
    let score = |key: &String| if names(from, key) { 2 } else { usize::from(names(to, key)) };
    Some((object.keys().take(KEYS).map(score).sum(), others))
}
