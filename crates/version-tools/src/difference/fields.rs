//! Fields that have come, gone, or are called otherwise, in requests and in responses.

use adapter_kit::shape::{Entry, InputName, Inputs, Shape, Source};
use adapter_kit::version::Wire;
use adapter_kit::versions::Served;
use domain::{Deferral, Degree, Kind, Placement, Recommendation, Record, RecordField as _, Trainee, Withdrawal};
use serde::Serialize;

use super::Change;

mod words;

/// A change of one field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FieldChange {
    /// The name of the record that has the field.
    pub record: &'static str,
    /// Whether the record stands nested in a trainee, where that makes a difference.
    pub nested: bool,
    /// Where the field stands.
    pub direction: Direction,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// What has become of it.
    #[serde(flatten)]
    pub turn: FieldTurn,
}

/// Where a field stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// In what a client sends.
    Request,
    /// In what it gets.
    Response,
}

/// What has become of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum FieldTurn {
    /// It has come.
    Added {
        /// Its name.
        name: &'static str,
        /// The name in the other version that holds the same value.
        same_value: Option<&'static str>,
    },
    /// It has gone.
    Removed {
        /// Its name.
        name: &'static str,
        /// The name in the version that is moved to that holds the same value.
        same_value: Option<&'static str>,
    },
    /// It is called otherwise.
    Renamed {
        /// Its name before.
        before: &'static str,
        /// Its name now.
        after: &'static str,
    },
    /// It is left out while it has no value.
    LeftOutWhenUnset {
        /// Its name.
        name: &'static str,
    },
    /// It is shown also while it has no value.
    AlwaysShown {
        /// Its name.
        name: &'static str,
    },
}

/// A field as one version has it.
struct Named<R: Record> {
    name: &'static str,
    holds: Holds<R>,
    when_set: bool,
}

/// What a field holds: a field of the dictionary, or something that only some versions compute.
enum Holds<R: Record> {
    Field(R::Field),
    Own { meaning: &'static str, kind: Kind },
}

impl<R: Record> Named<R> {
    fn meaning(&self) -> &'static str {
        match self.holds {
            Holds::Field(field) => field.info().meaning,
            Holds::Own { meaning, .. } => meaning,
        }
    }

    /// Whether the two have the same value.
    fn holds_what(&self, other: &Self) -> bool {
        match (&self.holds, &other.holds) {
            (Holds::Field(one), Holds::Field(other)) => one == other,
            (Holds::Own { meaning, kind }, Holds::Own { meaning: other_meaning, kind: other_kind }) => {
                (meaning, kind) == (other_meaning, other_kind)
            }
            (Holds::Field(_), Holds::Own { .. }) | (Holds::Own { .. }, Holds::Field(_)) => false,
        }
    }

    fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.holds_what(other)
    }
}

/// The changes of the fields of all records.
pub(super) fn changes(from: &Served, to: &Served) -> Vec<Change> {
    [
        of::<Trainee>(from, to),
        of::<Placement>(from, to),
        of_nested_placements(from, to),
        of::<Degree>(from, to),
        of::<Withdrawal>(from, to),
        of::<Deferral>(from, to),
        of::<Recommendation>(from, to),
    ]
    .concat()
}

fn of<R: Wire>(from: &Served, to: &Served) -> Vec<Change> {
    let (before, after) = (sent(R::inputs(from.version)), sent(R::inputs(to.version)));
    let requests = compared::<R>(&before, &after, false, Direction::Request);
    let (before, after) = (shown(R::shape(from.version)), shown(R::shape(to.version)));
    let responses = compared::<R>(&before, &after, false, Direction::Response);
    let refuses = |name: &str| R::foreign(&to.foreign).iter().any(|(foreign, _)| *foreign == name);
    requests.into_iter().chain(responses).map(|change| words::told(change, to.version.label, refuses)).collect()
}

fn of_nested_placements(from: &Served, to: &Served) -> Vec<Change> {
    let nested = |served: &Served| shown(Some(&served.version.shapes.placement_nested));
    let changes = compared::<Placement>(&nested(from), &nested(to), true, Direction::Response);
    changes.into_iter().map(|change| words::told(change, to.version.label, |_| false)).collect()
}

fn sent<R: Record>(inputs: &Inputs<R>) -> Vec<Named<R>> {
    let named =
        |input: &InputName<R::Field>| Named { name: input.name, holds: Holds::Field(input.field), when_set: false };
    inputs.entries.iter().map(named).collect()
}

fn shown<R: Record>(shape: Option<&Shape<R>>) -> Vec<Named<R>> {
    let named = |entry: &Entry<R>| {
        let holds = match &entry.source {
            Source::Field(field) => Holds::Field(*field),
            Source::Own(own) => Holds::Own { meaning: own.meaning, kind: own.kind },
        };
        Named { name: entry.name, holds, when_set: entry.when_set }
    };
    shape.map_or(&[][..], |shape| shape.entries).iter().map(named).collect()
}

/// What has become of each field. Where a field has come and one with the same value has gone, it is called otherwise.
fn compared<R: Record>(
    before: &[Named<R>],
    after: &[Named<R>],
    nested: bool,
    direction: Direction,
) -> Vec<FieldChange> {
    let change =
        |field: &Named<R>, turn| FieldChange { record: R::NAME, nested, direction, meaning: field.meaning(), turn };
    let stays = |field: &Named<R>, others: &[Named<R>]| others.iter().any(|other| other.is(field));
    // A field can be shown twice: its name is the one that comes first.
    let holding = |field: &Named<R>, others: &[Named<R>]| {
        others.iter().find(|other| other.holds_what(field)).map(|other| other.name)
    };
    let mut come: Vec<&Named<R>> = after.iter().filter(|field| !stays(field, before)).collect();
    let mut changes = Vec::new();
    for field in before {
        if let Some(kept) = after.iter().find(|other| other.is(field)) {
            changes.extend(shown_when(field, kept).map(|turn| change(kept, turn)));
        } else if let Some(at) = come.iter().position(|new| new.holds_what(field)) {
            let new = come.remove(at);
            changes.push(change(new, FieldTurn::Renamed { before: field.name, after: new.name }));
            changes.extend(shown_when(field, new).map(|turn| change(new, turn)));
        } else {
            changes.push(change(field, FieldTurn::Removed { name: field.name, same_value: holding(field, after) }));
        }
    }
    for field in come {
        changes.push(change(field, FieldTurn::Added { name: field.name, same_value: holding(field, before) }));
    }
    changes
}

/// What has become of a field's place while it has no value.
fn shown_when<R: Record>(before: &Named<R>, after: &Named<R>) -> Option<FieldTurn> {
    let name = after.name;
    match (before.when_set, after.when_set) {
        (false, true) => Some(FieldTurn::LeftOutWhenUnset { name }),
        (true, false) => Some(FieldTurn::AlwaysShown { name }),
        (true, true) | (false, false) => None,
    }
}
