//! Lists of trainees: one page, and how many there are in all.
//!
//! What a page costs hangs on the page, hardly on the list. How many trainees a list shows is read from counts that the
//! database keeps (`counting`). What a page skips is skipped inside an index (`finding`), and only the trainees of the
//! page are read.
//!
//! On PostgreSQL each query that waits for the one before it costs a round trip. Near its beginning a list is walked
//! along from there, whatever its length, so that the count and the page are queried together.

use domain::listing::Listing;

pub(crate) use self::cache::ListCache;
pub(crate) use self::counting::miscounted;
pub use self::cursor::{CursorPage, ListCursor};
use self::finding::Listed;
use super::TraineeDocument;
use crate::change_position::{Standing, standing};
use crate::connection::DatabaseConnection;
use crate::error::StorageError;
use crate::session::ProviderSession;

mod cache;
mod counting;
mod cursor;
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
    /// Where the next page begins, if there is one.
    pub next: Option<ListCursor>,
}

impl Page {
    fn of(listed: Vec<Listed>, total: i64, listing: &Listing, standing: Standing) -> Self {
        let is_last = listing.offset().saturating_add(listing.per_page) >= total;
        let next = listed.last().filter(|_| !is_last).and_then(|last| ListCursor::behind(last, standing));
        Self { trainees: listed.into_iter().map(|one| one.document).collect(), total, next }
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
        let count = |connection: &mut DatabaseConnection| counting::count(connection, provider, listing, today);
        let standing_and_count = |connection: &mut DatabaseConnection| Ok((standing(connection)?, count(connection)?));
        if self.connection.is_remote() && finding::is_near_the_beginning(listing) {
            let first = |connection: &mut DatabaseConnection| finding::first(connection, provider, listing, today);
            let ((standing, count), listed) = self.connection.load_in_pipeline(standing_and_count, first)?;
            return Ok(Page::of(listed, count.total, listing, standing));
        }
        let is_far = self.connection.is_remote() && listing.offset() >= counting::FAR;
        let ((standing, count), days) = if is_far {
            let from =
                self.list_cache.filter(|_| ListCache::is_cacheable(listing)).map(|_| cache::first_open_day(today));
            let days = |connection: &mut DatabaseConnection| counting::days(connection, provider, listing, from);
            let (loaded, days) = self.connection.load_in_pipeline(standing_and_count, days)?;
            (loaded, Some(days))
        } else {
            (self.connection.load_in_pipeline(standing, count)?, None)
        };
        let total = count.total;
        if listing.offset() >= total {
            return Ok(Page { trainees: Vec::new(), total, next: None });
        }
        let cached = self.list_cache.and_then(|cache| cache.of(listing, provider, &standing.generation, today));
        let listed = finding::page(self.connection, provider, listing, today, (&count, days, cached))?;
        Ok(Page::of(listed, total, listing, standing))
    }
}
