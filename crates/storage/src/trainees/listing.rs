//! Lists of trainees: one page, and how many there are in all.
//!
//! What a page costs hangs on the page, hardly on the list. How many trainees a list shows is read from counts that the
//! database keeps (`counting`). What a page skips is skipped inside an index (`finding`), and only the trainees of the
//! page are read.

use domain::listing::Listing;

pub(crate) use self::counting::miscounted;
use super::TraineeDocument;
use crate::error::StorageError;
use crate::session::ProviderSession;

mod counting;
mod finding;
#[cfg(test)]
mod tests;

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    /// The trainees on the page.
    pub trainees: Vec<TraineeDocument>,
    /// The trainees on all pages.
    pub total: i64,
}

impl ProviderSession<'_> {
    /// One page of the trainees that a list shows (contract, section 4.2).
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn list_trainees(&mut self, listing: &Listing) -> Result<Page, StorageError> {
        let (provider, today) = (self.provider().id, self.today());
        let count = counting::count(self.connection, provider, listing, today)?;
        let total = count.total;
        if listing.offset() >= total {
            return Ok(Page { trainees: Vec::new(), total });
        }
        let keys = finding::keys(self.connection, provider, listing, today, &count)?;
        Ok(Page { trainees: finding::documents(self.connection, &keys)?, total })
    }
}
