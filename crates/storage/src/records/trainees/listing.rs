//! Lists of trainees: one page, and the total number of trainees.
//!
//! A provider has at most some ten thousand trainees. The database counts them and skips to a page
//! inside an index in the order of the list, and reads only the trainees of the page. A list is
//! counted once for each standing of its provider (`totals.rs`).

use domain::listing::Listing;

pub use self::cursor::{CursorPage, ListCursor};
use self::finding::Listed;
use self::query::ProviderListing;
pub use self::totals::ListTotals;
use super::TraineeDocument;
use crate::error::StorageError;
use crate::records::positions::Standing;
use crate::session::ProviderSession;

mod cursor;
mod finding;
mod query;
#[cfg(test)]
mod tests;
mod totals;

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    /// The trainees on the page.
    pub trainees: Vec<TraineeDocument>,
    /// The trainees on all pages.
    pub total: i64,
    /// The cursor of the next page; `None` on the last page.
    pub next: Option<ListCursor>,
}

impl Page {
    /// The page with the `listed` trainees, and the cursor after them unless it is the last page.
    fn new(listed: Vec<Listed>, total: i64, listing: &Listing, standing: &Standing) -> Self {
        let is_last = listing.offset().saturating_add(listing.per_page) >= total;
        let next = listed
            .last()
            .filter(|_| !is_last)
            .and_then(|last| ListCursor::from_last_trainee(last, standing));
        Self {
            trainees: listed.into_iter().map(|found| found.document).collect(),
            total,
            next,
        }
    }
}

impl ProviderSession<'_> {
    /// One page of a list of trainees (contract, section 4.2). `standing` must come from the same
    /// job, and `totals` from earlier lists of the same register.
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn list_trainees(
        &mut self,
        listing: &Listing,
        standing: &Standing,
        totals: &ListTotals,
    ) -> Result<Page, StorageError> {
        let list = ProviderListing {
            provider: self.provider().id,
            listing,
            today: self.today(),
        };
        let total =
            totals.find_or_count(list, standing, || finding::count(self.connection, list))?;
        let listed = if listing.offset() < total {
            finding::load_page(self.connection, list)?
        } else {
            Vec::new()
        };
        Ok(Page::new(listed, total, listing, standing))
    }
}
