//! The kinds of nested records of a trainee. [`nested_kinds!`](crate::nested_kinds) lists the
//! kinds; macros generate the code for each kind.

use std::fmt;

use super::{Trainee, TraineeField};
use crate::fields::parsed::ParsedRecord;
use crate::records::record::{NestedKind, NestedLists, Record, Stored};

/// Calls a macro with the kinds of nested records. An entry consists of the field of the trainee,
/// the record and its fields (both exported by the crate root), the name of one record, and the
/// field of its identifier.
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

/// Calls a generic function with a record as its first type argument. Other type arguments follow
/// the name of the function, as in `read<_>(list, reader)`.
#[macro_export]
macro_rules! call_with_record {
    ($record:ty, ($($function:ident)::+ ($($argument:tt)*))) => {
        $($function)::+::<$record>($($argument)*)
    };
    ($record:ty, ($($function:ident)::+ <$($type:tt),+> ($($argument:tt)*))) => {
        $($function)::+::<$record, $($type),+>($($argument)*)
    };
}

/// Calls a generic function for the type of each kind of nested record. Evaluates to an array of
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

/// Calls a generic function for the type of the records in a list of a trainee. Evaluates to `None`
/// if the field is not a list of records.
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

/// A nested record of a trainee.
pub trait NestedRecord: NestedKind {
    /// The field of the trainee with the list of the records.
    const LIST: TraineeField;
    /// The field of the identifier.
    const ID: Self::Field;
    /// The field of the creation time.
    const CREATED_AT: Self::Field;
    /// The field of the time of the last change.
    const UPDATED_AT: Self::Field;

    /// Returns the records of this kind.
    fn in_nested<F: NestedForm>(nested: &NestedRecords<F>) -> &Vec<F::Of<Self>>;

    /// Returns the records of this kind, mutable.
    fn in_nested_mut<F: NestedForm>(nested: &mut NestedRecords<F>) -> &mut Vec<F::Of<Self>>;

    /// Returns the records of a trainee.
    fn records(trainee: &Trainee) -> &Vec<Self>;

    /// Returns the records of a trainee, mutable.
    fn records_mut(trainee: &mut Trainee) -> &mut Vec<Self>;

    /// Returns the identifier, or `None` for a record without one.
    fn id(&self) -> Option<&str>;
}

/// A representation of nested records.
pub trait NestedForm {
    /// A record in this representation.
    type Of<R: Record>;
}

/// Nested records as structs.
#[derive(Debug)]
pub enum Owned {}

impl NestedForm for Owned {
    type Of<R: Record> = R;
}

/// Nested records as borrowed stored records.
#[derive(Debug)]
pub struct Borrowed<'a>(std::marker::PhantomData<&'a ()>);

impl<'a> NestedForm for Borrowed<'a> {
    type Of<R: Record> = &'a dyn Stored<R>;
}

/// Nested records as sent in a request.
#[derive(Debug)]
pub enum Sent {}

impl NestedForm for Sent {
    type Of<R: Record> = ParsedRecord<R>;
}

macro_rules! declare {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// The nested records of a trainee, in one representation.
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
