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

/// The trainees of a list, for a walk in the order of their changes. For a list of several states,
/// the query excludes the other states, so that the planner does not choose an index by state.
pub(super) fn walked(
    ProviderListing {
        provider,
        listing,
        today,
    }: ProviderListing<'_>,
) -> Trainees {
    filter_states(
        narrowed(select_list(provider, listing), listing, today),
        listing,
    )
}

/// Filters by the states of the list.
pub(super) fn filter_states(trainees: Trainees, listing: &Listing) -> Trainees {
    match listing.status.map(Status::states) {
        None => trainees,
        Some([only]) => trainees.filter(trainees::state.eq(only.name())),
        Some(states) => {
            let others = State::ALL
                .iter()
                .copied()
                .filter(|state| !states.contains(state));
            // One condition per state: a query with a list of values is planned each time.
            others.fold(trainees, |trainees, other| {
                trainees.filter(trainees::state.ne(other.name()))
            })
        }
    }
}

/// The visible trainees of a list's cycle, or those changed since the list's timestamp.
pub(super) fn select_list(provider: i64, listing: &Listing) -> Trainees {
    let all = trainees::table
        .into_boxed()
        .filter(visible(provider))
        .filter(trainees::academic_cycle.eq(listing.cycle));
    changed_since(all, listing)
}

/// Filters by the time of the last change, if the list has a timestamp.
pub(super) fn changed_since(trainees: Trainees, listing: &Listing) -> Trainees {
    match listing.since {
        Some(since) => trainees.filter(trainees::updated_at.ge(since.naive_utc())),
        None => trainees,
    }
}

/// Filters by whether training has started, if the status of the list requires it.
pub(super) fn begun(trainees: Trainees, listing: &Listing, today: NaiveDate) -> Trainees {
    match listing.status.and_then(Status::started) {
        Some(true) => trainees.filter(trainees::itt_start_date.le(today)),
        Some(false) => trainees.filter(trainees::itt_start_date.gt(today)),
        None => trainees,
    }
}

/// Filters by whether training has started and by whether there is a TRN, if the list requires it.
pub(super) fn narrowed(trainees: Trainees, listing: &Listing, today: NaiveDate) -> Trainees {
    let trainees = begun(trainees, listing, today);
    match listing.has_trn {
        Some(true) => trainees.filter(trainees::trn.is_not_null()),
        Some(false) => trainees.filter(trainees::trn.is_null()),
        None => trainees,
    }
}
