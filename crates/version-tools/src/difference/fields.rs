//! Fields that are new, removed or renamed, in requests and in responses.

use adapter_kit::body_kind::Direction;
use adapter_kit::form::{FormField, MemberForm};
use adapter_kit::shape::{Entry, InputName, Inputs, Part, Shape, Source};
use adapter_kit::versions::Served;
use adapter_kit::wire::{WireNested, WireRecord, for_each_record};
use domain::{Kind, Record, RecordField as _, for_each_nested};
use serde::{Serialize, Serializer};

use self::rewriting::Member;
use super::{Change, Effect, Example, examples};

mod rewriting;
mod wording;

pub use rewriting::{Rewriting, WrittenMembers};

/// A change of one field, which several records can have in requests and in responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The bodies with the field.
    pub uses: Vec<FieldUse>,
    /// The meaning of the field, in one sentence.
    pub meaning: &'static str,
    /// The kind of change.
    #[serde(flatten)]
    pub kind: FieldChangeKind,
    /// The forms before and after, if the same value is written differently.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewriting: Option<Box<Rewriting>>,
}

impl FieldChange {
    /// Whether requests, or responses, have the field.
    #[must_use]
    pub fn is_in(&self, direction: Direction) -> bool {
        self.uses.iter().any(|one| one.direction == direction)
    }
}

/// A body with a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct FieldUse {
    /// The name of the record that has the field.
    pub record: &'static str,
    /// Whether the record is nested in a trainee, if nested records differ.
    pub nested: bool,
    /// Whether the field belongs to requests or to responses.
    #[serde(serialize_with = "direction")]
    pub direction: Direction,
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
    /// The field keeps its name and has another meaning or type.
    Redefined {
        /// The name of the field.
        name: &'static str,
        /// The meaning in the version before.
        meaning_before: &'static str,
        /// The type in the version before.
        type_before: &'static str,
        /// The type in the target version.
        type_after: &'static str,
    },
    /// A value is written in another form, and possibly as other members
    /// ([`FieldChange::rewriting`]).
    Rewritten {
        /// The name before; of a split value, the first name.
        before: &'static str,
        /// The name after; of a split value, the first name.
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
    /// The form of the values; `None` for the common form.
    form: Option<MemberForm>,
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

    /// Returns the type of the values, in words.
    fn type_name(&self) -> &'static str {
        let kind = match self.source {
            ValueSource::Field(field) => field.info().kind,
            ValueSource::Own { kind, .. } => kind,
        };
        wording::type_name(kind)
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
        self.name == other.name
            && self.part == other.part
            && self.has_value_of(other)
            && self.is_written_like(other)
    }

    /// Returns the properties of the field that its form can depend on.
    fn form_field(&self) -> FormField {
        match &self.source {
            ValueSource::Field(field) => field.info().into(),
            ValueSource::Own { kind, .. } => FormField {
                kind: *kind,
                codes: None,
            },
        }
    }

    /// Whether both fields are written in the same form.
    fn is_written_like(&self, other: &Self) -> bool {
        let contract = |field: &Self| field.form.map(|form| form.contract(&field.form_field()));
        (self.form.is_none() && other.form.is_none()) || contract(self) == contract(other)
    }

    fn member(&self) -> Member {
        Member {
            name: self.name,
            form: self.form,
            field: self.form_field(),
        }
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

/// Returns the changes of the fields of all records. The same change in several bodies is one
/// change.
pub(super) fn changes(from: &Served, to: &Served) -> Vec<Change> {
    let mut changes: Vec<Described> = Vec::new();
    let found = for_each_record!(record_changes(from, to)).concat();
    for change in found.into_iter().chain(nested_changes(from, to)) {
        match changes.iter_mut().find(|known| known.is_same_as(&change)) {
            Some(known) => known.add_uses(change),
            None => changes.push(change),
        }
    }
    changes
        .into_iter()
        .map(|change| wording::describe(change, to.version))
        .collect()
}

/// A change with what depends on its record.
#[derive(Debug, Clone)]
struct Described {
    change: FieldChange,
    effect: Effect,
    example: Option<Example>,
}

impl Described {
    /// Whether both are one change for a client. Fields that are renamed or joined in the same way
    /// can have different meanings.
    fn is_same_as(&self, other: &Self) -> bool {
        let tells_meaning = matches!(
            self.change.kind,
            FieldChangeKind::Added { .. }
                | FieldChangeKind::Removed { .. }
                | FieldChangeKind::Redefined { .. }
        );
        self.change.kind == other.change.kind
            && self.change.rewriting == other.change.rewriting
            && (!tells_meaning || self.change.meaning == other.change.meaning)
    }

    /// Adds the uses of the same change. The most severe effect applies.
    fn add_uses(&mut self, other: Self) {
        for one in other.change.uses {
            if !self.change.uses.contains(&one) {
                self.change.uses.push(one);
            }
        }
        self.effect = self.effect.min(other.effect);
    }
}

/// Returns the changes of the fields of a record, first in requests and then in responses.
fn record_changes<R: WireRecord>(from: &Served, to: &Served) -> Vec<Described> {
    let before = sent(R::inputs(from.version));
    let after = sent(R::inputs(to.version));
    let requests = compared::<R>(&before, &after, false, Direction::Request);
    let before = shown(R::shape(from.version));
    let after = shown(R::shape(to.version));
    let responses = compared::<R>(&before, &after, false, Direction::Reply);
    let refuses = |name: &str| {
        let refused = &R::other_names(&to.other_names).refused;
        refused.iter().any(|(foreign, _)| *foreign == name)
    };
    let joined_example = |change: &FieldChange| {
        let [before, after] = wording::joined_names(change.kind)?;
        let is_request = change.is_in(Direction::Request);
        let direction = if is_request {
            Direction::Request
        } else {
            Direction::Reply
        };
        examples::cut::<R>(direction, (from.version, &[before]), (to.version, &[after]))
    };
    let described = |change: FieldChange| Described {
        effect: wording::effect(&change, refuses),
        example: match &change.rewriting {
            Some(rewriting) => Some(rewriting.example()),
            None => joined_example(&change),
        },
        change,
    };
    requests
        .into_iter()
        .chain(responses)
        .map(described)
        .collect()
}

/// Returns the changes of nested records in the replies about their trainee, if a version shows
/// other fields there.
fn nested_changes(from: &Served, to: &Served) -> Vec<Described> {
    fn in_trainee<R: WireNested>(from: &Served, to: &Served) -> Vec<FieldChange> {
        let [before, after] = [from, to].map(|served| R::shapes(served.version));
        if !before.differ() && !after.differ() {
            return Vec::new();
        }
        let before = shown(Some(&before.in_trainee));
        let after = shown(Some(&after.in_trainee));
        compared::<R>(&before, &after, true, Direction::Reply)
    }
    let changes = for_each_nested!(in_trainee(from, to)).concat();
    let described = |change: FieldChange| Described {
        effect: wording::effect(&change, |_| false),
        example: change
            .rewriting
            .as_ref()
            .map(|rewriting| rewriting.example()),
        change,
    };
    changes.into_iter().map(described).collect()
}

/// Returns the fields that requests can send.
fn sent<R: Record>(inputs: &Inputs<R>) -> Vec<Named<R>> {
    let named = |input: &InputName<R::Field>| Named {
        name: input.name,
        source: ValueSource::Field(input.field),
        when_set: false,
        part: input.part,
        form: input.form,
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
            form: entry.form,
        }
    };
    shape
        .map_or(&[][..], |shape| shape.entries)
        .iter()
        .map(named)
        .collect()
}

/// Returns the changes of all fields. A new field with the value of a removed field counts as
/// renamed, and a new field with only the name of a removed field as redefined.
fn compared<R: Record>(
    before: &[Named<R>],
    after: &[Named<R>],
    nested: bool,
    direction: Direction,
) -> Vec<FieldChange> {
    let change = |field: &Named<R>, kind| FieldChange {
        uses: vec![FieldUse {
            record: R::NAME,
            nested,
            direction,
        }],
        meaning: field.meaning(),
        kind,
        rewriting: None,
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
    let mut removed = Vec::new();
    let mut merged: Vec<&str> = Vec::new();
    for field in before {
        if merged.contains(&field.name) {
            // An earlier member of the split value describes all members.
            continue;
        }
        if let Some(kept) = after.iter().find(|other| other.is(field)) {
            changes.extend(shown_when(field, kept).map(|kind| change(kept, kind)));
        } else if let Some(new) = rewritten(field, &added) {
            let [old_members, new_members] = [before, after].map(|fields| {
                let members = fields.iter().filter(|other| other.has_value_of(field));
                members.map(Named::member).collect::<Vec<_>>()
            });
            merged.extend(old_members.iter().map(|member| member.name));
            added.retain(|other| !other.has_value_of(field));
            changes.push(FieldChange {
                rewriting: Rewriting::between(&old_members, &new_members).map(Box::new),
                ..change(
                    field,
                    FieldChangeKind::Rewritten {
                        before: field.name,
                        after: new.name,
                    },
                )
            });
        } else if let Some(at) = position_of_same(field, &added) {
            let new = added.remove(at);
            changes.push(change(new, field.becomes(new)));
            changes.extend(shown_when(field, new).map(|kind| change(new, kind)));
        } else {
            removed.push(field);
        }
    }
    for field in removed {
        // No other name has the value, so a field with this name is the same field in another form.
        let redefined = added.iter().position(|new| new.name == field.name);
        let Some(at) = redefined else {
            let kind = FieldChangeKind::Removed {
                name: field.name,
                same_value: with_value_of(field, after),
            };
            changes.push(change(field, kind));
            continue;
        };
        let new = added.remove(at);
        let kind = FieldChangeKind::Redefined {
            name: field.name,
            meaning_before: field.meaning(),
            type_before: field.type_name(),
            type_after: new.type_name(),
        };
        changes.push(change(new, kind));
        changes.extend(shown_when(field, new).map(|kind| change(new, kind)));
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
    changes
}

/// Returns the index of the field with the same value; of a split value, of the same member.
fn position_of_same<R: Record>(field: &Named<R>, added: &[&Named<R>]) -> Option<usize> {
    added
        .iter()
        .position(|new| new.has_value_of(field) && new.is_written_like(field))
}

/// Returns the first new field with the value of a field, if none of them has its form.
fn rewritten<'a, R: Record>(field: &Named<R>, added: &[&'a Named<R>]) -> Option<&'a Named<R>> {
    if position_of_same(field, added).is_some() {
        return None;
    }
    added.iter().copied().find(|new| new.has_value_of(field))
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
