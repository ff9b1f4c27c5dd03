//! The trainees of a list, before its order and its pages.

use chrono::NaiveDate;
use database::connection::Backend;
use diesel::prelude::*;
use domain::State;
use domain::listing::{Listing, Status};

use crate::records::trainees::visible;
use crate::schema::trainees;

/// Whose trainees a list shows, which, and on which day.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProviderListing<'a> {
    pub(super) provider: i64,
    pub(super) listing: &'a Listing,
    pub(super) today: NaiveDate,
}

/// The trainees of one provider, to be narrowed.
pub(super) type Trainees = trainees::BoxedQuery<'static, Backend>;

/// The trainees that a list shows, for a walk along it in the order of their changes. Where it
/// shows several states, the query names those that it leaves out: for them no index is a
/// candidate.
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

/// Those of them that are in the states which the list shows.
pub(super) fn filter_states(trainees: Trainees, listing: &Listing) -> Trainees {
    match listing.status.map(Status::states) {
        None => trainees,
        Some([only]) => trainees.filter(trainees::state.eq(only.name())),
        Some(states) => {
            let others = State::ALL
                .iter()
                .copied()
                .filter(|state| !states.contains(state));
            // One by one: a list of values is planned again each time.
            others.fold(trainees, |trainees, other| {
                trainees.filter(trainees::state.ne(other.name()))
            })
        }
    }
}

/// All trainees of a list, or those that have changed since a timestamp.
pub(super) fn select_list(provider: i64, listing: &Listing) -> Trainees {
    let all = trainees::table
        .into_boxed()
        .filter(visible(provider))
        .filter(trainees::academic_cycle.eq(listing.cycle));
    changed_since(all, listing)
}

pub(super) fn changed_since(trainees: Trainees, listing: &Listing) -> Trainees {
    match listing.since {
        Some(since) => trainees.filter(trainees::updated_at.ge(since.naive_utc())),
        None => trainees,
    }
}

/// Those of them that have begun, or have not, where the list asks for it.
pub(super) fn begun(trainees: Trainees, listing: &Listing, today: NaiveDate) -> Trainees {
    match listing.status.and_then(Status::started) {
        Some(true) => trainees.filter(trainees::itt_start_date.le(today)),
        Some(false) => trainees.filter(trainees::itt_start_date.gt(today)),
        None => trainees,
    }
}

/// Those of them that the filters select, except the state.
pub(super) fn narrowed(trainees: Trainees, listing: &Listing, today: NaiveDate) -> Trainees {
    let trainees = begun(trainees, listing, today);
    match listing.has_trn {
        Some(true) => trainees.filter(trainees::trn.is_not_null()),
        Some(false) => trainees.filter(trainees::trn.is_null()),
        None => trainees,
    }
}
