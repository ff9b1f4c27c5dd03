//! What is selected of a trainee, and which trainees their provider can see.

use diesel::prelude::*;
use domain::State;
use stored_document::JsonText;

use crate::schema::trainees;

/// The state is another one than draft.
#[diesel::dsl::auto_type]
pub(crate) fn is_not_draft() -> _ {
    let draft: &'static str = State::Draft.name();
    trainees::state.ne(draft)
}

/// The provider of the trainee can see it: it is neither a draft nor discarded.
#[diesel::dsl::auto_type]
pub(crate) fn is_visible() -> _ {
    trainees::discarded_at.is_null().and(is_not_draft())
}

/// Key, revision and document of one trainee.
pub(crate) type TraineeRow = (i64, i64, JsonText);

/// What is selected of a trainee.
pub(crate) const TRAINEE_ROW: (trainees::id, trainees::revision, trainees::record) =
    (trainees::id, trainees::revision, trainees::record);
