//! The vocabulary of messages, and the form of problems in nested records.

use adapter_kit::version::{ApiVersion, NestedErrors};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};

/// Another term in messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VocabularyChange {
    /// The term before.
    pub before: &'static str,
    /// The term now.
    pub after: &'static str,
}

/// Another form of the problems in nested items, where problems are requested by field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NestedErrorsChange {
    /// The form before.
    pub before: &'static str,
    /// The form now.
    pub after: &'static str,
}

/// The changes of messages.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Vec<Change> {
    [vocabulary(from, to), nested_errors(from, to)]
        .into_iter()
        .flatten()
        .collect()
}

fn vocabulary(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (before, after) = (
        from.vocabulary.training_partner,
        to.vocabulary.training_partner,
    );
    (before != after).then(|| {
        Change::new(
            Effect::WorthKnowing,
            ChangeDetail::Vocabulary(VocabularyChange { before, after }),
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
        let about = ChangeDetail::NestedErrors(NestedErrorsChange { before: before.name(), after: after.name() });
        Change::new(Effect::ReadDifferently, about, "problems by field", summary.to_owned(), advice.to_owned())
    })
}
