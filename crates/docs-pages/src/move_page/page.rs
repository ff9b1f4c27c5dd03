//! The page: the difference between two versions by section, the steps, and the form.

use adapter_kit::{Label, Served, Status, Versions};
use askama::Template;
use domain::Lists;
use gateway::state::GatewayState;
use http_kit::paths;
use http_kit::responses::page::day;
use version_tools::Difference;
use version_tools::difference::{Change, ChangeDetail, Section};

use super::form::{Choice, Form, FormField};
use super::outcome::Outcome;
use super::steps::{Step, steps};
use super::{MovePair, example};
use crate::documents::Link;
use crate::markdown::inline_html;
use crate::page_location::{DocsLocation, SettingsLink};

#[derive(Debug, Clone, Copy)]
pub(super) struct PageContext {
    pub(super) versions: &'static Versions,
    lists: &'static Lists,
    /// The readiness of the reader's organisation, if this listener serves it.
    readiness: Option<&'static str>,
}

impl PageContext {
    pub(super) fn new(state: &GatewayState, settings: SettingsLink) -> Self {
        Self {
            versions: state.versions,
            lists: state.lists,
            readiness: settings.readiness(),
        }
    }
}

#[derive(Template)]
#[template(path = "pages/move.html")]
struct MovePage {
    place: DocsLocation,
    from: Label,
    to: Label,
    address: String,
    /// Other pairs with one of the two versions.
    others: Vec<Link>,
    states: [VersionState; 2],
    is_sandbox_only: bool,
    /// Changes and breaking changes, in a sentence.
    counted: String,
    sections: Vec<ShownSection>,
    steps: Vec<Step>,
    form: Form,
    kinds: Vec<Choice>,
    outcome: Option<Outcome>,
    /// Whether the body in the form is an example.
    is_example: bool,
    release_notes: [Link; 2],
}

struct ShownSection {
    anchor: String,
    title: &'static str,
    meaning: &'static str,
    /// Whether the changes break nothing: the section is closed at first.
    is_optional: bool,
    changes: Vec<ShownChange>,
}

/// HTML of one change.
struct ShownChange {
    subject: String,
    summary: String,
    advice: String,
}

struct VersionState {
    label: Label,
    state: &'static str,
    since: String,
    deprecated: Option<String>,
    end: Option<String>,
}

impl VersionState {
    fn new(served: &Served) -> Self {
        let publication = served.version.publication;
        Self {
            label: served.version.label,
            state: match publication.status {
                Status::Released => "Released",
                Status::SandboxOnly => "For use in the sandbox",
            },
            since: publication
                .since
                .map_or_else(|| "No release date is set".to_owned(), day),
            deprecated: publication.deprecated_on.map(day),
            end: publication.sunset_on.map(day),
        }
    }
}

pub(super) fn with_example(
    pair: MovePair,
    mut form: Form,
    context: PageContext,
) -> Result<String, askama::Error> {
    let example = form
        .body_kind()
        .and_then(|kind| example::body(pair.from.version, kind, context.lists));
    if let Some(example) = &example {
        form.set_body(format!("{example:#}"));
    }
    let page = MovePage {
        is_example: example.is_some(),
        ..MovePage::new(pair, form, None, context)
    };
    page.render()
}

/// Renders the page with the result of a translation, or with the faults of its form.
pub(super) fn with_outcome(
    pair: MovePair,
    form: Form,
    outcome: Option<Outcome>,
    context: PageContext,
) -> Result<String, askama::Error> {
    MovePage::new(pair, form, outcome, context).render()
}

impl MovePage {
    fn new(pair: MovePair, form: Form, mut outcome: Option<Outcome>, context: PageContext) -> Self {
        let MovePair { from, to } = pair;
        let difference = Difference::between(from, to, context.lists);
        if let Some(outcome) = &mut outcome {
            explain(outcome, &difference);
        }
        let versions = context.versions;
        let is_newest = versions
            .newest()
            .is_some_and(|newest| newest.version.label == to.version.label);
        let readiness = context.readiness.filter(|_| is_newest);
        let sections = difference.sections();
        Self {
            place: DocsLocation::Move,
            from: from.version.label,
            to: to.version.label,
            address: pair.address(),
            others: other_pairs(pair, versions),
            states: [VersionState::new(from), VersionState::new(to)],
            is_sandbox_only: to.version.publication.status == Status::SandboxOnly,
            counted: difference.counted(),
            steps: steps(&difference, is_newest, readiness, outcome.as_ref()),
            sections: sections
                .iter()
                .map(|(section, changes)| ShownSection::new(*section, changes))
                .collect(),
            kinds: form.kinds(from.version),
            form,
            outcome,
            is_example: false,
            release_notes: [from, to].map(|served| Link {
                words: format!("Release notes for {}", served.label),
                address: paths::release_notes(served.version.label),
                is_here: false,
            }),
        }
    }

    fn has_deprecation(&self) -> bool {
        self.states.iter().any(|state| state.deprecated.is_some())
    }

    fn has_end(&self) -> bool {
        self.states.iter().any(|state| state.end.is_some())
    }

    /// Whether the form for the next body stands below the problems of the last one.
    fn has_correction(&self) -> bool {
        let outcome = self.outcome.as_ref();
        outcome.is_some_and(Outcome::needs_correction)
    }

    fn is_answer(&self) -> bool {
        self.outcome.is_some() || !self.form.faults.is_empty()
    }
}

impl ShownSection {
    fn new(section: Section, changes: &[&Change]) -> Self {
        let changes = changes.iter().map(|change| ShownChange {
            subject: change.of.clone(),
            summary: inline_html(&change.summary_with_example()),
            advice: inline_html(&change.advice),
        });
        Self {
            anchor: section.anchor(),
            title: section.title(),
            meaning: section.meaning(),
            is_optional: section == Section::Optional,
            changes: changes.collect(),
        }
    }
}

/// Explains the problems of a body by the stricter rules about their fields.
fn explain(outcome: &mut Outcome, difference: &Difference) {
    let mut rules: Vec<(&'static str, &[&'static str], String)> = Vec::new();
    for change in difference.breaking() {
        if let ChangeDetail::Rule(rule) = &change.detail
            && let Some((subject, others)) = rule.reads().split_first()
        {
            let words = format!("{} {}", change.summary_with_example(), change.advice);
            rules.push((subject, others, inline_html(&words)));
        }
    }
    let problems = &mut outcome.problems.rows;
    for problem in problems.iter_mut() {
        let about = rules
            .iter()
            .filter(|(subject, ..)| *subject == problem.field);
        problem.rules = about.map(|(.., words)| words.clone()).collect();
    }
    let faulty: Vec<&str> = problems.iter().map(|row| row.field.as_str()).collect();
    // Rules that depend on a faulty field can refuse the body after the problem is fixed.
    let pending = rules.into_iter().filter(|(subject, others, _)| {
        !faulty.contains(subject) && others.iter().any(|other| faulty.contains(other))
    });
    outcome.pending_rules = pending.map(|(.., words)| words).collect();
}

fn other_pairs(pair: MovePair, versions: &Versions) -> Vec<Link> {
    let (from, to) = (pair.from.version.label, pair.to.version.label);
    let labels: Vec<Label> = versions.iter().map(|served| served.version.label).collect();
    let mut links = Vec::new();
    for one in &labels {
        for other in &labels {
            let is_related = *one == from || *other == to || (*one, *other) == (to, from);
            if one != other && (*one, *other) != (from, to) && is_related {
                links.push(Link {
                    words: format!("{one} to {other}"),
                    address: paths::move_page(*one, *other),
                    is_here: false,
                });
            }
        }
    }
    links
}
