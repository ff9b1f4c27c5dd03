//! Looks up the definitions of a version by the type of a record.

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
    /// Returns the fields that requests can set.
    fn inputs(version: &ApiVersion) -> &Inputs<Self>;

    /// Returns the fields of responses, or `None` if only requests have the record.
    fn shape(version: &ApiVersion) -> Option<&Shape<Self>>;

    /// Returns the rules of the version for the record.
    fn rules(version: &ApiVersion) -> &'static [Rule<Self>];

    /// Returns the names of other versions for the fields of the record.
    fn other_names(names: &OtherVersionsNames) -> &OtherNames<Self>;

    /// Returns the field, or `None` if it belongs to another record.
    fn field_of(field: Field) -> Option<Self::Field>;

    /// Returns the record if it is a trainee, else `None`.
    fn as_trainee(record: &dyn Stored<Self>) -> Option<&dyn Stored<Trainee>> {
        let _ = record;
        None
    }
}

/// A nested record that requests and responses of a version carry.
pub trait WireNested: WireRecord + NestedRecord {
    /// The kind of a body with one record.
    const KIND: RecordKind;

    /// Returns the fields of responses.
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

/// Calls a generic function for the type of each record. Evaluates to an array of the results, in
/// the order of the contract.
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
