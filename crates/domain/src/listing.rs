//! Filters, order and pages of lists of trainees (contract, section 4.2).

use chrono::NaiveDate;

use crate::fields::named_enum::named_enum;
use crate::fields::value::Timestamp;
use crate::lifecycle::State;

/// The default number of records on a page (contract, section 4.2).
pub const DEFAULT_PER_PAGE: i64 = 50;
/// The maximum number of records on a page.
pub const MAX_PER_PAGE: i64 = 500;

/// The first academic cycle for lists.
pub const FIRST_CYCLE: i32 = 2009;
/// The last academic cycle for lists, in calendar years from today.
pub const CYCLE_YEARS_AHEAD: i32 = 5;

/// The filters, the order and the page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The academic cycle, by the calendar year of its start.
    pub cycle: i32,
    /// Selects trainees with a status.
    pub status: Option<Status>,
    /// Selects records created or changed at this time or later.
    pub since: Option<Timestamp>,
    /// Selects records with (`true`) or without (`false`) a teacher reference number.
    pub has_trn: Option<bool>,
    /// The order by the last change.
    pub order: Order,
    /// The page, from 1.
    pub page: i64,
    /// The number of records on a page.
    pub per_page: i64,
}

impl Listing {
    /// Returns the number of records before the page.
    #[must_use]
    pub fn offset(&self) -> i64 {
        (self.page - 1).saturating_mul(self.per_page)
    }
}

/// The order of a list. Among records changed at the same time, the newest record comes first in
/// both orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Order {
    /// The latest change first.
    NewestFirst,
    /// The earliest change first.
    OldestFirst,
}

named_enum! {
    /// The progress of a training, as a filter of a list.
    Status or UnknownStatus = "not the name of a status" {
        /// The planned first day is in the future, and the trainee is neither deferred nor
        /// withdrawn.
        CourseNotYetStarted = "course_not_yet_started",
        /// The planned first day is today or in the past, and the training is not over.
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
    /// The names of all statuses.
    pub const NAMES: &'static [&'static str] = &[
        Self::CourseNotYetStarted.name(),
        Self::InTraining.name(),
        Self::Deferred.name(),
        Self::Awarded.name(),
        Self::Withdrawn.name(),
    ];

    /// Returns the states with this status.
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

    /// Returns `true` if the training must have started by its plan, `false` if it must not, and
    /// `None` if the start does not matter.
    #[must_use]
    pub const fn started(self) -> Option<bool> {
        match self {
            Self::CourseNotYetStarted => Some(false),
            Self::InTraining => Some(true),
            Self::Deferred | Self::Awarded | Self::Withdrawn => None,
        }
    }
}

/// Returns the academic cycles whose trainees can be listed, by calendar years of the start.
#[must_use]
pub fn known_cycles(today: NaiveDate) -> std::ops::RangeInclusive<i32> {
    FIRST_CYCLE..=chrono::Datelike::year(&today) + CYCLE_YEARS_AHEAD
}
