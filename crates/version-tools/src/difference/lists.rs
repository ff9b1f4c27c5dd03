//! Whether a list of trainees shows their nested records.

use adapter_kit::version::{ApiVersion, NestedVisibility};
use serde::Serialize;

use super::{Change, ChangeDetail, Effect};

/// Nested records come into lists of trainees, or leave them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NestedInListsChange {
    /// Whether the version that is moved to shows them.
    pub shown: bool,
}

/// The change of lists.
pub(super) fn changes(from: &ApiVersion, to: &ApiVersion) -> Option<Change> {
    let (before, after) = (from.shapes.nested_in_lists, to.shapes.nested_in_lists);
    (before != after).then(|| {
        let (effect, summary, advice) = match after {
            NestedVisibility::Shown => (
                Effect::NewlyPossible,
                "A list of trainees shows their placements and degrees.",
                "Read them from the list, in place of a request for each trainee.",
            ),
            NestedVisibility::Hidden => (
                Effect::ReadDifferently,
                "A list of trainees no longer shows their placements and degrees.",
                "Read them with a request for each trainee.",
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
