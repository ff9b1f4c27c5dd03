//! What becomes of an invented trainee: the way from the registration to the present state.

use chrono::{Days, NaiveDate, NaiveTime, TimeDelta};

use super::course::Course;
use super::random::Random;
use super::{asked, taken};
use crate::candidate::Sent;
use crate::decide::{self, Decision, registry};
use crate::dictionary::Change;
use crate::lifecycle::{Action, State};
use crate::problem::{Problem, ProblemKind};
use crate::rules::{Context, Rules};
use crate::trainee::{Trainee, TraineeField};
use crate::transition::{DeferralChanges, FUTURE_INTERESTS, RecommendationChanges, TRIGGERS, WithdrawalChanges};
use crate::value::Moment;

const DEFERRAL_REASONS: [&str; 5] =
    ["Parental leave", "Ill health", "Caring for a relative", "Visa delayed", "Awaiting a placement"];
const WITHDRAWAL_WORDS: [&str; 3] =
    ["Moved abroad with the family", "Took up another post", "Could not combine it with other duties"];
/// The days before the end of a training in which trainees meet the standards.
const LAST_DAYS: u64 = 90;
/// Digits of a teacher reference number.
const TRN_DIGITS: usize = 7;

/// The state in which a trainee is to be, among those that the course allows.
pub(super) fn fate(random: &Random, context: &Context<'_>, course: &Course<'_>) -> State {
    let started = course.start < context.today;
    let ended = course.end < context.today;
    let nearly = near_end(course) <= context.today;
    let awardable = course.school.is_some() || !course.facts.employing_school_required_for_award;
    let state = match (started, ended) {
        (false, _) => {
            random.one_of([State::SubmittedForTrn, State::SubmittedForTrn, State::TrnReceived, State::Deferred])
        }
        (true, false) => random.one_of([
            State::SubmittedForTrn,
            State::TrnReceived,
            State::TrnReceived,
            State::TrnReceived,
            State::TrnReceived,
            State::Deferred,
            State::Withdrawn,
            State::RecommendedForAward,
        ]),
        (true, true) => random.one_of([
            State::Awarded,
            State::Awarded,
            State::Awarded,
            State::Awarded,
            State::RecommendedForAward,
            State::TrnReceived,
            State::Deferred,
            State::Withdrawn,
        ]),
    };
    if needs_award(state) && !(awardable && nearly) { State::TrnReceived } else { state }
}

/// The day from which the standards can be met.
fn near_end(course: &Course<'_>) -> NaiveDate {
    course.end.checked_sub_days(Days::new(LAST_DAYS)).unwrap_or(course.end).max(course.start)
}

/// Whether the state asks for what the award needs.
pub(super) fn needs_award(fate: State) -> bool {
    matches!(fate, State::RecommendedForAward | State::Awarded)
}

/// The way of one trainee through the states.
pub(super) struct Life<'a> {
    pub(super) random: &'a Random,
    pub(super) rules: &'a Rules,
    pub(super) context: &'a Context<'a>,
    pub(super) course: &'a Course<'a>,
}

impl Life<'_> {
    /// When the trainee was registered: about the start, and not later than yesterday.
    pub(super) fn registered_at(&self) -> Moment {
        let today = self.context.today;
        let day = if self.course.start < today {
            let about = Days::new(30);
            let start = self.course.start;
            self.random
                .day(start.checked_sub_days(about).unwrap_or(start), start.checked_add_days(about).unwrap_or(start))
        } else {
            self.random.day(today.checked_sub_days(Days::new(120)).unwrap_or(today), today)
        };
        self.moment_on(day)
    }

    /// Brings a registered trainee to the state.
    pub(super) fn lead(&self, mut trainee: Trainee, fate: State) -> Result<Trainee, Vec<Problem>> {
        let numbered = match fate {
            State::Draft | State::SubmittedForTrn => false,
            State::TrnReceived | State::RecommendedForAward | State::Awarded => true,
            State::Deferred | State::Withdrawn => self.random.chance(80),
        };
        if numbered {
            let digits = format!("{}{}", self.random.one_of(["1", "2", "3"]), self.random.digits(TRN_DIGITS - 1));
            let issued_at = self.after(&trainee, self.course.start);
            if let Ok(trn) = digits.parse() {
                trainee = outcome(&trainee, Action::IssueTrn, registry::issue_trn(&trainee, &trn, &[], issued_at))?;
            }
        }
        let paused = fate == State::Deferred || (self.course.start < self.context.today && self.random.chance(10));
        if paused {
            trainee = self.defer(&trainee)?;
        }
        if paused && fate != State::Deferred && !(fate == State::Withdrawn && self.random.chance(50)) {
            let day = self.day_after(trainee.defer_date);
            let back_at = self.after(&trainee, day);
            let back = registry::Return { date: Some(day), itt_end_date: None };
            let reinstated = registry::reinstate(&trainee, back, self.context.today, back_at);
            trainee = outcome(&trainee, Action::Reinstate, reinstated)?;
        }
        match fate {
            State::Draft | State::SubmittedForTrn | State::TrnReceived | State::Deferred => {}
            State::Withdrawn => trainee = self.withdraw(&trainee)?,
            State::RecommendedForAward => trainee = self.recommend(&trainee)?,
            State::Awarded => {
                trainee = self.recommend(&trainee)?;
                let confirmed_at = self.after(&trainee, self.day_after(trainee.outcome_date));
                trainee = outcome(&trainee, Action::Award, registry::award(&trainee, confirmed_at))?;
            }
        }
        Ok(trainee)
    }

    fn defer(&self, trainee: &Trainee) -> Result<Trainee, Vec<Problem>> {
        let day = self.day_of_training();
        let changes = DeferralChanges {
            defer_date: Change::Set(day),
            defer_reason: asked(self.random.chance(80).then(|| self.random.one_of(DEFERRAL_REASONS).to_owned())),
        };
        let now = self.after(trainee, day);
        decide::defer(trainee, Sent::of(changes), self.rules, self.context, now).map(|decision| decision.record)
    }

    fn withdraw(&self, trainee: &Trainee) -> Result<Trainee, Vec<Problem>> {
        let day = self.day_after(trainee.defer_date.or(trainee.itt_start_date));
        let listed_for = |trigger: &str| -> Vec<_> {
            self.context.lists.withdrawal_reasons().iter().filter(|reason| reason.trigger == trigger).collect()
        };
        let first = self.random.pick(TRIGGERS).copied().unwrap_or_default();
        // A list of one's own can have no reason for one of the triggers.
        let trigger = if listed_for(first).is_empty() { other_trigger(first) } else { first };
        let mut listed = listed_for(trigger);
        let mut reasons = Vec::new();
        for _ in 0..1 + self.random.below(2) {
            let at = self.random.below(listed.len());
            reasons.extend(taken(&mut listed, at));
        }
        let words = || self.random.one_of(WITHDRAWAL_WORDS).to_owned();
        let changes = WithdrawalChanges {
            withdrawal_date: Change::Set(day),
            trigger: Change::Set(trigger.to_owned()),
            future_interest: asked(self.random.pick(FUTURE_INTERESTS).map(|word| (*word).to_owned())),
            another_reason: asked(reasons.iter().any(|reason| reason.requires_another_reason).then(words)),
            safeguarding_concern_reasons: asked(
                reasons.iter().any(|reason| reason.requires_safeguarding_concern_reasons).then(words),
            ),
            reasons: Change::Set(reasons.into_iter().map(|reason| reason.code.clone()).collect()),
        };
        let now = self.after(trainee, day);
        decide::withdraw(trainee, Sent::of(changes), self.rules, self.context, now).map(|decision| decision.record)
    }

    fn recommend(&self, trainee: &Trainee) -> Result<Trainee, Vec<Problem>> {
        let day = self.day_after(trainee.reinstate_date.max(Some(near_end(self.course))));
        let changes = RecommendationChanges { qts_standards_met_date: Change::Set(day) };
        let now = self.after(trainee, day);
        decide::recommend(trainee, Sent::of(changes), self.rules, self.context, now).map(|decision| decision.record)
    }

    /// A day of the training that has come; before it starts, its first day.
    fn day_of_training(&self) -> NaiveDate {
        self.day_after(Some(self.course.start))
    }

    /// A day from the given one to the end of the training or to today.
    fn day_after(&self, day: Option<NaiveDate>) -> NaiveDate {
        let last = self.course.end.min(self.context.today);
        self.random.day(day.unwrap_or(self.course.start), last)
    }

    /// A moment on the day, if that is past and the trainee's last change before it; else a little
    /// later than that change.
    fn after(&self, trainee: &Trainee, day: NaiveDate) -> Moment {
        let moment = self.moment_on(day);
        match trainee.updated_at {
            Some(last) if moment <= last => last + TimeDelta::milliseconds(1 + self.random.below(600_000) as i64),
            Some(_) | None => moment,
        }
    }

    /// A moment within office hours of the day, or of yesterday where the day has not passed.
    fn moment_on(&self, day: NaiveDate) -> Moment {
        let yesterday = self.context.today.pred_opt().unwrap_or(self.context.today);
        let below = |bound| u32::try_from(self.random.below(bound)).unwrap_or_default();
        let time = NaiveTime::from_hms_milli_opt(8 + below(10), below(60), below(60), below(1000));
        day.min(yesterday).and_time(time.unwrap_or_default()).and_utc()
    }
}

/// The trigger that this one is not.
fn other_trigger(trigger: &str) -> &'static str {
    TRIGGERS.iter().find(|other| **other != trigger).copied().unwrap_or_default()
}

/// The trainee after something that the registry or an operator did.
fn outcome(
    trainee: &Trainee,
    action: Action,
    result: Result<Decision<Trainee>, registry::Refusal>,
) -> Result<Trainee, Vec<Problem>> {
    let state = trainee.state.unwrap_or(State::Draft);
    let refused = |_| vec![Problem::at(TraineeField::state, ProblemKind::Transition { action, state })];
    result.map(|decision| decision.record).map_err(refused)
}
