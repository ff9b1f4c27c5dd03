//! The declaration of records.
//!
//! The macro `record!` declares the struct of a record, the enum of its fields, the type of its
//! changes, and the definition of each field: type, maximum length, list of codes, whether requests
//! may set it, and one sentence of meaning.

/// Declares a record of the dictionary.
///
/// Groups of fields:
///
/// - `inputs`: stored; requests may set them.
/// - `service`: stored; only the service sets them.
/// - `derived`: computed by a function.
/// - `nested` (optional): the struct without nested records, the struct of their lists, and the
///   macro with the lists.
///
/// A stored field can have a function that computes its shown value (`= ethnicity`). After the
/// owner, `implied by` names a function for `Record::implied_changes`, and `ignored by` a function
/// for `Record::ignored_fields`.
macro_rules! record {
    (
        $(#[doc = $doc:literal])+
        $record:ident / $fields:ident / $changes:ident named $title:literal of $owner:ty, implied by $implied:path {
            inputs $inputs:tt
            service $service:tt
            derived $derived:tt
            nested $flat:ident + $lists:ident of $table:ident
        }
    ) => {
        $table! { [record]
            @with_nested {
                $(#[doc = $doc])+
                $record / $fields / $changes named $title of $owner, implied by $implied
            } {
                inputs $inputs
                service $service
                derived $derived
            } $flat + $lists
        }
    };
    (
        @with_nested { $($head:tt)+ } { $($groups:tt)+ } $flat:ident + $lists:ident
        $( $(#[doc = $doc:literal])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+
    ) => {
        record! {
            $($head)+ {
                $($groups)+
                nested $flat + $lists { $( $(#[doc = $doc])+ $list: crate::$record; )+ }
            }
        }
    };
    (
        $(#[doc = $doc:literal])+
        $record:ident / $fields:ident / $changes:ident named $title:literal of $owner:ty
        $(, implied by $implied:path)? $(, ignored by $ignored:path)? {
            inputs { $( $(#[doc = $i_doc:literal])+ $i:ident : $i_ty:ty $(= $i_show:path)? $(, $i_key:ident $($i_arg:expr)?)* ; )* }
            service { $( $(#[doc = $s_doc:literal])+ $s:ident : $s_ty:ty $(= $s_show:path)? $(, $s_key:ident $($s_arg:expr)?)* ; )* }
            derived { $( $(#[doc = $d_doc:literal])+ $d:ident : $d_ty:ty = $d_show:path $(, $d_key:ident $($d_arg:expr)?)* ; )* }
            $( nested $flat:ident + $lists:ident { $( $(#[doc = $n_doc:literal])+ $n:ident : $n_ty:ty ; )+ } )?
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $record {
            $( $(#[doc = $i_doc])+ pub $i: Option<$i_ty>, )*
            $( $(#[doc = $s_doc])+ pub $s: Option<$s_ty>, )*
            $($( $(#[doc = $n_doc])+ pub $n: Vec<$n_ty>, )+)?
        }

        record! { @flat $title $record $fields [$($flat)?]
            [$( [$(#[doc = $i_doc])+] $i : $i_ty; )* $( [$(#[doc = $s_doc])+] $s : $s_ty; )*] [$( $d )* $($( $n )+)?] }

        #[doc = concat!("The requested changes of a ", $title, ".")]
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $changes {
            $( $(#[doc = $i_doc])+ pub $i: $crate::records::record::Change<$i_ty>, )*
        }

        #[doc = concat!("The fields of a ", $title, ", by their canonical names.")]
        #[expect(non_camel_case_types, reason = "a field keeps its name")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $fields {
            $( $(#[doc = $i_doc])+ $i, )*
            $( $(#[doc = $s_doc])+ $s, )*
            $( $(#[doc = $d_doc])+ $d, )*
            $($( $(#[doc = $n_doc])+ $n, )+)?
        }

        impl $fields {
            /// Returns the definition of the field at build time.
            #[must_use]
            pub const fn definition(self) -> $crate::fields::field::FieldInfo {
                use $crate::fields::field::FieldInfo;
                use $crate::fields::value::FieldType;
                match self {
                    $( Self::$i => FieldInfo::new(stringify!($i), concat!($($i_doc),+), <$i_ty as FieldType>::KIND, true)
                        $(.$i_key($($i_arg)?))*, )*
                    $( Self::$s => FieldInfo::new(stringify!($s), concat!($($s_doc),+), <$s_ty as FieldType>::KIND, false)
                        $(.$s_key($($s_arg)?))*, )*
                    $( Self::$d => FieldInfo::new(stringify!($d), concat!($($d_doc),+), <$d_ty as FieldType>::KIND, false)
                        $(.$d_key($($d_arg)?))*, )*
                    $($( Self::$n => FieldInfo::new(stringify!($n), concat!($($n_doc),+), $crate::fields::value::Kind::Records, true), )+)?
                }
            }

            #[inline]
            const fn info(self) -> &'static $crate::fields::field::FieldInfo {
                match self {
                    $( Self::$i => const { &$fields::$i.definition() }, )*
                    $( Self::$s => const { &$fields::$s.definition() }, )*
                    $( Self::$d => const { &$fields::$d.definition() }, )*
                    $($( Self::$n => const { &$fields::$n.definition() }, )+)?
                }
            }

            /// Converts to a field of any record.
            #[must_use]
            pub const fn to_field(self) -> $crate::fields::field::Field {
                $crate::fields::field::Field::new($title, self as usize, self.info())
            }
        }

        impl $crate::fields::field::RecordField for $fields {
            const ALL: &'static [Self] = &[$( Self::$i, )* $( Self::$s, )* $( Self::$d, )* $($( Self::$n, )+)?];
            const RECORD: &'static str = $title;

            #[inline]
            fn info(self) -> &'static $crate::fields::field::FieldInfo {
                self.info()
            }

            #[inline]
            fn index(self) -> usize {
                self as usize
            }

            #[inline]
            fn is_stored(self) -> bool {
                match self {
                    $( Self::$i => true, )*
                    $( Self::$s => true, )*
                    $( Self::$d => false, )*
                    $($( Self::$n => true, )+)?
                }
            }

            #[inline]
            fn is_shown_as_stored(self) -> bool {
                match self {
                    $( Self::$i => record!(@is_plain $($i_show)?), )*
                    $( Self::$s => record!(@is_plain $($s_show)?), )*
                    $( Self::$d => false, )*
                    $($( Self::$n => false, )+)?
                }
            }
        }

        impl $crate::records::record::Stored<Self> for $record {
            record! { @stored $fields [$( $i )* $( $s )*] [$( $d )* $($( $n )+)?] }

            $(fn nested(&self) -> <$lists as $crate::records::record::NestedLists>::Stored<'_> {
                $lists { $( $n: self.$n.iter().map(|record| record as _).collect(), )+ }
            })?
        }

        impl $crate::records::record::Record for $record {
            type Field = $fields;
            type Changes = $changes;
            type Owner = $owner;
            const NAME: &'static str = $title;

            record! { @split $record [$( $i )* $( $s )*] $( $flat $lists [$( $n )+] )? }

            fn shown<'a>(
                record: &'a dyn $crate::records::record::Stored<Self>,
                field: $fields,
                lists: &'a $crate::lists::Lists,
            ) -> $crate::fields::value::Value<'a> {
                // A record without derived fields needs no lists.
                let _ = lists;
                match field {
                    $( $fields::$i => record!(@show record, field, lists, $i_ty $(= $i_show)?), )*
                    $( $fields::$s => record!(@show record, field, lists, $s_ty $(= $s_show)?), )*
                    $( $fields::$d => $d_show(record, lists), )*
                    $($( $fields::$n => $crate::fields::value::Value::Null, )+)?
                }
            }

            fn set_stored(&mut self, field: $fields, value: $crate::fields::value::Value<'_>) -> bool {
                match field {
                    $( $fields::$i => $crate::records::record::set(&mut self.$i, value), )*
                    $( $fields::$s => $crate::records::record::set(&mut self.$s, value), )*
                    $( $fields::$d => false, )*
                    $($( $fields::$n => false, )+)?
                }
            }

            fn merge(
                stored: Option<&Self::Flat>,
                changes: $changes,
                lists: &$crate::lists::Lists,
                accepted_codes: &$crate::fields::accepted_codes::AcceptedCodes,
            ) -> (Self::Flat, $crate::records::record::Merged<$fields>) {
                use $crate::records::record::{Change, Merged};
                use $crate::fields::value::FieldType;
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
                                merged.changed.insert($fields::$i);
                            }
                        }
                        Change::Set(value) => {
                            let requested = value.to_value();
                            if stored.is_none_or(|stored| Self::shown(stored, $fields::$i, lists) != requested) {
                                merged.changed.insert($fields::$i);
                                match $fields::$i.info().check(&requested, lists, accepted_codes) {
                                    Some(invalid) => merged.invalid.push(($fields::$i, invalid)),
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
                    stored: &Self::Flat,
                    changes: &$changes,
                    changed: &$crate::fields::field_set::FieldSet<$fields>,
                    lists: &$crate::lists::Lists,
                ) -> &'static [$fields] {
                    $implied(stored, changes, changed, lists)
                }
            )?

            $(
                fn ignored_fields(
                    record: &Self::Flat,
                    organisations: &$crate::records::organisations::Organisations,
                ) -> &'static [$fields] {
                    $ignored(record, organisations)
                }
            )?
        }

        impl $crate::records::record::Changes for $changes {
            type Field = $fields;

            fn set(&mut self, field: $fields, input: $crate::fields::value::Input<'_>) -> bool {
                use $crate::{records::record::Change, fields::value::FieldType};
                match field {
                    $( $fields::$i => {
                        let collapse = const { $fields::$i.definition().collapses_whitespace };
                        let value = <$i_ty as FieldType>::parse(input);
                        let value = value.map(|value| if collapse { value.collapse_whitespace() } else { value });
                        value.map(|value| self.$i = Change::Set(value)).is_some()
                    } )*
                    $( $fields::$s => false, )*
                    $( $fields::$d => false, )*
                    $($( $fields::$n => false, )+)?
                }
            }

            fn clear(&mut self, field: $fields) {
                match field {
                    $( $fields::$i => self.$i = $crate::records::record::Change::Clear, )*
                    $( $fields::$s => {} )*
                    $( $fields::$d => {} )*
                    $($( $fields::$n => {} )+)?
                }
            }

            fn blank(&mut self, field: $fields) {
                match field {
                    $( $fields::$i => self.$i = $crate::records::record::Change::Blank, )*
                    $( $fields::$s => {} )*
                    $( $fields::$d => {} )*
                    $($( $fields::$n => {} )+)?
                }
            }

            fn requested(&self, field: $fields) -> Option<$crate::fields::value::Value<'_>> {
                use $crate::{records::record::Change, fields::value::{FieldType as _, Value}};
                match field {
                    $( $fields::$i => match &self.$i {
                        Change::Keep => None,
                        Change::Clear | Change::Blank => Some(Value::Null),
                        Change::Set(value) => Some(value.to_value()),
                    }, )*
                    $( $fields::$s => None, )*
                    $( $fields::$d => None, )*
                    $($( $fields::$n => None, )+)?
                }
            }
        }
    };
    (@flat $title:literal $record:ident $fields:ident [] $stored:tt $others:tt) => {};
    (@flat $title:literal $record:ident $fields:ident [$flat:ident]
        [$( [$($doc:tt)+] $f:ident : $f_ty:ty; )*] [$( $other:ident )*]) => {
        #[doc = concat!("A ", $title, " without its nested records.")]
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $flat {
            $( $($doc)+ pub $f: Option<$f_ty>, )*
        }

        impl $crate::records::record::Stored<$record> for $flat {
            record! { @stored $fields [$( $f )*] [$( $other )*] }
        }
    };
    (@stored $fields:ident [$( $f:ident )*] [$( $other:ident )*]) => {
        fn stored(&self, field: $fields) -> $crate::fields::value::Value<'_> {
            use $crate::fields::value::{FieldType, Value};
            match field {
                $( $fields::$f => self.$f.as_ref().map_or(Value::Null, FieldType::to_value), )*
                $( $fields::$other => Value::Null, )*
            }
        }
    };
    (@split $record:ident $f:tt) => {
        type Flat = Self;
        type Nested = ();

        fn split(self) -> (Self, ()) {
            (self, ())
        }

        fn join(record: Self, (): ()) -> Self {
            record
        }
    };
    (@split $record:ident [$( $f:ident )*] $flat:ident $lists:ident [$( $n:ident )+]) => {
        type Flat = $flat;
        type Nested = $lists;

        fn split(self) -> ($flat, $lists) {
            ($flat { $( $f: self.$f, )* }, $lists { $( $n: self.$n, )+ })
        }

        fn join(record: $flat, nested: $lists) -> Self {
            $record { $( $f: record.$f, )* $( $n: nested.$n, )+ }
        }
    };
    (@is_plain) => { true };
    (@is_plain $show:path) => { false };
    (@show $record:ident, $field:ident, $lists:ident, $ty:ty) => {
        $record.stored($field).or_else(|| <$ty as $crate::fields::value::FieldType>::WHEN_EMPTY)
    };
    (@show $record:ident, $field:ident, $lists:ident, $ty:ty = $show:path) => {
        $show($record, $lists)
    };
}
pub(crate) use record;
