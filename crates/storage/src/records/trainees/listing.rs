//! Lists of trainees: one page, and how many there are in all.
//!
//! What a page costs hangs on the page, hardly on the list. How many trainees a list shows is read
//! from counts that the database keeps (`counting`). From them it is decided how the page is
//! reached (`plan`). What a page skips is skipped inside an index (`finding`), and only the
//! trainees of the page are read.
//!
//! On PostgreSQL each query that waits for the one before it costs a round trip. Near its beginning
//! a list is walked along from there, whatever its length, so that the count and the page are
//! queried together.

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
    /// Where the next page begins, if there is one.
    pub next: Option<ListCursor>,
}

impl Page {
    fn new(listed: Vec<Listed>, total: i64, listing: &Listing, standing: Standing) -> Self {
        let is_last = listing.offset().saturating_add(listing.per_page) >= total;
        let next = listed
            .last()
            .filter(|_| !is_last)
            .and_then(|last| ListCursor::from_last_trainee(last, standing));
        Self {
            trainees: listed.into_iter().map(|one| one.document).collect(),
            total,
            next,
        }
    }
}

impl ProviderSession<'_> {
    /// One page of the trainees that a list shows (contract, section 4.2).
    ///
    /// # Errors
    ///
    /// When the database does not answer, or a row is corrupt.
    pub fn list_trainees(&mut self, listing: &Listing) -> Result<Page, StorageError> {
        let (provider, today) = (self.provider().id, self.today());
        let connection = &mut *self.connection;
        let list = ProviderListing {
            provider,
            listing,
            today,
        };
        let standing = queue_standing(connection)?;
        let count = counting::queue_count(connection, list)?;
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
