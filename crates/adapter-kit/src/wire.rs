//! What a version says of a record, by the type of the record.

use domain::rules::Rule;
use domain::{Deferral, Degree, Field, Placement, Recommendation, Record, Stored, Trainee, Withdrawal};

use crate::names::other_names::{OtherNames, OtherVersionsNames};
use crate::shape::{Inputs, Shape};
use crate::version::ApiVersion;

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

macro_rules! wire_records {
    ($($record:ident: $name:ident, $shape:expr $(, as $trainee:ident)?;)+) => {$(
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
                field.of_record()
            }

            $(fn as_trainee(record: &dyn Stored<Self>) -> Option<&dyn Stored<$trainee>> {
                Some(record)
            })?
        }
    )+};
}
wire_records! {
    Trainee: trainee, |version| Some(&version.shapes.trainee), as Trainee;
    Placement: placement, |version| Some(&version.shapes.placement);
    Degree: degree, |version| Some(&version.shapes.degree);
    Withdrawal: withdrawal, |_| None;
    Deferral: deferral, |_| None;
    Recommendation: recommendation, |_| None;
}

/// Calls a generic function for the type of each record; gives an array of the results, in the order of the contract.
#[macro_export]
macro_rules! for_each_record {
    ($function:ident($($argument:expr),* $(,)?)) => {
        [
            $function::<::domain::Trainee>($($argument),*),
            $function::<::domain::Placement>($($argument),*),
            $function::<::domain::Degree>($($argument),*),
            $function::<::domain::Withdrawal>($($argument),*),
            $function::<::domain::Deferral>($($argument),*),
            $function::<::domain::Recommendation>($($argument),*),
        ]
    };
}
#[doc(inline)]
pub use crate::for_each_record;
