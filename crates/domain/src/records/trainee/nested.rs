//! The kinds of records that are nested in a trainee. [`nested_kinds!`](crate::nested_kinds) lists
//! them, and everything that holds for each kind follows from its entry.

use std::fmt;

use super::{Trainee, TraineeField};
use crate::fields::parsed::ParsedRecord;
use crate::records::record::{NestedKind, NestedLists, Record, Stored};

/// Calls a macro with the kinds of nested records: the list of a trainee, the record, the word that
/// names one, and the field of its identifier. Records and their fields are exported by the crate's
/// root.
#[macro_export]
macro_rules! nested_kinds {
    ([$($callback:tt)+] $($arguments:tt)*) => {
        $($callback)+! {
            $($arguments)*
            /// Placements in schools, oldest first.
            placements: Placement / PlacementField, placement, placement_id;
            /// Degrees held before the training, by year of graduation.
            degrees: Degree / DegreeField, degree, degree_id;
        }
    };
}

/// Calls a generic function with a record as the first of its types. Behind the name of the
/// function its other types may stand, as in `read<_>(list, reader)`.
#[macro_export]
macro_rules! call_with_record {
    ($record:ty, ($($function:ident)::+ ($($argument:tt)*))) => {
        $($function)::+::<$record>($($argument)*)
    };
    ($record:ty, ($($function:ident)::+ <$($type:tt),+> ($($argument:tt)*))) => {
        $($function)::+::<$record, $($type),+>($($argument)*)
    };
}

/// Calls a generic function for the type of each kind of nested record; the value is an array of
/// the results.
#[macro_export]
macro_rules! for_each_nested {
    (@kinds $call:tt
        $( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        [$( $crate::call_with_record!($crate::$record, $call) ),+]
    };
    ($($call:tt)+) => {
        $crate::nested_kinds!([$crate::for_each_nested] @kinds ($($call)+))
    };
}

/// Calls a generic function for the type of the records in a list of a trainee; the value is `None`
/// where the field is no such list.
#[macro_export]
macro_rules! for_nested_list {
    (@kinds $of:tt $call:tt
        $( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        $( if $of == $crate::records::trainee::TraineeField::$list { Some($crate::call_with_record!($crate::$record, $call)) } else )+ { None }
    };
    ($of:expr, $($call:tt)+) => {
        $crate::nested_kinds!([$crate::for_nested_list] @kinds ($of) ($($call)+))
    };
}

/// A record that is nested in a trainee.
pub trait NestedRecord: NestedKind {
    /// The list of a trainee that has the records.
    const LIST: TraineeField;
    /// The field of the identifier.
    const ID: Self::Field;
    /// The field of the time at which the record was made.
    const CREATED_AT: Self::Field;
    /// The field of the time at which the record was changed last.
    const UPDATED_AT: Self::Field;

    /// The records of this kind.
    fn in_nested<F: NestedForm>(nested: &NestedRecords<F>) -> &Vec<F::Of<Self>>;

    /// The records of this kind, to be changed.
    fn in_nested_mut<F: NestedForm>(nested: &mut NestedRecords<F>) -> &mut Vec<F::Of<Self>>;

    /// The records of a trainee.
    fn records(trainee: &Trainee) -> &Vec<Self>;

    /// The records of a trainee, to be changed.
    fn records_mut(trainee: &mut Trainee) -> &mut Vec<Self>;

    /// The identifier.
    fn id(&self) -> Option<&str>;
}

/// A form that nested records can have.
pub trait NestedForm {
    /// A record in this form.
    type Of<R: Record>;
}

/// Nested records as structs.
#[derive(Debug)]
pub enum Owned {}

impl NestedForm for Owned {
    type Of<R: Record> = R;
}

/// Nested records wherever they are stored.
#[derive(Debug)]
pub struct Borrowed<'a>(std::marker::PhantomData<&'a ()>);

impl<'a> NestedForm for Borrowed<'a> {
    type Of<R: Record> = &'a dyn Stored<R>;
}

/// Nested records as a request sends them.
#[derive(Debug)]
pub enum Sent {}

impl NestedForm for Sent {
    type Of<R: Record> = ParsedRecord<R>;
}

macro_rules! declare {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// The nested records of a trainee, in one form.
        pub struct NestedRecords<F: NestedForm = Owned> {
            $( $(#[$doc])+ pub $list: Vec<F::Of<crate::$record>>, )+
        }

        impl<F: NestedForm> Default for NestedRecords<F> {
            fn default() -> Self {
                Self { $( $list: Vec::new(), )+ }
            }
        }

        impl<F: NestedForm> Clone for NestedRecords<F>
        where
            $( F::Of<crate::$record>: Clone, )+
        {
            fn clone(&self) -> Self {
                Self { $( $list: self.$list.clone(), )+ }
            }
        }

        impl<F: NestedForm> PartialEq for NestedRecords<F>
        where
            $( F::Of<crate::$record>: PartialEq, )+
        {
            fn eq(&self, other: &Self) -> bool {
                true $( && self.$list == other.$list )+
            }
        }

        impl<F: NestedForm> fmt::Debug for NestedRecords<F>
        where
            $( F::Of<crate::$record>: fmt::Debug, )+
        {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.debug_struct("NestedRecords")$( .field(stringify!($list), &self.$list) )+.finish()
            }
        }

        $(
            impl NestedRecord for crate::$record {
                const LIST: TraineeField = TraineeField::$list;
                const ID: Self::Field = crate::$fields::$id;
                const CREATED_AT: Self::Field = crate::$fields::created_at;
                const UPDATED_AT: Self::Field = crate::$fields::updated_at;

                fn in_nested<F: NestedForm>(nested: &NestedRecords<F>) -> &Vec<F::Of<Self>> {
                    &nested.$list
                }

                fn in_nested_mut<F: NestedForm>(nested: &mut NestedRecords<F>) -> &mut Vec<F::Of<Self>> {
                    &mut nested.$list
                }

                fn records(trainee: &Trainee) -> &Vec<Self> {
                    &trainee.$list
                }

                fn records_mut(trainee: &mut Trainee) -> &mut Vec<Self> {
                    &mut trainee.$list
                }

                fn id(&self) -> Option<&str> {
                    self.$id.as_deref()
                }
            }
        )+
    };
}
nested_kinds!([declare]);

impl NestedLists for NestedRecords {
    type Stored<'a> = NestedRecords<Borrowed<'a>>;
    type Parsed = NestedRecords<Sent>;
}
