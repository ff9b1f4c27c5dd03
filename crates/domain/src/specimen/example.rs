//! The one example that documents show: a trainee whom the rules of every version accept, and what
//! can be asked of that trainee's record later.

use chrono::{NaiveDate, NaiveTime};

use crate::lifecycle::State;
use crate::transition::{Deferral, Recommendation, Withdrawal};
use crate::value::{Date, Moment, Year};
use crate::{Degree, Placement, Trainee};

const fn day(year: i32, month: u32, day: u32) -> Date {
    match NaiveDate::from_ymd_opt(year, month, day) {
        Some(date) => date,
        None => panic!("no such day"),
    }
}

/// The day on which the example is registered.
pub const REGISTERED_ON: Date = day(2026, 9, 14);
/// A day on which everything that the example does has happened.
pub const AFTERWARDS: Date = day(2027, 3, 1);

fn registered_at() -> Option<Moment> {
    Some(REGISTERED_ON.and_time(NaiveTime::MIN).and_utc())
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// The trainee, as registered: an undergraduate on a route that is open in every academic year.
#[must_use]
pub fn trainee() -> Trainee {
    Trainee {
        trainee_id: text("2gVcJz8rTq5XwBnM4hKdYs7P"),
        provider_trainee_id: text("P-0001"),
        agency_id: text("0310261553101"),
        first_names: text("Trainee"),
        last_name: text("Example"),
        date_of_birth: Some(day(1999, 4, 12)),
        email: text("trainee@example.com"),
        nationality: text("GB"),
        sex: text("10"),
        ethnicity: text("120"),
        disability1: text("58"),
        training_route: text("11"),
        course_subject_1: text("100403"),
        course_age_range: text("13918"),
        course_year: text("1"),
        study_mode: text("01"),
        itt_aim: text("202"),
        itt_qualification_aim: text("001"),
        itt_start_date: Some(day(2026, 9, 1)),
        itt_end_date: Some(day(2027, 7, 16)),
        fund_code: text("2"),
        funding_method: text("6"),
        ukprn: text("10099999"),
        state: Some(State::SubmittedForTrn),
        record_source: text("api"),
        created_at: registered_at(),
        updated_at: registered_at(),
        submitted_for_trn_at: registered_at(),
        placements: vec![
            Placement { placement_id: text("7KpRw2mXs9bTfHqVd3LcZgNy"), ..placement() },
            Placement {
                placement_id: text("Q4tYb8nGxWc6JrMz2PdFvKsH"),
                urn: text("900020"),
                postcode: None,
                ..placement()
            },
        ],
        degrees: vec![degree()],
        ..Trainee::default()
    }
}

/// A placement of the trainee.
#[must_use]
pub fn placement() -> Placement {
    Placement {
        placement_id: text("9dNvXk5TzQwPc3RbGm7LyJfH"),
        name: text("Elmfield School"),
        postcode: text("AB1 2CD"),
        created_at: registered_at(),
        updated_at: registered_at(),
        ..Placement::default()
    }
}

/// A degree of the trainee.
#[must_use]
pub fn degree() -> Degree {
    Degree {
        degree_id: text("Lx6MtRb2VwHf9KzPq4YcGnJd"),
        uk_degree: text("083"),
        subject: text("100485"),
        institution: text("0117"),
        graduation_year: Some(Year(2021)),
        grade: text("02"),
        created_at: registered_at(),
        updated_at: registered_at(),
        ..Degree::default()
    }
}

/// A degree from another country, which the trainee does not have yet.
#[must_use]
pub fn another_degree() -> Degree {
    Degree { uk_degree: text("051"), subject: text("100403"), graduation_year: Some(Year(2022)), ..degree() }
}

/// The trainee withdraws.
#[must_use]
pub fn withdrawal() -> Withdrawal {
    Withdrawal {
        withdrawal_date: Some(day(2027, 1, 15)),
        trigger: text("trainee"),
        future_interest: text("unknown"),
        reasons: Some(vec!["trainee_workload_issues".to_owned()]),
        ..Withdrawal::default()
    }
}

/// The trainee pauses.
#[must_use]
pub fn deferral() -> Deferral {
    Deferral { defer_date: Some(day(2027, 1, 15)), defer_reason: text("Parental leave") }
}

/// The trainee is recommended for the award.
#[must_use]
pub fn recommendation() -> Recommendation {
    Recommendation { qts_standards_met_date: Some(day(2027, 2, 26)) }
}
