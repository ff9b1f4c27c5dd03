//! The words of fields with a fixed set of words instead of a code list.

/// The source of records created by requests.
pub const FROM_API: &str = "api";
/// The source of a record that comes from an uploaded file, also from a workbook.
pub const FROM_FILE: &str = "csv";
/// The sources of records.
pub const RECORD_SOURCES: &[&str] = &[
    FROM_API,
    "manual",
    FROM_FILE,
    "apply",
    "legacy",
    "agency_collection",
    "agency_trn_data",
];
/// The commencement status of a training that started as planned.
pub const STARTED_ON_TIME: &str = "itt_started_on_time";
/// The commencement statuses.
pub const COMMENCEMENT_STATUSES: &[&str] =
    &[STARTED_ON_TIME, "itt_started_later", "itt_not_yet_started"];
/// The triggers of a withdrawal: the provider or the trainee decided it.
pub const WITHDRAWAL_TRIGGERS: &[&str] = &["provider", "trainee"];
/// The answers to whether a withdrawn trainee may want to train later.
pub const FUTURE_INTERESTS: &[&str] = &["yes", "no", "unknown"];
/// The phases of education.
pub const PHASES: &[&str] = &["early_years", "primary", "secondary"];
/// The levels of a course.
pub const LEVELS: &[&str] = &["undergrad", "postgrad"];
/// The professional statuses that courses lead to.
pub const QUALIFICATIONS: &[&str] = &["QTS", "EYTS"];
/// The tiers of a bursary.
pub const BURSARY_TIERS: &[&str] = &["tier_one", "tier_two", "tier_three"];
/// The trainee disclosed the ethnicity or a disability status.
pub const DIVERSITY_DISCLOSED: &str = "diversity_disclosed";
/// The trainee disclosed neither the ethnicity nor a disability status.
pub const DIVERSITY_NOT_DISCLOSED: &str = "diversity_not_disclosed";
/// The diversity disclosures.
pub const DIVERSITY_DISCLOSURES: &[&str] = &[DIVERSITY_DISCLOSED, DIVERSITY_NOT_DISCLOSED];
/// The trainee has a disability.
pub const DISABLED: &str = "disabled";
/// The trainee has no disability.
pub const NO_DISABILITY: &str = "no_disability";
/// The trainee did not disclose a disability status.
pub const DISABILITY_NOT_PROVIDED: &str = "disability_not_provided";
/// The disability disclosures.
pub const DISABILITY_DISCLOSURES: &[&str] = &[DISABLED, NO_DISABILITY, DISABILITY_NOT_PROVIDED];
