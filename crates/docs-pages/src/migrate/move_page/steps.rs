//! The steps of a move.

use adapter_kit::Label;

use super::super::outcome::Outcome;
use super::guide::Guide;

/// A step of the move.
pub(super) struct Step {
    pub(super) words: String,
    /// Links to the sections and pages about the step.
    pub(super) links: Vec<StepLink>,
}

/// A link to a section of the page or to another page.
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

/// The heading of each section that steps link to, with its address on the page.
const CONVERSION: (&str, &str) = ("#convert", "Conversion");
const RENAMED_FIELDS: (&str, &str) = ("#renamed-fields", "Renamed fields");
const RULES: (&str, &str) = ("#rules", "Required fields and stricter rules");
const ENDED_CODES: (&str, &str) = ("#ended-codes", "Ended codes");
const REQUESTS: (&str, &str) = ("#requests", "Other changed requests");
const RESPONSES: (&str, &str) = ("#responses", "Other changed responses");
const ENDPOINTS: (&str, &str) = ("#endpoints", "Endpoints");

/// Returns the steps of a move.
///
/// With an outcome, the steps are those that remain after this conversion. `is_newest` says whether
/// the target is the newest version: the report of readiness is about the newest version only.
/// `readiness` is the page with this report.
pub(super) fn steps(
    guide: &Guide,
    is_newest: bool,
    readiness: Option<&'static str>,
    outcome: Option<&Outcome>,
) -> Vec<Step> {
    let Guide { from, to, .. } = guide;
    let mut steps = match outcome {
        Some(outcome) => steps_after_conversion(outcome),
        None => vec![section_step(
            format!("Convert one body of each kind that you send, and note its problems in {to}."),
            CONVERSION,
        )],
    };
    steps.extend(steps_about_sections(guide, outcome.is_some()));
    steps.push(Step::new(format!(
        "Send your requests to {} with the header \"Prefer: validate-only, handling=strict\". {to} \
         checks them and stores nothing. It answers an accepted request with its usual status, such \
         as 201 for a new trainee and 200 for an update. It answers a refused one with 422 and its \
         problems.",
        to.base_path()
    )));
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

fn section_step(words: impl Into<String>, (address, heading): (&str, &'static str)) -> Step {
    Step::new(words).with_link(address, heading)
}

/// Returns the steps about conversions that remain after one.
fn steps_after_conversion(outcome: &Outcome) -> Vec<Step> {
    let others = section_step(
        "Convert one body of each other kind that you send.",
        CONVERSION,
    );
    if outcome.problems.count == 0 {
        return vec![others];
    }
    let problems = if outcome.problems.count == 1 {
        "problem"
    } else {
        "problems"
    };
    let again = section_step(
        format!("Fix the {problems} above, and convert the body again."),
        CONVERSION,
    );
    vec![again, others]
}

/// Returns the steps about the sections with changes that need work. After a conversion, one step
/// covers the values of other bodies.
fn steps_about_sections(guide: &Guide, is_converted: bool) -> Vec<Step> {
    let to = guide.to;
    let mut steps = Vec::new();
    if !guide.renames.is_empty() {
        let words = "Rename the fields in your requests and responses.";
        steps.push(section_step(words, RENAMED_FIELDS));
    }
    let rules = (!guide.rules.rows.is_empty()).then_some(RULES);
    let ended_codes = (!guide.ended_codes.is_empty()).then_some(ENDED_CODES);
    if is_converted {
        let mut values = Step::new("Check the other values that your client can send.");
        for (address, heading) in rules.into_iter().chain(ended_codes) {
            values = values.with_link(address, heading);
        }
        if !values.links.is_empty() {
            steps.push(values);
        }
    } else {
        let check = format!("Check the values that you send against the rules of {to}.");
        let replace = format!("Replace the codes that {to} refuses.");
        steps.extend(rules.map(|section| section_step(check, section)));
        steps.extend(ended_codes.map(|section| section_step(replace, section)));
    }
    if !guide.requests.rows.is_empty() {
        steps.push(section_step("Change your other requests.", REQUESTS));
    }
    if !guide.responses.rows.is_empty() {
        steps.push(section_step("Change how you read responses.", RESPONSES));
    }
    if guide.has_old_endpoints() {
        let words = "Replace removed and deprecated endpoints.";
        steps.push(section_step(words, ENDPOINTS));
    }
    steps
}

fn readiness_step(from: Label, page: Option<&'static str>) -> Step {
    let step = Step::new(format!(
        "Send your usual requests in {from}. Then read your readiness with GET {}/account/readiness, \
         and fix the problems that it lists. Before your first request, usage is null.",
        from.base_path()
    ));
    match page {
        Some(page) => step.with_link(page, "Readiness in the settings (for signed-in users)"),
        None => step,
    }
}
