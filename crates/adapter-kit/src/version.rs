//! A version of the API, as a value.

use chrono::NaiveDate;
use domain::accepted_codes::AcceptedCodes;
use domain::rules::Rules;
use domain::{Deferral, Degree, Placement, Recommendation, Record, Stored, Trainee, Withdrawal};

use crate::endpoint::Endpoint;
use crate::label::Label;
use crate::shape::{Inputs, Shape};
use crate::versions::{Foreign, UnheardName};

/// Everything that a version of the API is.
#[derive(Debug, Clone, Copy)]
pub struct ApiVersion {
    /// Its label, which is part of its path.
    pub label: Label,
    /// Since when it exists, and for how long.
    pub publication: Publication,
    /// What its responses look like.
    pub shapes: Shapes,
    /// What its requests can set.
    pub inputs: AllInputs,
    /// The rules that bind it.
    pub rules: Rules,
    /// The codes that it accepts.
    pub accepted_codes: AcceptedCodes,
    /// The endpoints that it has.
    pub endpoints: Endpoints,
    /// The newest version whose names for its inputs it refuses: its own label when it is made, and never changed after
    /// it was released. Names that only later versions have are accepted, not stored, and named in a `Warning`.
    pub refuses_names_up_to: Label,
    /// How it tells problems in nested items, when a client asks for problems by field.
    pub nested_errors: NestedErrors,
    /// Its words for things that have had several.
    pub words: Words,
    /// What a client should know, one sentence each.
    pub notes: &'static [&'static str],
}

/// Since when a version exists, and for how long. Its successor is the next one in the list of
/// versions.
#[derive(Debug, Clone, Copy)]
pub struct Publication {
    /// The day on which it appeared.
    pub since: NaiveDate,
    /// Where it can be used.
    pub status: Status,
    /// The day from which it should no longer be used.
    pub deprecated_on: Option<NaiveDate>,
    /// The day on which it is removed.
    pub sunset_on: Option<NaiveDate>,
}

/// Where a version can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// In the sandbox and in production.
    Released,
    /// In the sandbox.
    SandboxOnly,
}

/// What the responses of a version look like. A trainee in a list has no nested records.
#[derive(Debug, Clone, Copy)]
pub struct Shapes {
    /// A trainee.
    pub trainee: Shape<Trainee>,
    /// A placement from an endpoint of its own.
    pub placement: Shape<Placement>,
    /// A placement nested in a trainee.
    pub placement_nested: Shape<Placement>,
    /// A degree.
    pub degree: Shape<Degree>,
}

/// What the requests of a version can set.
#[derive(Debug, Clone, Copy)]
pub struct AllInputs {
    /// On a trainee.
    pub trainee: Inputs<Trainee>,
    /// On a placement.
    pub placement: Inputs<Placement>,
    /// On a degree.
    pub degree: Inputs<Degree>,
    /// To withdraw.
    pub withdrawal: Inputs<Withdrawal>,
    /// To defer.
    pub deferral: Inputs<Deferral>,
    /// To recommend.
    pub recommendation: Inputs<Recommendation>,
}

/// The endpoints of a version; what is not listed does not exist there.
#[derive(Debug, Clone, Copy)]
pub struct Endpoints {
    /// Endpoints to use.
    pub available: &'static [Endpoint],
    /// Endpoints that still work.
    pub deprecated: &'static [Deprecation],
}

/// An endpoint that still works and should no longer be used.
#[derive(Debug, Clone, Copy)]
pub struct Deprecation {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The day since when.
    pub since: NaiveDate,
    /// What to use instead.
    pub replaced_by: Endpoint,
    /// The version in which it is gone.
    pub removed_in: Label,
}

impl Endpoints {
    /// All endpoints that work, the deprecated ones included.
    pub fn all(&self) -> impl Iterator<Item = Endpoint> {
        self.available.iter().copied().chain(self.deprecated.iter().map(|gone| gone.endpoint))
    }

    /// Why an endpoint should no longer be used.
    #[must_use]
    pub fn deprecation(&self, endpoint: Endpoint) -> Option<&'static Deprecation> {
        self.deprecated.iter().find(|gone| gone.endpoint == endpoint)
    }
}

/// How problems in the items of a nested array are told by field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NestedErrors {
    /// Each under its path, like those of any other field.
    Flat,
    /// In an object under the name of the array.
    Nested,
}

/// The words of a version, where they have changed.
#[derive(Debug, Clone, Copy)]
pub struct Words {
    /// An organisation that delivers training together with the provider.
    pub training_partner: &'static str,
}

/// A date of a version's life, at build time.
#[must_use]
pub const fn date(year: i32, month: u32, day: u32) -> NaiveDate {
    match NaiveDate::from_ymd_opt(year, month, day) {
        Some(date) => date,
        None => panic!("no such day"),
    }
}

/// A record that has a place in a version.
pub trait Wire: Record {
    /// What a request can set.
    fn inputs(version: &ApiVersion) -> &Inputs<Self>;

    /// What a response shows, if it shows the record.
    fn shape(version: &ApiVersion) -> Option<&Shape<Self>>;

    /// What other versions call the same fields.
    fn foreign(foreign: &Foreign) -> &[(&'static str, Self::Field)];

    /// What other versions call that which this one does not have.
    fn unheard(foreign: &Foreign) -> &[UnheardName];

    /// Whether a field belongs to this record.
    fn own(field: domain::Field) -> Option<Self::Field>;

    /// The record as a trainee, which has nested records.
    fn as_trainee(record: &dyn Stored<Self>) -> Option<&dyn Stored<Trainee>> {
        let _ = record;
        None
    }
}

macro_rules! wire {
    ($($record:ident: $name:ident, $shape:expr $(, as $trainee:ident)?;)+) => {$(
        impl Wire for $record {
            fn inputs(version: &ApiVersion) -> &Inputs<Self> {
                &version.inputs.$name
            }

            fn shape(version: &ApiVersion) -> Option<&Shape<Self>> {
                let shape: fn(&ApiVersion) -> Option<&Shape<Self>> = $shape;
                shape(version)
            }

            fn foreign(foreign: &Foreign) -> &[(&'static str, Self::Field)] {
                &foreign.$name
            }

            fn unheard(foreign: &Foreign) -> &[UnheardName] {
                &foreign.unheard.$name
            }

            fn own(field: domain::Field) -> Option<Self::Field> {
                field.of_record()
            }

            $(fn as_trainee(record: &dyn Stored<Self>) -> Option<&dyn Stored<$trainee>> {
                Some(record)
            })?
        }
    )+};
}
wire! {
    Trainee: trainee, |version| Some(&version.shapes.trainee), as Trainee;
    Placement: placement, |version| Some(&version.shapes.placement);
    Degree: degree, |version| Some(&version.shapes.degree);
    Withdrawal: withdrawal, |_| None;
    Deferral: deferral, |_| None;
    Recommendation: recommendation, |_| None;
}
