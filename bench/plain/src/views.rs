//! What all versions show in the same way: nested records and derived values.

use serde::ser::SerializeSeq as _;
use serde::{Serialize, Serializer};

use crate::records::{self, FullTrainee, Time, Trainee};
use crate::reference::LISTS;

/// The number of disabilities of a trainee.
pub(crate) const DISABILITIES: usize = 9;
/// The UUID of a UK institution that is not in the list.
const OTHER_INSTITUTION: &str = "02132969-f5bc-47ca-be9c-b6f6d5b05e1b";
/// The ethnicities that mean "not provided", and the disabilities.
const NO_ETHNICITY: [&str; 3] = ["997", "998", "999"];
const NO_ANSWER: [&str; 2] = ["98", "99"];
const NO_DISABILITY: &str = "95";

/// A trainee in the form of a version.
pub(crate) trait View:
    From<Trainee> + From<FullTrainee> + Serialize + Send + 'static
{
    const VERSION: &'static str;
}

/// A field that is null in every record.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Null;

/// A text of words separated by commas, shown as an array.
#[derive(Debug)]
pub(crate) struct Words(pub(crate) String);

impl Serialize for Words {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut array = serializer.serialize_seq(None)?;
        for word in self.0.split(',').filter(|word| !word.is_empty()) {
            array.serialize_element(word)?;
        }
        array.end()
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Placement {
    placement_id: String,
    urn: Option<String>,
    name: String,
    address: Option<String>,
    postcode: Option<String>,
    created_at: Time,
    updated_at: Time,
}

impl From<records::Placement> for Placement {
    fn from(placement: records::Placement) -> Self {
        let address = match (&placement.urn, &placement.postcode) {
            (Some(urn), Some(postcode)) => Some(format!("URN {urn}, {postcode}")),
            (Some(urn), None) => Some(format!("URN {urn}")),
            (None, postcode) => postcode.clone(),
        };
        Self {
            placement_id: placement.placement_id,
            urn: placement.urn,
            name: placement.name,
            address,
            postcode: placement.postcode,
            created_at: placement.created_at,
            updated_at: placement.updated_at,
        }
    }
}

#[derive(Debug, Serialize)]
pub(crate) struct Degree {
    degree_id: String,
    uk_degree: Option<String>,
    non_uk_degree: Option<String>,
    subject: String,
    institution: Option<String>,
    graduation_year: i64,
    grade: Option<String>,
    other_grade: Null,
    country: Option<String>,
    institution_uuid: Option<&'static str>,
    uk_degree_uuid: Option<&'static str>,
    subject_uuid: Option<&'static str>,
    grade_uuid: Option<&'static str>,
    created_at: Time,
    updated_at: Time,
}

impl From<records::Degree> for Degree {
    fn from(degree: records::Degree) -> Self {
        let uuid_of_institution = match &degree.institution {
            Some(code) => LISTS.institution.get(code).map(|entry| &*entry.uuid),
            None => degree.uk_degree.as_ref().map(|_| OTHER_INSTITUTION),
        };
        let (types, grades) = (&LISTS.degree_type, &LISTS.degree_grade);
        let uk_degree = degree.uk_degree.as_ref().and_then(|code| types.get(code));
        let grade = degree.grade.as_ref().and_then(|code| grades.get(code));
        Self {
            institution_uuid: uuid_of_institution,
            uk_degree_uuid: uk_degree.map(|entry| &*entry.uuid),
            subject_uuid: LISTS
                .degree_subject
                .get(&degree.subject)
                .map(|entry| &*entry.uuid),
            grade_uuid: grade.map(|entry| &*entry.uuid),
            degree_id: degree.degree_id,
            uk_degree: degree.uk_degree,
            non_uk_degree: degree.non_uk_degree,
            subject: degree.subject,
            institution: degree.institution,
            graduation_year: degree.graduation_year,
            grade: degree.grade,
            other_grade: Null,
            country: degree.country,
            created_at: degree.created_at,
            updated_at: degree.updated_at,
        }
    }
}

/// Returns the codes of the disabilities by position.
pub(crate) fn disability_codes(disabilities: &str) -> [Option<String>; DISABILITIES] {
    let mut codes = disabilities.split(',');
    std::array::from_fn(|_| {
        codes
            .next()
            .filter(|code| !code.is_empty())
            .map(str::to_owned)
    })
}

/// The disabilities as an object of their own.
#[derive(Debug, Serialize)]
pub(crate) struct Disabilities {
    #[serde(skip_serializing_if = "Option::is_none")]
    disability1: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability2: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability3: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability4: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability5: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability6: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability7: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability8: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    disability9: Option<String>,
}

impl Disabilities {
    /// Returns the disabilities, or `None` if there is no code.
    pub(crate) fn from_codes(disabilities: &str) -> Option<Self> {
        if disabilities.is_empty() {
            return None;
        }
        let [
            disability1,
            disability2,
            disability3,
            disability4,
            disability5,
            disability6,
            disability7,
            disability8,
            disability9,
        ] = disability_codes(disabilities);
        Some(Self {
            disability1,
            disability2,
            disability3,
            disability4,
            disability5,
            disability6,
            disability7,
            disability8,
            disability9,
        })
    }
}

/// The values of a trainee that follow from the stored ones.
#[derive(Debug)]
pub(crate) struct Derived {
    pub(crate) ethnic_group: &'static str,
    pub(crate) ethnic_background: &'static str,
    pub(crate) diversity_disclosure: &'static str,
    pub(crate) disability_disclosure: &'static str,
    pub(crate) course_min_age: i64,
    pub(crate) course_max_age: i64,
    pub(crate) course_education_phase: &'static str,
    pub(crate) course_qualification: &'static str,
    pub(crate) course_level: &'static str,
    pub(crate) applying_for_bursary: bool,
    pub(crate) applying_for_scholarship: bool,
    pub(crate) applying_for_grant: bool,
    pub(crate) bursary_tier: Option<&'static str>,
    pub(crate) training_partner_not_applicable: bool,
    pub(crate) employing_school_not_applicable: bool,
}

impl From<&Trainee> for Derived {
    fn from(trainee: &Trainee) -> Self {
        let ethnicity = LISTS.ethnicity.get(&trainee.ethnicity);
        let ages = LISTS.course_age_range.get(&trainee.course_age_range);
        let route = LISTS.training_route.get(&trainee.training_route);
        let funding = LISTS.funding_method.get(&trainee.funding_method);
        let funding_type = funding.and_then(|method| method.funding_type.as_deref());
        let disability_disclosure = disability_disclosure(&trainee.disabilities);
        let is_disclosed = disability_disclosure != "disability_not_provided"
            || !NO_ETHNICITY.contains(&trainee.ethnicity.as_str());
        Self {
            ethnic_group: ethnicity.map_or("", |entry| &entry.group),
            ethnic_background: ethnicity.map_or("", |entry| &entry.background),
            diversity_disclosure: if is_disclosed {
                "diversity_disclosed"
            } else {
                "diversity_not_disclosed"
            },
            disability_disclosure,
            course_min_age: ages.map_or(0, |entry| entry.min_age),
            course_max_age: ages.map_or(0, |entry| entry.max_age),
            course_education_phase: match route {
                Some(route) if route.early_years => "early_years",
                _ => ages.map_or("", |entry| &entry.phase),
            },
            course_qualification: route.map_or("", |entry| &entry.qualification),
            course_level: route.map_or("", |entry| &entry.level),
            applying_for_bursary: funding_type == Some("bursary"),
            applying_for_scholarship: funding_type == Some("scholarship"),
            applying_for_grant: funding_type == Some("grant"),
            bursary_tier: funding.and_then(|method| method.bursary_tier.as_deref()),
            training_partner_not_applicable: trainee.training_partner_urn.is_none()
                && trainee.training_partner_ukprn.is_none(),
            employing_school_not_applicable: trainee.employing_school_urn.is_none(),
        }
    }
}

fn disability_disclosure(disabilities: &str) -> &'static str {
    let mut codes = disabilities.split(',').filter(|code| !code.is_empty());
    if codes.clone().all(|code| NO_ANSWER.contains(&code)) {
        "disability_not_provided"
    } else if codes.all(|code| code == NO_DISABILITY) {
        "no_disability"
    } else {
        "disabled"
    }
}
