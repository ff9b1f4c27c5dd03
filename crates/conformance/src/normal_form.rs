//! The normal form of a record: the values that a register stores for a request, field by field.
//!
//! This is a second, independent implementation of the reader and the adjustments that all
//! versions share. The checks compare its results with those of the real code.

use domain::records::organisations::{Organisations, URNS_WITHOUT_SCHOOL};
use domain::{Degree, List, Lists, Placement, Trainee, commands};

/// The code of the United Kingdom. The list of countries contains only the parts of the United
/// Kingdom.
const UNITED_KINGDOM: &str = "GB";
/// The funding method that excludes a training initiative.
const VETERANS_BURSARY: &str = "C";

/// Returns the record as a register reads it: five fields have no superfluous white space.
pub(super) fn as_read(sent: &Trainee) -> Trainee {
    let mut trainee = sent.clone();
    for text in [
        &mut trainee.first_names,
        &mut trainee.middle_names,
        &mut trainee.last_name,
        &mut trainee.email,
        &mut trainee.agency_id,
    ]
    .into_iter()
    .flatten()
    {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
    trainee
}

/// Returns the record as a register stores it.
pub(super) fn as_stored(sent: &Trainee, organisations: &Organisations, lists: &Lists) -> Trainee {
    let mut trainee = as_read(sent);
    // A start date that equals the planned one is not stored.
    if trainee.trainee_start_date == trainee.itt_start_date {
        trainee.trainee_start_date = None;
    }
    let stands_for_none = |urn: &String| URNS_WITHOUT_SCHOOL.contains(&urn.as_str());
    if trainee
        .training_partner_urn
        .as_ref()
        .is_some_and(stands_for_none)
    {
        trainee.training_partner_urn = None;
        trainee.training_partner_ukprn = None;
    }
    if trainee
        .employing_school_urn
        .as_ref()
        .is_some_and(stands_for_none)
    {
        trainee.employing_school_urn = None;
    }
    if trainee.funding_method.as_deref() == Some(VETERANS_BURSARY) {
        trainee.training_initiative = None;
    }
    trainee
        .placements
        .iter_mut()
        .for_each(|placement| normalise_placement(placement, organisations));
    trainee
        .degrees
        .iter_mut()
        .for_each(|degree| normalise_degree(degree, lists));
    commands::sort_nested(&mut trainee);
    trainee
}

/// Replaces the name and postcode of a placement by those of its school, if the school is known.
fn normalise_placement(placement: &mut Placement, organisations: &Organisations) {
    if let Some(school) = placement
        .urn
        .as_deref()
        .and_then(|urn| organisations.school(urn))
    {
        placement.name = Some(school.name.clone());
        placement.postcode.clone_from(&school.postcode);
    }
}

/// Removes the fields of the other kind of degree, replaces two codes by the recorded ones, and
/// removes an institution that is not in the list.
fn normalise_degree(degree: &mut Degree, lists: &Lists) {
    let is_uk = degree.institution.is_some()
        || degree
            .country
            .as_deref()
            .is_none_or(|country| country == UNITED_KINGDOM || lists.is_uk(country));
    if is_uk {
        degree.country = None;
        degree.non_uk_degree = None;
    } else {
        degree.uk_degree = None;
    }
    if degree.institution.as_deref() == Some("0133") {
        degree.institution = Some("0149".to_owned());
    }
    degree.institution = degree
        .institution
        .take()
        .filter(|code| lists.contains(List::Institution, code));
    if degree.grade.as_deref() == Some("09") {
        degree.grade = Some("14".to_owned());
    }
    degree.other_grade = None;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::Sample;
    use crate::sample_version::TODAY;

    #[test]
    fn stored_record_is_in_normal_form() {
        let sample = Sample::new(2, 300, TODAY).unwrap();
        for trainee in &sample.stored {
            assert_eq!(
                as_stored(trainee, &sample.organisations, Lists::embedded()),
                *trainee
            );
        }
    }
}
