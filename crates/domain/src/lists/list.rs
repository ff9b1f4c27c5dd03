//! The names and the embedded tables of the code lists.

use crate::fields::named_enum::named_enum;

macro_rules! lists {
    ($($(#[doc = $doc:literal])+ $list:ident = $name:literal,)+) => {
        named_enum! {
            /// A list of codes. The name of the list is the name of its file.
            List {
                $($(#[doc = $doc])+ $list = $name,)+
            }
        }

        impl List {
            /// Returns a short description of the list.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$list => concat!($($doc),+).trim_ascii()),+ }
            }

            pub(super) const fn embedded(self) -> &'static str {
                match self { $(Self::$list => include_str!(concat!("../../reference-data/", $name, ".csv"))),+ }
            }
        }
    };
}
lists! {
    /// Countries; the parts of the United Kingdom have their own codes.
    Country = "country",
    /// Age ranges of courses.
    CourseAgeRange = "course_age_range",
    /// Subjects of courses.
    CourseSubject = "course_subject",
    /// Grades of degrees.
    DegreeGrade = "degree_grade",
    /// Subjects of degrees.
    DegreeSubject = "degree_subject",
    /// Types of degrees.
    DegreeType = "degree_type",
    /// Disabilities.
    Disability = "disability",
    /// Ethnicities.
    Ethnicity = "ethnicity",
    /// Eligibility for student finance.
    FundCode = "fund_code",
    /// Bursaries, scholarships and grants.
    FundingMethod = "funding_method",
    /// Institutions that award degrees.
    Institution = "institution",
    /// Aims of the training.
    IttAim = "itt_aim",
    /// Academic awards that the training leads to.
    IttQualificationAim = "itt_qualification_aim",
    /// Nationalities.
    Nationality = "nationality",
    /// Sexes.
    Sex = "sex",
    /// Full time and part time.
    StudyMode = "study_mode",
    /// Training initiatives.
    TrainingInitiative = "training_initiative",
    /// Training routes.
    TrainingRoute = "training_route",
}

/// The table of available funding.
pub(super) const FUNDING_RULE: Table = Table {
    name: "funding_rule",
    text: include_str!("../../reference-data/funding_rule.csv"),
};
/// The table of withdrawal reasons.
pub(super) const WITHDRAWAL_REASON: Table = Table {
    name: "withdrawal_reason",
    text: include_str!("../../reference-data/withdrawal_reason.csv"),
};

/// An embedded table of reference data: a code list, funding rules or withdrawal reasons.
#[derive(Debug, Clone, Copy)]
pub struct Table {
    /// The name of the table and of its file.
    pub name: &'static str,
    /// The table as comma-separated values.
    pub text: &'static str,
}
