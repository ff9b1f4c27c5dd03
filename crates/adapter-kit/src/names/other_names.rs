//! Field names of other versions: names that a version refuses, and names that it ignores with a
//! `Warning`.

use domain::{Deferral, Field, Recommendation, Record, Trainee, Withdrawal, nested_kinds};

use crate::label::Label;

/// Names of other versions for the fields of one record.
#[derive(Debug)]
pub struct OtherNames<R: Record> {
    /// Names of inputs of this version in other versions. A request with such a name is refused;
    /// the error message has the right name.
    pub refused: Vec<(&'static str, R::Field)>,
    /// All other names of other versions. A request with one of these names is accepted, but the
    /// value is not stored.
    pub ignored: Vec<IgnoredName>,
}

macro_rules! declare {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// Names of other versions, by record.
        #[derive(Debug)]
        #[expect(missing_docs, reason = "one field for each record")]
        pub struct OtherVersionsNames {
            pub trainee: OtherNames<Trainee>,
            $( pub $name: OtherNames<domain::$record>, )+
            pub withdrawal: OtherNames<Withdrawal>,
            pub deferral: OtherNames<Deferral>,
            pub recommendation: OtherNames<Recommendation>,
        }
    };
}
nested_kinds!([declare]);

/// A name that only other versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IgnoredName {
    /// The name.
    pub name: &'static str,
    /// The origin of the name; `None` if an earlier version has the name.
    pub later: Option<LaterName>,
}

/// The origin of a name that only later versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaterName {
    /// The first version that has the name.
    pub version: Label,
    /// The field of this version with that later name; `None` if this version lacks the field.
    pub field: Option<Field>,
}

/// The name of a field in requests of a released version. The name is kept after the version is
/// removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormerName {
    /// The version.
    pub version: Label,
    /// The name.
    pub name: &'static str,
    /// The field of the dictionary.
    pub field: Field,
}
