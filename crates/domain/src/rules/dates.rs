//! When the training runs.

use chrono::Datelike as _;

use crate::academic_year::years_before;
use crate::candidate::Candidate;
use crate::dictionary::Change;
use crate::problem::{NoticeKind, ProblemKind};
use crate::rules::{Context, Findings, Rule, Run, found_if};
use crate::trainee::{Trainee, TraineeField};
use crate::value::Date;

/// How many calendar years ahead a training can start.
const START_YEARS_AHEAD: i32 = 1;
/// How many calendar years ahead a training can end.
const END_YEARS_AHEAD: i32 = 5;
/// How many years ago a training can have started or ended.
const YEARS_BACK: u32 = 10;

/// The training starts next calendar year at the latest.
pub const START_NOT_TOO_LATE: Rule<Trainee> = Rule {
    name: "itt_start_date_not_too_late",
    demands: "is in the next calendar year at the latest",
    section: "2.1",
    reads: &[TraineeField::itt_start_date],
    run: Run::Check(start_not_too_late),
};

/// The training ends five calendar years ahead at the latest.
pub const END_NOT_TOO_LATE: Rule<Trainee> = Rule {
    name: "itt_end_date_not_too_late",
    demands: "is at most five calendar years ahead",
    section: "2.1",
    reads: &[TraineeField::itt_end_date],
    run: Run::Check(end_not_too_late),
};

/// The training ended ten years ago at the earliest.
pub const END_NOT_TOO_EARLY: Rule<Trainee> = Rule {
    name: "itt_end_date_not_too_early",
    demands: "is not more than ten years ago",
    section: "2.1",
    reads: &[TraineeField::itt_end_date],
    run: Run::Check(end_not_too_early),
};

/// The training ends after it starts.
pub const END_AFTER_START: Rule<Trainee> = Rule {
    name: "itt_end_date_after_start",
    demands: "is later than the first day",
    section: "2.1",
    reads: &[TraineeField::itt_end_date, TraineeField::itt_start_date],
    run: Run::Check(end_after_start),
};

/// A start as planned is not held twice, so that it follows later changes of the plan.
pub const START_AS_PLANNED: Rule<Trainee> = Rule {
    name: "trainee_start_date_as_planned",
    demands: "a start equal to the planned one is not held and follows later changes of it",
    section: "2.1",
    reads: &[TraineeField::trainee_start_date, TraineeField::itt_start_date],
    run: Run::Adjust(start_as_planned),
};

/// The trainee started ten years ago at the earliest.
pub const STARTED_NOT_TOO_EARLY: Rule<Trainee> = Rule {
    name: "trainee_start_date_not_too_early",
    demands: "is not more than ten years ago",
    section: "2.1",
    reads: &[TraineeField::trainee_start_date, TraineeField::itt_start_date],
    run: Run::Check(started_not_too_early),
};

/// A trainee who is said to have started has started.
pub const STARTED_NOT_IN_FUTURE: Rule<Trainee> = Rule {
    name: "trainee_start_date_not_in_future",
    demands: "is not later than today, unless it is the planned day",
    section: "2.1",
    reads: &[TraineeField::trainee_start_date, TraineeField::itt_start_date],
    run: Run::CheckOf(&[TraineeField::trainee_start_date], started_not_in_future),
};

fn start_not_too_late(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let latest = context.today.year() + START_YEARS_AHEAD;
    let late = candidate.record.itt_start_date.is_some_and(|day| day.year() > latest);
    found_if(late, TraineeField::itt_start_date, || ProblemKind::YearTooLate { latest })
}

/// The last calendar year in which a training can end.
pub(crate) fn latest_end_year(today: Date) -> i32 {
    today.year() + END_YEARS_AHEAD
}

/// The first day on which a training can have ended.
pub(crate) fn earliest_end(today: Date) -> Date {
    years_before(today, YEARS_BACK)
}

fn end_not_too_late(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let latest = latest_end_year(context.today);
    let late = candidate.record.itt_end_date.is_some_and(|day| day.year() > latest);
    found_if(late, TraineeField::itt_end_date, || ProblemKind::YearTooLate { latest })
}

fn end_not_too_early(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let earliest = earliest_end(context.today);
    let early = candidate.record.itt_end_date.is_some_and(|day| day < earliest);
    found_if(early, TraineeField::itt_end_date, || ProblemKind::TooEarly { earliest })
}

fn end_after_start(candidate: &Candidate<Trainee>, _: &Context<'_>) -> Findings {
    let (start, end) = (candidate.record.itt_start_date, candidate.record.itt_end_date);
    let wrong = start.zip(end).is_some_and(|(start, end)| end <= start);
    found_if(wrong, TraineeField::itt_end_date, || ProblemKind::NotAfter { field: TraineeField::itt_start_date.into() })
}

/// A start that follows the plan and is sent as it was shown counts as not sent, and moves with the plan.
fn start_as_planned(candidate: &mut Candidate<Trainee>, _: &Context<'_>) {
    let moves = candidate.stored().is_some_and(|stored| {
        stored.trainee_start_date.is_none()
            && stored.itt_start_date != candidate.record.itt_start_date
            && stored.itt_start_date.is_some_and(|day| candidate.asked().trainee_start_date == Change::Set(day))
    });
    if moves {
        let field = TraineeField::itt_start_date.into();
        candidate.notice(TraineeField::trainee_start_date, NoticeKind::MovesWith { field });
    }
    if candidate.record.trainee_start_date == candidate.record.itt_start_date {
        candidate.record.trainee_start_date = None;
    }
}

/// The problem is named where the day was sent.
fn started_not_too_early(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let earliest = years_before(context.today, YEARS_BACK);
    let early = candidate.record.start_date().is_some_and(|day| day < earliest);
    let field = match candidate.record.trainee_start_date {
        Some(_) => TraineeField::trainee_start_date,
        None => TraineeField::itt_start_date,
    };
    found_if(early, field, || ProblemKind::TooEarly { earliest })
}

fn started_not_in_future(candidate: &Candidate<Trainee>, context: &Context<'_>) -> Findings {
    let late = candidate.record.trainee_start_date.is_some_and(|day| day > context.today);
    found_if(late, TraineeField::trainee_start_date, || ProblemKind::InFuture)
}
