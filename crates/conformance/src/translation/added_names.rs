//! The names that one version writes and another version does not. They are computed independently
//! of the translation, from the values of the two versions.

use adapter_kit::body_kind::{Direction, RecordKind};
use adapter_kit::shape::{Entry, Shape, Source};
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireNested, WireRecord};
use domain::{Trainee, for_each_nested};

/// A name that only the second version writes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Name {
    /// The name of the nested list in the second version; `None` for a field of the record itself.
    pub(super) list: Option<&'static str>,
    /// The name.
    pub(super) name: &'static str,
}

/// The names that only the second of two versions writes, by record and direction.
#[derive(Debug)]
pub(super) struct AddedNames {
    requests: Vec<(RecordKind, Vec<Name>)>,
    replies: Vec<(RecordKind, Vec<Name>)>,
}

impl AddedNames {
    /// Compares two versions.
    pub(super) fn new(from: &ApiVersion, to: &ApiVersion) -> Self {
        Self {
            requests: Self::set_names(from, to),
            replies: Self::shown(from, to),
        }
    }

    /// Returns the added names for a record.
    pub(super) fn names(&self, kind: RecordKind, direction: Direction) -> &[Name] {
        let by_kind = match direction {
            Direction::Request => &self.requests,
            Direction::Reply => &self.replies,
        };
        by_kind
            .iter()
            .find(|(known, _)| *known == kind)
            .map_or(&[], |(_, names)| names)
    }

    /// Returns the added names in requests: fields that only the second version can set.
    fn set_names(from: &ApiVersion, to: &ApiVersion) -> Vec<(RecordKind, Vec<Name>)> {
        let mut trainee = set_names::<Trainee>(from, to);
        let nested = for_each_nested!(nested_set_names(from, to, &mut trainee));
        let mut names = vec![
            (
                RecordKind::Withdrawal,
                set_names::<domain::Withdrawal>(from, to),
            ),
            (
                RecordKind::Deferral,
                set_names::<domain::Deferral>(from, to),
            ),
            (
                RecordKind::Recommendation,
                set_names::<domain::Recommendation>(from, to),
            ),
            (RecordKind::Trainee, trainee),
        ];
        names.extend(nested);
        names
    }

    /// Returns the added names in replies: fields that only the second version shows, its own
    /// fields and its copies.
    fn shown(from: &ApiVersion, to: &ApiVersion) -> Vec<(RecordKind, Vec<Name>)> {
        let mut trainee = shown(&from.shapes.trainee, &to.shapes.trainee);
        let mut names = for_each_nested!(nested_shown(from, to, &mut trainee)).to_vec();
        names.push((RecordKind::Trainee, trainee));
        names
    }
}

/// Returns the added names of a nested record in requests, and adds them to the names of `trainee`.
fn nested_set_names<R: WireNested>(
    from: &ApiVersion,
    to: &ApiVersion,
    trainee: &mut Vec<Name>,
) -> (RecordKind, Vec<Name>) {
    let names = set_names::<R>(from, to);
    let list = Trainee::inputs(to).name_of(R::LIST);
    trainee.extend(names.iter().map(|name| Name { list, ..*name }));
    (R::KIND, names)
}

/// Returns the added names of a nested record in replies, and adds them to the names of `trainee`.
fn nested_shown<R: WireNested>(
    from: &ApiVersion,
    to: &ApiVersion,
    trainee: &mut Vec<Name>,
) -> (RecordKind, Vec<Name>) {
    let one = R::shapes(from);
    let other = R::shapes(to);
    let list = to.shapes.trainee.name_of(R::LIST);
    let in_trainee = shown(&one.in_trainee, &other.in_trainee);
    trainee.extend(in_trainee.iter().map(|name| Name { list, ..*name }));
    (R::KIND, shown(&one.alone, &other.alone))
}

/// Returns the names of the fields that only requests of the second version can set.
fn set_names<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<Name> {
    let added = R::inputs(to)
        .entries
        .iter()
        .filter(|input| R::inputs(from).name_of(input.field).is_none());
    added
        .map(|input| Name {
            list: None,
            name: input.name,
        })
        .collect()
}

/// Returns the names that only responses of the second version show.
fn shown<R: WireRecord>(one: &Shape<R>, other: &Shape<R>) -> Vec<Name> {
    // Whether the first version also shows the value. A copy of a field, and a field outside the
    // dictionary, must have the same name in both versions.
    let is_in_first = |entry: &&Entry<R>| match &entry.source {
        Source::Field(field) if other.name_of(*field) == Some(entry.name) => {
            one.name_of(*field).is_some()
        }
        Source::Field(field) => one.entries.iter().any(|shown| {
            shown.name == entry.name
                && matches!(&shown.source, Source::Field(shown) if shown == field)
        }),
        Source::Own(own) => one.entries.iter().any(|shown| {
            shown.name == entry.name
                && matches!(&shown.source, Source::Own(shown) if std::ptr::eq(*shown, *own))
        }),
    };
    let added = other.entries.iter().filter(|entry| !is_in_first(entry));
    added
        .map(|entry| Name {
            list: None,
            name: entry.name,
        })
        .collect()
}
