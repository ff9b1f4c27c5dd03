//! The words of fields whose values are a few fixed words, not codes of a list.

/// Where a record came from.
pub const RECORD_SOURCES: &[&str] =
    &["api", "manual", "csv", "apply", "legacy", "agency_collection", "agency_trn_data"];
/// Whether the training started as planned, on records that say so.
pub const COMMENCEMENT_STATUSES: &[&str] = &["itt_started_on_time", "itt_started_later", "itt_not_yet_started"];
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
/// Whether ethnicity or disability was disclosed.
pub const DIVERSITY_DISCLOSURES: &[&str] = &["diversity_disclosed", "diversity_not_disclosed"];
/// Whether a disability was disclosed.
pub const DISABILITY_DISCLOSURES: &[&str] = &["disabled", "no_disability", "disability_not_provided"];
