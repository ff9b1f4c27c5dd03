//! Rules and gates that differ between two versions.

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
    /// The kind of change.
    #[serde(flatten)]
    pub kind: RuleChangeKind,
}

impl RuleChange {
    /// Returns the fields that the rule of the target version reads, its subject first; none if that
    /// version does not have the rule.
    #[must_use]
    pub fn reads(&self) -> &[&'static str] {
        match &self.kind {
            RuleChangeKind::Added { after } | RuleChangeKind::Replaced { after, .. } => {
                &after.reads
            }
            RuleChangeKind::Dropped { .. } => &[],
        }
    }
}

/// The kind of change of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum RuleChangeKind {
    /// The rule is new.
    Added {
        /// The rule.
        after: RuleSummary,
    },
    /// The rule is removed.
    Dropped {
        /// The rule.
        before: RuleSummary,
    },
    /// Another rule about the same field replaces the rule.
    Replaced {
        /// The old rule.
        before: RuleSummary,
        /// The new rule.
        after: RuleSummary,
    },
}

/// The properties of a rule that matter to a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RuleSummary {
    /// The name of the rule.
    pub name: &'static str,
    /// What the rule requires or does.
    #[serde(rename = "demands")]
    pub description: &'static str,
    /// The fields that the rule reads, in the names of the version. The first field is the subject
    /// of the rule.
    pub reads: Vec<&'static str>,
    /// The stage of the rule.
    pub stage: RuleStage,
    /// The section of the contract that defines the rule.
    pub section: &'static str,
}

/// The stage of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleStage {
    /// The rule changes recorded values.
    Adjust,
    /// The rule finds problems.
    Check,
    /// The rule refuses an action, depending on the state of the record.
    Gate,
}

/// Returns the changes of all rules and gates.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    let changes = for_each_record!(record_changes(from, to))
        .concat()
        .into_iter();
    let gates = compared(Trainee::NAME, gates(from), gates(to));
    changes
        .chain(gates)
        .map(|change| wording::describe(change, from, to))
        .collect()
}

/// Returns the changes of the rules of a record.
fn record_changes<R: WireRecord>(from: &ApiVersion, to: &ApiVersion) -> Vec<RuleChange> {
    let rules = |version: &ApiVersion| {
        R::rules(version)
            .iter()
            .map(|rule| rule_of(rule, version))
            .collect()
    };
    // If only one version has the record, the changes of its fields describe it.
    if [from, to]
        .iter()
        .any(|version| R::inputs(version).entries.is_empty())
    {
        return Vec::new();
    }
    compared(R::NAME, rules(from), rules(to))
}

/// A rule in one version.
#[derive(Debug, Clone)]
struct VersionRule {
    /// The fields that the rule reads. Their names can differ between versions.
    fields: Vec<Field>,
    summary: RuleSummary,
}

impl VersionRule {
    /// Whether both are the same rule. The names of the fields can differ.
    fn is_same_as(&self, other: &Self) -> bool {
        let with_other_names = RuleSummary {
            reads: other.summary.reads.clone(),
            ..self.summary.clone()
        };
        self.fields == other.fields && with_other_names == other.summary
    }
}

/// Returns a rule with the names that the version has for its fields.
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

/// Returns the gates of a version as rules that read the state of the trainee.
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

/// Returns the changes of the rules of a record. A new rule replaces a removed rule if both have
/// the same subject, which is the first field that a rule reads.
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
        let subject = fields.first();
        let successor = added
            .iter()
            .position(|rule| subject.is_some() && rule.fields.first() == subject);
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
