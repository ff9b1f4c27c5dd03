//! The columns of a trainee that most queries select, and the filter for visible trainees.

use diesel::prelude::*;
use domain::State;
use stored_document::JsonText;

use crate::schema::trainees;

/// The trainee is not a draft.
#[diesel::dsl::auto_type]
pub(crate) fn is_not_draft() -> _ {
    let draft: &'static str = State::Draft.name();
    trainees::state.ne(draft)
}

/// The trainee is visible to its provider: neither a draft nor discarded.
#[diesel::dsl::auto_type]
pub(crate) fn is_visible() -> _ {
    trainees::discarded_at.is_null().and(is_not_draft())
}

/// Key, revision and document of one trainee.
pub(crate) type TraineeRow = (i64, i64, JsonText);

/// The columns of [`TraineeRow`].
pub(crate) const TRAINEE_ROW: (trainees::id, trainees::revision, trainees::record) =
    (trainees::id, trainees::revision, trainees::record);
