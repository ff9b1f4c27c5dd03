//! Visibility of nested records in lists of trainees.

use adapter_kit::version::{ApiVersion, NestedVisibility};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};

/// A change of the visibility of nested records in lists of trainees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NestedInListsChange {
    /// Whether the target version shows nested records in lists.
    pub shown: bool,
}

/// Returns the change of the nested records in lists; `None` if both versions agree.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let before = from.shapes.nested_in_lists;
    let after = to.shapes.nested_in_lists;
    (before != after).then(|| {
        let (effect, summary, advice) = match after {
            NestedVisibility::Shown => (
                Effect::NewlyPossible,
                "Trainee lists include placements and degrees.",
                "You can read placements and degrees from the list instead of requesting each trainee.",
            ),
            NestedVisibility::Hidden => (
                Effect::ReadDifferently,
                "Trainee lists no longer include placements and degrees.",
                "Request each trainee to read its placements and degrees.",
            ),
        };
        let detail = ChangeDetail::NestedInLists(NestedInListsChange {
            shown: after == NestedVisibility::Shown,
        });
        Change::new(
            effect,
            detail,
            "lists of trainees",
            summary.to_owned(),
            advice.to_owned(),
        )
    })
}
