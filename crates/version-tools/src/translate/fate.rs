//! What a key of one version becomes in another: which field it stands for, and what that is called there.

use adapter_kit::shape::{Entry, Source};
use adapter_kit::versions::Served;
use domain::Kind;

use super::about::Direction;
use super::findings::Why;
use super::names::{Side, Spelt};

/// What becomes of a key.
#[derive(Clone, Copy)]
pub(super) enum Fate<F> {
    /// It stands for a field that has a name in the other version.
    Named {
        /// The name there.
        name: &'static str,
        /// Whether it is the version's own name, and not that of another one.
        own: bool,
        /// The nested list that stands there, and in which direction.
        list: Option<(F, Direction)>,
    },
    /// It stands for a field without a place in the other version.
    Lost { why: Why, same_as: Option<&'static str> },
    /// Nobody knows what it stands for, and it stays.
    Unknown,
}

/// What becomes of a key of a record that stands there.
pub(super) fn fate<R: Spelt>(from: &Served, to: &Served, key: &str, side: Side) -> Fate<R::Field> {
    let sent = || sent::<R>(from, to, key);
    let answered = || answered::<R>(from, to, key, side);
    let own = match side.direction {
        Direction::Request => sent().or_else(answered),
        Direction::Reply => answered().or_else(sent),
    };
    let foreign = || {
        let (_, field) = R::foreign(&from.foreign).iter().find(|(name, _)| *name == key)?;
        let name = R::inputs(to.version).name_of(*field)?;
        Some(Fate::Named { name, own: false, list: list(*field, Direction::Request) })
    };
    own.or_else(foreign).unwrap_or(Fate::Unknown)
}

/// What becomes of a key that a request of the version can set.
fn sent<R: Spelt>(from: &Served, to: &Served, key: &str) -> Option<Fate<R::Field>> {
    let field = R::inputs(from.version).field(key)?;
    Some(match R::inputs(to.version).name_of(field) {
        Some(name) => Fate::Named { name, own: true, list: list(field, Direction::Request) },
        None => Fate::Lost { why: Why::NotSet, same_as: None },
    })
}

/// What becomes of a key that a reply of the version shows.
fn answered<R: Spelt>(from: &Served, to: &Served, key: &str, side: Side) -> Option<Fate<R::Field>> {
    let shape = R::shape_at(from.version, side)?;
    let entry = shape.entries.iter().find(|entry| entry.name == key)?;
    let others = || R::shape_at(to.version, side).into_iter().flat_map(|shape| shape.entries);
    let named = |name, list| Fate::Named { name, own: true, list };
    Some(match &entry.source {
        Source::Field(field) if shape.name_of(*field) == Some(entry.name) => {
            match R::shape_at(to.version, side).and_then(|shape| shape.name_of(*field)) {
                Some(name) => named(name, list(*field, Direction::Reply)),
                None => Fate::Lost { why: Why::NotShown, same_as: None },
            }
        }
        Source::Field(field) => {
            let is_the_copy = |other: &&Entry<R>| {
                other.name == key && matches!(&other.source, Source::Field(shown) if shown == field)
            };
            match others().find(is_the_copy) {
                Some(copy) => named(copy.name, list(*field, Direction::Reply)),
                None => Fate::Lost { why: Why::Copy, same_as: shape.name_of(*field) },
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
                None => Fate::Lost { why: Why::OwnField, same_as: None },
            }
        }
    })
}

fn list<F: domain::RecordField>(field: F, direction: Direction) -> Option<(F, Direction)> {
    (field.info().kind == Kind::Records).then_some((field, direction))
}
