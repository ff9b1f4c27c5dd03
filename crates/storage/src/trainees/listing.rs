//! Lists of trainees: one page, and how many there are in all.

use chrono::NaiveDate;
use diesel::prelude::*;
use domain::State;
use domain::listing::{Listing, Order};

use super::load::{Nested, Row};
use super::{StoredTrainee, row, visible};
use crate::connection::Backend;
use crate::error::StorageError;
use crate::schema::trainees;
use crate::session::ProviderSession;

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
        let total = matching(provider, listing, today).count().get_result(self.connection)?;
        if listing.skipped() >= total {
            return Ok(Page { trainees: Vec::new(), total });
        }
        let matching = matching(provider, listing, today);
        let ordered = match listing.order {
            Order::NewestFirst => matching.order((trainees::updated_at.desc(), trainees::id.desc())),
            Order::OldestFirst => matching.order((trainees::updated_at.asc(), trainees::id.desc())),
        };
        let rows =
            ordered.limit(listing.per_page).offset(listing.skipped()).select(row()).load::<Row>(self.connection)?;
        Ok(Page { trainees: self.whole(rows, Nested::Without)?, total })
    }
}

/// The trainees of a provider to which the list is narrowed.
fn matching(provider: i64, listing: &Listing, today: NaiveDate) -> trainees::BoxedQuery<'static, Backend> {
    let mut query =
        trainees::table.into_boxed().filter(visible(provider)).filter(trainees::academic_cycle.eq(listing.cycle));
    if let Some(status) = listing.status {
        query = query.filter(trainees::state.eq_any(status.states().iter().copied().map(State::name)));
        query = match status.started() {
            Some(true) => query.filter(trainees::itt_start_date.le(today)),
            Some(false) => query.filter(trainees::itt_start_date.gt(today)),
            None => query,
        };
    }
    if let Some(since) = listing.since {
        query = query.filter(trainees::updated_at.ge(since.naive_utc()));
    }
    match listing.has_trn {
        Some(true) => query.filter(trainees::trn.is_not_null()),
        Some(false) => query.filter(trainees::trn.is_null()),
        None => query,
    }
}
