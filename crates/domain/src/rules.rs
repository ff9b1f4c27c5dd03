//! The rules: what a record must satisfy beyond the definitions of its fields.
//!
//! A rule is a value. It says what it demands, which fields it reads and where the contract says
//! so; on an update only the rules run that read a field which the request changes. One file per
//! family; a version of the API lists the rules that bind it, and a rule that binds one version
//! only is in that version's crate, written against the same type.

use crate::fields::named_enum::named_enum;
use crate::fields::value::Value;
use crate::lifecycle::Action;
use crate::nested_kinds;
use crate::problem::{Path, Problem, ProblemKind};
use crate::records::candidate::Candidate;
use crate::records::context::Context;
use crate::records::record::Record;
use crate::records::trainee::Trainee;
use crate::records::transition::{Deferral, Recommendation, Withdrawal};

/// Declares rules of one kind of record: name of the constant, section, name, description, fields
/// that it reads, and what it does.
macro_rules! rules {
    ($record:ty: $($rule:ident($section:literal) = $name:literal: $description:literal, $reads:tt => $run:expr;)+) => {$(
        #[doc = $description]
        pub const $rule: crate::rules::Rule<$record> = crate::rules::Rule {
            name: $name,
            description: $description,
            section: $section,
            reads: &$reads,
            run: $run,
        };
    )+};
}

/// Declares rules that demand a value in the first of the fields that they read.
macro_rules! required_rules {
    ($record:ty: $($rule:ident($section:literal) = $name:literal: $reads:tt;)+) => {$(
        #[doc = concat!("Demands a value (`", $name, "`).")]
        pub const $rule: crate::rules::Rule<$record> = crate::rules::Rule::require($name, $section, &$reads);
    )+};
}

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
mod testing;
#[cfg(test)]
mod updates;

/// One rule about one kind of record.
#[derive(Debug)]
pub struct Rule<R: Record> {
    /// The rule's name, in the words of its subject.
    pub name: &'static str,
    /// What it demands or does, in one sentence.
    pub description: &'static str,
    /// The section of the contract that it comes from.
    pub section: &'static str,
    /// The fields that it reads. An update that changes none of them does not run it. An adjustment
    /// changes no other field that a request can set.
    pub reads: &'static [R::Field],
    /// What it does.
    pub run: Run<R>,
}

/// What a rule does, by stage: adjustments come first, and checks of nested records last.
#[derive(Debug)]
pub enum Run<R: Record> {
    /// Changes the candidate, and may find that it cannot.
    Adjust(fn(&mut Candidate<R>, &Context<'_>)),
    /// Finds problems.
    Check(fn(&Candidate<R>, &Context<'_>) -> Findings),
    /// Finds problems, one of them where the first of the fields that the rule reads has no value.
    CheckDemanding(fn(&Candidate<R>, &Context<'_>) -> Findings),
    /// Finds problems which depend on these fields in the first place: a problem in another field
    /// that the rule reads does not skip it, so that both are reported together.
    CheckNeeding(
        &'static [R::Field],
        fn(&Candidate<R>, &Context<'_>) -> Findings,
    ),
    /// Finds problems of the record together with its nested records: those of the request in a new
    /// record, and the stored ones on an update. It is skipped while one of them has a problem. No
    /// other rule has access to nested records:
    ///
    /// ```compile_fail,E0609
    /// fn has_degree(candidate: &domain::Candidate<domain::Trainee>) -> bool {
    ///     !candidate.record.degrees.is_empty()
    /// }
    /// ```
    CheckNested(fn(&Candidate<R>, &R::Nested, &Context<'_>) -> Findings),
    /// Demands a value in the first of the fields that the rule reads.
    Require,
}

named_enum! {
    /// When a rule runs, and what it may do.
    Stage {
        /// Before all checks: it changes what is recorded.
        Adjust = "adjust",
        /// It finds problems.
        Check = "check",
    }
}

impl<R: Record> Rule<R> {
    /// A rule that demands a value in the first of the fields; the others are those on which it
    /// runs again.
    #[must_use]
    pub const fn require(
        name: &'static str,
        section: &'static str,
        reads: &'static [R::Field],
    ) -> Self {
        Self {
            name,
            description: "must be there",
            section,
            reads,
            run: Run::Require,
        }
    }

    /// Whether the rule adjusts or checks.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self.run {
            Run::Adjust(_) => Stage::Adjust,
            Run::Check(_)
            | Run::CheckDemanding(_)
            | Run::CheckNeeding(..)
            | Run::CheckNested(_)
            | Run::Require => Stage::Check,
        }
    }

    /// The field in which the rule demands a value, whatever the values of the others.
    #[must_use]
    pub fn required_field(&self) -> Option<R::Field> {
        if matches!(self.run, Run::Require) {
            self.reads.first().copied()
        } else {
            None
        }
    }

    /// The field in which the rule demands a value, alone or among other things.
    #[must_use]
    pub fn demanded_field(&self) -> Option<R::Field> {
        match self.run {
            Run::Require | Run::CheckDemanding(_) => self.reads.first().copied(),
            Run::Adjust(_) | Run::Check(_) | Run::CheckNeeding(..) | Run::CheckNested(_) => None,
        }
    }

    /// The fields that must be valid for the rule to run: a problem in one of them skips it.
    #[must_use]
    pub fn needs(&self) -> &'static [R::Field] {
        match self.run {
            Run::CheckNeeding(needs, _) => needs,
            Run::Require => self.reads.get(..1).unwrap_or_default(),
            Run::Adjust(_) | Run::Check(_) | Run::CheckDemanding(_) | Run::CheckNested(_) => {
                self.reads
            }
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
    if wrong {
        found(at, kind())
    } else {
        Findings::new()
    }
}

/// A refusal of an action in a state where the lifecycle would allow it.
#[derive(Debug, Clone, Copy)]
pub struct Gate {
    /// The gate's name.
    pub name: &'static str,
    /// What it refuses, in one sentence.
    pub description: &'static str,
    /// The section of the contract that it comes from.
    pub section: &'static str,
    /// Whether it refuses the action on this trainee.
    pub refuses: fn(&Trainee, Action) -> bool,
}

macro_rules! declare {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// The rules that bind a version, by the record that they validate.
        #[derive(Debug, Clone, Copy)]
        pub struct Rules {
            /// On trainees.
            pub trainee: &'static [Rule<Trainee>],
            $(
                #[doc = concat!("On ", stringify!($list), ".")]
                pub $name: &'static [Rule<crate::$record>],
            )+
            /// On withdrawals.
            pub withdrawal: &'static [Rule<Withdrawal>],
            /// On deferrals.
            pub deferral: &'static [Rule<Deferral>],
            /// On recommendations.
            pub recommendation: &'static [Rule<Recommendation>],
            /// On actions.
            pub gates: &'static [Gate],
        }

        impl Rules {
            /// No rules: the rest of what a version lists, so that it lists nothing for a kind of
            /// record that it does not have.
            pub const NONE: Self = Self {
                trainee: &[],
                $( $name: &[], )+
                withdrawal: &[],
                deferral: &[],
                recommendation: &[],
                gates: &[],
            };
        }
    };
}
nested_kinds!([declare]);

/// Runs the rules on a candidate, except those that read nested records: adjustments first, then
/// checks, each in the order of the list.
pub fn apply<R: Record>(candidate: &mut Candidate<R>, rules: &[Rule<R>], context: &Context<'_>) {
    for stage in [Stage::Adjust, Stage::Check] {
        for rule in rules {
            if rule.stage() != stage || !binds(rule, candidate) {
                continue;
            }
            match rule.run {
                Run::Adjust(adjust) => adjust(candidate, context),
                Run::Check(check) | Run::CheckDemanding(check) | Run::CheckNeeding(_, check) => {
                    for problem in check(candidate, context) {
                        candidate.report(problem);
                    }
                }
                Run::Require => {
                    let missing = |field: &R::Field| {
                        R::shown(&candidate.record, *field, context.lists) == Value::Null
                    };
                    if let Some(field) = rule.required_field().filter(missing) {
                        candidate.reject(field, ProblemKind::Blank);
                    }
                }
                Run::CheckNested(_) => {}
            }
        }
    }
}

/// Runs the rules that read nested records.
pub fn apply_nested<R: Record>(
    candidate: &mut Candidate<R>,
    nested: &R::Nested,
    rules: &[Rule<R>],
    context: &Context<'_>,
) {
    for rule in rules {
        if let Run::CheckNested(check) = rule.run
            && binds(rule, candidate)
        {
            for problem in check(candidate, nested, context) {
                candidate.report(problem);
            }
        }
    }
}

fn binds<R: Record>(rule: &Rule<R>, candidate: &Candidate<R>) -> bool {
    candidate.changes_any(rule.reads) && candidate.is_valid(rule.needs())
}
