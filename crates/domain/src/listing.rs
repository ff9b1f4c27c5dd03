//! Which trainees of a provider a list shows (contract, section 4.2).

use chrono::NaiveDate;

use crate::fields::named_enum::named_enum;
use crate::fields::value::Timestamp;
use crate::lifecycle::State;

/// Records on a page when the client does not say (contract, section 4.2).
pub const DEFAULT_PER_PAGE: i64 = 50;
/// The most records on a page.
pub const MAX_PER_PAGE: i64 = 500;

/// The first academic cycle that a list can show.
pub const FIRST_CYCLE: i32 = 2009;
/// How many calendar years ahead the last academic cycle of a list begins.
pub const CYCLE_YEARS_AHEAD: i32 = 5;

/// What a list is narrowed to, and which part of it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The academic cycle, by the calendar year in which it begins.
    pub cycle: i32,
    /// How far the training has come.
    pub status: Option<Status>,
    /// Only records that were made or changed at this time or later.
    pub since: Option<Timestamp>,
    /// Only records with a teacher reference number, or only those without.
    pub has_trn: Option<bool>,
    /// The order, by the last change.
    pub order: Order,
    /// The page, counted from 1.
    pub page: i64,
    /// Records on a page.
    pub per_page: i64,
}

impl Listing {
    /// The number of records before the page.
    #[must_use]
    pub fn offset(&self) -> i64 {
        (self.page - 1).saturating_mul(self.per_page)
    }
}

/// The order of a list. Among records that changed at the same time the newest record comes first,
/// either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The last change first.
    NewestFirst,
    /// The last change last.
    OldestFirst,
}

named_enum! {
    /// How far a training has come, as a filter of a list.
    Status or UnknownStatus = "not the name of a status" {
        /// The planned first day is still to come, and the trainee has neither been deferred nor
        /// withdrawn.
        CourseNotYetStarted = "course_not_yet_started",
        /// The planned first day has come, and the training is not over.
        InTraining = "in_training",
        /// The training is paused.
        Deferred = "deferred",
        /// The award was confirmed.
        Awarded = "awarded",
        /// The trainee has left.
        Withdrawn = "withdrawn",
    }
}

impl Status {
    /// The states of the trainees that have the status.
    #[must_use]
    pub const fn states(self) -> &'static [State] {
        match self {
            Self::CourseNotYetStarted => &[
                State::SubmittedForTrn,
                State::TrnReceived,
                State::RecommendedForAward,
                State::Awarded,
            ],
            Self::InTraining => &[
                State::SubmittedForTrn,
                State::TrnReceived,
                State::RecommendedForAward,
            ],
            Self::Deferred => &[State::Deferred],
            Self::Awarded => &[State::Awarded],
            Self::Withdrawn => &[State::Withdrawn],
        }
    }

    /// Whether the planned first day must have come, must be still to come, or does not matter.
    #[must_use]
    pub const fn started(self) -> Option<bool> {
        match self {
            Self::CourseNotYetStarted => Some(false),
            Self::InTraining => Some(true),
            Self::Deferred | Self::Awarded | Self::Withdrawn => None,
        }
    }
}

/// The academic cycles that a list can show.
#[must_use]
pub fn known_cycles(today: NaiveDate) -> std::ops::RangeInclusive<i32> {
    FIRST_CYCLE..=chrono::Datelike::year(&today) + CYCLE_YEARS_AHEAD
}
