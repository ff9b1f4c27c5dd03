//! Converts a body to a flat list of canonical values and back. Groups are flattened, joined texts
//! are split, members of a split value are merged, and words and other forms become canonical
//! values.

use adapter_kit::body_kind::Direction;
use adapter_kit::form::{self, FormField, MemberForm};
use adapter_kit::shape::{JsonType, Part, Shape};
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::WireRecord;
use adapter_kit::wire_form::{code_of, word_of};
use domain::fields::field::Codes;
use domain::fields::value::text_as_date;
use domain::{Kind, RecordField as _, Value as Canonical};
use serde_json::{Map, Value};

/// A canonical value of a body.
pub(super) struct Cell {
    /// The path, such as `withdrawal.date`.
    pub(super) key: String,
    /// The position of the value in a joined text; `None` for other values.
    pub(super) part: Option<usize>,
    /// The value, with codes instead of words.
    pub(super) value: Value,
    /// The value as it is in the body.
    pub(super) shown: Value,
    /// The paths of the other members of a split value.
    pub(super) other_members: Vec<String>,
    /// The indexes of the members that the body lacks of a split value.
    pub(super) missing_members: Vec<usize>,
    /// Whether the value is a member of a split value that the version cannot read.
    pub(super) is_unreadable_member: bool,
}

impl Cell {
    fn new(key: String, part: Option<usize>, value: Value, shown: Value) -> Self {
        Self {
            key,
            part,
            value,
            shown,
            other_members: Vec::new(),
            missing_members: Vec::new(),
            is_unreadable_member: false,
        }
    }
}

/// The form of a record in one version and direction.
pub(super) struct Side<'a, R: WireRecord> {
    pub(super) version: &'a ApiVersion,
    pub(super) shape: Option<&'a Shape<R>>,
    pub(super) direction: Direction,
}

// Not derived, because `derive` would require the trait of `R`.
impl<R: WireRecord> Clone for Side<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: WireRecord> Copy for Side<'_, R> {}

/// The form of a value in one version.
#[derive(Clone, Copy, Default)]
pub(super) struct Form {
    pub(super) codes: Option<Codes>,
    pub(super) part: Option<Part>,
    pub(super) accepts: Option<JsonType>,
    /// Whether a reply shows the value as a number.
    is_number: bool,
    /// The form that the version declares, with what it depends on.
    declared: Option<(MemberForm, FormField)>,
    /// The canonical name of the field; empty for a field of the version only.
    field: &'static str,
}

impl Form {
    /// Returns the number of members of a split value; 1 for other values.
    fn members(&self) -> usize {
        self.declared.map_or(1, |(member, _)| member.form.members())
    }
}

/// Returns the canonical values of a record.
pub(super) fn spread<R: WireRecord>(record: &Map<String, Value>, side: Side<'_, R>) -> Vec<Cell> {
    let mut cells = Vec::with_capacity(record.len());
    for (key, value) in record {
        // Only a group has members.
        let members = members(side, key);
        if members.is_empty() {
            spread_value(key.clone(), value, side, &mut cells);
        } else if let Value::Object(object) = value {
            for (name, value) in object {
                spread_value(format!("{key}.{name}"), value, side, &mut cells);
            }
        } else if value.is_null() {
            // Null for a group means that none of its fields has a value.
            for path in members {
                if is_list_in_reply(side, path) {
                    let empty = Value::Array(Vec::new());
                    cells.push(Cell::new(path.to_owned(), None, empty, Value::Null));
                } else {
                    spread_value(path.to_owned(), &Value::Null, side, &mut cells);
                }
            }
        } else {
            // A group that is not an object is invalid; the target version refuses it.
            cells.push(Cell::new(key.clone(), None, value.clone(), value.clone()));
        }
    }
    merge_members(&mut cells, side);
    cells
}

/// The members of a split value in a body.
struct SplitValue {
    /// The canonical value; `None` if the version cannot read the members.
    canonical: Option<Value>,
    /// The positions of the members among the cells, in order.
    positions: Vec<usize>,
    /// The indexes of the members that the body lacks.
    missing: Vec<usize>,
}

/// Merges the members of each split value into the cell of the first one. Marks members that the
/// version cannot read.
fn merge_members<R: WireRecord>(cells: &mut Vec<Cell>, side: Side<'_, R>) {
    let mut position = 0;
    while position < cells.len() {
        if let Some(split) = find_split_value(cells, position, side) {
            merge(cells, split);
        }
        position += 1;
    }
}

/// Returns the split value whose first member in the body is at a position; `None` for other values.
fn find_split_value<R: WireRecord>(
    cells: &[Cell],
    position: usize,
    side: Side<'_, R>,
) -> Option<SplitValue> {
    let form = first_form(side, &cells.get(position)?.key);
    let (declared, field) = form.declared.filter(|_| form.members() > 1)?;
    let mut members = vec![Value::Null; form.members()];
    let mut positions = Vec::new();
    let mut missing: Vec<usize> = (0..form.members()).collect();
    for (at, cell) in cells.iter().enumerate() {
        let other = first_form(side, &cell.key);
        let Some((member, _)) = other.declared.filter(|_| other.field == form.field) else {
            continue;
        };
        if let Some(value) = members.get_mut(member.member) {
            *value = cell.value.clone();
            positions.push(at);
            missing.retain(|index| *index != member.member);
        }
    }
    let is_first = positions.first() == Some(&position);
    is_first.then(|| SplitValue {
        canonical: form::read(declared.form, &Value::Array(members), &field)
            .map(|canonical| form::plain(&canonical)),
        positions,
        missing,
    })
}

fn merge(cells: &mut Vec<Cell>, split: SplitValue) {
    let Some(canonical) = split.canonical else {
        for position in split.positions {
            if let Some(cell) = cells.get_mut(position) {
                cell.is_unreadable_member = true;
            }
        }
        return;
    };
    let Some((first, others)) = split.positions.split_first() else {
        return;
    };
    // From the last one, so that the positions of the others stay valid.
    let mut keys: Vec<String> = others
        .iter()
        .rev()
        .map(|position| cells.remove(*position).key)
        .collect();
    keys.reverse();
    if let Some(cell) = cells.get_mut(*first) {
        cell.value = canonical;
        cell.other_members = keys;
        cell.missing_members = split.missing;
    }
}

/// Returns the form of the value at a path, or of the first part of a joined text.
fn first_form<R: WireRecord>(side: Side<'_, R>, path: &str) -> Form {
    forms(side, path).first().copied().unwrap_or_default()
}

/// Returns the names with the values of the field at a path: several for a split value. Leaves out
/// the members `missing`.
pub(super) fn names_of_members<R: WireRecord>(
    side: Side<'_, R>,
    path: &'static str,
    missing: &[usize],
) -> Vec<&'static str> {
    let form = first_form(side, path);
    if form.members() == 1 {
        return vec![path];
    }
    let sent = R::inputs(side.version)
        .entries
        .iter()
        .map(|input| input.name);
    let shown = side.shape.map_or(&[][..], |shape| shape.entries).iter();
    let shown = shown.map(|entry| entry.name);
    let is_member = |name: &&str| {
        let other = first_form(side, name);
        let member = other.declared.map(|(declared, _)| declared.member);
        other.field == form.field
            && other.members() > 1
            && member.is_some_and(|member| !missing.contains(&member))
    };
    match side.direction {
        Direction::Request => sent.filter(is_member).collect(),
        Direction::Reply => shown.filter(is_member).collect(),
    }
}

/// Whether a reply has a list of texts at the path. If the group of the list is null, the list is
/// empty instead of null.
fn is_list_in_reply<R: WireRecord>(side: Side<'_, R>, path: &str) -> bool {
    let mut entries = side.shape.map_or(&[][..], |shape| shape.entries).iter();
    side.direction == Direction::Reply
        && entries.any(|entry| entry.name == path && entry.kind() == Kind::TextList)
}

/// Returns the distinct paths of the fields in a group; empty if there is no such group. The body
/// of a request can also have a group that only replies have, because clients send back records.
fn members<R: WireRecord>(side: Side<'_, R>, group: &str) -> Vec<&'static str> {
    let inputs = R::inputs(side.version);
    let sent = inputs
        .in_group(group)
        .filter(|input| input.is_first_part())
        .map(|input| input.name);
    let entries = side
        .shape
        .filter(|shape| shape.has_groups)
        .map_or(&[][..], |shape| shape.entries)
        .iter();
    let group_entries =
        entries.filter(|entry| entry.group.is_some_and(|known| known.name == group));
    let shown = group_entries
        .filter(|entry| entry.is_first_part())
        .map(|entry| entry.name);
    let members: Vec<&str> = match side.direction {
        Direction::Request if inputs.has_groups => sent.collect(),
        Direction::Request | Direction::Reply => Vec::new(),
    };
    if members.is_empty() {
        shown.collect()
    } else {
        members
    }
}

/// Adds the canonical value at a path, or one value for each part of a joined text.
fn spread_value<R: WireRecord>(
    key: String,
    value: &Value,
    side: Side<'_, R>,
    cells: &mut Vec<Cell>,
) {
    let forms = forms(side, &key);
    let Some(Form {
        part: Some(part), ..
    }) = forms.first()
    else {
        let canonical = canonical(
            value,
            forms.first().copied().unwrap_or_default(),
            side.version,
        );
        return cells.push(Cell::new(key, None, canonical, value.clone()));
    };
    let texts: Vec<&str> = match value {
        Value::String(text) => text.split(part.separator).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            Vec::new()
        }
    };
    // A text that cannot be split stays whole; the target version refuses it.
    if !value.is_null() && texts.len() != forms.len() {
        return cells.push(Cell::new(key, None, value.clone(), value.clone()));
    }
    for (index, form) in forms.iter().enumerate() {
        let text = texts.get(index).filter(|text| !text.is_empty());
        let value = match text
            .and_then(|text| text.parse::<i64>().ok())
            .filter(|_| form.is_number)
        {
            Some(number) => Value::from(number),
            None => text.map_or(Value::Null, |text| Value::from(*text)),
        };
        cells.push(Cell::new(key.clone(), Some(index), value.clone(), value));
    }
}

/// Returns the forms of the values at a path, one for each part of a joined text. A path that this
/// direction does not have has the forms of the other direction.
pub(super) fn forms<R: WireRecord>(side: Side<'_, R>, path: &str) -> Vec<Form> {
    let found = match side.direction {
        Direction::Request => input_forms(side, path),
        Direction::Reply => shown_forms(side, path),
    };
    if !found.is_empty() {
        return found;
    }
    match side.direction {
        Direction::Request => shown_forms(side, path),
        Direction::Reply => input_forms(side, path),
    }
}

/// Returns the forms of the values that requests send at a path; empty if there is no such input.
fn input_forms<R: WireRecord>(side: Side<'_, R>, path: &str) -> Vec<Form> {
    let inputs = R::inputs(side.version);
    let Some(input) = inputs.input(path) else {
        return Vec::new();
    };
    let parts = inputs.parts(input).iter().map(|part| Form {
        codes: part.field.info().codes,
        part: part.part,
        accepts: part.accepts,
        is_number: false,
        declared: part.form.map(|form| (form, part.field.info().into())),
        field: part.field.info().name,
    });
    parts.collect()
}

/// Returns the forms of the values that replies show at a path; empty if there is no such value.
fn shown_forms<R: WireRecord>(side: Side<'_, R>, path: &str) -> Vec<Form> {
    let entries = side.shape.map_or(&[][..], |shape| shape.entries).iter();
    let forms = entries
        .filter(|entry| entry.name == path)
        .map(|entry| Form {
            codes: entry.field().and_then(|field| field.info().codes),
            part: entry.part,
            accepts: None,
            is_number: matches!(entry.kind(), Kind::Integer | Kind::Year),
            declared: entry.form.map(|form| (form, entry.form_field())),
            field: entry.field().map_or("", |field| field.info().name),
        });
    forms.collect()
}

/// Returns a value with a code instead of a word, and with text instead of a number if the version
/// accepts only numbers. A value in a form of the version becomes the canonical value; a value that
/// the form does not write stays unchanged. Members of a split value are merged later.
fn canonical(value: &Value, form: Form, version: &ApiVersion) -> Value {
    if let Some((declared, field)) = form.declared {
        let is_whole = declared.form.members() == 1;
        let read = form::read(declared.form, value, &field).filter(|_| is_whole);
        return match read {
            // Requests write years as text (contract, section 4.8).
            Some(Canonical::Integer(year)) if field.kind == Kind::Year && !form.is_number => {
                Value::from(year.to_string())
            }
            Some(read) => form::plain(&read),
            None => value.clone(),
        };
    }
    match (value, version.wire.words_of(form.codes), form.accepts) {
        // A code is not a word: it stays unchanged, and the version refuses it.
        (Value::String(word), Some(words), _) => {
            code_of(words, word.trim()).map_or_else(|| value.clone(), Value::from)
        }
        (Value::Number(number), None, Some(JsonType::Integer)) => Value::from(number.to_string()),
        _ => value.clone(),
    }
}

/// Returns a canonical value as the version writes it: a word instead of a code, text or a number as
/// the version requires, or in the form that the version declares.
pub(super) fn written(value: Value, form: Form, version: &ApiVersion) -> Value {
    if let Some((declared, field)) = form.declared {
        return match parse(&value, field.kind) {
            Some(canonical) => declared.write(&canonical, &field),
            None => value,
        };
    }
    match (&value, version.wire.words_of(form.codes), form.accepts) {
        (Value::String(code), Some(words), _) => Value::from(word_of(words, code)),
        (Value::String(text), None, Some(JsonType::Integer)) => match text.trim().parse::<i64>() {
            Ok(number) => Value::from(number),
            Err(_) => value,
        },
        (Value::Number(number), None, Some(JsonType::Text)) => Value::from(number.to_string()),
        _ => value,
    }
}

/// Returns a canonical value of a kind; `None` for JSON that has no value of this kind.
fn parse(value: &Value, kind: Kind) -> Option<Canonical<'_>> {
    match value {
        Value::Null => Some(Canonical::Null),
        Value::Bool(flag) => Some(Canonical::Boolean(*flag)),
        Value::Number(number) if kind == Kind::Text => {
            Some(Canonical::Text(number.to_string().into()))
        }
        Value::Number(number) => number.as_i64().map(Canonical::Integer),
        Value::String(text) => match kind {
            Kind::Date => text_as_date(text).map(|date| Canonical::Date(date.day)),
            Kind::Timestamp => {
                let time = chrono::DateTime::parse_from_rfc3339(text).ok()?;
                Some(Canonical::Timestamp(time.to_utc()))
            }
            Kind::Integer | Kind::Year => text.trim().parse().ok().map(Canonical::Integer),
            Kind::Text
            | Kind::Boolean
            | Kind::TextList
            | Kind::Document
            | Kind::Uuid
            | Kind::Records => Some(Canonical::text(text)),
        },
        Value::Array(items) if kind == Kind::TextList => {
            let texts = items.iter().map(|item| item.as_str().map(Into::into));
            texts.collect::<Option<Vec<_>>>().map(Canonical::TextList)
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Values with their paths in the target version, collected for a record.
#[derive(Default)]
pub(super) struct Gathered {
    /// The path, the part of a joined text, and the value.
    values: Vec<(&'static str, Option<Part>, Value)>,
    /// Unknown keys with their values.
    others: Vec<(String, Value)>,
}

impl Gathered {
    /// Adds a value at a path of the target version.
    pub(super) fn add(&mut self, path: &'static str, part: Option<Part>, value: Value) {
        self.values.push((path, part, value));
    }

    /// Adds the value of an unknown key.
    pub(super) fn add_unknown(&mut self, key: String, value: Value) {
        self.others.push((key, value));
    }

    /// Removes the value at a path.
    pub(super) fn remove(&mut self, path: &str) {
        self.values.retain(|(known, ..)| *known != path);
    }

    /// Whether there is a value at a path.
    pub(super) fn has(&self, path: &str) -> bool {
        self.values.iter().any(|(known, ..)| *known == path)
    }

    /// Returns the paths of joined texts with missing parts.
    pub(super) fn incomplete(&self) -> Vec<&'static str> {
        let count_parts = |path: &str| {
            self.values
                .iter()
                .filter(|(known, ..)| *known == path)
                .count()
        };
        let parts = self
            .values
            .iter()
            .filter_map(|(path, part, _)| Some((*path, part.as_ref()?)));
        let mut incomplete: Vec<_> = parts
            .filter(|(path, part)| count_parts(path) < part.count)
            .map(|(path, _)| path)
            .collect();
        incomplete.dedup();
        incomplete
    }

    /// Builds the record. In a reply, a group without values is null.
    pub(super) fn into_record(self, direction: Direction) -> Map<String, Value> {
        let mut record = Map::new();
        for (path, part, value) in self.values {
            let target = match path.split_once('.') {
                None => (&mut record, path),
                Some((group, name)) => {
                    let object = record
                        .entry(group)
                        .or_insert_with(|| Value::Object(Map::new()));
                    let Value::Object(object) = object else {
                        continue;
                    };
                    (object, name)
                }
            };
            let (object, name) = target;
            match part {
                None => drop(object.insert(name.to_owned(), value)),
                Some(part) => add_part(object, name, part, &value),
            }
        }
        for (_, value) in &mut record {
            let Value::Object(object) = value else {
                continue;
            };
            if direction == Direction::Reply && !object.is_empty() && object.values().all(is_absent)
            {
                *value = Value::Null;
            }
        }
        record.extend(self.others);
        record
    }
}

/// Whether a value is null or an empty list.
fn is_absent(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}

/// Inserts a part into its joined text. The text is null while no part has a value.
fn add_part(object: &mut Map<String, Value>, name: &str, part: Part, value: &Value) {
    let text = object.entry(name).or_insert(Value::Null);
    let plain = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    };
    if text.is_null() && plain.is_empty() {
        return;
    }
    let known = text.as_str().unwrap_or_default();
    let mut parts: Vec<&str> = if known.is_empty() {
        Vec::new()
    } else {
        known.split(part.separator).collect()
    };
    parts.resize(part.count, "");
    if let Some(target) = parts.get_mut(part.index) {
        *target = &plain;
    }
    *text = Value::from(parts.join(part.separator));
}
