//! What a version calls the fields of a record: in a response ([`Shape`]) and in a request
//! ([`Inputs`]).
//!
//! Each lists its fields in order, also those whose name is canonical: it is the contract of the
//! version, and does not move when a neighbour does.

use domain::{Kind, Lists, Record, RecordField, Stored, Value};

#[doc(hidden)]
pub mod declare;

/// A field that only one version has: computed by a function of the version's crate, so that it
/// goes with the crate.
#[derive(Debug)]
pub struct VersionField<R: Record> {
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// The kind of its value.
    pub kind: Kind,
    /// Its value.
    pub value: for<'a> fn(&'a dyn Stored<R>, &'a Lists) -> Value<'a>,
}

impl<R: Record> VersionField<R> {
    /// A field with a meaning, a kind and the function that computes it.
    #[must_use]
    pub const fn new(
        meaning: &'static str,
        kind: Kind,
        value: for<'a> fn(&'a dyn Stored<R>, &'a Lists) -> Value<'a>,
    ) -> Self {
        Self {
            meaning,
            kind,
            value,
        }
    }
}

/// Where the value of a response field comes from.
#[derive(Debug)]
pub enum Source<R: Record> {
    /// A field of the dictionary.
    Field(R::Field),
    /// A field of this version alone.
    Own(&'static VersionField<R>),
}

// Written out, because a derive would ask the same of `R`.
impl<R: Record> Clone for Source<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Source<R> {}

/// An object in a record that groups some of its fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The name.
    pub name: &'static str,
    /// The name as a further key of a JSON object, with a comma, quotes and a colon.
    pub key: &'static str,
}

/// Which part of a text a field is, where a version joins several fields into one text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Its place among the parts, from 0.
    pub index: usize,
    /// How many parts there are.
    pub count: usize,
    /// What stands between two parts. No value of a part has it.
    pub separator: &'static str,
}

/// One field of a response. The fields of a group follow each other, and so do the parts of a text.
#[derive(Debug)]
pub struct Entry<R: Record> {
    /// The name in this version; a field in a group has the path to it, such as `withdrawal.date`.
    pub name: &'static str,
    /// The last name of that path as a further key of a JSON object, with a comma, quotes and a
    /// colon.
    pub key: &'static str,
    /// Where the value comes from.
    pub source: Source<R>,
    /// Whether the field is left out while it has no value.
    pub when_set: bool,
    /// Whether the contract says that no request sets the field.
    pub read_only: bool,
    /// The group that has the field.
    pub group: Option<Group>,
    /// The part of the text that the field is.
    pub part: Option<Part>,
}

impl<R: Record> Clone for Entry<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Entry<R> {}

impl<R: Record> Entry<R> {
    /// The kind of its value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.source {
            Source::Field(field) => field.info().kind,
            Source::Own(own) => own.kind,
        }
    }

    /// The field of the dictionary; `None` for one of this version alone.
    #[must_use]
    pub fn field(&self) -> Option<R::Field> {
        match self.source {
            Source::Field(field) => Some(field),
            Source::Own(_) => None,
        }
    }

    /// The list of nested records that the field is, if it is one.
    #[must_use]
    pub fn nested_list(&self) -> Option<R::Field> {
        self.field()
            .filter(|field| field.info().kind == Kind::Records)
    }

    /// The value of the field or of its part, before the version writes it.
    #[must_use]
    pub fn value<'a>(&self, record: &'a dyn Stored<R>, lists: &'a Lists) -> Value<'a> {
        match &self.source {
            Source::Field(field) => R::shown(record, *field, lists),
            Source::Own(own) => (own.value)(record, lists),
        }
    }

    /// Whether this is the name of the field, and not a further part of a text that has one
    /// already.
    #[must_use]
    pub fn is_first_part(&self) -> bool {
        self.part.is_none_or(|part| part.index == 0)
    }
}

/// The fields of a record in the responses of a version, in order.
#[derive(Debug)]
pub struct Shape<R: Record> {
    /// The fields, in order.
    pub entries: &'static [Entry<R>],
    /// The names, sorted.
    pub names: &'static [InputName<()>],
    /// Whether any field is in a group.
    pub has_groups: bool,
}

// Written out, because a derive would ask the same of `R`.
impl<R: Record> Clone for Shape<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Shape<R> {}

impl<R: Record> Shape<R> {
    /// No fields.
    pub const EMPTY: Self = Self {
        entries: &[],
        names: &[],
        has_groups: false,
    };

    /// Whether a response has a field, or a group, of that name.
    #[must_use]
    pub fn shows(&self, name: &str) -> bool {
        look_up(self.names, name).is_some() || self.has_groups && self.group(name).is_some()
    }

    /// The group of that name.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<Group> {
        self.entries
            .iter()
            .filter_map(|entry| entry.group)
            .find(|group| group.name == name)
    }

    /// The lists of nested records, by their names.
    pub fn nested_lists(&self) -> impl Iterator<Item = (&'static str, R::Field)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.name, entry.nested_list()?)))
    }

    /// The name under which a field is shown.
    #[must_use]
    pub fn name_of(&self, field: R::Field) -> Option<&'static str> {
        let is_field =
            |entry: &&Entry<R>| matches!(&entry.source, Source::Field(shown) if *shown == field);
        self.entries.iter().find(is_field).map(|entry| entry.name)
    }
}

/// A type of JSON values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// A whole number.
    Integer,
    /// A string.
    Text,
}

/// One field of a request. The fields of a group follow each other, and so do the parts of a text.
#[derive(Debug, Clone, Copy)]
pub struct InputName<F> {
    /// The name in this version; a field in a group has the path to it, such as `withdrawal.date`.
    pub name: &'static str,
    /// The field of the dictionary.
    pub field: F,
    /// The one type that the version accepts; without one, all that the field can be read from.
    pub accepts: Option<JsonType>,
    /// The canonical value of the field in a new record whose request has no key for it.
    pub default: Option<&'static str>,
    /// The part of the text that the field is.
    pub part: Option<Part>,
}

impl<F> InputName<F> {
    /// A name of a field, without any of what a version can say besides.
    #[must_use]
    pub const fn new(name: &'static str, field: F) -> Self {
        Self {
            name,
            field,
            accepts: None,
            default: None,
            part: None,
        }
    }

    /// Whether this is the name of the field, and not a further part of a text that has one
    /// already.
    #[must_use]
    pub fn is_first_part(&self) -> bool {
        self.part.is_none_or(|part| part.index == 0)
    }
}

/// The fields of a record that a request of a version can set, in order.
#[derive(Debug)]
pub struct Inputs<R: Record> {
    /// The fields, in order.
    pub entries: &'static [InputName<R::Field>],
    /// The same, sorted by name.
    pub by_name: &'static [InputName<R::Field>],
    /// Whether any field is in a group.
    pub has_groups: bool,
}

// As for a shape.
impl<R: Record> Clone for Inputs<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Inputs<R> {}

impl<R: Record> Inputs<R> {
    /// No fields.
    pub const EMPTY: Self = Self {
        entries: &[],
        by_name: &[],
        has_groups: false,
    };

    /// The field that a name stands for; the first part of a text.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<R::Field> {
        self.input(name).map(|input| input.field)
    }

    /// The input of that name; the first part of a text.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&'static InputName<R::Field>> {
        let found = look_up(self.by_name, name)?;
        if found.is_first_part() {
            Some(found)
        } else {
            self.parts(found).first()
        }
    }

    /// All parts of the text that has this one; the input alone where it is no part.
    #[must_use]
    pub fn parts(&self, input: &InputName<R::Field>) -> &'static [InputName<R::Field>] {
        let same = |other: &InputName<R::Field>| other.name == input.name;
        let count = input.part.map_or(1, |part| part.count);
        let parts = self
            .entries
            .iter()
            .position(same)
            .and_then(|start| self.entries.get(start..start + count));
        parts.unwrap_or_default()
    }

    /// The inputs in the group of that name.
    pub fn in_group<'a>(
        &self,
        group: &'a str,
    ) -> impl Iterator<Item = &'static InputName<R::Field>> + 'a {
        let is_member = move |input: &&InputName<R::Field>| group_of(input.name) == Some(group);
        self.entries.iter().filter(is_member)
    }

    /// Whether a name is that of a group.
    #[must_use]
    pub fn is_group(&self, name: &str) -> bool {
        self.has_groups && self.in_group(name).next().is_some()
    }

    /// The input that sets a field.
    #[must_use]
    pub fn find_by_field(&self, field: R::Field) -> Option<&'static InputName<R::Field>> {
        self.entries.iter().find(|input| input.field == field)
    }

    /// The name of a field.
    #[must_use]
    pub fn name_of(&self, field: R::Field) -> Option<&'static str> {
        self.entries
            .iter()
            .find(|input| input.field == field)
            .map(|input| input.name)
    }
}

fn look_up<'a, F>(sorted: &'a [InputName<F>], name: &str) -> Option<&'a InputName<F>> {
    sorted
        .binary_search_by(|input| input.name.cmp(name))
        .ok()
        .and_then(|at| sorted.get(at))
}

/// The values of the parts of a text, joined; `None` where no part has a value.
pub(crate) fn joined(values: &[Value<'_>], separator: &str) -> Option<String> {
    let has_value = values.iter().any(|value| *value != Value::Null);
    let texts: Vec<_> = values
        .iter()
        .map(|value| value.to_plain_text().unwrap_or_default())
        .collect();
    has_value.then(|| texts.join(separator))
}

/// The group in the path of a field.
#[must_use]
pub fn group_of(name: &str) -> Option<&str> {
    name.split_once('.').map(|(group, _)| group)
}
