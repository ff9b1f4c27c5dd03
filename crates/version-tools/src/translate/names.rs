//! Translates the keys of a record: finds the field of each key in the source version, and the name
//! of this field in the target version.

use std::collections::HashMap;

use adapter_kit::body_kind::{Direction, Purpose};
use adapter_kit::compose;
use adapter_kit::read::client_text::truncated;
use adapter_kit::read::{MAX_UNKNOWN, nearest};
use adapter_kit::shape::{Entry, Part, Shape, Source};
use adapter_kit::version::ApiVersion;
use adapter_kit::versions::Served;
use adapter_kit::wire::WireNested as _;
use domain::{
    Deferral, Kind, Lists, Recommendation, Rule, Trainee, TraineeField, Withdrawal,
    for_nested_list, nested_kinds,
};
use serde_json::{Map, Value};

use super::cells::{Cell, Gathered, Side, forms, names_of_members, spread, written};
use super::findings::{Finding, Loss, LossReason, Rename, join};
use super::{Translator, evaluate, evaluate_record};

/// The position of a record: alone or in a nested list, in a request or in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordPosition {
    pub(super) direction: Direction,
    pub(super) nested: bool,
}

/// A record whose keys can be translated.
pub(super) trait TranslatedRecord: evaluate::EvaluatedRecord {
    /// Returns the shape of the record at this position.
    fn shape_at(version: &ApiVersion, _: RecordPosition) -> Option<&Shape<Self>> {
        Self::shape(version)
    }

    /// Translates the records of a nested list.
    fn list(
        _: &mut Translator<'_>,
        _: Self::Field,
        value: &Value,
        _: RecordPosition,
        _: &str,
    ) -> Value {
        value.clone()
    }
}

impl TranslatedRecord for Withdrawal {}
impl TranslatedRecord for Deferral {}
impl TranslatedRecord for Recommendation {}
impl TranslatedRecord for Trainee {
    fn list(
        translator: &mut Translator<'_>,
        list: TraineeField,
        value: &Value,
        position: RecordPosition,
        at: &str,
    ) -> Value {
        for_nested_list!(list, each(translator, value, position, at)).unwrap_or(Value::Null)
    }
}

macro_rules! nested_records {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {$(
        impl TranslatedRecord for domain::$record {
            fn shape_at(version: &ApiVersion, position: RecordPosition) -> Option<&Shape<Self>> {
                let shapes = Self::shapes(version);
                Some(if position.nested { &shapes.in_trainee } else { &shapes.alone })
            }
        }
    )+};
}
nested_kinds!([nested_records]);

/// Translates the records of a nested list of one kind. A value that is not a list stays unchanged.
fn each<R: TranslatedRecord>(
    translator: &mut Translator<'_>,
    records: &Value,
    position: RecordPosition,
    at: &str,
) -> Value {
    let Value::Array(records) = records else {
        return records.clone();
    };
    let translated = records.iter().enumerate().map(|(index, record)| {
        let Value::Object(record) = record else {
            return record.clone();
        };
        let at = format!("{at}[{index}]");
        let translated = Value::Object(translate_keys::<R>(translator, record, position, &at));
        match position.direction {
            // The nested records of a request are evaluated together with the trainee.
            Direction::Request => translated,
            Direction::Reply => {
                evaluate_record::<R>(translator, translated, Direction::Reply, None, &at)
            }
        }
    });
    translated.collect()
}

/// Translates the keys of a record.
pub(super) fn translate_keys<R: TranslatedRecord>(
    translator: &mut Translator<'_>,
    record: &Map<String, Value>,
    position: RecordPosition,
    at: &str,
) -> Map<String, Value> {
    let from = translator.from;
    let to = translator.to;
    let cells = spread(record, side::<R>(from.version, position));
    let mappings: Vec<KeyMapping<R::Field>> = cells
        .iter()
        .map(|cell| key_mapping::<R>(from, to, &cell.key, cell.part, position))
        .collect();
    let owners = find_owners(&cells, &mappings);
    let mut gathered = Gathered::default();
    for (index, (cell, key_mapping)) in cells.iter().zip(&mappings).enumerate() {
        let key = &cell.key;
        let path = || join(at, key);
        let target = match key_mapping {
            KeyMapping::Lost { why, same_as } => {
                add_loss(translator, path, key, &cell.shown, *why, *same_as);
                continue;
            }
            KeyMapping::Unknown => (key.as_str(), None),
            KeyMapping::Named { name, .. } if cell.is_unreadable_member => {
                let names = names_of_members(side::<R>(to.version, position), name, &[]);
                // Only the same member can take a value that cannot be read.
                match names.into_iter().find(|name| name == key) {
                    Some(name) => gathered.add(name, None, cell.value.clone()),
                    None => {
                        let why = LossReason::VersionField;
                        add_loss(translator, path, key, &cell.shown, why, None::<String>);
                    }
                }
                continue;
            }
            KeyMapping::Named { name, part, .. } => (*name, part.map(|part| part.index)),
        };
        if let Some(owner) = owners
            .get(&target)
            .filter(|owner| **owner != index)
            .and_then(|owner| cells.get(*owner))
        {
            report_second_value(translator, path, cell, owner);
            continue;
        }
        match key_mapping {
            KeyMapping::Unknown => {
                report_unknown::<R>(translator, key, position, path);
                gathered.add_unknown(key.clone(), cell.value.clone());
            }
            KeyMapping::Named {
                name,
                own,
                list,
                part,
            } => {
                let target = side::<R>(to.version, position);
                let names = names_of_members(target, name, &cell.missing_members);
                report_renames(translator, at, cell, &names);
                report_missing_members(translator, at, cell, &names);
                if !own {
                    let message = format!("{key} is another version's name for this field");
                    add_notice(translator, path(), "foreign_name", message);
                }
                if let Some((list, direction)) = list {
                    let position = RecordPosition {
                        direction: *direction,
                        nested: true,
                    };
                    let value = R::list(translator, *list, &cell.value, position, &path());
                    gathered.add(name, *part, value);
                    continue;
                }
                for name in names {
                    let forms = forms(target, name);
                    let form = forms.get(part.map_or(0, |part| part.index));
                    let form = form.copied().unwrap_or_default();
                    gathered.add(name, *part, written(cell.value.clone(), form, to.version));
                }
            }
            KeyMapping::Lost { .. } => {}
        }
    }
    if position.direction == Direction::Request && is_whole::<R>(translator, &gathered, position) {
        let lists = match translator.context {
            Some(context) => context.lists,
            None => Lists::embedded(),
        };
        add_defaults::<R>(from, to, lists, record, &cells, &mut gathered);
    }
    for name in gathered.incomplete() {
        let message = format!("{name} needs all of its values, but the body has only some of them");
        add_notice(translator, join(at, name), "part_missing", message);
    }
    gathered.into_record(position.direction)
}

fn add_notice(translator: &mut Translator<'_>, path: String, code: &'static str, message: String) {
    translator
        .out
        .notices
        .push(Finding::new(path, code, message));
}

/// Reports a key whose target name another key has: the same value is omitted, and another value is
/// lost.
fn report_second_value(
    translator: &mut Translator<'_>,
    path: impl Fn() -> String,
    cell: &Cell,
    owner: &Cell,
) {
    let key = &cell.key;
    if owner.value == cell.value {
        let message = format!(
            "{} has the same value as {} and is omitted",
            truncated(key),
            truncated(&owner.key)
        );
        return add_notice(translator, path(), "said_twice", message);
    }
    let owner = Some(truncated(&owner.key));
    add_loss(
        translator,
        path,
        key,
        &cell.shown,
        LossReason::NameTaken,
        owner,
    );
}

/// Reports the other names of a value in the target version. A member of a split value gets the name
/// at its position, or the only name; a value with one key gets all names.
fn report_renames(translator: &mut Translator<'_>, at: &str, cell: &Cell, names: &[&'static str]) {
    let mut add = |key: &str, name: &'static str| {
        if name != key {
            translator.out.renames.push(Rename {
                path: join(at, key),
                from: truncated(key),
                to: name,
            });
        }
    };
    if cell.other_members.is_empty() {
        names.iter().for_each(|name| add(&cell.key, name));
        return;
    }
    let keys = [&cell.key].into_iter().chain(&cell.other_members);
    for (index, key) in keys.enumerate() {
        if let Some(name) = names.get(index).or(names.first()) {
            add(key, name);
        }
    }
}

/// Reports a split value with missing members that the target version has under other names.
fn report_missing_members(
    translator: &mut Translator<'_>,
    at: &str,
    cell: &Cell,
    names: &[&'static str],
) {
    if !cell.missing_members.is_empty() && !names.contains(&cell.key.as_str()) {
        let message = format!(
            "{} is one of several members of a value, and the body lacks the others",
            cell.key
        );
        add_notice(translator, join(at, &cell.key), "part_missing", message);
    }
}

/// Returns, for each name in the target version, the index of the cell that provides its value. A
/// name is a path with the position in a joined text. If several keys map to a name, a key of the
/// source version precedes keys of other versions and unknown keys.
fn find_owners<'a, F>(
    cells: &'a [Cell],
    mappings: &[KeyMapping<F>],
) -> HashMap<(&'a str, Option<usize>), usize> {
    let mut owners = HashMap::with_capacity(cells.len());
    // The first round considers keys of the source version, and the second round all other keys.
    for wants_own in [true, false] {
        for (index, (cell, key_mapping)) in cells.iter().zip(mappings).enumerate() {
            match key_mapping {
                KeyMapping::Named {
                    name, own, part, ..
                } if *own == wants_own => {
                    owners
                        .entry((*name, part.map(|part| part.index)))
                        .or_insert(index);
                }
                KeyMapping::Unknown if !wants_own => {
                    owners.entry((cell.key.as_str(), None)).or_insert(index);
                }
                KeyMapping::Named { .. } | KeyMapping::Unknown | KeyMapping::Lost { .. } => {}
            }
        }
    }
    owners
}

/// Returns the form of the record in a version.
fn side<R: TranslatedRecord>(version: &ApiVersion, position: RecordPosition) -> Side<'_, R> {
    Side {
        version,
        shape: R::shape_at(version, position),
        direction: position.direction,
    }
}

/// Whether a request creates a record: the caller says so, or it has at least half of the required
/// fields.
fn is_whole<R: TranslatedRecord>(
    translator: &Translator<'_>,
    gathered: &Gathered,
    position: RecordPosition,
) -> bool {
    if let Some(purpose) = translator.kind.purpose.filter(|_| !position.nested) {
        return purpose == Purpose::Create;
    }
    let to = translator.to.version;
    let required = R::rules(to).iter().filter_map(Rule::required_field);
    let names: Vec<&str> = required
        .filter_map(|field| R::inputs(to).name_of(field))
        .collect();
    names.iter().filter(|name| gathered.has(name)).count() * 2 >= names.len()
}

/// Adds the old default of absent keys where the defaults of the two versions differ, so that the
/// target version stores the same values as the source version. Adds null if the source version
/// sets no default.
fn add_defaults<R: TranslatedRecord>(
    from: &Served,
    to: &Served,
    lists: &Lists,
    record: &Map<String, Value>,
    cells: &[Cell],
    gathered: &mut Gathered,
) {
    let inputs = R::inputs(from.version).entries;
    let applied = if inputs.iter().any(|input| input.default.is_some()) {
        evaluate::applied_defaults::<R>(record, from, lists)
    } else {
        Vec::new()
    };
    for after in R::inputs(to.version).entries {
        let before = R::inputs(from.version).find_by_field(after.field);
        if before.and_then(|before| before.default) == after.default || after.part.is_some() {
            continue;
        }
        match cells
            .iter()
            .find(|cell| before.is_some_and(|before| cell.key == before.name))
        {
            // In a version without a default, null means the same as a missing key.
            Some(cell) if cell.value.is_null() && after.default.is_none() => {
                gathered.remove(after.name);
            }
            Some(_) => {}
            None => {
                let default = applied.iter().find(|(field, _)| *field == after.field);
                let value = match default {
                    Some((_, default)) => {
                        let default = domain::Value::text(default);
                        compose::written::<R>(to.version, after, default).unwrap_or_default()
                    }
                    None if after.default.is_some() => Value::Null,
                    None => continue,
                };
                gathered.add(after.name, None, value);
            }
        }
    }
}

/// Reports a value without a field in the target version. Null is not a value, and is not reported.
fn add_loss(
    translator: &mut Translator<'_>,
    path: impl Fn() -> String,
    key: &str,
    value: &Value,
    why: LossReason,
    same_as: Option<impl Into<String>>,
) {
    if value.is_null() {
        return;
    }
    let from = translator.out.from;
    let to = translator.out.to;
    let same_as: Option<String> = same_as.map(Into::into);
    let message = match (why, &same_as) {
        (LossReason::Copy, Some(other)) => format!("{to} has no such copy of {other}"),
        (LossReason::NameTaken, Some(other)) => format!("{other} already uses its name in {to}"),
        (LossReason::VersionField, _) => format!("only {from} has this field"),
        (LossReason::NotSet, _) => format!("no request of {to} can set this field"),
        (LossReason::NotShown | LossReason::Copy | LossReason::NameTaken, _) => {
            format!("{to} does not show this field")
        }
    };
    translator.out.lost.push(Loss {
        path: path(),
        name: truncated(key),
        value: value.clone(),
        why,
        same_as,
        message,
    });
}

/// Reports a key that the source version does not have, up to a maximum number of keys.
fn report_unknown<R: TranslatedRecord>(
    translator: &mut Translator<'_>,
    key: &str,
    position: RecordPosition,
    path: impl Fn() -> String,
) {
    let from = translator.from;
    let to = translator.to;
    translator.unknown += 1;
    if translator.unknown > MAX_UNKNOWN {
        return;
    }
    let there = R::inputs(to.version).field(key).is_some()
        || R::shape_at(to.version, position).is_some_and(|shape| shape.shows(key));
    if there {
        let message = format!(
            "{key} is not a field in {}, but is one in {}",
            translator.out.from, translator.out.to
        );
        translator
            .out
            .notices
            .push(Finding::new(path(), "name_of_target", message));
        return;
    }
    let sent = || {
        R::inputs(from.version)
            .entries
            .iter()
            .map(|input| input.name)
    };
    let answered = || {
        R::shape_at(from.version, position)
            .into_iter()
            .flat_map(|shape| shape.entries)
            .map(|entry| entry.name)
    };
    let nearest = match position.direction {
        Direction::Request => nearest(key, sent()),
        Direction::Reply => nearest(key, answered()),
    };
    let message = match nearest {
        Some(nearest) => format!(
            "{} is not a field in {}; did you mean {nearest}?",
            truncated(key),
            translator.out.from
        ),
        None => format!(
            "{} is not a field in {}",
            truncated(key),
            translator.out.from
        ),
    };
    translator.out.notices.push(Finding {
        nearest,
        ..Finding::new(path(), "unknown_name", message)
    });
}

/// The result of mapping a key to the target version.
#[derive(Clone, Copy)]
enum KeyMapping<F> {
    /// The field has a name in the target version.
    Named {
        /// The name in the target version.
        name: &'static str,
        /// Whether the key belongs to the source version.
        own: bool,
        /// The nested list with its direction; `None` for other fields.
        list: Option<(F, Direction)>,
        /// The part of a joined text in the target version.
        part: Option<Part>,
    },
    /// The target version does not have the field.
    Lost {
        why: LossReason,
        same_as: Option<&'static str>,
    },
    /// The key is unknown; it is kept.
    Unknown,
}

/// Maps a key of a record, or a part of its joined text.
fn key_mapping<R: TranslatedRecord>(
    from: &Served,
    to: &Served,
    key: &str,
    part: Option<usize>,
    position: RecordPosition,
) -> KeyMapping<R::Field> {
    let request_mapping = || request_mapping::<R>(from, to, key, part);
    let reply_mapping = || reply_mapping::<R>(from, to, key, part, position);
    let own = match position.direction {
        Direction::Request => request_mapping().or_else(reply_mapping),
        Direction::Reply => reply_mapping().or_else(request_mapping),
    };
    let other_name = || {
        let (_, field) = R::other_names(&from.other_names)
            .refused
            .iter()
            .find(|(name, _)| *name == key)?;
        let input = R::inputs(to.version).find_by_field(*field)?;
        let list = list(*field, Direction::Request);
        Some(KeyMapping::Named {
            name: input.name,
            own: false,
            list,
            part: input.part,
        })
    };
    own.or_else(other_name).unwrap_or(KeyMapping::Unknown)
}

/// Maps a key that requests of the source version can set; `None` for other keys.
fn request_mapping<R: TranslatedRecord>(
    from: &Served,
    to: &Served,
    key: &str,
    part: Option<usize>,
) -> Option<KeyMapping<R::Field>> {
    let inputs = R::inputs(from.version);
    let field = inputs
        .parts(inputs.input(key)?)
        .get(part.unwrap_or_default())?
        .field;
    Some(match R::inputs(to.version).find_by_field(field) {
        Some(input) => {
            let list = list(field, Direction::Request);
            KeyMapping::Named {
                name: input.name,
                own: true,
                list,
                part: input.part,
            }
        }
        None => KeyMapping::Lost {
            why: LossReason::NotSet,
            same_as: None,
        },
    })
}

/// Maps a key that replies of the source version show; `None` for other keys.
fn reply_mapping<R: TranslatedRecord>(
    from: &Served,
    to: &Served,
    key: &str,
    part: Option<usize>,
    position: RecordPosition,
) -> Option<KeyMapping<R::Field>> {
    let shape = R::shape_at(from.version, position)?;
    let entry = shape
        .entries
        .iter()
        .filter(|entry| entry.name == key)
        .nth(part.unwrap_or_default())?;
    let others = || {
        R::shape_at(to.version, position)
            .into_iter()
            .flat_map(|shape| shape.entries)
    };
    let named = |entry: &Entry<R>, list| KeyMapping::Named {
        name: entry.name,
        own: true,
        list,
        part: entry.part,
    };
    Some(match &entry.source {
        Source::Field(field) if shape.name_of(*field) == Some(entry.name) => {
            match others().find(|other| other.field() == Some(*field)) {
                Some(other) => named(other, list(*field, Direction::Reply)),
                None => KeyMapping::Lost {
                    why: LossReason::NotShown,
                    same_as: None,
                },
            }
        }
        Source::Field(field) => {
            let is_the_copy =
                |other: &&Entry<R>| other.name == key && other.field() == Some(*field);
            match others().find(is_the_copy) {
                Some(copy) => named(copy, list(*field, Direction::Reply)),
                None => KeyMapping::Lost {
                    why: LossReason::Copy,
                    same_as: shape.name_of(*field),
                },
            }
        }
        Source::Own(own) => {
            let same_version = from.version.label == to.version.label;
            let is_the_same = |other: &&Entry<R>| {
                other.name == key
                    && matches!(&other.source, Source::Own(shown) if same_version || std::ptr::eq(*shown, *own))
            };
            match others().find(is_the_same) {
                Some(other) => named(other, None),
                None => KeyMapping::Lost {
                    why: LossReason::VersionField,
                    same_as: None,
                },
            }
        }
    })
}

/// Returns a nested list with the direction of its records; `None` for other fields.
fn list<F: domain::RecordField>(field: F, direction: Direction) -> Option<(F, Direction)> {
    (field.info().kind == Kind::Records).then_some((field, direction))
}
