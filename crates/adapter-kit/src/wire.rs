//! What a version says of a record, by the type of the record.

use domain::rules::Rule;
use domain::{
    Deferral, Field, NestedRecord, Recommendation, Record, Stored, Trainee, Withdrawal,
    nested_kinds,
};

use crate::body_kind::RecordKind;
use crate::names::other_names::{OtherNames, OtherVersionsNames};
use crate::shape::{Inputs, Shape};
use crate::version::{ApiVersion, NestedShapes};

/// A record that requests and responses of a version carry.
pub trait WireRecord: Record {
    /// What a request can set.
    fn inputs(version: &ApiVersion) -> &Inputs<Self>;

    /// What a response shows; `None` for records of requests only.
    fn shape(version: &ApiVersion) -> Option<&Shape<Self>>;

    /// The rules that bind the version.
    fn rules(version: &ApiVersion) -> &'static [Rule<Self>];

    /// What other versions call the fields.
    fn other_names(names: &OtherVersionsNames) -> &OtherNames<Self>;

    /// The field, if it belongs to this record.
    fn field_of(field: Field) -> Option<Self::Field>;

    /// The record as a trainee, which has nested records.
    fn as_trainee(record: &dyn Stored<Self>) -> Option<&dyn Stored<Trainee>> {
        let _ = record;
        None
    }
}

/// A nested record that requests and responses of a version carry.
pub trait WireNested: WireRecord + NestedRecord {
    /// What a body with one is.
    const KIND: RecordKind;

    /// What responses show.
    fn shapes(version: &ApiVersion) -> &NestedShapes<Self>;
}

macro_rules! wire_records {
    ($($record:ty: $name:ident, $shape:expr $(, as $trainee:ty)?;)+) => {$(
        impl WireRecord for $record {
            fn inputs(version: &ApiVersion) -> &Inputs<Self> {
                &version.inputs.$name
            }

            fn shape(version: &ApiVersion) -> Option<&Shape<Self>> {
                let shape: fn(&ApiVersion) -> Option<&Shape<Self>> = $shape;
                shape(version)
            }

            fn rules(version: &ApiVersion) -> &'static [Rule<Self>] {
                version.rules.$name
            }

            fn other_names(names: &OtherVersionsNames) -> &OtherNames<Self> {
                &names.$name
            }

            fn field_of(field: Field) -> Option<Self::Field> {
                field.to_record_field()
            }

            $(fn as_trainee(record: &dyn Stored<Self>) -> Option<&dyn Stored<$trainee>> {
                Some(record)
            })?
        }
    )+};
}
wire_records! {
    Trainee: trainee, |version| Some(&version.shapes.trainee), as Trainee;
    Withdrawal: withdrawal, |_| None;
    Deferral: deferral, |_| None;
    Recommendation: recommendation, |_| None;
}

macro_rules! nested_wire_records {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {$(
        wire_records! { domain::$record: $name, |version| Some(&version.shapes.$name.alone); }

        impl WireNested for domain::$record {
            const KIND: RecordKind = RecordKind::$record;

            fn shapes(version: &ApiVersion) -> &NestedShapes<Self> {
                &version.shapes.$name
            }
        }
    )+};
}
nested_kinds!([nested_wire_records]);

/// Calls a generic function for the type of each record; gives an array of the results, in the
/// order of the contract.
#[macro_export]
macro_rules! for_each_record {
    (@kinds $call:tt
        $( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        [
            ::domain::call_with_record!(::domain::Trainee, $call),
            $( ::domain::call_with_record!(::domain::$record, $call), )+
            ::domain::call_with_record!(::domain::Withdrawal, $call),
            ::domain::call_with_record!(::domain::Deferral, $call),
            ::domain::call_with_record!(::domain::Recommendation, $call),
        ]
    };
    ($($call:tt)+) => {
        ::domain::nested_kinds!([$crate::for_each_record] @kinds ($($call)+))
    };
}
#[doc(inline)]
pub use crate::for_each_record;
