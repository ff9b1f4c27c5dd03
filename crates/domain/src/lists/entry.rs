//! The entries of code lists, and the facts that follow from a code.

use uuid::Uuid;

/// One code of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The code. Leading zeros matter.
    pub code: String,
    /// The short name.
    pub name: String,
    /// The first academic year in which the code may be used.
    pub start_year: Option<i32>,
    /// The last academic year in which the code may be used.
    pub end_year: Option<i32>,
    /// The entry's stable identifier: the one that the sector publishes, where the list has a
    /// column `uuid`, else one that follows from the list's name and the code.
    pub uuid: Uuid,
}

/// What follows from a training route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The neutral name, such as `provider_led_postgrad`.
    pub key: String,
    /// `undergrad` or `postgrad`.
    pub level: &'static str,
    /// `QTS` or `EYTS`.
    pub qualification: &'static str,
    /// Whether the route trains for the early years.
    pub early_years: bool,
    /// Placements needed before a recommendation.
    pub min_placements: u32,
    /// Whether a degree is needed before a recommendation.
    pub degree_required: bool,
    /// Whether the study mode must be given.
    pub study_mode_required: bool,
    /// Whether the country of training must be given.
    pub iqts_country_required: bool,
    /// Whether an employing school is needed before a recommendation.
    pub employing_school_required_for_award: bool,
}

/// What follows from an age range: its two ages in years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgeRange {
    /// The youngest age.
    pub min_age: i64,
    /// The oldest age.
    pub max_age: i64,
}

/// What follows from an ethnicity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ethnicity {
    /// The ethnic group.
    pub group: String,
    /// The ethnic background.
    pub background: String,
}

/// What follows from a funding method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FundingMethod {
    /// `bursary`, `scholarship` or `grant`; `None` for no funding.
    pub funding_type: Option<String>,
    /// The tier of a bursary.
    pub bursary_tier: Option<String>,
}

/// A reason of a withdrawal, for one trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawalReason {
    /// The code; the same one can stand for both triggers.
    pub code: String,
    /// The short name.
    pub name: String,
    /// `provider` or `trainee`.
    pub trigger: String,
    /// Whether another reason must be given in words.
    pub requires_another_reason: bool,
    /// Whether the safeguarding concerns must be given in words.
    pub requires_safeguarding_concern_reasons: bool,
}
