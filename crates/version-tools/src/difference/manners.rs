//! How a version speaks: its words for things that have had several, and the form of problems in nested items.

use adapter_kit::version::{ApiVersion, NestedErrors};
use serde::Serialize;

use super::{About, Change, Effect};

/// Another word in messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WordChange {
    /// The word before.
    pub before: &'static str,
    /// The word now.
    pub after: &'static str,
}

/// Another form of the problems in nested items, where problems are asked for by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NestedErrorsChange {
    /// The form before.
    pub before: &'static str,
    /// The form now.
    pub after: &'static str,
}

/// The changes in how the version speaks.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    [word(from, to), nested_errors(from, to)].into_iter().flatten().collect()
}

fn word(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (before, after) = (from.words.training_partner, to.words.training_partner);
    (before != after).then(|| {
        Change::new(
            Effect::WorthKnowing,
            About::Word(WordChange { before, after }),
            "messages",
            format!("Messages say \"{after}\", and no longer \"{before}\"."),
            "Show messages to people; do not look for words in them.".to_owned(),
        )
    })
}

fn nested_errors(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (before, after) = (from.nested_errors, to.nested_errors);
    (before != after).then(|| {
        let (summary, advice) = match after {
            NestedErrors::Flat => (
                "By field, a problem in a nested item stands under its path.",
                "Where you ask for problems by field, look for one in a nested item under its path, beside the others.",
            ),
            NestedErrors::Nested => (
                "By field, problems in nested items stand in an object under the name of their array.",
                "Where you ask for problems by field, look for those in nested items under the name of the array.",
            ),
        };
        let about = About::NestedErrors(NestedErrorsChange { before: name(before), after: name(after) });
        Change::new(Effect::ReadOtherwise, about, "problems by field", summary.to_owned(), advice.to_owned())
    })
}

fn name(form: NestedErrors) -> &'static str {
    match form {
        NestedErrors::Flat => "flat",
        NestedErrors::Nested => "nested",
    }
}
