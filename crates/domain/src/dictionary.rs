//! The form of the data dictionary: what a record and its fields are.
//!
//! One `record!` declaration gives a record's struct, the enum of its fields, the type of the
//! changes that a request can ask for, and for each field what it *is*: its kind, its longest
//! length, the list of its codes, whether a request may set it, and one sentence of meaning.
//! What every input must satisfy by itself ([`misfit`]) follows from that, so nobody writes it
//! a second time. Which fields are required, and which values may stand together, are rules.

mod misfit;

use std::fmt;
use std::hash::Hash;

pub use self::misfit::misfit;
use crate::field_set::FieldSet;
use crate::lists::{List, Lists};
use crate::organisations::Organisations;
use crate::problem::{Field, ProblemKind};
use crate::rules::Terms;
use crate::stored::Stored;
use crate::value::{Input, Kind, Typed, Value};

/// What a request asks of one field.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Change<T> {
    /// The request does not mention the field.
    #[default]
    Keep,
    /// The request sends null.
    Clear,
    /// The request sends blank text, which clears like null but where a rule tells them apart.
    Blank,
    /// The request sends a value.
    Set(T),
}

/// The values that a coded field may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codes {
    /// The codes of a list of the reference data.
    Listed(List),
    /// A few fixed words.
    OneOf(&'static [&'static str]),
}

/// What a field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldInfo {
    /// The canonical name, which is that of the newest version.
    pub name: &'static str,
    /// One sentence of meaning.
    pub meaning: &'static str,
    /// What sort of value it holds.
    pub kind: Kind,
    /// The longest text, in Unicode scalar values.
    pub max: Option<usize>,
    /// The codes it may hold.
    pub codes: Option<Codes>,
    /// Whether a request may set it.
    pub input: bool,
    /// Whether white space is trimmed and squeezed before anything else looks at the text.
    pub tidied: bool,
    /// Whether only an import from an older system fills it.
    pub imported: bool,
    /// Whether every record has a value in it.
    pub always: bool,
}

impl FieldInfo {
    pub(crate) const fn new(name: &'static str, meaning: &'static str, kind: Kind, input: bool) -> Self {
        // These kinds have a way to say that there is nothing, which is not null.
        let always = matches!(kind, Kind::Flag | Kind::Texts | Kind::Records);
        let meaning = trimmed(meaning);
        Self { name, meaning, kind, max: None, codes: None, input, tidied: false, imported: false, always }
    }

    pub(crate) const fn max(self, characters: usize) -> Self {
        Self { max: Some(characters), ..self }
    }

    pub(crate) const fn code_of(self, list: List) -> Self {
        Self { codes: Some(Codes::Listed(list)), ..self }
    }

    pub(crate) const fn one_of(self, words: &'static [&'static str]) -> Self {
        Self { codes: Some(Codes::OneOf(words)), ..self }
    }

    pub(crate) const fn tidied(self) -> Self {
        Self { tidied: true, ..self }
    }

    pub(crate) const fn imported(self) -> Self {
        Self { imported: true, ..self }
    }

    pub(crate) const fn always(self) -> Self {
        Self { always: true, ..self }
    }
}

/// A doc comment keeps the space after its slashes.
const fn trimmed(text: &str) -> &str {
    text.trim_ascii()
}

/// One field of a record: an enum whose variants bear the canonical names.
pub trait RecordField: Copy + Eq + Hash + fmt::Debug + Into<Field> + Send + Sync + 'static {
    /// All fields, in the order of the dictionary.
    const ALL: &'static [Self];

    /// What the field is.
    fn info(self) -> &'static FieldInfo;

    /// The field's place in [`RecordField::ALL`].
    fn index(self) -> usize;

    /// Whether records store the field; otherwise it is computed.
    fn is_stored(self) -> bool;

    /// Whether a value that is stored in the field is shown as it is.
    fn is_shown_as_stored(self) -> bool;
}

/// What a merge of changes into a record did.
#[derive(Debug)]
pub struct Merged<F: RecordField> {
    /// Fields whose value the request would change.
    pub sent: FieldSet<F>,
    /// Fields with a key in the request, whatever its value.
    pub present: FieldSet<F>,
    /// Fields sent as blank text.
    pub blank: FieldSet<F>,
    /// Values that the field cannot hold; they were not merged.
    pub misfits: Vec<(F, ProblemKind)>,
}

impl<F: RecordField> Merged<F> {
    pub(crate) fn new() -> Self {
        Self { sent: FieldSet::new(), present: FieldSet::new(), blank: FieldSet::new(), misfits: Vec::new() }
    }
}

/// A record of the dictionary.
pub trait Record: Stored<Self> + Clone + Default + PartialEq + Send + 'static {
    /// The enum of the record's fields.
    type Field: RecordField;
    /// What a request can ask of the record.
    type Changes: Changes<Field = Self::Field>;
    /// The record that this one is written for: the trainee of a withdrawal, nothing for a trainee.
    type Owner: Clone + Default + fmt::Debug;

    /// The record's name in the field's standard terms, such as `trainee`.
    const NAME: &'static str;

    /// The field's value as it is shown, computed where it is not stored, of a record wherever it is stored.
    fn shown<'a>(record: &'a dyn Stored<Self>, field: Self::Field, lists: &'a Lists) -> Value<'a>;

    /// The field's value as it is shown, computed where it is not stored.
    fn value<'a>(&'a self, field: Self::Field, lists: &'a Lists) -> Value<'a> {
        Self::shown(self, field, lists)
    }

    /// Holds a value that [`Stored::stored`] gave; false when the field holds no such value.
    fn hold(&mut self, field: Self::Field, value: Value<'_>) -> bool;

    /// The record with the changes merged into it; `stored` is `None` when it is new. A value equal
    /// to the one that the stored record shows counts as not sent; one that the field cannot hold
    /// is reported and left out.
    fn merge(
        stored: Option<&Self>,
        changes: Self::Changes,
        lists: &Lists,
        terms: &Terms,
    ) -> (Self, Merged<Self::Field>);

    /// Fields that an update changes although it sends no other value for them, besides those that it does send
    /// (`sent`): null for the URN of a training partner that is known by its UKPRN alone removes the link.
    #[must_use]
    fn implied_changes(
        stored: &Self,
        changes: &Self::Changes,
        sent: &FieldSet<Self::Field>,
        lists: &Lists,
    ) -> &'static [Self::Field] {
        let _ = (stored, changes, sent, lists);
        &[]
    }

    /// Fields whose values come from elsewhere, so that nothing that a request sends for them is used or can be wrong.
    #[must_use]
    fn ignored_fields(&self, organisations: &Organisations) -> &'static [Self::Field] {
        let _ = organisations;
        &[]
    }
}

/// What a request asks of a record, field by field.
pub trait Changes: Default + Clone + PartialEq + fmt::Debug + Send + 'static {
    /// The enum of the record's fields.
    type Field: RecordField;

    /// Asks for a value; false when the input does not fit the field's kind.
    fn set(&mut self, field: Self::Field, input: Input<'_>) -> bool;

    /// Asks to clear the field because null was sent.
    fn clear(&mut self, field: Self::Field);

    /// Asks to clear the field because blank text was sent.
    fn blank(&mut self, field: Self::Field);

    /// What is asked of the field: `None` when it is not mentioned, null when it is to be cleared.
    fn asked(&self, field: Self::Field) -> Option<Value<'_>>;
}

/// Puts a value into a field of its type; false, and nothing else, when it is of another type.
pub(crate) fn hold<T: Typed>(field: &mut Option<T>, value: Value<'_>) -> bool {
    if value == Value::Null {
        *field = None;
        return true;
    }
    let value = T::of_view(value);
    let fits = value.is_some();
    if fits {
        *field = value;
    }
    fits
}

/// Declares a record of the dictionary.
///
/// The fields stand in four groups: `inputs` are held and may be set by a request; `service` fields
/// are held and set by the service alone; `derived` fields are computed; `nested` ones are lists of
/// other records, each with the form of its value. A held field may name a function that shows it
/// (`= derivation::ethnicity`). Behind the owner, functions
/// can take the place of [`Record::implied_changes`] (`implied by`) and of [`Record::ignored_fields`] (`ignored by`).
macro_rules! record {
    (
        $(#[doc = $doc:literal])+
        $record:ident / $fields:ident / $changes:ident named $title:literal of $owner:ty
        $(, implied by $implied:path)? $(, ignored by $ignored:path)? {
            inputs { $( $(#[doc = $i_doc:literal])+ $i:ident : $i_ty:ty $(= $i_show:path)? $(, $i_key:ident $($i_arg:expr)?)* ; )* }
            service { $( $(#[doc = $s_doc:literal])+ $s:ident : $s_ty:ty $(= $s_show:path)? $(, $s_key:ident $($s_arg:expr)?)* ; )* }
            derived { $( $(#[doc = $d_doc:literal])+ $d:ident : $d_ty:ty = $d_show:path $(, $d_key:ident $($d_arg:expr)?)* ; )* }
            nested { $( $(#[doc = $n_doc:literal])+ $n:ident : $n_ty:ty = $n_view:path ; )* }
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $record {
            $( $(#[doc = $i_doc])+ pub $i: Option<$i_ty>, )*
            $( $(#[doc = $s_doc])+ pub $s: Option<$s_ty>, )*
            $( $(#[doc = $n_doc])+ pub $n: Vec<$n_ty>, )*
        }

        #[doc = concat!("What a request can ask of a ", $title, ", field by field.")]
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $changes {
            $( $(#[doc = $i_doc])+ pub $i: $crate::dictionary::Change<$i_ty>, )*
            $( $(#[doc = $n_doc])+ pub $n: Vec<$crate::candidate::Sent<$n_ty>>, )*
        }

        #[doc = concat!("The fields of a ", $title, ", by their canonical names.")]
        #[expect(non_camel_case_types, reason = "a field keeps its name")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $fields {
            $( $(#[doc = $i_doc])+ $i, )*
            $( $(#[doc = $s_doc])+ $s, )*
            $( $(#[doc = $d_doc])+ $d, )*
            $( $(#[doc = $n_doc])+ $n, )*
        }

        impl $fields {
            /// What the field is, at build time.
            #[must_use]
            pub const fn describe(self) -> $crate::dictionary::FieldInfo {
                use $crate::dictionary::FieldInfo;
                use $crate::value::Typed;
                match self {
                    $( Self::$i => FieldInfo::new(stringify!($i), concat!($($i_doc),+), <$i_ty as Typed>::KIND, true)
                        $(.$i_key($($i_arg)?))*, )*
                    $( Self::$s => FieldInfo::new(stringify!($s), concat!($($s_doc),+), <$s_ty as Typed>::KIND, false)
                        $(.$s_key($($s_arg)?))*, )*
                    $( Self::$d => FieldInfo::new(stringify!($d), concat!($($d_doc),+), <$d_ty as Typed>::KIND, false)
                        $(.$d_key($($d_arg)?))*, )*
                    $( Self::$n => FieldInfo::new(stringify!($n), concat!($($n_doc),+), $crate::value::Kind::Records, true), )*
                }
            }
        }

        impl $crate::dictionary::RecordField for $fields {
            const ALL: &'static [Self] = &[$( Self::$i, )* $( Self::$s, )* $( Self::$d, )* $( Self::$n, )*];

            fn info(self) -> &'static $crate::dictionary::FieldInfo {
                match self {
                    $( Self::$i => const { &$fields::$i.describe() }, )*
                    $( Self::$s => const { &$fields::$s.describe() }, )*
                    $( Self::$d => const { &$fields::$d.describe() }, )*
                    $( Self::$n => const { &$fields::$n.describe() }, )*
                }
            }

            fn index(self) -> usize {
                self as usize
            }

            fn is_stored(self) -> bool {
                match self {
                    $( Self::$i => true, )*
                    $( Self::$s => true, )*
                    $( Self::$d => false, )*
                    $( Self::$n => true, )*
                }
            }

            fn is_shown_as_stored(self) -> bool {
                match self {
                    $( Self::$i => record!(@is_plain $($i_show)?), )*
                    $( Self::$s => record!(@is_plain $($s_show)?), )*
                    $( Self::$d => false, )*
                    $( Self::$n => true, )*
                }
            }
        }

        impl $crate::stored::Stored<Self> for $record {
            fn stored(&self, field: $fields) -> $crate::value::Value<'_> {
                use $crate::value::{Typed, Value};
                match field {
                    $( $fields::$i => self.$i.as_ref().map_or(Value::Null, Typed::view), )*
                    $( $fields::$s => self.$s.as_ref().map_or(Value::Null, Typed::view), )*
                    $( $fields::$d => Value::Null, )*
                    $( $fields::$n => $n_view(&self.$n), )*
                }
            }
        }

        impl $crate::dictionary::Record for $record {
            type Field = $fields;
            type Changes = $changes;
            type Owner = $owner;
            const NAME: &'static str = $title;

            #[allow(unused_variables, reason = "a record without derived fields needs no lists")]
            fn shown<'a>(
                record: &'a dyn $crate::stored::Stored<Self>,
                field: $fields,
                lists: &'a $crate::lists::Lists,
            ) -> $crate::value::Value<'a> {
                match field {
                    $( $fields::$i => record!(@show record, field, lists, $i_ty $(= $i_show)?), )*
                    $( $fields::$s => record!(@show record, field, lists, $s_ty $(= $s_show)?), )*
                    $( $fields::$d => $d_show(record, lists), )*
                    $( $fields::$n => record.stored(field), )*
                }
            }

            fn hold(&mut self, field: $fields, value: $crate::value::Value<'_>) -> bool {
                match field {
                    $( $fields::$i => $crate::dictionary::hold(&mut self.$i, value), )*
                    $( $fields::$s => $crate::dictionary::hold(&mut self.$s, value), )*
                    $( $fields::$d => false, )*
                    $( $fields::$n => false, )*
                }
            }

            #[allow(unused_mut, unused_variables, reason = "a record without inputs merges nothing")]
            fn merge(
                stored: Option<&Self>,
                changes: $changes,
                lists: &$crate::lists::Lists,
                terms: &$crate::rules::Terms,
            ) -> (Self, $crate::dictionary::Merged<$fields>) {
                use $crate::dictionary::{Change, Merged, RecordField as _, misfit};
                use $crate::value::Typed;
                let mut record = stored.cloned().unwrap_or_default();
                let mut merged = Merged::new();
                $(
                    if changes.$i != Change::Keep {
                        merged.present.insert($fields::$i);
                    }
                    match changes.$i {
                        Change::Keep => {}
                        Change::Clear | Change::Blank => {
                            if changes.$i == Change::Blank {
                                merged.blank.insert($fields::$i);
                            }
                            if record.$i.take().is_some() {
                                merged.sent.insert($fields::$i);
                            }
                        }
                        Change::Set(value) => {
                            let asked = value.view();
                            if stored.is_none_or(|stored| stored.value($fields::$i, lists) != asked) {
                                merged.sent.insert($fields::$i);
                                match misfit($fields::$i.info(), &asked, lists, terms) {
                                    Some(kind) => merged.misfits.push(($fields::$i, kind)),
                                    None => record.$i = Some(value),
                                }
                            }
                        }
                    }
                )*
                (record, merged)
            }

            $(
                fn implied_changes(
                    stored: &Self,
                    changes: &$changes,
                    sent: &$crate::field_set::FieldSet<$fields>,
                    lists: &$crate::lists::Lists,
                ) -> &'static [$fields] {
                    $implied(stored, changes, sent, lists)
                }
            )?

            $(
                fn ignored_fields(&self, organisations: &$crate::organisations::Organisations) -> &'static [$fields] {
                    $ignored(self, organisations)
                }
            )?
        }

        impl $crate::dictionary::Changes for $changes {
            type Field = $fields;

            fn set(&mut self, field: $fields, input: $crate::value::Input<'_>) -> bool {
                #[allow(unused_imports, reason = "a record without inputs reads nothing")]
                use $crate::{dictionary::Change, value::Typed};
                match field {
                    $( $fields::$i => {
                        let value = <$i_ty as Typed>::read(input);
                        let tidy = const { $fields::$i.describe().tidied };
                        match value {
                            Some(value) => {
                                self.$i = Change::Set(if tidy { value.tidied() } else { value });
                                true
                            }
                            None => false,
                        }
                    } )*
                    $( $fields::$s => false, )*
                    $( $fields::$d => false, )*
                    $( $fields::$n => false, )*
                }
            }

            fn clear(&mut self, field: $fields) {
                match field {
                    $( $fields::$i => self.$i = $crate::dictionary::Change::Clear, )*
                    $( $fields::$s => {} )*
                    $( $fields::$d => {} )*
                    $( $fields::$n => self.$n.clear(), )*
                }
            }

            fn blank(&mut self, field: $fields) {
                match field {
                    $( $fields::$i => self.$i = $crate::dictionary::Change::Blank, )*
                    $( $fields::$s => {} )*
                    $( $fields::$d => {} )*
                    $( $fields::$n => self.$n.clear(), )*
                }
            }

            fn asked(&self, field: $fields) -> Option<$crate::value::Value<'_>> {
                #[allow(unused_imports, reason = "a record without inputs asks nothing")]
                use $crate::{dictionary::Change, value::{Typed as _, Value}};
                match field {
                    $( $fields::$i => match &self.$i {
                        Change::Keep => None,
                        Change::Clear | Change::Blank => Some(Value::Null),
                        Change::Set(value) => Some(value.view()),
                    }, )*
                    $( $fields::$s => None, )*
                    $( $fields::$d => None, )*
                    $( $fields::$n => None, )*
                }
            }
        }
    };
    (@is_plain) => { true };
    (@is_plain $show:path) => { false };
    (@show $record:ident, $field:ident, $lists:ident, $ty:ty) => {
        $record.stored($field).or_else(|| <$ty as $crate::value::Typed>::ABSENT)
    };
    (@show $record:ident, $field:ident, $lists:ident, $ty:ty = $show:path) => {
        $show($record, $lists)
    };
}
pub(crate) use record;
