//! Rules and gates that a version has and the other has not.

use adapter_kit::names;
use adapter_kit::version::ApiVersion;
use domain::rules::{Gate, Rules, Run};
use domain::{Deferral, Degree, Placement, Recommendation, Record, Rule, Trainee, TraineeField, Withdrawal};
use serde::Serialize;

use super::Change;

mod words;

/// A change of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleChange {
    /// The name of the record that the rule judges.
    pub record: &'static str,
    /// What has become of it.
    #[serde(flatten)]
    pub turn: RuleTurn,
}

/// What has become of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum RuleTurn {
    /// It has come.
    Added {
        /// The rule.
        after: RuleText,
    },
    /// It has gone.
    Dropped {
        /// The rule.
        before: RuleText,
    },
    /// Another rule about the same field has taken its place.
    Replaced {
        /// The rule that has gone.
        before: RuleText,
        /// The rule that has come.
        after: RuleText,
    },
}

/// A rule, as it is told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleText {
    /// Its name.
    pub name: &'static str,
    /// What it demands or does.
    pub description: &'static str,
    /// The fields that it reads, in the names of the version that is moved to; it is about the first.
    pub reads: Vec<&'static str>,
    /// What it does.
    pub stage: RuleStage,
    /// The section of the contract that it comes from.
    pub section: &'static str,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleStage {
    /// It changes what is recorded.
    Adjust,
    /// It finds problems.
    Check,
    /// It refuses an action by the state of the record.
    Gate,
}

/// The changes of all rules and gates.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let changes = [
        of::<Trainee>(from, to, |rules| rules.trainee),
        of::<Placement>(from, to, |rules| rules.placement),
        of::<Degree>(from, to, |rules| rules.degree),
        of::<Withdrawal>(from, to, |rules| rules.withdrawal),
        of::<Deferral>(from, to, |rules| rules.deferral),
        of::<Recommendation>(from, to, |rules| rules.recommendation),
        compared(Trainee::NAME, gates(from, to), gates(to, to)),
    ];
    changes.into_iter().flatten().map(|change| words::told(change, from.label, to.label)).collect()
}

fn of<R: Record>(from: &ApiVersion, to: &ApiVersion, rules: fn(&Rules) -> &'static [Rule<R>]) -> Vec<RuleChange> {
    let texts = |version: &ApiVersion| rules(&version.rules).iter().map(|rule| text(rule, to)).collect();
    compared(R::NAME, texts(from), texts(to))
}

fn text<R: Record>(rule: &Rule<R>, names_of: &ApiVersion) -> RuleText {
    let stage = match rule.run {
        Run::Adjust(_) => RuleStage::Adjust,
        Run::Check(_) | Run::CheckNeeding(..) | Run::CheckNested(_) | Run::Require => RuleStage::Check,
    };
    let reads = rule.reads.iter().map(|field| names::field(names_of, (*field).into())).collect();
    RuleText { name: rule.name, description: rule.description, reads, stage, section: rule.section }
}

fn gates(version: &ApiVersion, names_of: &ApiVersion) -> Vec<RuleText> {
    let reads = vec![names::field(names_of, TraineeField::state.into())];
    let text = |gate: &Gate| {
        let Gate { name, description, section, .. } = *gate;
        RuleText { name, description, reads: reads.clone(), stage: RuleStage::Gate, section }
    };
    version.rules.gates.iter().map(text).collect()
}

/// What has become of each rule. Where one has come and one about the same field has gone, it has taken its place.
fn compared(record: &'static str, before: Vec<RuleText>, after: Vec<RuleText>) -> Vec<RuleChange> {
    let mut come: Vec<RuleText> = after.iter().filter(|rule| !before.contains(rule)).cloned().collect();
    let mut changes = Vec::new();
    for before in before.into_iter().filter(|rule| !after.contains(rule)) {
        let about = before.reads.first();
        let successor = come.iter().position(|rule| about.is_some() && rule.reads.first() == about);
        changes.push(match successor {
            Some(at) => RuleTurn::Replaced { before, after: come.remove(at) },
            None => RuleTurn::Dropped { before },
        });
    }
    changes.extend(come.into_iter().map(|after| RuleTurn::Added { after }));
    changes.into_iter().map(|turn| RuleChange { record, turn }).collect()
}
