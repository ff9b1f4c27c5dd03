//! What a version calls the fields of a record: in a response ([`Shape`]) and in a request
//! ([`Inputs`]).
//!
//! Each lists its fields in order, also those whose name is canonical: it is the contract of the
//! version, and does not move when a neighbour does.

use domain::{Kind, Lists, Record, RecordField, Stored, Value};

/// A field that only one version has: computed by a function of the version's crate, so that it goes
/// with the crate.
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
        Self { meaning, kind, value }
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

/// One field of a response.
#[derive(Debug)]
pub struct Entry<R: Record> {
    /// The name in this version.
    pub name: &'static str,
    /// The name as the key of a JSON object, with its quotes and colon.
    pub key: &'static str,
    /// Where the value comes from.
    pub source: Source<R>,
    /// Whether the field is left out while it has no value.
    pub when_set: bool,
}

impl<R: Record> Entry<R> {
    /// The kind of its value.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match &self.source {
            Source::Field(field) => field.info().kind,
            Source::Own(own) => own.kind,
        }
    }
}

/// The fields of a record in the responses of a version, in order.
#[derive(Debug)]
pub struct Shape<R: Record> {
    /// The fields, in order.
    pub entries: &'static [Entry<R>],
    /// The names, sorted.
    pub names: &'static [InputName<()>],
}

// Written out, because a derive would ask the same of `R`.
impl<R: Record> Clone for Shape<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Shape<R> {}

impl<R: Record> Shape<R> {
    /// Whether a response has a field of that name.
    #[must_use]
    pub fn shows(&self, name: &str) -> bool {
        look_up(self.names, name).is_some()
    }

    /// The lists of nested records, by their names.
    pub fn nested_lists(&self) -> impl Iterator<Item = (&'static str, R::Field)> {
        self.entries.iter().filter(|entry| entry.kind() == Kind::Records).filter_map(|entry| match &entry.source {
            Source::Field(field) => Some((entry.name, *field)),
            Source::Own(_) => None,
        })
    }

    /// The name under which a field is shown.
    #[must_use]
    pub fn name_of(&self, field: R::Field) -> Option<&'static str> {
        let is_field = |entry: &&Entry<R>| matches!(&entry.source, Source::Field(shown) if *shown == field);
        self.entries.iter().find(is_field).map(|entry| entry.name)
    }
}

/// One field of a request.
#[derive(Debug, Clone, Copy)]
pub struct InputName<F> {
    /// The name in this version.
    pub name: &'static str,
    /// The field of the dictionary.
    pub field: F,
}

/// The fields of a record that a request of a version can set, in order.
#[derive(Debug)]
pub struct Inputs<R: Record> {
    /// The fields, in order.
    pub entries: &'static [InputName<R::Field>],
    /// The same, sorted by name.
    pub by_name: &'static [InputName<R::Field>],
}

// As for a shape.
impl<R: Record> Clone for Inputs<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Inputs<R> {}

impl<R: Record> Inputs<R> {
    /// The field that a name stands for.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<R::Field> {
        look_up(self.by_name, name).map(|input| input.field)
    }

    /// The name of a field.
    #[must_use]
    pub fn name_of(&self, field: R::Field) -> Option<&'static str> {
        self.entries.iter().find(|input| input.field == field).map(|input| input.name)
    }
}

fn look_up<'a, F>(sorted: &'a [InputName<F>], name: &str) -> Option<&'a InputName<F>> {
    sorted.binary_search_by(|input| input.name.cmp(name)).ok().and_then(|at| sorted.get(at))
}

/// Sorts names at build time.
#[doc(hidden)]
#[must_use]
#[expect(clippy::indexing_slicing, reason = "at build time, where an index out of bounds does not compile")]
pub const fn sorted<F: Copy, const N: usize>(mut names: [InputName<F>; N]) -> [InputName<F>; N] {
    let mut end = 1;
    while end < N {
        let mut at = end;
        while at > 0 && precedes(names[at].name, names[at - 1].name) {
            names.swap(at, at - 1);
            at -= 1;
        }
        end += 1;
    }
    names
}

#[expect(clippy::indexing_slicing, reason = "at build time, where an index out of bounds does not compile")]
const fn precedes(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let mut at = 0;
    while at < one.len() && at < other.len() {
        if one[at] != other[at] {
            return one[at] < other[at];
        }
        at += 1;
    }
    one.len() < other.len()
}

/// Lists the fields of a record in a version's responses.
///
/// A changed name is written next to the canonical one, and a field can be shown under a second name, as a copy; `when_set` shows a field only with a value; a
/// field of this version alone names its [`VersionField`].
///
/// ```
/// use adapter_kit::{Shape, shape};
/// use domain::{Degree, DegreeField};
///
/// const DEGREE: Shape<Degree> = shape! { Degree, DegreeField: degree_id, uk_degree, topic = subject };
/// assert!(DEGREE.shows("topic") && !DEGREE.shows("subject"));
/// ```
#[macro_export]
macro_rules! shape {
    ($record:ty, $field:ident: $($name:ident $(= $canonical:ident)? $(=> $own:ident)? $($modifier:ident)?),+ $(,)?) => {
        $crate::shape::Shape::<$record> {
            entries: &[$($crate::shape::Entry {
                name: stringify!($name),
                key: concat!("\"", stringify!($name), "\":"),
                source: $crate::shape!(@source $field $name [$($canonical)?] [$($own)?]),
                when_set: $crate::shape!(@modifier $($modifier)?),
            }),+],
            names: &$crate::shape::sorted([$($crate::shape::InputName { name: stringify!($name), field: () }),+]),
        }
    };
    (@source $field:ident $name:ident [] []) => { $crate::shape::Source::Field($field::$name) };
    (@source $field:ident $name:ident [$canonical:ident] []) => { $crate::shape::Source::Field($field::$canonical) };
    (@source $field:ident $name:ident [] [$own:ident]) => { $crate::shape::Source::Own(&$own) };
    (@modifier) => { false };
    (@modifier when_set) => { true };
}

/// Lists the fields of a record that a version's requests can set. A changed name is written next to the
/// canonical one.
///
/// ```
/// use adapter_kit::{Inputs, inputs};
/// use domain::{Deferral, DeferralField};
///
/// const DEFERRAL: Inputs<Deferral> = inputs! { Deferral, DeferralField: defer_date, why = defer_reason };
/// assert_eq!(DEFERRAL.field("why"), Some(DeferralField::defer_reason));
/// assert_eq!(DEFERRAL.field("defer_reason"), None);
/// ```
#[macro_export]
macro_rules! inputs {
    ($record:ty, $field:ident: $($name:ident $(= $canonical:ident)?),+ $(,)?) => {
        $crate::shape::Inputs::<$record> {
            entries: &[$($crate::inputs!(@name $field $name [$($canonical)?])),+],
            by_name: &$crate::shape::sorted([$($crate::inputs!(@name $field $name [$($canonical)?])),+]),
        }
    };
    (@name $field:ident $name:ident []) => { $crate::inputs!(@name $field $name [$name]) };
    (@name $field:ident $name:ident [$canonical:ident]) => {{
        const { assert!($field::$canonical.definition().input, "a request cannot set this field") };
        $crate::shape::InputName { name: stringify!($name), field: $field::$canonical }
    }};
}
