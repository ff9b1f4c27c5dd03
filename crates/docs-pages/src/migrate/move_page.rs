//! `/docs/move/FROM/TO`: everything that a client needs to move from one served version to another,
//! on one page, with a form that translates a body.

use adapter_kit::{Label, Served, Status, Versions};
use askama::Template;
use http_kit::paths;
use http_kit::responses::page::day;

mod guide;
mod steps;

use super::form::{Choice, Form, FormField};
use super::outcome::{CodesHelp, Outcome, Remedy};
use super::{FormPage, example};
use crate::documents::Link;
use crate::page_location::{DocsLocation, html};
use guide::Guide;
use steps::{Step, steps};

/// A move from one served version to another.
#[derive(Debug, Clone, Copy)]
pub(super) struct MovePair {
    pub(super) from: &'static Served,
    pub(super) to: &'static Served,
}

impl MovePair {
    /// Returns the pair with these labels; `None` if a label is not served or both are the same.
    pub(super) fn find(from: Label, to: Label, versions: &'static Versions) -> Option<Self> {
        let pair = Self {
            from: versions.find(from)?,
            to: versions.find(to)?,
        };
        (from != to).then_some(pair)
    }

    /// Returns the address of the page.
    pub(super) fn address(self) -> String {
        paths::move_page(self.from.version.label, self.to.version.label)
    }

    /// Selects both versions in a form.
    pub(super) fn select_in(self, form: &mut Form) {
        form.set(FormField::From, self.from.label.clone());
        form.set(FormField::To, self.to.label.clone());
    }
}

#[derive(Template)]
#[template(path = "pages/move.html")]
struct MovePage {
    place: DocsLocation,
    from: Label,
    to: Label,
    /// The address of the page.
    address: String,
    /// The other pairs with one of the two versions.
    others: Vec<Link>,
    states: [VersionState; 2],
    /// Whether the target version is available only in the sandbox.
    is_sandbox_only: bool,
    guide: Guide,
    steps: Vec<Step>,
    form: Form,
    kinds: Vec<Choice>,
    outcome: Option<Outcome>,
    /// The version of the example in the form.
    example_of: Option<Label>,
    differences: String,
    release_notes: [Link; 2],
}

/// The dates and the state of a version.
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
                Status::SandboxOnly => "Sandbox only",
            },
            since: publication
                .since
                .map_or_else(|| "No release date is set".to_owned(), day),
            deprecated: publication.deprecated_on.map(day),
            end: publication.sunset_on.map(day),
        }
    }
}

/// Renders the page with an example of the selected kind of body in its form.
pub(super) fn with_example(
    pair: MovePair,
    mut form: Form,
    page: FormPage,
) -> Result<String, askama::Error> {
    let example = form
        .body_kind()
        .and_then(|kind| example::body(pair.from.version, kind, page.lists));
    if let Some(example) = &example {
        form.set(FormField::Body, format!("{example:#}"));
    }
    html(&MovePage {
        example_of: example.map(|_| pair.from.version.label),
        ..MovePage::new(pair, form, None, page)
    })
}

/// Renders the page with the result of a translation, or with the faults of its form.
pub(super) fn with_outcome(
    pair: MovePair,
    form: Form,
    outcome: Option<Outcome>,
    page: FormPage,
) -> Result<String, askama::Error> {
    html(&MovePage::new(pair, form, outcome, page))
}

impl MovePage {
    fn new(pair: MovePair, form: Form, mut outcome: Option<Outcome>, page: FormPage) -> Self {
        let MovePair { from, to } = pair;
        let guide = Guide::new(from, to, page.lists);
        if let Some(outcome) = &mut outcome {
            guide.explain(outcome);
        }
        let versions = page.versions;
        let is_newest = versions
            .newest()
            .is_some_and(|newest| newest.version.label == to.version.label);
        let readiness = page.readiness.filter(|_| is_newest);
        Self {
            place: DocsLocation::Move,
            from: from.version.label,
            to: to.version.label,
            address: pair.address(),
            others: other_pairs(pair, versions),
            states: [VersionState::new(from), VersionState::new(to)],
            is_sandbox_only: to.version.publication.status == Status::SandboxOnly,
            steps: steps(&guide, is_newest, readiness, outcome.as_ref()),
            guide,
            kinds: form.kinds(Some(from.version)),
            form,
            outcome,
            example_of: None,
            differences: paths::differences(from.version.label, to.version.label),
            release_notes: [from, to].map(|served| Link {
                words: format!("Release notes for {}", served.label),
                address: paths::release_notes(served.version.label),
                is_here: false,
            }),
        }
    }

    /// Whether a version is deprecated or will be.
    fn has_deprecation(&self) -> bool {
        self.states.iter().any(|state| state.deprecated.is_some())
    }

    /// Whether a version has an end date.
    fn has_end(&self) -> bool {
        self.states.iter().any(|state| state.end.is_some())
    }

    /// Whether the form for the next body stands below the problems of the last one.
    fn has_correction(&self) -> bool {
        let outcome = self.outcome.as_ref();
        outcome.is_some_and(|outcome| outcome.problems.count > 0)
    }

    /// Whether the reader sent a body.
    fn is_answer(&self) -> bool {
        self.outcome.is_some() || !self.form.faults.is_empty()
    }
}

/// Returns links to the other pairs with one of the two versions.
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

/// Returns the pairs of served versions that a reader of a page about `label` may need: from each
/// older version to `label`, and from `label` to each newer version.
pub(crate) fn pairs_about(label: Label, versions: &Versions) -> Vec<(Label, Label)> {
    let others = versions.iter().map(|served| served.version.label);
    let pair = |other: Label| {
        if other < label {
            (other, label)
        } else {
            (label, other)
        }
    };
    others.filter(|other| *other != label).map(pair).collect()
}
