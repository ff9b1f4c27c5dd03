//! The positions of changes, as a reader sees them. What a client has seen at a position is complete
//! up to it, because all changes of a provider happen one after the other (`base/provider_lock.rs`).

use database::connection::{static_query, with_inner};
use diesel::prelude::*;

use crate::base::provider_lock::missing;
use crate::error::StorageError;
use crate::records::change_generation::{Generation, GenerationText, Timeline};
use crate::schema::provider_positions;
use crate::session::ProviderSession;

/// What a transaction sees of a provider's changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// The position of the last change.
    pub(crate) position: i64,
    /// The generation of the positions.
    pub(crate) generation: Generation,
}

impl Standing {
    /// The standing as a text that differs from every other standing.
    #[must_use]
    pub fn to_text(&self) -> String {
        let Generation { register, timeline } = &self.generation;
        format!("{register} {timeline} {}", self.position)
    }
}

/// Position, and the parts of the generation.
pub(crate) type StandingRow = (i64, String, String);

/// The columns of [`StandingRow`].
pub(crate) const STANDING: (provider_positions::position, GenerationText, Timeline) =
    (provider_positions::position, GenerationText, Timeline);

impl From<StandingRow> for Standing {
    fn from((position, register, timeline): StandingRow) -> Self {
        let generation = Generation { register, timeline };
        Self {
            position,
            generation,
        }
    }
}

impl ProviderSession<'_> {
    /// What this transaction sees of the provider's changes: if it is the same in two transactions,
    /// no record was changed between them.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn standing(&mut self) -> Result<Standing, StorageError> {
        if let Some(standing) = self.standing.take() {
            return Ok(standing);
        }
        let provider = self.provider().id;
        let query = static_query(provider_positions::table.find(provider).select(STANDING));
        let found = with_inner!(self.connection, |inner| query
            .get_result::<StandingRow>(inner))
        .optional()?;
        Ok(found.ok_or_else(|| missing(provider))?.into())
    }
}
