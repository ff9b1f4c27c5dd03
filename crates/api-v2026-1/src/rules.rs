//! The rules of this version, in the order of their evaluation.

use domain::rules::{
    Rules, course, dates, deferral, degree, diversity, funding, gates, organisation, personal,
    placement, recommendation, required, withdrawal,
};

/// The rules of this version.
#[rustfmt::skip]
pub(crate) const RULES: Rules = Rules {
    trainee: &[
        personal::BORN, personal::OLD_ENOUGH, personal::NOT_TOO_OLD, personal::EMAIL, personal::AGENCY_ID,
        personal::APPLICATION_ID, diversity::ETHNICITY, diversity::DISABILITIES_DIFFER,
        dates::START_AS_PLANNED, dates::START_NOT_TOO_LATE, dates::END_NOT_TOO_LATE, dates::END_NOT_TOO_EARLY, dates::END_AFTER_START,
        dates::STARTED_NOT_TOO_EARLY, dates::STARTED_NOT_IN_FUTURE,
        course::ROUTE_IN_YEAR, course::PRIMARY_SUBJECT, course::EARLY_YEARS_SUBJECT, course::EARLY_YEARS_AGE_RANGE,
        course::SECOND_SUBJECT_DIFFERS, course::THIRD_SUBJECT_DIFFERS, course::COURSE_YEAR_NUMBER, course::STUDY_MODE_BY_ROUTE,
        course::QUALIFICATION_AIM, course::IQTS_COUNTRY_LEAVES, course::IQTS_COUNTRY, course::NO_IQTS_COUNTRY,
        funding::VETERANS_INITIATIVE, funding::STUDENT_FINANCE, funding::FUNDING_WITH_FINANCE, funding::FUNDING_EXISTS,
        funding::INITIATIVE, funding::ADDITIONAL_INITIATIVE,
        organisation::TRAINING_PARTNER, organisation::EMPLOYING_SCHOOL,
        required::FIRST_NAMES, required::LAST_NAME, required::DATE_OF_BIRTH, required::SEX, required::EMAIL,
        required::AGENCY_ID, required::TRAINING_ROUTE, required::ITT_START_DATE, required::ITT_END_DATE,
        required::COURSE_SUBJECT_1, required::COURSE_AGE_RANGE, required::COURSE_YEAR, required::ITT_AIM,
        required::FUND_CODE, required::FUNDING_METHOD,
    ],
    placement: &[placement::URN, placement::SCHOOL, placement::NAME, placement::POSTCODE],
    degree: &[
        degree::KIND, degree::GRADE_RECORDED, degree::SUBJECT, degree::GRADUATION_YEAR, degree::GRADUATION_YEAR_BOUNDS,
        degree::COUNTRY, degree::UK_DEGREE, degree::NON_UK_DEGREE, degree::COUNTRY_REQUIRED, degree::GRADE,
    ],
    withdrawal: &[
        withdrawal::STATE, withdrawal::STARTED, withdrawal::DATE, withdrawal::DATE_AFTER_START, withdrawal::TRIGGER,
        withdrawal::FUTURE_INTEREST, withdrawal::REASONS_ONCE, withdrawal::REASONS, withdrawal::ANOTHER_REASON,
        withdrawal::SAFEGUARDING,
    ],
    deferral: &[deferral::DATE, deferral::STATE],
    recommendation: &[
        recommendation::DATE, recommendation::DATE_NOT_IN_FUTURE, recommendation::DATE_AFTER_START,
        recommendation::DEGREE, recommendation::PLACEMENTS, recommendation::EMPLOYING_SCHOOL, recommendation::STATE,
    ],
    gates: &[gates::FINISHED_RECORDS],
    ..Rules::NONE
};
