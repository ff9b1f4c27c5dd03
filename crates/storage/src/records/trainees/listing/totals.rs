//! The totals of lists, kept in memory: counting a list takes as long as reading a page of it.
//!
//! Invariant: while a provider's standing and the date are the same, a list has the same trainees,
//! because each changed record takes a position. A total is therefore never wrong, only unused
//! after a change.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use domain::listing::{Listing, Order};

use super::query::ProviderListing;
use crate::error::StorageError;
use crate::records::positions::Standing;

/// The most totals that are kept, about 1 MB.
const CAPACITY: usize = 4_096;

/// The numbers of trainees of lists of one register.
#[derive(Debug, Default)]
pub struct ListTotals(Mutex<HashMap<String, i64>>);

impl ListTotals {
    /// The number of trainees of a list, which `count` counts if it is not known for this standing.
    pub(super) fn find_or_count(
        &self,
        list: ProviderListing<'_>,
        standing: &Standing,
        count: impl FnOnce() -> Result<i64, StorageError>,
    ) -> Result<i64, StorageError> {
        let key = key(list, standing);
        if let Some(total) = self.totals().get(&key) {
            return Ok(*total);
        }
        let total = count()?;
        let mut totals = self.totals();
        if totals.len() >= CAPACITY {
            totals.clear();
        }
        totals.insert(key, total);
        Ok(total)
    }

    fn totals(&self) -> std::sync::MutexGuard<'_, HashMap<String, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the total of a list depends on: all but its order and its pages.
fn key(list: ProviderListing<'_>, standing: &Standing) -> String {
    let ProviderListing {
        provider,
        listing,
        today,
    } = list;
    let filters = Listing {
        order: Order::NewestFirst,
        page: 1,
        per_page: 1,
        ..listing.clone()
    };
    format!("{provider} {} {today} {filters:?}", standing.to_text())
}
