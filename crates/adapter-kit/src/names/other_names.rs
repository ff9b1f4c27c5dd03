//! What other versions call the fields of a version: names that it refuses, and names that it
//! ignores with a `Warning`.

use domain::{Deferral, Field, Recommendation, Record, Trainee, Withdrawal, nested_kinds};

use crate::label::Label;

/// Names of other versions for the fields of one record.
#[derive(Debug)]
pub struct OtherNames<R: Record> {
    /// Names for inputs of this version; a request with one is refused with the right name.
    pub refused: Vec<(&'static str, R::Field)>,
    /// Names that this version neither has nor refuses; they are accepted and not stored.
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
    /// Where it comes from, when only later versions than this one have it.
    pub later: Option<LaterName>,
}

/// The origin of a name that only later versions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaterName {
    /// The first version that has the name.
    pub version: Label,
    /// The field of this version that it is another name for.
    pub field: Option<Field>,
}

/// A name that a released version has for a field in requests, and that outlives the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormerName {
    /// The version.
    pub version: Label,
    /// The name.
    pub name: &'static str,
    /// The field of the dictionary.
    pub field: Field,
}
