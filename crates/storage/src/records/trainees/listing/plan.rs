//! Plans how to reach a page of a list. The plan depends only on the list and its counts, not on a
//! database.
//!
//! - Usually a walk along an index, in the order of the list and from its nearer end, skips the
//!   trainees before the page. In a list of several states, the walk also passes trainees that the
//!   list does not show.
//! - When a walk would skip many trainees, it starts on a later day, taken from the counts by day.
//! - When all trainees of a filtered list would fit on one page, a walk might pass all other
//!   trainees to find them. Instead, the trainees are looked up by state and sorted in the program.

use chrono::NaiveDate;
use domain::listing::{Listing, MAX_PER_PAGE, Order, Status};

use super::counting::{Count, Days};

/// The largest number of trainees that a walk skips from the beginning of a list without knowing
/// whether the end is nearer.
const NEAR: i64 = 500;
/// The number of trainees that takes about as long to skip as reading the counts by day.
const MANY: i64 = 1_000;
/// From this offset on, the counts by day are queried together with the count. They may turn out to
/// be unnecessary, when the page is near the end.
const FAR: i64 = 2 * MANY;

/// The way to find the trainees of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PagePlan<'a> {
    /// The page is past the end of the list.
    Nothing,
    /// Find the keys of all trainees of the list, which are in these states, and sort them.
    Keys {
        states: &'a [String],
    },
    Walk(ListWalk),
}

/// A walk along a list to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListWalk {
    /// Whether the walk starts at the beginning of the list.
    pub(super) forwards: bool,
    /// The number of trainees of the list to skip.
    pub(super) skipped: i64,
    /// The maximum number of trainees on the page.
    pub(super) shown: i64,
    /// Whether the walk starts on a day taken from the counts by day.
    pub(super) begins_on_a_day: bool,
}

/// The start of a walk that skips whole days.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WalkStart {
    /// The first day of the walk.
    pub(super) day: NaiveDate,
    /// The number of trainees of the list on the skipped days.
    pub(super) passed: i64,
}

impl<'a> PagePlan<'a> {
    /// The plan for the page of a list with this count.
    pub(super) fn new(listing: &Listing, count: &'a Count) -> Self {
        let before = listing.offset();
        if before >= count.total {
            return Self::Nothing;
        }
        // Whether a walk would pass trainees that the list does not show.
        let narrows = match listing.status {
            Some(status) => status.states().len() > 1,
            None => listing.has_trn.is_some(),
        };
        if let Some(states) = count
            .states
            .as_ref()
            .filter(|_| narrows && count.total <= MAX_PER_PAGE)
        {
            return Self::Keys { states };
        }
        let shown = listing.per_page.min(count.total - before);
        let after = count.total - before - shown;
        let forwards = before <= after;
        let skipped = before.min(after);
        // The count of the day of the timestamp includes trainees who changed before the timestamp.
        let begins_within_a_day =
            listing.since.is_some() && !is_newest_first(listing.order, forwards);
        let begins_on_a_day = skipped >= MANY && !begins_within_a_day;
        Self::Walk(ListWalk {
            forwards,
            skipped,
            shown,
            begins_on_a_day,
        })
    }
}

impl ListWalk {
    /// The walk to a page near the beginning of a list, which does not depend on the count. `None`
    /// when the page is far from the beginning or the walk would pass other trainees.
    pub(super) fn near_beginning(listing: &Listing) -> Option<Self> {
        let is_near = !passes_by(listing) && listing.offset() <= NEAR;
        is_near.then_some(Self {
            forwards: true,
            skipped: listing.offset(),
            shown: listing.per_page,
            begins_on_a_day: false,
        })
    }

    /// The start of the walk. `None` when the counts by day have too few trainees, for example
    /// because the list has no counts by day.
    pub(super) fn start(&self, order: Order, mut days: Days) -> Option<WalkStart> {
        days.sort_unstable_by_key(|(day, _)| *day);
        if is_newest_first(order, self.forwards) {
            days.reverse();
        }
        let mut passed = 0;
        for (day, trainees) in days {
            if passed + trainees > self.skipped {
                return Some(WalkStart { day, passed });
            }
            passed += trainees;
        }
        None
    }
}

/// Whether a walk starts with the trainees who changed last.
pub(super) fn is_newest_first(order: Order, forwards: bool) -> bool {
    (order == Order::NewestFirst) == forwards
}

/// Whether the counts by day are queried together with the count.
pub(super) fn is_far(listing: &Listing) -> bool {
    listing.offset() >= FAR
}

/// Whether a walk along the list passes trainees that the list does not show.
pub(super) fn passes_by(listing: &Listing) -> bool {
    let is_of_one_state = |status: Status| status.states().len() == 1 && status.started().is_none();
    listing.has_trn.is_some()
        || listing
            .status
            .is_some_and(|status| !is_of_one_state(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Listing = Listing {
        cycle: 2026,
        status: None,
        since: None,
        has_trn: None,
        order: Order::NewestFirst,
        page: 1,
        per_page: 50,
    };

    fn count(total: i64) -> Count {
        Count {
            total,
            states: Some(vec!["awarded".to_owned()]),
        }
    }

    fn walk(forwards: bool, skipped: i64, shown: i64, begins_on_a_day: bool) -> PagePlan<'static> {
        PagePlan::Walk(ListWalk {
            forwards,
            skipped,
            shown,
            begins_on_a_day,
        })
    }

    #[test]
    fn page_is_reached_from_the_nearer_end() {
        for (page, total, is_nothing) in
            [(1, 0, true), (2, 50, true), (1, 1, false), (2, 51, false)]
        {
            let count = count(total);
            let plan = PagePlan::new(&Listing { page, ..ALL }, &count);
            assert_eq!(
                plan == PagePlan::Nothing,
                is_nothing,
                "page {page} of {total}"
            );
        }
        let walks = [
            (1, 100, walk(true, 0, 50, false)),
            (2, 100, walk(false, 0, 50, false)),
            (3, 120, walk(false, 0, 20, false)),
            (21, 10_000, walk(true, 1_000, 50, true)),
            (180, 10_000, walk(false, 1_000, 50, true)),
            (181, 10_000, walk(false, 950, 50, false)),
        ];
        for (page, total, expected) in walks {
            assert_eq!(
                PagePlan::new(&Listing { page, ..ALL }, &count(total)),
                expected,
                "page {page} of {total}"
            );
        }
    }

    #[test]
    fn short_filtered_list_is_found_by_keys() {
        let plan = |listing: Listing, total, knows_states: bool| {
            let count = Count {
                states: count(total).states.filter(|_| knows_states),
                total,
            };
            matches!(PagePlan::new(&listing, &count), PagePlan::Keys { .. })
        };
        let with_trn = Listing {
            has_trn: Some(true),
            ..ALL
        };
        let in_training = Listing {
            status: Some(Status::InTraining),
            ..ALL
        };
        let deferred = Listing {
            status: Some(Status::Deferred),
            ..ALL
        };
        assert!(plan(with_trn.clone(), MAX_PER_PAGE, true) && plan(in_training, 1, true));
        assert!(!plan(ALL, 1, true) && !plan(deferred, 1, true));
        assert!(!plan(with_trn.clone(), MAX_PER_PAGE + 1, true) && !plan(with_trn, 1, false));
    }

    #[test]
    fn walk_begins_on_a_day_unless_list_begins_within_it() {
        let since = "2026-10-01T12:00:00Z".parse().ok();
        let begins_on_a_day = |order, page| match PagePlan::new(
            &Listing {
                since,
                order,
                page,
                ..ALL
            },
            &count(10_000),
        ) {
            PagePlan::Walk(walk) => walk.begins_on_a_day,
            PagePlan::Nothing | PagePlan::Keys { .. } => panic!("no walk"),
        };
        assert!(
            begins_on_a_day(Order::NewestFirst, 30) && !begins_on_a_day(Order::NewestFirst, 170)
        );
        assert!(
            !begins_on_a_day(Order::OldestFirst, 30) && begins_on_a_day(Order::OldestFirst, 170)
        );
    }

    #[test]
    fn walk_start_follows_from_skipped_days() {
        let day = |day| NaiveDate::from_ymd_opt(2026, 10, day).unwrap();
        let days = || vec![(day(2), 30), (day(1), 20), (day(3), 50)];
        let start = |order, forwards, skipped| {
            ListWalk {
                forwards,
                skipped,
                shown: 1,
                begins_on_a_day: true,
            }
            .start(order, days())
        };
        assert_eq!(
            start(Order::NewestFirst, true, 49),
            Some(WalkStart {
                day: day(3),
                passed: 0
            })
        );
        assert_eq!(
            start(Order::NewestFirst, true, 50),
            Some(WalkStart {
                day: day(2),
                passed: 50
            })
        );
        assert_eq!(
            start(Order::NewestFirst, false, 20),
            Some(WalkStart {
                day: day(2),
                passed: 20
            })
        );
        assert_eq!(
            start(Order::OldestFirst, true, 99),
            Some(WalkStart {
                day: day(3),
                passed: 50
            })
        );
        assert_eq!(start(Order::OldestFirst, true, 100), None);
    }

    #[test]
    fn page_near_beginning_needs_no_count() {
        let near = |listing: Listing| ListWalk::near_beginning(&listing).is_some();
        assert!(near(Listing { page: 11, ..ALL }) && !near(Listing { page: 12, ..ALL }));
        assert!(near(Listing {
            status: Some(Status::Deferred),
            ..ALL
        }));
        assert!(
            !near(Listing {
                status: Some(Status::InTraining),
                ..ALL
            }) && !near(Listing {
                has_trn: Some(false),
                ..ALL
            })
        );
    }
}
