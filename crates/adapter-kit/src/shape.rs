//! The field names of a record in a version: in responses ([`Shape`]) and in requests ([`Inputs`]).
//!
//! Both list all fields in order, including fields with the canonical name. The lists are the
//! contract of the version and do not depend on other versions.

use domain::{Kind, Lists, Record, RecordField, Stored, Value};

use crate::form::{FormField, MemberForm};

#[doc(hidden)]
pub mod declare;

/// A field of one version. A function in the crate of the version computes its value.
#[derive(Debug)]
pub struct VersionField<R: Record> {
    /// The description, one sentence.
    pub meaning: &'static str,
    /// The kind of the value.
    pub kind: Kind,
    /// Computes the value.
    pub value: for<'a> fn(&'a dyn Stored<R>, &'a Lists) -> Value<'a>,
}

impl<R: Record> VersionField<R> {
    /// Returns a field with a description, a kind and the function that computes its value.
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

/// The source of the value of a response field.
#[derive(Debug)]
pub enum Source<R: Record> {
    /// A field of the dictionary.
    Field(R::Field),
    /// A field of this version only.
    Own(&'static VersionField<R>),
}

// Not derived: `derive` would require `R: Clone`.
impl<R: Record> Clone for Source<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Source<R> {}

/// An object that groups some fields of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Group {
    /// The name.
    pub name: &'static str,
    /// The name as a JSON key behind another pair: comma, quoted name, colon.
    pub key: &'static str,
}

/// The position of a field in a text that joins several fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The index of the part, from 0.
    pub index: usize,
    /// The number of parts.
    pub count: usize,
    /// The text between two parts. Values of parts do not contain it.
    pub separator: &'static str,
}

/// One field of a response. The fields of a group are adjacent, and so are the parts of a text.
#[derive(Debug)]
pub struct Entry<R: Record> {
    /// The name in this version. For a field in a group, the path, such as `withdrawal.date`.
    pub name: &'static str,
    /// The last name of the path as a JSON key behind another pair: comma, quoted name, colon.
    pub key: &'static str,
    /// The source of the value.
    pub source: Source<R>,
    /// Whether responses omit the field if it has no value.
    pub when_set: bool,
    /// Whether the contract marks the field as read-only.
    pub read_only: bool,
    /// The group of the field; `None` outside groups.
    pub group: Option<Group>,
    /// The position in a joined text; `None` if the field has its own text.
    pub part: Option<Part>,
    /// The form of the values; `None` for the common form.
    pub form: Option<MemberForm>,
    /// Whether the entry has neither a part nor a form.
    pub is_plain: bool,
}

impl<R: Record> Clone for Entry<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Entry<R> {}

impl<R: Record> Entry<R> {
    /// Returns the kind of the value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.source {
            Source::Field(field) => field.info().kind,
            Source::Own(own) => own.kind,
        }
    }

    /// Returns the properties of the field that its form can depend on.
    #[must_use]
    pub fn form_field(&self) -> FormField {
        match &self.source {
            Source::Field(field) => field.info().into(),
            Source::Own(own) => FormField {
                kind: own.kind,
                codes: None,
            },
        }
    }

    /// Returns the field of the dictionary, or `None` for a field of this version only.
    #[must_use]
    pub fn field(&self) -> Option<R::Field> {
        match self.source {
            Source::Field(field) => Some(field),
            Source::Own(_) => None,
        }
    }

    /// Returns the field if it is a list of nested records, else `None`.
    #[must_use]
    pub fn nested_list(&self) -> Option<R::Field> {
        self.field()
            .filter(|field| field.info().kind == Kind::Records)
    }

    /// Returns the canonical value of the field. Words of the version are not applied.
    #[must_use]
    pub fn value<'a>(&self, record: &'a dyn Stored<R>, lists: &'a Lists) -> Value<'a> {
        match &self.source {
            Source::Field(field) => R::shown(record, *field, lists),
            Source::Own(own) => (own.value)(record, lists),
        }
    }

    /// Whether the entry is not a part of a joined text, or its first part.
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

// Not derived: `derive` would require `R: Clone`.
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

    /// Whether responses have a field or a group with the name.
    #[must_use]
    pub fn shows(&self, name: &str) -> bool {
        look_up(self.names, name).is_some() || self.has_groups && self.group(name).is_some()
    }

    /// Returns the group with the name, or `None`.
    #[must_use]
    pub fn group(&self, name: &str) -> Option<Group> {
        self.entries
            .iter()
            .filter_map(|entry| entry.group)
            .find(|group| group.name == name)
    }

    /// Returns the lists of nested records and their names.
    pub fn nested_lists(&self) -> impl Iterator<Item = (&'static str, R::Field)> {
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.name, entry.nested_list()?)))
    }

    /// Returns the name of a field in responses, or `None` if responses do not show the field.
    #[must_use]
    pub fn name_of(&self, field: R::Field) -> Option<&'static str> {
        self.entries
            .iter()
            .find(|entry| entry.field() == Some(field))
            .map(|entry| entry.name)
    }
}

/// A JSON type that a version can require.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonType {
    /// A whole number.
    Integer,
    /// A string.
    Text,
}

/// One field of a request. The fields of a group are adjacent, and so are the parts of a text.
#[derive(Debug, Clone, Copy)]
pub struct InputName<F> {
    /// The name in this version. For a field in a group, the path, such as `withdrawal.date`.
    pub name: &'static str,
    /// The field of the dictionary.
    pub field: F,
    /// The only accepted JSON type; `None` if the version accepts every type of the field.
    pub accepts: Option<JsonType>,
    /// The canonical value for new records if the request has no key for the field.
    pub default: Option<&'static str>,
    /// The position in a joined text; `None` if the field is sent by itself.
    pub part: Option<Part>,
    /// The form of the values; `None` for the common form.
    pub form: Option<MemberForm>,
}

impl<F> InputName<F> {
    /// Returns a name of a field without a required type, a default, a part or a form.
    #[must_use]
    pub const fn new(name: &'static str, field: F) -> Self {
        Self {
            name,
            field,
            accepts: None,
            default: None,
            part: None,
            form: None,
        }
    }

    /// Whether the entry is not a part of a joined text, or its first part.
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
    /// The fields, sorted by name.
    pub by_name: &'static [InputName<R::Field>],
    /// Whether any field is in a group.
    pub has_groups: bool,
}

// Not derived: `derive` would require `R: Clone`.
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

    /// Returns the field with a name, or `None`. For a joined text, returns the field of its first
    /// part.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<R::Field> {
        self.input(name).map(|input| input.field)
    }

    /// Returns the input with a name, or `None`. For a joined text, returns its first part.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&'static InputName<R::Field>> {
        let found = look_up(self.by_name, name)?;
        if found.is_first_part() {
            Some(found)
        } else {
            self.parts(found).first()
        }
    }

    /// Returns all parts of the joined text of an input. For an input without a part, returns the
    /// input itself.
    #[must_use]
    pub fn parts(&self, input: &InputName<R::Field>) -> &'static [InputName<R::Field>] {
        let count = input.part.map_or(1, |part| part.count);
        self.entries
            .iter()
            .position(|other| other.name == input.name)
            .and_then(|start| self.entries.get(start..start + count))
            .unwrap_or_default()
    }

    /// Returns the inputs in the group with the name.
    pub fn in_group<'a>(
        &self,
        group: &'a str,
    ) -> impl Iterator<Item = &'static InputName<R::Field>> + 'a {
        self.entries
            .iter()
            .filter(move |input| group_of(input.name) == Some(group))
    }

    /// Whether the name is the name of a group.
    #[must_use]
    pub fn is_group(&self, name: &str) -> bool {
        self.has_groups && self.in_group(name).next().is_some()
    }

    /// Returns the input of a field, or `None` if requests cannot set the field.
    #[must_use]
    pub fn find_by_field(&self, field: R::Field) -> Option<&'static InputName<R::Field>> {
        self.entries.iter().find(|input| input.field == field)
    }

    /// Returns all inputs of a field: several if the version splits its values.
    pub fn all_of_field(
        &self,
        field: R::Field,
    ) -> impl Iterator<Item = &'static InputName<R::Field>> {
        self.entries
            .iter()
            .filter(move |input| input.field == field)
    }

    /// Returns the name of a field, or `None` if requests cannot set the field.
    #[must_use]
    pub fn name_of(&self, field: R::Field) -> Option<&'static str> {
        self.find_by_field(field).map(|input| input.name)
    }
}

/// Returns the entry with a name from entries that are sorted by name; `None` for an unknown name.
fn look_up<'a, F>(sorted: &'a [InputName<F>], name: &str) -> Option<&'a InputName<F>> {
    let index = sorted.binary_search_by(|input| input.name.cmp(name)).ok()?;
    sorted.get(index)
}

/// Joins the values of the parts of a text. Returns `None` if no part has a value.
pub(crate) fn joined(values: &[Value<'_>], separator: &str) -> Option<String> {
    let has_value = values.iter().any(|value| *value != Value::Null);
    let texts: Vec<_> = values
        .iter()
        .map(|value| value.to_plain_text().unwrap_or_default())
        .collect();
    has_value.then(|| texts.join(separator))
}

/// Returns the group in the path of a field, or `None` outside groups.
#[must_use]
pub fn group_of(name: &str) -> Option<&str> {
    name.split_once('.').map(|(group, _)| group)
}
