//! The rule book: what a record must satisfy beyond what its fields are.
//!
//! A rule is a value. It says what it demands, which fields it reads and where the contract says
//! so; on an update only the rules run that read a field which the request changes. One file per
//! family; a version of the API lists the rules that bind it, and a rule that binds one version
//! only stands in that version's crate, written against the same type.

use chrono::NaiveDate;

use crate::candidate::Candidate;
use crate::dictionary::Record;
use crate::lifecycle::Action;
use crate::lists::{List, Lists};
use crate::organisations::Organisations;
use crate::problem::{Path, Problem, ProblemKind};
use crate::{Deferral, Degree, Placement, Recommendation, Trainee, Withdrawal};

pub mod course;
pub mod dates;
pub mod deferral;
pub mod degree;
pub mod diversity;
pub mod funding;
pub mod gates;
pub mod organisation;
pub mod personal;
pub mod placement;
pub mod recommendation;
pub mod required;
pub mod withdrawal;

#[cfg(test)]
mod trial;
#[cfg(test)]
mod updates;

/// One rule about one kind of record.
#[derive(Debug)]
pub struct Rule<R: Record> {
    /// The rule's name, in the words of its subject.
    pub name: &'static str,
    /// What it demands or does, in one sentence.
    pub demands: &'static str,
    /// The section of the contract that it comes from.
    pub section: &'static str,
    /// The fields that it reads. An update that changes none of them does not run it. An adjustment
    /// changes no other field that a request can set.
    pub reads: &'static [R::Field],
    /// What it does.
    pub run: Run<R>,
}

/// What a rule does, by stage: adjustments come first.
#[derive(Debug)]
pub enum Run<R: Record> {
    /// Changes the candidate, and may find that it cannot.
    Adjust(fn(&mut Candidate<R>, &Context<'_>)),
    /// Finds problems.
    Check(fn(&Candidate<R>, &Context<'_>) -> Findings),
    /// Finds problems which depend on these fields in the first place: a problem in another field
    /// that the rule reads does not skip it, so that both are reported together.
    CheckOf(&'static [R::Field], fn(&Candidate<R>, &Context<'_>) -> Findings),
    /// Demands a value in the first of the fields that the rule reads.
    Present,
}

impl<R: Record> Rule<R> {
    /// The field in which the rule demands a value, whatever the others hold.
    #[must_use]
    pub fn demanded(&self) -> Option<R::Field> {
        match self.run {
            Run::Present => self.reads.first().copied(),
            Run::Adjust(_) | Run::Check(_) | Run::CheckOf(..) => None,
        }
    }

    /// The fields that must be valid for the rule to be judged: a problem in one of them skips it.
    #[must_use]
    pub fn needs(&self) -> &'static [R::Field] {
        match self.run {
            Run::CheckOf(needs, _) => needs,
            Run::Present => self.reads.get(..1).unwrap_or_default(),
            Run::Adjust(_) | Run::Check(_) => self.reads,
        }
    }
}

// Written out, because a derive would ask the same of `R`.
impl<R: Record> Clone for Rule<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Rule<R> {}
impl<R: Record> Clone for Run<R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<R: Record> Copy for Run<R> {}

/// The problems that a check found.
pub type Findings = Vec<Problem>;

/// A finding at one place.
#[must_use]
pub fn found(at: impl Into<Path>, kind: ProblemKind) -> Findings {
    vec![Problem::at(at, kind)]
}

/// A finding at one place, when something is wrong there.
#[must_use]
pub fn found_if(wrong: bool, at: impl Into<Path>, kind: impl FnOnce() -> ProblemKind) -> Findings {
    if wrong { found(at, kind()) } else { Findings::new() }
}

/// A refusal of an action in a state where the lifecycle would allow it.
#[derive(Debug, Clone, Copy)]
pub struct Gate {
    /// The gate's name.
    pub name: &'static str,
    /// What it refuses, in one sentence.
    pub demands: &'static str,
    /// The section of the contract that it comes from.
    pub section: &'static str,
    /// Whether it refuses the action on this trainee.
    pub refuses: fn(&Trainee, Action) -> bool,
}

/// The rules that bind a version, by the record that they judge.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// On trainees.
    pub trainee: &'static [Rule<Trainee>],
    /// On placements.
    pub placement: &'static [Rule<Placement>],
    /// On degrees.
    pub degree: &'static [Rule<Degree>],
    /// On withdrawals.
    pub withdrawal: &'static [Rule<Withdrawal>],
    /// On deferrals.
    pub deferral: &'static [Rule<Deferral>],
    /// On recommendations.
    pub recommendation: &'static [Rule<Recommendation>],
    /// On actions.
    pub gates: &'static [Gate],
}

/// What a version accepts, as data: where versions differ in a list or a number.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// The accepted codes of a list, where the version does not accept all of them.
    pub accepted: &'static [(List, &'static [&'static str])],
    /// Academic years in which some subjects are funded without student finance.
    pub exception_years: &'static [i32],
}

impl Terms {
    /// Whether the version accepts a code that is in the list.
    #[must_use]
    pub fn accepts(&self, list: List, code: &str) -> bool {
        self.accepted.iter().all(|(narrowed, codes)| *narrowed != list || codes.contains(&code))
    }
}

/// What a rule may know besides the record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The date in UTC.
    pub today: NaiveDate,
    /// The code lists.
    pub lists: &'a Lists,
    /// What the version accepts.
    pub terms: &'a Terms,
    /// The schools and training partners that the request mentions.
    pub organisations: &'a Organisations,
}

/// Runs the rules on a candidate: adjustments first, then checks, each in the order of the list.
pub fn judge<R: Record>(candidate: &mut Candidate<R>, rules: &[Rule<R>], context: &Context<'_>) {
    for adjusting in [true, false] {
        for rule in rules {
            if matches!(rule.run, Run::Adjust(_)) != adjusting
                || !candidate.touches(rule.reads)
                || !candidate.sound(rule.needs())
            {
                continue;
            }
            match rule.run {
                Run::Adjust(adjust) => adjust(candidate, context),
                Run::Check(check) | Run::CheckOf(_, check) => {
                    for problem in check(candidate, context) {
                        candidate.report(problem);
                    }
                }
                Run::Present => {
                    let missing =
                        |field: &R::Field| candidate.record.value(*field, context.lists) == crate::Value::Null;
                    if let Some(field) = rule.demanded().filter(missing) {
                        candidate.object(field, ProblemKind::Blank);
                    }
                }
            }
        }
    }
}
