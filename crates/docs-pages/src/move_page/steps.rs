//! The steps of a move.

use adapter_kit::Label;
use version_tools::Difference;
use version_tools::difference::{
    Change, ChangeDetail, EndpointChange, EndpointChangeKind, Section,
};

use super::outcome::Outcome;

pub(super) struct Step {
    pub(super) words: String,
    pub(super) links: Vec<StepLink>,
}

/// To a section of the page, or to another page.
pub(super) struct StepLink {
    pub(super) address: String,
    pub(super) words: &'static str,
}

impl Step {
    fn new(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            links: Vec::new(),
        }
    }

    fn with_link(mut self, address: &str, words: &'static str) -> Self {
        self.links.push(StepLink {
            address: address.to_owned(),
            words,
        });
        self
    }
}

/// Lists the steps of a move. With an outcome, these are the steps after this conversion.
/// `readiness` is the page with the report of readiness.
pub(super) fn steps(
    difference: &Difference,
    is_newest: bool,
    readiness: Option<&'static str>,
    outcome: Option<&Outcome>,
) -> Vec<Step> {
    let Difference { from, to, .. } = difference;
    let mut steps = match outcome {
        Some(outcome) => steps_after_conversion(outcome),
        None => vec![conversion_step(format!(
            "Convert one body of each kind that you send, and note its problems in {to}."
        ))],
    };
    for (section, changes) in difference.sections() {
        steps.extend(section_step(section, &changes, *to));
    }
    steps.push(Step::new(format!(
        "Send your requests to {} with the header \"Prefer: validate-only, handling=strict\". \
         {to} checks them and stores nothing. It answers an accepted request with its usual status, such \
         as 201 for a new trainee and 200 for an update. It answers a refused one with 422 and its \
         problems.",
        to.base_path()
    )));
    // The report of readiness is about the newest version only.
    if is_newest {
        steps.push(readiness_step(*from, readiness));
    }
    steps.push(Step::new(format!(
        "Send one kind of request at a time to {to}. Both versions show the same records; tokens \
         and identifiers stay the same. Entity tags, cursors and idempotency keys belong to one \
         version: finish retries in {from}."
    )));
    steps.push(Step::new(format!(
        "If you keep a copy of the records with GET /changes, move it last: start a second copy in \
         {to}, compare both, then switch."
    )));
    steps
}

fn conversion_step(words: impl Into<String>) -> Step {
    Step::new(words).with_link("#convert", "Conversion")
}

fn steps_after_conversion(outcome: &Outcome) -> Vec<Step> {
    let others = conversion_step("Convert one body of each other kind that you send.");
    if outcome.needs_correction() {
        let again = "Correct the body as described above, and convert it again.";
        vec![conversion_step(again), others]
    } else {
        vec![others]
    }
}

/// Returns `None` if the changes need no work.
fn section_step(section: Section, changes: &[&Change], to: Label) -> Option<Step> {
    let words = match section {
        Section::RenamedFields => "Rename the fields in your requests and responses.".to_owned(),
        Section::Rules => format!("Check the values that you send against the rules of {to}."),
        Section::EndedCodes => format!("Replace the codes that {to} refuses."),
        Section::Endpoints if changes.iter().any(|change| is_about_old_endpoint(change)) => {
            "Replace removed and deprecated endpoints.".to_owned()
        }
        Section::Requests => "Change your other requests.".to_owned(),
        Section::Responses => "Change how you read responses.".to_owned(),
        Section::Endpoints | Section::Optional => return None,
    };
    Some(Step::new(words).with_link(&format!("#{}", section.anchor()), section.title()))
}

fn is_about_old_endpoint(change: &Change) -> bool {
    matches!(
        &change.detail,
        ChangeDetail::Endpoint(EndpointChange {
            kind: EndpointChangeKind::Removed { .. } | EndpointChangeKind::Deprecated { .. },
            ..
        })
    )
}

fn readiness_step(from: Label, page: Option<&'static str>) -> Step {
    let step = Step::new(format!(
        "Send your usual requests in {from}. Then read your readiness with \
         GET {}/account/readiness, and fix the problems that it lists. Before your first request, usage is null.",
        from.base_path()
    ));
    match page {
        Some(page) => step.with_link(page, "Readiness in the settings (for signed-in users)"),
        None => step,
    }
}
