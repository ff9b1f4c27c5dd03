//! Lists of trainees: one page, and how many there are in all.
//!
//! What a page costs hangs on the page, hardly on the list. How many trainees a list shows is read from counts that the
//! database keeps (`counting`). What a page skips is skipped inside an index (`finding`), and only the trainees of the
//! page are read.

use std::collections::HashMap;

use diesel::prelude::*;
use domain::listing::Listing;

pub(crate) use self::counting::miscounted;
use super::load::{Nested, Row};
use super::{StoredTrainee, row};
use crate::error::StorageError;
use crate::schema::trainees;
use crate::session::ProviderSession;

mod counting;
mod finding;
#[cfg(test)]
mod tests;

/// One page of a list.
#[derive(Debug)]
pub struct Page {
    /// The trainees on the page, without placements and degrees.
    pub trainees: Vec<StoredTrainee>,
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
        if listing.skipped() >= total {
            return Ok(Page { trainees: Vec::new(), total });
        }
        let keys = finding::keys(self.connection, provider, listing, today, &count)?;
        // By key alone: the keys are the provider's, and beside another condition SQLite might rather go through all
        // that the provider has.
        let rows = trainees::table.filter(trainees::id.eq_any(&keys)).select(row()).load::<Row>(self.connection)?;
        let mut rows: HashMap<i64, Row> = rows.into_iter().map(|row| (row.0, row)).collect();
        let rows = keys.iter().filter_map(|key| rows.remove(key)).collect();
        Ok(Page { trainees: self.whole(rows, Nested::Without)?, total })
    }
}
