//! The positions of changes, as a reader sees them. What a client has seen at a position is complete
//! up to it, because all changes of a provider happen one after the other (`base/provider_lock.rs`).

use database::connection::{static_query, with_inner};
use diesel::prelude::*;

use crate::base::provider_lock::missing;
pub use crate::base::standing::Standing;
use crate::base::standing::{STANDING, StandingRow};
use crate::error::StorageError;
use crate::schema::provider_positions;
use crate::session::ProviderSession;

impl ProviderSession<'_> {
    /// What this transaction sees of the provider's changes: if it is the same in two transactions,
    /// no record was changed between them.
    ///
    /// # Errors
    ///
    /// When the database does not answer.
    pub fn standing(&mut self) -> Result<Standing, StorageError> {
        if let Some(standing) = &self.standing {
            return Ok(standing.clone());
        }
        let provider = self.provider().id;
        let query = static_query(provider_positions::table.find(provider).select(STANDING));
        let found = with_inner!(self.connection, |inner| query
            .get_result::<StandingRow>(inner))
        .optional()?;
        Ok(found.ok_or_else(|| missing(provider))?.into())
    }
}
