//! The words of fields whose values are a few fixed words, not codes of a list.

/// The source of a record that a request made.
pub const FROM_API: &str = "api";
/// Where a record came from.
pub const RECORD_SOURCES: &[&str] = &[
    FROM_API,
    "manual",
    "csv",
    "apply",
    "legacy",
    "agency_collection",
    "agency_trn_data",
];
/// The training started as planned.
pub const STARTED_ON_TIME: &str = "itt_started_on_time";
/// Whether the training started as planned, on records that say so.
pub const COMMENCEMENT_STATUSES: &[&str] =
    &[STARTED_ON_TIME, "itt_started_later", "itt_not_yet_started"];
/// Who decides a withdrawal.
pub const WITHDRAWAL_TRIGGERS: &[&str] = &["provider", "trainee"];
/// Whether a withdrawn trainee may want to train later.
pub const FUTURE_INTERESTS: &[&str] = &["yes", "no", "unknown"];
/// Phases of education.
pub const PHASES: &[&str] = &["early_years", "primary", "secondary"];
/// Levels of a course.
pub const LEVELS: &[&str] = &["undergrad", "postgrad"];
/// Professional statuses that a course leads to.
pub const QUALIFICATIONS: &[&str] = &["QTS", "EYTS"];
/// Tiers of a bursary.
pub const BURSARY_TIERS: &[&str] = &["tier_one", "tier_two", "tier_three"];
/// The ethnicity or the disability was disclosed.
pub const DIVERSITY_DISCLOSED: &str = "diversity_disclosed";
/// Neither was.
pub const DIVERSITY_NOT_DISCLOSED: &str = "diversity_not_disclosed";
/// Whether ethnicity or disability was disclosed.
pub const DIVERSITY_DISCLOSURES: &[&str] = &[DIVERSITY_DISCLOSED, DIVERSITY_NOT_DISCLOSED];
/// The trainee has a disability.
pub const DISABLED: &str = "disabled";
/// The trainee has none.
pub const NO_DISABILITY: &str = "no_disability";
/// The trainee did not say.
pub const DISABILITY_NOT_PROVIDED: &str = "disability_not_provided";
/// Whether a disability was disclosed.
pub const DISABILITY_DISCLOSURES: &[&str] = &[DISABLED, NO_DISABILITY, DISABILITY_NOT_PROVIDED];
