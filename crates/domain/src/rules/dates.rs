//! The dates of the training.

use chrono::Datelike as _;

use crate::fields::value::Date;
use crate::problem::{NoticeKind, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::record::Change;
use crate::records::trainee::{Trainee, TraineeField as F, start_date};
use crate::rules::{Findings, Run, found_if};
use crate::values::academic_year::years_before;

/// The latest start of a training, in calendar years from today.
const START_YEARS_AHEAD: i32 = 1;
/// The latest end of a training, in calendar years from today.
const END_YEARS_AHEAD: i32 = 5;
/// The earliest start and end of a training, in years before today.
const YEARS_BACK: u32 = 10;

rules! { Trainee:
    START_NOT_TOO_LATE("2.1") = "itt_start_date_not_too_late": "is not later than the next calendar year",
        [F::itt_start_date] => Run::Check(start_not_too_late);
    END_NOT_TOO_LATE("2.1") = "itt_end_date_not_too_late": "is at most five calendar years ahead",
        [F::itt_end_date] => Run::Check(end_not_too_late);
    END_NOT_TOO_EARLY("2.1") = "itt_end_date_not_too_early": "is not more than ten years ago",
        [F::itt_end_date] => Run::Check(end_not_too_early);
    END_AFTER_START("2.1") = "itt_end_date_after_start": "is later than the planned start date",
        [F::itt_end_date, F::itt_start_date] => Run::Check(end_after_start);
    START_AS_PLANNED("2.1") = "trainee_start_date_as_planned":
        "is not stored if it equals the planned start date, and then follows changes of that date",
        [F::trainee_start_date, F::itt_start_date] => Run::Adjust(start_as_planned);
    STARTED_NOT_TOO_EARLY("2.1") = "trainee_start_date_not_too_early": "is not more than ten years ago",
        [F::trainee_start_date, F::itt_start_date] => Run::Check(started_not_too_early);
    STARTED_NOT_IN_FUTURE("2.1") = "trainee_start_date_not_in_future":
        "is not later than today, unless it is the planned start date",
        [F::trainee_start_date, F::itt_start_date]
            => Run::CheckNeeding(&[F::trainee_start_date], started_not_in_future);
}

/// Reports a planned start after the next calendar year.
fn start_not_too_late(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let latest = context.today.year() + START_YEARS_AHEAD;
    let late = candidate
        .record
        .itt_start_date
        .is_some_and(|day| day.year() > latest);
    found_if(late, F::itt_start_date, || ProblemKind::YearTooLate {
        latest,
    })
}

/// Returns the latest calendar year for the end of a training.
pub(crate) fn latest_end_year(today: Date) -> i32 {
    today.year() + END_YEARS_AHEAD
}

/// Returns the earliest day for the end of a training.
pub(crate) fn earliest_end(today: Date) -> Date {
    years_before(today, YEARS_BACK)
}

/// Reports a planned end after the latest calendar year.
fn end_not_too_late(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let latest = latest_end_year(context.today);
    let late = candidate
        .record
        .itt_end_date
        .is_some_and(|day| day.year() > latest);
    found_if(late, F::itt_end_date, || ProblemKind::YearTooLate {
        latest,
    })
}

/// Reports a planned end before the earliest day.
fn end_not_too_early(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let earliest = earliest_end(context.today);
    let early = candidate
        .record
        .itt_end_date
        .is_some_and(|day| day < earliest);
    found_if(early, F::itt_end_date, || ProblemKind::TooEarly {
        earliest,
    })
}

/// Reports a planned end that is not later than the planned start.
fn end_after_start(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let start = candidate.record.itt_start_date;
    let end = candidate.record.itt_end_date;
    let wrong = start.zip(end).is_some_and(|(start, end)| end <= start);
    found_if(wrong, F::itt_end_date, || ProblemKind::NotAfter {
        field: F::itt_start_date.into(),
    })
}

/// Clears an actual start date that equals the planned one. A record without an actual start date
/// shows the planned one. If a request changes the planned date and sends the shown start date
/// unchanged, the start date moves with the plan and the client gets a notice.
fn start_as_planned(candidate: &mut Candidate<Trainee>, _: &Context<'_>) {
    let moves = candidate.stored().is_some_and(|stored| {
        stored.trainee_start_date.is_none()
            && stored.itt_start_date != candidate.record.itt_start_date
            && stored
                .itt_start_date
                .is_some_and(|day| candidate.requested().trainee_start_date == Change::Set(day))
    });
    if moves {
        let field = F::itt_start_date.into();
        candidate.notice(F::trainee_start_date, NoticeKind::MovesWith { field });
    }
    if candidate.record.trainee_start_date == candidate.record.itt_start_date {
        candidate.record.trainee_start_date = None;
    }
}

/// Reports a start that is too long ago, at the field of the actual start date. If the record has
/// only a planned start date, the problem is at that field.
fn started_not_too_early(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let earliest = years_before(context.today, YEARS_BACK);
    let early = start_date(&candidate.record).is_some_and(|day| day < earliest);
    let field = match candidate.record.trainee_start_date {
        Some(_) => F::trainee_start_date,
        None => F::itt_start_date,
    };
    found_if(early, field, || ProblemKind::TooEarly { earliest })
}

/// Reports an actual start date in the future.
fn started_not_in_future(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let late = candidate
        .record
        .trainee_start_date
        .is_some_and(|day| day > context.today);
    found_if(late, F::trainee_start_date, || ProblemKind::InFuture)
}
