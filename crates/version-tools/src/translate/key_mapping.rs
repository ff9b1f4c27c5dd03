//! What a key of one version is called in another: the field that it is for, and the name of that field there.

use adapter_kit::body_kind::Direction;
use adapter_kit::shape::{Entry, Source};
use adapter_kit::versions::Served;
use domain::Kind;

use super::findings::LossReason;
use super::names::{RecordPosition, TranslatedRecord};

/// The name of a key in the other version.
#[derive(Clone, Copy)]
pub(super) enum KeyMapping<F> {
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
pub(super) fn key_mapping<R: TranslatedRecord>(
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
