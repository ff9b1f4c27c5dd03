//! The changes between two versions, sorted by what a developer has to do.

use std::collections::BTreeSet;

use adapter_kit::body_kind::Direction;
use adapter_kit::{Label, Served};
use domain::{List, Lists, ended_codes};
use version_tools::Difference;
use version_tools::difference::{
    Change, ChangeDetail, CodeName, CodesChange, CodesChangeKind, Effect, FieldChange,
    FieldChangeKind,
};

use super::super::code_list_page;
use super::super::endpoints::{self, ChangeKind};
use super::super::outcome::Outcome;
use crate::markdown::inline_html;

/// The changes between two versions.
pub(super) struct Guide {
    pub(super) from: Label,
    pub(super) to: Label,
    pub(super) renames: Vec<RenamedField>,
    /// Required fields and stricter rules.
    pub(super) rules: ChangeTable,
    pub(super) ended_codes: Vec<EndedCode>,
    pub(super) endpoints: Vec<endpoints::Change>,
    /// Other changes of requests that break a client.
    pub(super) requests: ChangeTable,
    /// Other changes of responses that break a client.
    pub(super) responses: ChangeTable,
    /// Changes that break nothing.
    pub(super) optional: ChangeTable,
}

/// A field with another name.
pub(super) struct RenamedField {
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    /// The records with the field, and where each has it.
    used_in: Vec<(String, Vec<Direction>)>,
    pub(super) old_name: OldName,
}

/// What the target version does with the old name of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OldName {
    RefusedInRequests,
    IgnoredInRequests,
    /// Only responses have the field.
    AbsentFromResponses,
}

/// A table of changes.
#[derive(Default)]
pub(super) struct ChangeTable {
    pub(super) rows: Vec<Row>,
}

/// A change with what to do, as HTML.
pub(super) struct Row {
    pub(super) subject: String,
    pub(super) summary: String,
    /// Empty if there is nothing to do.
    pub(super) advice: String,
    /// The fields that the target version's rule reads, its subject first. Empty for a change of
    /// another kind.
    reads: Vec<&'static str>,
}

/// A code that the target version refuses.
pub(super) struct EndedCode {
    pub(super) code: String,
    pub(super) name: String,
    pub(super) fields: Vec<&'static str>,
    /// What to send instead, as HTML.
    pub(super) instead: String,
    /// The page with the accepted codes.
    pub(super) page: String,
}

/// A number of changes, with the section that lists them.
pub(super) struct SectionCount {
    pub(super) anchor: &'static str,
    pub(super) words: String,
}

impl Guide {
    pub(super) fn new(from: &Served, to: &Served, lists: &Lists) -> Self {
        let difference = Difference::between(from, to, lists);
        let mut guide = Self {
            from: difference.from,
            to: difference.to,
            renames: Vec::new(),
            rules: ChangeTable::default(),
            ended_codes: Vec::new(),
            endpoints: endpoints::changes(from.version, to.version),
            requests: ChangeTable::default(),
            responses: ChangeTable::default(),
            optional: ChangeTable::default(),
        };
        for change in &difference.changes {
            guide.add(change);
        }
        guide
    }

    fn add(&mut self, change: &Change) {
        match (&change.detail, change.effect) {
            (ChangeDetail::Endpoint(_), _) => {}
            (ChangeDetail::Field(field), effect)
                if matches!(field.kind, FieldChangeKind::Renamed { .. }) =>
            {
                self.add_rename(field, effect);
            }
            (_, Effect::WorthKnowing | Effect::NewlyPossible) => {
                self.optional.rows.push(Row::optional(change));
            }
            (_, Effect::ReadDifferently) => self.responses.rows.push(Row::new(change)),
            (ChangeDetail::Rule(_), _) => self.rules.rows.push(Row::new(change)),
            (ChangeDetail::Codes(codes), _) if codes.change == CodesChangeKind::Refused => {
                let (from, to) = (self.from, self.to);
                let ended = codes.codes.iter();
                self.ended_codes
                    .extend(ended.map(|code| EndedCode::new(code, codes, from, to)));
            }
            (_, Effect::Refused | Effect::RecordedDifferently) => {
                self.requests.rows.push(Row::new(change));
            }
        }
    }

    /// Explains the problems of a body by the stricter rules: beside each problem the rules about its
    /// field, and separately the rules that depend on such a field. Those can refuse the body after
    /// the problem is fixed.
    pub(super) fn explain(&self, outcome: &mut Outcome) {
        let problems = &mut outcome.problems.rows;
        for problem in problems.iter_mut() {
            let rules = self.rules.rows.iter();
            let about = rules.filter(|rule| rule.reads.first() == Some(&problem.field.as_str()));
            problem.rules = about.map(Row::words).collect();
        }
        let has_problem = |field: &&str| problems.iter().any(|problem| problem.field == **field);
        let depends = |rule: &&Row| match rule.reads.split_first() {
            Some((subject, others)) => !has_problem(subject) && others.iter().any(has_problem),
            None => false,
        };
        let pending = self.rules.rows.iter().filter(depends);
        outcome.pending_rules = pending.map(Row::words).collect();
    }

    /// Adds a rename, or its use in another record if the names are known.
    fn add_rename(&mut self, field: &FieldChange, effect: Effect) {
        let FieldChangeKind::Renamed { before, after } = field.kind else {
            return;
        };
        let nested = if field.nested { "nested " } else { "" };
        let record = format!("{nested}{}", field.record);
        let known = self
            .renames
            .iter_mut()
            .find(|known| (known.before, known.after) == (before, after));
        if let Some(known) = known {
            known.add_use(record, field.direction);
            return;
        }
        self.renames.push(RenamedField {
            before,
            after,
            used_in: vec![(record, vec![field.direction])],
            old_name: match effect {
                Effect::Refused => OldName::RefusedInRequests,
                Effect::RecordedDifferently => OldName::IgnoredInRequests,
                Effect::ReadDifferently | Effect::WorthKnowing | Effect::NewlyPossible => {
                    OldName::AbsentFromResponses
                }
            },
        });
    }

    /// Describes in one sentence what the target version does with old names in requests. Returns
    /// `None` if this depends on the field.
    pub(super) fn old_names(&self) -> Option<String> {
        let to = self.to;
        let in_requests: BTreeSet<OldName> = self
            .renames
            .iter()
            .map(|rename| rename.old_name)
            .filter(|old_name| *old_name != OldName::AbsentFromResponses)
            .collect();
        match in_requests.iter().collect::<Vec<_>>().as_slice() {
            [] => Some(format!("Responses of {to} have only the new names.")),
            [OldName::RefusedInRequests] => Some(format!(
                "{to} refuses the old names in requests. Responses have only the new names."
            )),
            [OldName::IgnoredInRequests] => Some(format!(
                "{to} ignores the old names in requests. Responses have only the new names."
            )),
            _ => None,
        }
    }

    /// Returns the number of breaking changes in each section that has any.
    pub(super) fn breaking_counts(&self) -> Vec<SectionCount> {
        let removed = self.endpoints_with(ChangeKind::Removed);
        let sections = [
            ("renamed-fields", self.renames.len(), "renamed field", ""),
            ("rules", self.rules.rows.len(), "stricter rule", ""),
            ("ended-codes", self.ended_codes.len(), "ended code", ""),
            ("endpoints", removed, "removed endpoint", ""),
            (
                "requests",
                self.requests.rows.len(),
                "other change",
                " of requests",
            ),
            (
                "responses",
                self.responses.rows.len(),
                "other change",
                " of responses",
            ),
        ];
        let present = sections.into_iter().filter(|(_, count, _, _)| *count > 0);
        let counts = present.map(|(anchor, count, noun, of)| SectionCount {
            anchor,
            words: format!("{count} {noun}{}{of}", if count == 1 { "" } else { "s" }),
        });
        counts.collect()
    }

    /// Returns the number of breaking changes on the page.
    pub(super) fn breaking_count(&self) -> usize {
        self.renames.len()
            + self.rules.rows.len()
            + self.ended_codes.len()
            + self.endpoints_with(ChangeKind::Removed)
            + self.requests.rows.len()
            + self.responses.rows.len()
    }

    fn endpoints_with(&self, kind: ChangeKind) -> usize {
        let changes = self.endpoints.iter();
        changes.filter(|change| change.kind == kind).count()
    }

    /// Whether the target version has removed or deprecated endpoints.
    pub(super) fn has_old_endpoints(&self) -> bool {
        self.endpoints
            .iter()
            .any(|change| matches!(change.kind, ChangeKind::Removed | ChangeKind::Deprecated))
    }

    /// Returns the number of endpoints with each kind of change that occurs and breaks nothing, in
    /// words.
    pub(super) fn other_endpoint_counts(&self) -> Vec<String> {
        let kinds = [
            (ChangeKind::Deprecated, "deprecated"),
            (ChangeKind::NoLongerDeprecated, "no longer deprecated"),
            (ChangeKind::New, "new"),
        ];
        let counts = kinds.map(|(kind, words)| (self.endpoints_with(kind), words));
        let present = counts.into_iter().filter(|(count, _)| *count > 0);
        present
            .map(|(count, words)| format!("{count} {words}"))
            .collect()
    }
}

impl RenamedField {
    fn add_use(&mut self, record: String, direction: Direction) {
        let mut uses = self.used_in.iter_mut();
        match uses.find(|(known, _)| *known == record) {
            Some((_, directions)) => directions.push(direction),
            None => self.used_in.push((record, vec![direction])),
        }
    }

    /// Returns the requests and responses with the field, in words.
    pub(super) fn uses(&self) -> String {
        let uses = self.used_in.iter().map(|(record, directions)| {
            let directions = directions.iter().map(|direction| match direction {
                Direction::Request => "requests",
                Direction::Reply => "responses",
            });
            let directions: Vec<&str> = directions.collect();
            format!("{record} {}", directions.join(" and "))
        });
        uses.collect::<Vec<_>>().join(", ")
    }
}

impl OldName {
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::RefusedInRequests => "refused in requests",
            Self::IgnoredInRequests => "ignored in requests",
            Self::AbsentFromResponses => "absent from responses",
        }
    }
}

impl ChangeTable {
    /// Returns the subject of all changes; `None` if the changes have several subjects.
    pub(super) fn common_subject(&self) -> Option<&str> {
        let (first, others) = self.rows.split_first()?;
        let is_common = others.iter().all(|row| row.subject == first.subject);
        is_common.then_some(first.subject.as_str())
    }

    /// Whether any row has advice.
    pub(super) fn has_advice(&self) -> bool {
        self.rows.iter().any(|row| !row.advice.is_empty())
    }
}

impl Row {
    fn new(change: &Change) -> Self {
        let example = change.example.as_ref().map_or_else(String::new, |example| {
            format!(
                " Example: `{}` becomes `{}`.",
                example.before, example.after
            )
        });
        let mut reads = Vec::new();
        if let ChangeDetail::Rule(rule) = &change.detail {
            reads.extend_from_slice(rule.reads());
        }
        Self {
            subject: change.of.clone(),
            summary: inline_html(&format!("{}{example}", change.summary)),
            advice: inline_html(&change.advice),
            reads,
        }
    }

    /// Returns the change and what to do about it, as HTML.
    fn words(&self) -> String {
        format!("{} {}", self.summary, self.advice)
    }

    /// Returns a row without a cell for advice. The advice about a new possibility only repeats the
    /// possibility; other advice follows the summary.
    fn optional(change: &Change) -> Self {
        let row = Self::new(change);
        let summary = if change.effect == Effect::NewlyPossible {
            row.summary
        } else {
            format!("{} {}", row.summary, row.advice)
        };
        Self {
            summary,
            advice: String::new(),
            ..row
        }
    }
}

impl EndedCode {
    fn new(code: &CodeName, change: &CodesChange, from: Label, to: Label) -> Self {
        let list = List::ALL.iter().find(|list| list.name() == change.list);
        let ended = list.and_then(|list| ended_codes::EndedCode::find(*list, &code.code));
        let instead = match ended {
            Some(ended) => ended.advice(),
            None => format!(
                "{to} has no code in its place. Keep using {from} for records with this code."
            ),
        };
        Self {
            code: code.code.clone(),
            name: code.name.clone(),
            fields: change.fields.clone(),
            instead: inline_html(&instead),
            page: code_list_page(to, change.list),
        }
    }
}
