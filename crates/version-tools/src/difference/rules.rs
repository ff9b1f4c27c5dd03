//! Rules and gates that only one of two versions has.

use adapter_kit::names;
use adapter_kit::version::ApiVersion;
use adapter_kit::wire::{WireRecord, for_each_record};
use domain::rules::{Gate, Stage};
use domain::{Field, Record, Rule, Trainee, TraineeField};
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
    /// The fields that it reads, in the names of the version that has the rule; it is about the
    /// first.
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
    let changes = for_each_record!(record_changes(from, to))
        .concat()
        .into_iter();
    let gates = compared(Trainee::NAME, gates(from), gates(to));
    changes
        .chain(gates)
        .map(|change| wording::describe(change, from.label, to.label))
        .collect()
}

fn record_changes<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<RuleChange> {
    let rules = |version: &ApiVersion| {
        R::rules(version)
            .iter()
            .map(|rule| rule_of(rule, version))
            .collect()
    };
    // A record that only one of them has is told by its fields.
    if [from, to]
        .iter()
        .any(|version| R::inputs(version).entries.is_empty())
    {
        return Vec::new();
    }
    compared(R::NAME, rules(from), rules(to))
}

/// A rule of a version.
#[derive(Debug, Clone)]
struct VersionRule {
    /// The fields that it reads, which versions call by different names.
    fields: Vec<Field>,
    summary: RuleSummary,
}

impl VersionRule {
    fn is_same_as(&self, other: &Self) -> bool {
        let named_alike = RuleSummary {
            reads: other.summary.reads.clone(),
            ..self.summary.clone()
        };
        self.fields == other.fields && named_alike == other.summary
    }
}

fn rule_of<R: Record>(rule: &Rule<R>, version: &ApiVersion) -> VersionRule {
    let stage = match rule.stage() {
        Stage::Adjust => RuleStage::Adjust,
        Stage::Check => RuleStage::Check,
    };
    let fields: Vec<Field> = rule.reads.iter().map(|field| (*field).into()).collect();
    let reads = fields
        .iter()
        .map(|field| names::field(version, *field))
        .collect();
    let Rule {
        name,
        description,
        section,
        ..
    } = *rule;
    VersionRule {
        fields,
        summary: RuleSummary {
            name,
            description,
            reads,
            stage,
            section,
        },
    }
}

fn gates(version: &ApiVersion) -> Vec<VersionRule> {
    let state = Field::from(TraineeField::state);
    let rule_of = |gate: &Gate| {
        let Gate {
            name,
            description,
            section,
            ..
        } = *gate;
        let reads = vec![names::field(version, state)];
        let summary = RuleSummary {
            name,
            description,
            reads,
            stage: RuleStage::Gate,
            section,
        };
        VersionRule {
            fields: vec![state],
            summary,
        }
    };
    version.rules.gates.iter().map(rule_of).collect()
}

/// How each rule changed. A new rule replaces a removed one about the same field.
fn compared(
    record: &'static str,
    before: Vec<VersionRule>,
    after: Vec<VersionRule>,
) -> Vec<RuleChange> {
    let stays = |rule: &VersionRule, others: &[VersionRule]| {
        others.iter().any(|other| rule.is_same_as(other))
    };
    let mut added: Vec<VersionRule> = after
        .iter()
        .filter(|rule| !stays(rule, &before))
        .cloned()
        .collect();
    let mut changes = Vec::new();
    for VersionRule { fields, summary } in before.into_iter().filter(|rule| !stays(rule, &after)) {
        let about = fields.first();
        let successor = added
            .iter()
            .position(|rule| about.is_some() && rule.fields.first() == about);
        changes.push(match successor {
            Some(at) => RuleChangeKind::Replaced {
                before: summary,
                after: added.remove(at).summary,
            },
            None => RuleChangeKind::Dropped { before: summary },
        });
    }
    changes.extend(added.into_iter().map(|rule| RuleChangeKind::Added {
        after: rule.summary,
    }));
    changes
        .into_iter()
        .map(|kind| RuleChange { record, kind })
        .collect()
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
        assert_eq!(
            json,
            r#"{"name":"name","demands":"is","reads":["email"],"stage":"check","section":"2.1"}"#
        );
    }
}
