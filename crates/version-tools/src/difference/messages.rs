//! The vocabulary of messages, and the form of problems in nested records.

use adapter_kit::version::{ApiVersion, NestedErrors};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};

/// A change of a term in messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VocabularyChange {
    /// The term before.
    pub before: &'static str,
    /// The term after.
    pub after: &'static str,
}

/// A change of the form of problems in nested items, for clients that request problems by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NestedErrorsChange {
    /// The form before.
    pub before: &'static str,
    /// The form after.
    pub after: &'static str,
}

/// Returns the changes of messages.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    [vocabulary(from, to), nested_errors(from, to)]
        .into_iter()
        .flatten()
        .collect()
}

/// Returns the change of the term for a training partner; `None` if both versions use the same
/// term.
fn vocabulary(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let before = from.vocabulary.training_partner;
    let after = to.vocabulary.training_partner;
    (before != after).then(|| {
        Change::new(
            Effect::WorthKnowing,
            ChangeDetail::Vocabulary(VocabularyChange { before, after }),
            "messages",
            format!("Messages use the term \"{after}\" instead of \"{before}\"."),
            "Show messages to people only. Do not parse them in your client.".to_owned(),
        )
    })
}

/// Returns the change of the form of problems in nested items; `None` if both versions use the same
/// form.
fn nested_errors(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let before = from.nested_errors;
    let after = to.nested_errors;
    (before != after).then(|| {
        let (summary, advice) = match after {
            NestedErrors::Flat => (
                "In problems by field, problems in nested items have the path of the field as their key.",
                "If you request problems by field, look up problems in nested items by path.",
            ),
            NestedErrors::Nested => (
                "In problems by field, problems in nested items are in an object under the array's name.",
                "If you request problems by field, look up problems in nested items under the array's name.",
            ),
        };
        let about = ChangeDetail::NestedErrors(NestedErrorsChange { before: before.name(), after: after.name() });
        Change::new(Effect::ReadDifferently, about, "problems by field", summary.to_owned(), advice.to_owned())
    })
}
