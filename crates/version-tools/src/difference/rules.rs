//! Rules and gates that only one of two versions has.

use adapter_kit::names;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::rules::{Gate, Stage};
use domain::{Record, Rule, Trainee, TraineeField};
use serde::Serialize;

use super::Change;

mod wording;

/// A change of one rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleChange {
    /// The name of the record that the rule is for.
    pub record: &'static str,
    /// How it changed.
    #[serde(flatten)]
    pub kind: RuleChangeKind,
}

/// How a rule changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum RuleChangeKind {
    /// It is new.
    Added {
        /// The rule.
        after: RuleSummary,
    },
    /// It is removed.
    Dropped {
        /// The rule.
        before: RuleSummary,
    },
    /// Another rule about the same field has taken its place.
    Replaced {
        /// The rule that has gone.
        before: RuleSummary,
        /// The rule that has come.
        after: RuleSummary,
    },
}

/// What a client needs to know of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleSummary {
    /// Its name.
    pub name: &'static str,
    /// What it demands or does.
    #[serde(rename = "demands")]
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
    let changes = for_each_record!(of(from, to)).concat().into_iter();
    let gates = compared(Trainee::NAME, gates(from, to), gates(to, to));
    changes.chain(gates).map(|change| wording::describe(change, from.label, to.label)).collect()
}

fn of<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<RuleChange> {
    let summaries = |version: &ApiVersion| R::rules(version).iter().map(|rule| summary(rule, to)).collect();
    compared(R::NAME, summaries(from), summaries(to))
}

fn summary<R: Record>(rule: &Rule<R>, names_of: &ApiVersion) -> RuleSummary {
    let stage = match rule.stage() {
        Stage::Adjust => RuleStage::Adjust,
        Stage::Check => RuleStage::Check,
    };
    let reads = rule.reads.iter().map(|field| names::field(names_of, (*field).into())).collect();
    RuleSummary { name: rule.name, description: rule.description, reads, stage, section: rule.section }
}

fn gates(version: &ApiVersion, names_of: &ApiVersion) -> Vec<RuleSummary> {
    let reads = vec![names::field(names_of, TraineeField::state.into())];
    let text = |gate: &Gate| {
        let Gate { name, description, section, .. } = *gate;
        RuleSummary { name, description, reads: reads.clone(), stage: RuleStage::Gate, section }
    };
    version.rules.gates.iter().map(text).collect()
}

/// How each rule changed. A new rule replaces a removed one about the same field.
fn compared(record: &'static str, before: Vec<RuleSummary>, after: Vec<RuleSummary>) -> Vec<RuleChange> {
    let mut added: Vec<RuleSummary> = after.iter().filter(|rule| !before.contains(rule)).cloned().collect();
    let mut changes = Vec::new();
    for before in before.into_iter().filter(|rule| !after.contains(rule)) {
        let about = before.reads.first();
        let successor = added.iter().position(|rule| about.is_some() && rule.reads.first() == about);
        changes.push(match successor {
            Some(at) => RuleChangeKind::Replaced { before, after: added.remove(at) },
            None => RuleChangeKind::Dropped { before },
        });
    }
    changes.extend(added.into_iter().map(|after| RuleChangeKind::Added { after }));
    changes.into_iter().map(|kind| RuleChange { record, kind }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_of_a_rule_keeps_its_published_keys() {
        let rule = RuleSummary {
            name: "name",
            description: "is",
            reads: vec!["email"],
            stage: RuleStage::Check,
            section: "2.1",
        };
        let json = serde_json::to_string(&rule).unwrap();
        assert_eq!(json, r#"{"name":"name","demands":"is","reads":["email"],"stage":"check","section":"2.1"}"#);
    }
}
