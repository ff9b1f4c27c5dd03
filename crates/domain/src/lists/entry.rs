//! The entries of code lists, and the facts about codes.

use uuid::Uuid;

/// One code of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The code. Leading zeros are significant.
    pub code: String,
    /// The short name.
    pub name: String,
    /// The first academic year of the code; `None` if it has no limit.
    pub start_year: Option<i32>,
    /// The last academic year of the code; `None` if it has no limit.
    pub end_year: Option<i32>,
    /// The stable identifier: the published one (column `uuid`), else one derived from the name of
    /// the list and the code.
    pub uuid: Uuid,
}

/// Facts about a training route.
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
    /// The minimum number of placements for a recommendation.
    pub min_placements: u32,
    /// Whether a recommendation requires a degree.
    pub degree_required: bool,
    /// Whether the route requires a study mode.
    pub study_mode_required: bool,
    /// Whether the route requires a country of training.
    pub iqts_country_required: bool,
    /// Whether a recommendation requires an employing school.
    pub employing_school_required_for_award: bool,
}

/// The ages of an age range, in years.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgeRange {
    /// The youngest age.
    pub min_age: i64,
    /// The oldest age.
    pub max_age: i64,
}

/// Facts about an ethnicity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ethnicity {
    /// The ethnic group.
    pub group: String,
    /// The ethnic background.
    pub background: String,
}

/// Facts about a funding method.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FundingMethod {
    /// `bursary`, `scholarship` or `grant`; `None` for no funding.
    pub funding_type: Option<String>,
    /// The tier of a bursary; `None` without tiers.
    pub bursary_tier: Option<String>,
}

/// A reason of a withdrawal for one trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithdrawalReason {
    /// The code. Both triggers can have a reason with the same code.
    pub code: String,
    /// The short name.
    pub name: String,
    /// `provider` or `trainee`.
    pub trigger: String,
    /// Whether the field `another_reason` is required.
    pub requires_another_reason: bool,
    /// Whether the field `safeguarding_concern_reasons` is required.
    pub requires_safeguarding_concern_reasons: bool,
}
