//! The changes between two versions, sorted by what a developer has to do.

use adapter_kit::body_kind::Direction;
use adapter_kit::{Label, Served};
use domain::Lists;
use version_tools::Difference;
use version_tools::difference::{
    Change, ChangeDetail, CodeName, CodesChange, CodesChangeKind, Effect, FieldChange,
    FieldChangeKind,
};

use super::super::endpoints::{self, ChangeKind};
use crate::markdown::inline_html;

/// The changes between two versions.
pub(super) struct Guide {
    from: Label,
    to: Label,
    /// The number of changes and of breaking changes, in one sentence.
    pub(super) counted: String,
    pub(super) renames: Vec<RenamedField>,
    /// Required fields and stricter rules.
    pub(super) rules: Vec<Row>,
    pub(super) ended_codes: Vec<EndedCode>,
    pub(super) endpoints: Vec<endpoints::Change>,
    /// Other changes of requests that break a client.
    pub(super) requests: Vec<Row>,
    /// Other changes of responses that break a client.
    pub(super) responses: Vec<Row>,
    /// Changes that break nothing.
    pub(super) optional: Vec<Row>,
}

/// A field with another name.
pub(super) struct RenamedField {
    pub(super) before: &'static str,
    pub(super) after: &'static str,
    /// The requests and responses with the field.
    pub(super) used_in: Vec<String>,
    /// What the target version does with the old name.
    pub(super) old_name: &'static str,
}

/// A change with what to do, as HTML.
pub(super) struct Row {
    pub(super) subject: String,
    pub(super) summary: String,
    pub(super) advice: String,
}

/// A code that the target version refuses.
pub(super) struct EndedCode {
    pub(super) code: String,
    pub(super) name: String,
    pub(super) fields: Vec<&'static str>,
    /// What to send instead, as HTML.
    pub(super) instead: String,
}

/// A step of the move.
pub(super) struct Step {
    pub(super) words: String,
    /// The section about the step: its anchor and its heading.
    pub(super) section: Option<(&'static str, &'static str)>,
}

impl Step {
    fn new(words: String) -> Self {
        Self {
            words,
            section: None,
        }
    }
}

impl Guide {
    pub(super) fn new(from: &Served, to: &Served, lists: &Lists) -> Self {
        let difference = Difference::between(from, to, lists);
        let mut guide = Self {
            from: difference.from,
            to: difference.to,
            counted: difference.counted(),
            renames: Vec::new(),
            rules: Vec::new(),
            ended_codes: Vec::new(),
            endpoints: endpoints::changes(from.version, to.version),
            requests: Vec::new(),
            responses: Vec::new(),
            optional: Vec::new(),
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
                self.optional.push(Row::new(change));
            }
            (_, Effect::ReadDifferently) => self.responses.push(Row::new(change)),
            (ChangeDetail::Rule(_), _) => self.rules.push(Row::new(change)),
            (ChangeDetail::Codes(codes), _) if codes.change == CodesChangeKind::Refused => {
                let (from, to) = (self.from, self.to);
                let ended = codes.codes.iter();
                self.ended_codes
                    .extend(ended.map(|code| EndedCode::new(code, codes, from, to)));
            }
            (_, Effect::Refused | Effect::RecordedDifferently) => {
                self.requests.push(Row::new(change));
            }
        }
    }

    /// Adds a rename, or its use in another record if the names are known.
    fn add_rename(&mut self, field: &FieldChange, effect: Effect) {
        let FieldChangeKind::Renamed { before, after } = field.kind else {
            return;
        };
        let nested = if field.nested { "nested " } else { "" };
        let used_in = match field.direction {
            Direction::Request => format!("{nested}{} requests", field.record),
            Direction::Reply => format!("{nested}{} responses", field.record),
        };
        let known = self
            .renames
            .iter_mut()
            .find(|known| (known.before, known.after) == (before, after));
        if let Some(known) = known {
            known.used_in.push(used_in);
            return;
        }
        self.renames.push(RenamedField {
            before,
            after,
            used_in: vec![used_in],
            old_name: match effect {
                Effect::Refused => "refused in requests",
                Effect::RecordedDifferently => "ignored in requests",
                Effect::ReadDifferently | Effect::WorthKnowing | Effect::NewlyPossible => {
                    "absent from responses"
                }
            },
        });
    }

    /// Returns the steps of the move. `is_newest` says whether the target is the newest version,
    /// which the readiness report is about.
    pub(super) fn steps(&self, is_newest: bool) -> Vec<Step> {
        let Self { from, to, .. } = self;
        let mut steps = vec![Step {
            words: format!(
                "Convert one body of each kind that you send, and note its problems in {to}."
            ),
            section: Some(("convert", "Conversion")),
        }];
        steps.extend(self.steps_about_sections());
        steps.push(Step::new(format!(
            "Send your requests to {} with the header \"Prefer: validate-only, handling=strict\". \
             {to} checks them and stores nothing.",
            to.base_path()
        )));
        if is_newest {
            steps.push(Step::new(format!(
                "Read your readiness with GET {}/account/readiness, and fix the problems that it \
                 lists.",
                from.base_path()
            )));
        }
        steps.push(Step::new(format!(
            "Send one kind of request at a time to {to}. Both versions show the same records; tokens \
             and identifiers stay the same. Entity tags, cursors and idempotency keys belong to one \
             version: finish retries in {from}."
        )));
        steps.push(Step::new(format!(
            "If you keep a copy of the records with GET /changes, move it last: start a second copy \
             in {to}, compare both, then switch."
        )));
        steps
    }

    /// Returns a step for each section with changes that need work.
    fn steps_about_sections(&self) -> impl Iterator<Item = Step> {
        let sections = [
            (
                !self.renames.is_empty(),
                "Rename the fields in your requests and responses.".to_owned(),
                ("renamed-fields", "Renamed fields"),
            ),
            (
                !self.rules.is_empty(),
                format!(
                    "Check the values that you send against the rules of {}.",
                    self.to
                ),
                ("rules", "Required fields and stricter rules"),
            ),
            (
                !self.ended_codes.is_empty(),
                format!("Replace the codes that {} refuses.", self.to),
                ("ended-codes", "Ended codes"),
            ),
            (
                !self.requests.is_empty(),
                "Change your other requests.".to_owned(),
                ("requests", "Other changed requests"),
            ),
            (
                !self.responses.is_empty(),
                "Change how you read responses.".to_owned(),
                ("responses", "Other changed responses"),
            ),
            (
                self.has_old_endpoints(),
                "Replace removed and deprecated endpoints.".to_owned(),
                ("endpoints", "Endpoints"),
            ),
        ];
        let needed = sections.into_iter().filter(|(is_needed, _, _)| *is_needed);
        needed.map(|(_, words, section)| Step {
            words,
            section: Some(section),
        })
    }

    fn has_old_endpoints(&self) -> bool {
        self.endpoints
            .iter()
            .any(|change| matches!(change.kind, ChangeKind::Removed | ChangeKind::Deprecated))
    }

    /// Returns the number of endpoints with each kind of change that occurs, in words.
    pub(super) fn endpoint_counts(&self) -> Vec<String> {
        let kinds = [
            (ChangeKind::Removed, "removed"),
            (ChangeKind::Deprecated, "deprecated"),
            (ChangeKind::NoLongerDeprecated, "no longer deprecated"),
            (ChangeKind::New, "new"),
        ];
        let counts = kinds.map(|(kind, words)| {
            let changes = self.endpoints.iter().filter(|change| change.kind == kind);
            (changes.count(), words)
        });
        let present = counts.into_iter().filter(|(count, _)| *count > 0);
        present
            .map(|(count, words)| format!("{count} {words}"))
            .collect()
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
        Self {
            subject: change.of.clone(),
            summary: inline_html(&format!("{}{example}", change.summary)),
            advice: inline_html(&change.advice),
        }
    }
}

impl EndedCode {
    fn new(code: &CodeName, change: &CodesChange, from: Label, to: Label) -> Self {
        let successor = change
            .successors
            .iter()
            .find(|successor| successor.ended == code.code);
        let instead = match successor {
            Some(successor) => format!("{}.", capitalised(&successor.advice)),
            None => format!(
                "{to} has no code in its place. Keep using {from} for records with this code."
            ),
        };
        Self {
            code: code.code.clone(),
            name: code.name.clone(),
            fields: change.fields.clone(),
            instead: inline_html(&instead),
        }
    }
}

/// Returns a clause as the beginning of a sentence.
fn capitalised(clause: &str) -> String {
    let mut chars = clause.chars();
    chars.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(chars).collect()
    })
}
