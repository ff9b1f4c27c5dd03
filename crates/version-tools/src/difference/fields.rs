//! Fields that are new, removed or renamed, in requests and in responses.

use adapter_kit::body_kind::Direction;
use adapter_kit::shape::{Entry, InputName, Inputs, Part, Shape, Source};
use adapter_kit::versions::Served;
use adapter_kit::wire::{WireNested, WireRecord};
use domain::{
    Deferral, Kind, Recommendation, Record, RecordField as _, Trainee, Withdrawal, for_each_nested,
};
use serde::{Serialize, Serializer};

use super::Change;

mod wording;

/// A change of one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The name of the record that has the field.
    pub record: &'static str,
    /// Whether the record is nested in a trainee, if nested records differ.
    pub nested: bool,
    /// Whether the field belongs to requests or to responses.
    #[serde(serialize_with = "direction")]
    pub direction: Direction,
    /// The meaning of the field, in one sentence.
    pub meaning: &'static str,
    /// The kind of change.
    #[serde(flatten)]
    pub kind: FieldChangeKind,
}

/// The kind of change of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum FieldChangeKind {
    /// The field is new.
    Added {
        /// The name of the field.
        name: &'static str,
        /// The name of a field with the same value in the version before.
        same_value: Option<&'static str>,
    },
    /// The field is removed.
    Removed {
        /// The name of the field.
        name: &'static str,
        /// The name of a field with the same value in the target version.
        same_value: Option<&'static str>,
    },
    /// The field is renamed.
    Renamed {
        /// The name before.
        before: &'static str,
        /// The name after.
        after: &'static str,
    },
    /// The field becomes a part of a joined text.
    Joined {
        /// The name before.
        before: &'static str,
        /// The name of the text.
        after: &'static str,
        /// The separator between the parts.
        separator: &'static str,
        /// The position among the parts, from 0.
        index: usize,
    },
    /// A part of a joined text becomes a field.
    Split {
        /// The name of the text.
        before: &'static str,
        /// The name after.
        after: &'static str,
        /// The separator between the parts.
        separator: &'static str,
        /// The position among the parts, from 0.
        index: usize,
    },
    /// The parts of a joined text are in another order, or have another separator.
    Rejoined {
        /// The name of the text before.
        before: &'static str,
        /// The name of the text now.
        after: &'static str,
        /// Whether the separator or the number of parts changes, so that the target version refuses
        /// the old texts.
        refused: bool,
    },
    /// The field is omitted while it has no value.
    LeftOutWhenUnset {
        /// The name of the field.
        name: &'static str,
    },
    /// The field is shown even without a value.
    AlwaysShown {
        /// The name of the field.
        name: &'static str,
    },
}

/// Serialises a direction as `request` or `response`.
fn direction<S: Serializer>(direction: &Direction, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(match direction {
        Direction::Request => "request",
        Direction::Reply => "response",
    })
}

/// A field of one version.
struct Named<R: Record> {
    name: &'static str,
    source: ValueSource<R>,
    /// Whether the field is omitted while it has no value.
    when_set: bool,
    /// The position in a joined text.
    part: Option<Part>,
}

/// The source of a value: a field of the dictionary, or a function of the version.
enum ValueSource<R: Record> {
    Field(R::Field),
    Own { meaning: &'static str, kind: Kind },
}

impl<R: Record> Named<R> {
    fn meaning(&self) -> &'static str {
        match self.source {
            ValueSource::Field(field) => field.info().meaning,
            ValueSource::Own { meaning, .. } => meaning,
        }
    }

    /// Whether two fields have the same value.
    fn has_value_of(&self, other: &Self) -> bool {
        match (&self.source, &other.source) {
            (ValueSource::Field(one), ValueSource::Field(other)) => one == other,
            (
                ValueSource::Own { meaning, kind },
                ValueSource::Own {
                    meaning: other_meaning,
                    kind: other_kind,
                },
            ) => (meaning, kind) == (other_meaning, other_kind),
            (ValueSource::Field(_), ValueSource::Own { .. })
            | (ValueSource::Own { .. }, ValueSource::Field(_)) => false,
        }
    }

    fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.part == other.part && self.has_value_of(other)
    }

    /// Returns the change from this field to a field with the same value.
    fn becomes(&self, after: &Self) -> FieldChangeKind {
        let parts = (self.part, after.part);
        let before = self.name;
        let after = after.name;
        match parts {
            (
                None,
                Some(Part {
                    separator, index, ..
                }),
            ) => FieldChangeKind::Joined {
                before,
                after,
                separator,
                index,
            },
            (
                Some(Part {
                    separator, index, ..
                }),
                None,
            ) => FieldChangeKind::Split {
                before,
                after,
                separator,
                index,
            },
            (Some(part), Some(now)) if part != now => {
                let refused = (part.separator, part.count) != (now.separator, now.count);
                FieldChangeKind::Rejoined {
                    before,
                    after,
                    refused,
                }
            }
            (None, None) | (Some(_), Some(_)) => FieldChangeKind::Renamed { before, after },
        }
    }
}

/// Returns the changes of the fields of all records.
pub(super) fn changes(from: &Served, to: &Served) -> Vec<Change> {
    let mut changes = record_changes::<Trainee>(from, to);
    changes.extend(for_each_nested!(nested_changes(from, to)).concat());
    changes.extend(record_changes::<Withdrawal>(from, to));
    changes.extend(record_changes::<Deferral>(from, to));
    changes.extend(record_changes::<Recommendation>(from, to));
    changes
}

/// Returns the changes of the fields of a record, first in requests and then in responses.
fn record_changes<R: WireRecord>(from: &Served, to: &Served) -> Vec<Change> {
    let before = sent(R::inputs(from.version));
    let after = sent(R::inputs(to.version));
    let requests = compared::<R>(&before, &after, false, Direction::Request);
    let before = shown(R::shape(from.version));
    let after = shown(R::shape(to.version));
    let responses = compared::<R>(&before, &after, false, Direction::Reply);
    let refuses = |name: &str| {
        R::other_names(&to.other_names)
            .refused
            .iter()
            .any(|(foreign, _)| *foreign == name)
    };
    requests
        .into_iter()
        .chain(responses)
        .map(|change| wording::describe(change, to.version, refuses))
        .collect()
}

/// Returns the changes of a nested record. If a version shows other fields when the record is
/// nested in a trainee, changes of this form are included.
fn nested_changes<R: WireNested>(from: &Served, to: &Served) -> Vec<Change> {
    let mut changes = record_changes::<R>(from, to);
    let [before, after] = [from, to].map(|served| R::shapes(served.version));
    if before.differ() || after.differ() {
        let nested = compared::<R>(
            &shown(Some(&before.in_trainee)),
            &shown(Some(&after.in_trainee)),
            true,
            Direction::Reply,
        );
        changes.extend(
            nested
                .into_iter()
                .map(|change| wording::describe(change, to.version, |_| false)),
        );
    }
    changes
}

/// Returns the fields that requests can send.
fn sent<R: Record>(inputs: &Inputs<R>) -> Vec<Named<R>> {
    let named = |input: &InputName<R::Field>| Named {
        name: input.name,
        source: ValueSource::Field(input.field),
        when_set: false,
        part: input.part,
    };
    inputs.entries.iter().map(named).collect()
}

/// Returns the fields that responses show; empty if the version does not show the record.
fn shown<R: Record>(shape: Option<&Shape<R>>) -> Vec<Named<R>> {
    let named = |entry: &Entry<R>| {
        let source = match &entry.source {
            Source::Field(field) => ValueSource::Field(*field),
            Source::Own(own) => ValueSource::Own {
                meaning: own.meaning,
                kind: own.kind,
            },
        };
        Named {
            name: entry.name,
            source,
            when_set: entry.when_set,
            part: entry.part,
        }
    };
    shape
        .map_or(&[][..], |shape| shape.entries)
        .iter()
        .map(named)
        .collect()
}

/// Returns the changes of all fields. A new field with the value of a removed field counts as
/// renamed.
fn compared<R: Record>(
    before: &[Named<R>],
    after: &[Named<R>],
    nested: bool,
    direction: Direction,
) -> Vec<FieldChange> {
    let change = |field: &Named<R>, kind| FieldChange {
        record: R::NAME,
        nested,
        direction,
        meaning: field.meaning(),
        kind,
    };
    let stays = |field: &Named<R>, others: &[Named<R>]| others.iter().any(|other| other.is(field));
    // A field can be shown twice; its name is the first one.
    let with_value_of = |field: &Named<R>, others: &[Named<R>]| {
        others
            .iter()
            .find(|other| other.has_value_of(field))
            .map(|other| other.name)
    };
    let mut added: Vec<&Named<R>> = after.iter().filter(|field| !stays(field, before)).collect();
    let mut changes = Vec::new();
    for field in before {
        if let Some(kept) = after.iter().find(|other| other.is(field)) {
            changes.extend(shown_when(field, kept).map(|kind| change(kept, kind)));
        } else if let Some(at) = added.iter().position(|new| new.has_value_of(field)) {
            let new = added.remove(at);
            changes.push(change(new, field.becomes(new)));
            changes.extend(shown_when(field, new).map(|kind| change(new, kind)));
        } else {
            changes.push(change(
                field,
                FieldChangeKind::Removed {
                    name: field.name,
                    same_value: with_value_of(field, after),
                },
            ));
        }
    }
    for field in added {
        changes.push(change(
            field,
            FieldChangeKind::Added {
                name: field.name,
                same_value: with_value_of(field, before),
            },
        ));
    }
    // The parts of a text are adjacent, and one change describes the whole text.
    changes.dedup_by(|next, first| {
        matches!(next.kind, FieldChangeKind::Rejoined { .. }) && next.kind == first.kind
    });
    changes
}

/// Returns the change of a field that only one of the versions omits while the field has no value;
/// `None` if both versions treat it the same way.
fn shown_when<R: Record>(before: &Named<R>, after: &Named<R>) -> Option<FieldChangeKind> {
    let name = after.name;
    match (before.when_set, after.when_set) {
        (false, true) => Some(FieldChangeKind::LeftOutWhenUnset { name }),
        (true, false) => Some(FieldChangeKind::AlwaysShown { name }),
        (true, true) | (false, false) => None,
    }
}
