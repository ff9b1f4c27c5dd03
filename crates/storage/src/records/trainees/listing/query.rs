//! The filters of a list of trainees, without its order and its pages.

use chrono::NaiveDate;
use database::connection::Backend;
use diesel::prelude::*;
use domain::State;
use domain::listing::{Listing, Status};

use crate::records::trainees::visible;
use crate::schema::trainees;

/// A list of trainees of one provider. The start dates of trainees are compared with `today`.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProviderListing<'a> {
    pub(super) provider: i64,
    pub(super) listing: &'a Listing,
    pub(super) today: NaiveDate,
}

/// A query for trainees that further filters can narrow.
pub(super) type Trainees = trainees::BoxedQuery<'static, Backend>;

/// The trainees of a list, in no order.
pub(super) fn select_list(
    ProviderListing {
        provider,
        listing,
        today,
    }: ProviderListing<'_>,
) -> Trainees {
    let mut list = trainees::table
        .into_boxed()
        .filter(visible(provider))
        .filter(trainees::academic_cycle.eq(listing.cycle));
    if let Some(since) = listing.since {
        list = list.filter(trainees::updated_at.ge(since.naive_utc()));
    }
    list = match listing.status.map(Status::states) {
        None => list,
        Some([only]) => list.filter(trainees::state.eq(only.name())),
        Some(states) => {
            let others = State::ALL
                .iter()
                .copied()
                .filter(|state| !states.contains(state));
            // One condition per state: a query with a list of values is planned each time.
            others.fold(list, |list, other| {
                list.filter(trainees::state.ne(other.name()))
            })
        }
    };
    list = match listing.status.and_then(Status::started) {
        Some(true) => list.filter(trainees::itt_start_date.le(today)),
        Some(false) => list.filter(trainees::itt_start_date.gt(today)),
        None => list,
    };
    match listing.has_trn {
        Some(true) => list.filter(trainees::trn.is_not_null()),
        Some(false) => list.filter(trainees::trn.is_null()),
        None => list,
    }
}
