//! Validation rules beyond the definitions of fields.
//!
//! A rule is a value with a description, a section of the contract and the fields that it reads. On
//! an update, only rules that read a changed field run. Each version of the API lists its rules. A
//! rule of a single version is in the crate of that version.

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

/// Declares rules of one kind of record: name of the constant, section, name, description, read
/// fields and function.
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

/// Declares rules that require a value in the first of their read fields.
macro_rules! required_rules {
    ($record:ty: $($rule:ident($section:literal) = $name:literal: $reads:tt;)+) => {$(
        #[doc = concat!("Requires a value (`", $name, "`).")]
        pub const $rule: crate::rules::Rule<$record> = crate::rules::Rule::require($name, $section, &$reads);
    )+};
}

pub mod course;
pub mod dates;
mod defaults;
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

pub use defaults::set_defaults;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod updates;

/// One rule about one kind of record.
#[derive(Debug)]
pub struct Rule<R: Record> {
    /// The name of the rule.
    pub name: &'static str,
    /// What the rule requires or does, one clause. A clause that begins with a verb is about the
    /// first read field. Any other clause names its subject.
    pub description: &'static str,
    /// The section of the contract with the rule.
    pub section: &'static str,
    /// The read fields. An update that changes none of them does not run the rule. An adjustment
    /// may change only these fields and fields that requests cannot set.
    pub reads: &'static [R::Field],
    /// The function of the rule.
    pub run: Run<R>,
}

/// The function of a rule. Adjustments run first, checks of nested records last.
#[derive(Debug)]
pub enum Run<R: Record> {
    /// Changes the candidate. May report problems.
    Adjust(fn(&mut Candidate<R>, &Context<'_>)),
    /// Returns problems.
    Check(fn(&Candidate<R>, &Context<'_>) -> Findings),
    /// Returns problems. Only a problem in one of these fields skips the rule; a problem in another
    /// read field does not.
    CheckNeeding(
        &'static [R::Field],
        fn(&Candidate<R>, &Context<'_>) -> Findings,
    ),
    /// Returns problems of the record together with its nested records: for a new record those of
    /// the request, on an update the stored ones. Skipped if a nested record has a problem. Other
    /// rules have no access to nested records:
    ///
    /// ```compile_fail,E0609
    /// fn has_degree(candidate: &domain::Candidate<domain::Trainee>) -> bool {
    ///     !candidate.record.degrees.is_empty()
    /// }
    /// ```
    CheckNested(fn(&Candidate<R>, &R::Nested, &Context<'_>) -> Findings),
    /// Requires a value in the first read field.
    Require,
}

named_enum! {
    /// The stage of a rule.
    Stage {
        /// The rule changes the record. Runs before all checks.
        Adjust = "adjust",
        /// The rule reports problems.
        Check = "check",
    }
}

impl<R: Record> Rule<R> {
    /// Returns a rule that requires a value in the first read field. Changes of the other fields
    /// run the rule again.
    #[must_use]
    pub const fn require(
        name: &'static str,
        section: &'static str,
        reads: &'static [R::Field],
    ) -> Self {
        Self {
            name,
            description: "is required",
            section,
            reads,
            run: Run::Require,
        }
    }

    /// Returns the stage of the rule.
    #[must_use]
    pub fn stage(&self) -> Stage {
        match self.run {
            Run::Adjust(_) => Stage::Adjust,
            Run::Check(_) | Run::CheckNeeding(..) | Run::CheckNested(_) | Run::Require => {
                Stage::Check
            }
        }
    }

    /// Returns the field that must have a value regardless of all other fields, or `None`.
    #[must_use]
    pub fn required_field(&self) -> Option<R::Field> {
        if matches!(self.run, Run::Require) {
            self.reads.first().copied()
        } else {
            None
        }
    }

    /// Returns the fields that must be valid. A problem in one of them skips the rule.
    #[must_use]
    pub fn needs(&self) -> &'static [R::Field] {
        match self.run {
            Run::CheckNeeding(needs, _) => needs,
            Run::Require => self.reads.get(..1).unwrap_or_default(),
            Run::Adjust(_) | Run::Check(_) | Run::CheckNested(_) => self.reads,
        }
    }
}

// Not derived: `derive` would require `R: Clone`.
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

/// The problems returned by a check.
pub type Findings = Vec<Problem>;

/// Returns one problem.
#[must_use]
pub fn found(at: impl Into<Path>, kind: ProblemKind) -> Findings {
    vec![Problem::at(at, kind)]
}

/// Returns one problem if `wrong` is true, and no problem otherwise.
#[must_use]
pub fn found_if(wrong: bool, at: impl Into<Path>, kind: impl FnOnce() -> ProblemKind) -> Findings {
    if wrong {
        found(at, kind())
    } else {
        Findings::new()
    }
}

/// A refusal by one version of an action that the lifecycle of trainees allows.
#[derive(Debug, Clone, Copy)]
pub struct Gate {
    /// The name of the gate.
    pub name: &'static str,
    /// The description of the refused actions, one sentence.
    pub description: &'static str,
    /// The section of the contract with the gate.
    pub section: &'static str,
    /// Returns whether the gate refuses the action on the trainee.
    pub refuses: fn(&Trainee, Action) -> bool,
}

macro_rules! declare {
    ($( $(#[$doc:meta])+ $list:ident: $record:ident / $fields:ident, $name:ident, $id:ident; )+) => {
        /// The rules of a version, by validated record.
        #[derive(Debug, Clone, Copy)]
        pub struct Rules {
            /// The rules for trainees.
            pub trainee: &'static [Rule<Trainee>],
            $(
                #[doc = concat!("The rules for ", stringify!($list), ".")]
                pub $name: &'static [Rule<crate::$record>],
            )+
            /// The rules for withdrawals.
            pub withdrawal: &'static [Rule<Withdrawal>],
            /// The rules for deferrals.
            pub deferral: &'static [Rule<Deferral>],
            /// The rules for recommendations.
            pub recommendation: &'static [Rule<Recommendation>],
            /// The gates for actions.
            pub gates: &'static [Gate],
        }

        impl Rules {
            /// No rules. Versions use this value for the kinds of records that they do not have.
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

/// Runs all rules except those that read nested records. Runs adjustments first, then checks, each
/// in the order of the list.
pub fn apply<R: Record>(candidate: &mut Candidate<R>, rules: &[Rule<R>], context: &Context<'_>) {
    for stage in [Stage::Adjust, Stage::Check] {
        apply_stage(stage, candidate, rules, context);
    }
}

/// Runs the rules of one stage, except those that read nested records.
fn apply_stage<R: Record>(
    stage: Stage,
    candidate: &mut Candidate<R>,
    rules: &[Rule<R>],
    context: &Context<'_>,
) {
    for rule in rules {
        if rule.stage() != stage || !binds(rule, candidate) {
            continue;
        }
        match rule.run {
            Run::Adjust(adjust) => adjust(candidate, context),
            Run::Check(check) | Run::CheckNeeding(_, check) => {
                for problem in check(candidate, context) {
                    candidate.report(problem);
                }
            }
            Run::Require => {
                if let Some(field) = rule.required_field()
                    && R::shown(&candidate.record, field, context.lists) == Value::Null
                {
                    candidate.reject(field, ProblemKind::Blank);
                }
            }
            Run::CheckNested(_) => {}
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

/// Whether the rule must run: the request changes a read field, and all needed fields are valid.
fn binds<R: Record>(rule: &Rule<R>, candidate: &Candidate<R>) -> bool {
    candidate.changes_any(rule.reads) && candidate.is_valid(rule.needs())
}
