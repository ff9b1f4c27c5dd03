//! Lists of trainees: one page, and the total number of trainees.
//!
//! The cost of a page depends on the page and hardly on the length of the list:
//!
//! 1. `counting` reads the total from counts that triggers of the database maintain.
//! 2. `plan` decides from the counts how to reach the page.
//! 3. `finding` skips trainees inside an index and reads only the trainees of the page.
//!
//! On PostgreSQL a query that depends on the result of another one costs a round trip. A page near
//! the beginning of a list does not depend on the count, so both are queried together.

use domain::listing::Listing;

pub(crate) use self::counting::miscounted;
pub use self::cursor::{CursorPage, ListCursor};
use self::finding::Listed;
use self::plan::{ListWalk, PagePlan};
use self::query::ProviderListing;
use super::TraineeDocument;
use crate::error::StorageError;
use crate::records::change_position::{Standing, queue_standing};
use crate::session::ProviderSession;

mod counting;
mod cursor;
mod finding;
mod plan;
mod query;
#[cfg(test)]
mod tests;

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
    fn new(listed: Vec<Listed>, total: i64, listing: &Listing, standing: Standing) -> Self {
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
    /// One page of a list of trainees (contract, section 4.2).
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn list_trainees(&mut self, listing: &Listing) -> Result<Page, StorageError> {
        let list = ProviderListing {
            provider: self.provider().id,
            listing,
            today: self.today(),
        };
        let connection = &mut *self.connection;
        // `standing` and `count` take the results of these queued queries.
        let standing = queue_standing(connection)?;
        let count = counting::queue_count(connection, list)?;
        // On PostgreSQL, a page that does not depend on the count is queried together with it.
        if let Some(walk) = ListWalk::near_beginning(listing).filter(|_| connection.is_remote()) {
            let listed = finding::walk(connection, list, walk, None)?;
            let total = count(connection)?.total;
            return Ok(Page::new(listed, total, listing, standing(connection)?));
        }
        let queries_days = connection.is_remote() && plan::is_far(listing);
        let days = if queries_days {
            Some(counting::queue_days(connection, list)?)
        } else {
            None
        };
        let count = count(connection)?;
        let listed = match PagePlan::new(listing, &count) {
            PagePlan::Nothing => Vec::new(),
            PagePlan::Keys { states } => finding::few(connection, list, states)?,
            PagePlan::Walk(walk) => finding::walk(connection, list, walk, days)?,
        };
        Ok(Page::new(
            listed,
            count.total,
            listing,
            standing(connection)?,
        ))
    }
}
