//! A placement: a period of school experience during the training.

use std::borrow::Cow;
use std::cmp::Ordering;

use crate::fields::dictionary::record;
use crate::fields::value::{Integer, Text, Timestamp, Value};
use crate::lists::Lists;
use crate::records::organisations::Organisations;
use crate::records::record::{NestedKind, SchoolFields, Stored};

record! {
    /// A period of school experience during the training.
    Placement / PlacementField / PlacementChanges named "placement" of (), ignored by given_by_school {
        inputs {
            /// URN of the school, 6 digits.
            urn: Text;
            /// Name of the school.
            name: Text, max 255;
            /// Postcode of the school.
            postcode: Text, max 8;
        }
        service {
            /// Identifier of the placement, made by the service; null while a request is only tried
            /// out.
            placement_id: Text;
            /// Number of the school in the register of schools; null when the school is not known.
            school_id: Integer, set_from "urn";
            /// When the placement was made.
            created_at: Timestamp, never_null;
            /// When the placement changed last.
            updated_at: Timestamp, never_null;
        }
        derived {
            /// URN and postcode on one line.
            address: Text = address;
        }
    }
}

impl NestedKind for Placement {
    const SCHOOL: Option<SchoolFields<PlacementField>> = Some(SchoolFields {
        urn: PlacementField::urn,
        name: PlacementField::name,
        postcode: PlacementField::postcode,
    });

    fn compare(&self, other: &Self) -> Ordering {
        self.created_at.cmp(&other.created_at)
    }

    /// Returns the name and the postcode if the placement is in a known school.
    fn mirrored_fields(&self) -> &'static [PlacementField] {
        if self.school_id.is_some() {
            &[PlacementField::name, PlacementField::postcode]
        } else {
            &[]
        }
    }
}

/// Implements `Record::ignored_fields`: a known school provides the name and the postcode of its
/// placements (contract, section 2.2).
fn given_by_school(
    placement: &Placement,
    organisations: &Organisations,
) -> &'static [PlacementField] {
    match placement
        .urn
        .as_deref()
        .and_then(|urn| organisations.school(urn))
    {
        Some(_) => &[PlacementField::name, PlacementField::postcode],
        None => &[],
    }
}

/// Returns the address: `URN <urn>, <postcode>`. If only one of them is known, the address consists
/// of that one (contract, section 2.2).
fn address<'a>(placement: &'a dyn Stored<Placement>, _: &'a Lists) -> Value<'a> {
    match (
        placement.text(PlacementField::urn),
        placement.text(PlacementField::postcode),
    ) {
        (Some(urn), Some(postcode)) => Value::Text(Cow::Owned(format!("URN {urn}, {postcode}"))),
        (Some(urn), None) => Value::Text(Cow::Owned(format!("URN {urn}"))),
        (None, Some(postcode)) => Value::Text(postcode),
        (None, None) => Value::Null,
    }
}
