//! A record as a careless client would send it: what a register takes, and keeps in another form.

use super::random::Random;
use crate::degree::Degree;
use crate::organisations::URNS_WITHOUT_SCHOOL;
use crate::rules::course::PRIMARY_SUBJECT_CODE;
use crate::rules::funding::VETERANS_BURSARY;
use crate::trainee::Trainee;

/// Leaves the record's meaning alone, and its tidiness not.
pub(super) fn roughen(trainee: &mut Trainee, random: &Random) {
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
        *text = spaced(text, random);
    }
    // Other text is kept as it is sent.
    if let Some(id) = trainee.provider_trainee_id.as_mut().filter(|_| random.chance(30)) {
        *id = format!(" {id}  ");
    }
    if trainee.trainee_start_date.is_none() && random.chance(50) {
        trainee.trainee_start_date = trainee.itt_start_date;
    }
    if trainee.training_partner_urn.is_none() && trainee.training_partner_ukprn.is_none() && random.chance(30) {
        trainee.training_partner_urn = Some(random.one_of(URNS_WITHOUT_SCHOOL).to_owned());
    }
    if trainee.employing_school_urn.is_none() && random.chance(30) {
        trainee.employing_school_urn = Some(random.one_of(URNS_WITHOUT_SCHOOL).to_owned());
    }
    if trainee.funding_method.as_deref() == Some(VETERANS_BURSARY) {
        trainee.training_initiative = Some("026".to_owned());
    }
    if trainee.course_subject_1.as_deref() == Some(PRIMARY_SUBJECT_CODE) && trainee.course_subject_2.is_some() {
        std::mem::swap(&mut trainee.course_subject_1, &mut trainee.course_subject_2);
    }
    for degree in &mut trainee.degrees {
        roughen_degree(degree, random);
    }
}

/// White space around the text, and more than one space between its words.
fn spaced(text: &str, random: &Random) -> String {
    let [before, between, after] = [0; 3].map(|_| random.one_of(["  ", " \t", "\u{a0} ", "   "]));
    format!("{before}{}{after}", text.replace(' ', between))
}

fn roughen_degree(degree: &mut Degree, random: &Random) {
    if degree.country.is_none() {
        degree.institution = random
            .one_of([Some("0133"), Some("9999"), Some("University of Nowhere"), None])
            .map(str::to_owned)
            .or(degree.institution.take());
        degree.country = random.one_of([None, Some("GB"), Some("XF"), Some("XI")]).map(str::to_owned);
        degree.non_uk_degree = degree.uk_degree.clone().filter(|_| random.chance(20));
        if random.chance(30) {
            degree.grade = Some("09".to_owned());
        }
    } else {
        degree.uk_degree = degree.non_uk_degree.clone().filter(|_| random.chance(20));
    }
    degree.other_grade = random.chance(20).then(|| "with commendation".to_owned());
}
