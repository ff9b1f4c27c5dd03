//! Plans how a page of a list is reached, from the counts and without a database.
//!
//! The trainees of a list can be walked along, in their order, from the nearer end, to where the
//! page is; in any list but that of one state those that it does not show are passed by. Where many
//! would be passed by, the counts by day say on which day the walk begins. But where a list is
//! narrowed to so few that they would fit on one page, a walk might pass all the others by to meet
//! them: then all of the few are found, and put in order here.

use chrono::NaiveDate;
use domain::listing::{Listing, MAX_PER_PAGE, Order, Status};

use super::counting::{Count, Days};

/// The most trainees that a walk skips from the beginning of a list although the end may be nearer.
const NEAR: i64 = 500;
/// Skipping this many trainees takes about as long as reading the counts by day.
const MANY: i64 = 1_000;
/// From this offset on, the counts by day are queried together with the count, although the end of
/// the list may be near enough not to need them.
const FAR: i64 = 2 * MANY;

/// How the trainees of a page are found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PagePlan<'a> {
    /// There are none: the page is past the end.
    Nothing,
    /// All that the list shows are found, in these states, and put in order.
    Keys {
        states: &'a [String],
    },
    Walk(ListWalk),
}

/// A walk along a list to a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ListWalk {
    /// Whether it begins at the beginning of the list.
    pub(super) forwards: bool,
    /// The trainees that are passed by, of those that the list shows.
    pub(super) skipped: i64,
    /// The trainees on the page, at most.
    pub(super) shown: i64,
    /// Whether it begins on the day that the counts by day name.
    pub(super) begins_on_a_day: bool,
}

/// Where a walk begins that passes many trainees by.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WalkStart {
    /// The day of the last change of the first trainee that it meets.
    pub(super) day: NaiveDate,
    /// Those of the list that changed on the days before, as the walk goes.
    pub(super) passed: i64,
}

impl<'a> PagePlan<'a> {
    pub(super) fn new(listing: &Listing, count: &'a Count) -> Self {
        let before = listing.offset();
        if before >= count.total {
            return Self::Nothing;
        }
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
        let (forwards, skipped) = (before <= after, before.min(after));
        // Of the day with which the list begins, trainees are counted that it does not show.
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
    /// The walk to a page near the beginning of a list, which needs no count; `None` where the page
    /// is reached otherwise.
    pub(super) fn near_beginning(listing: &Listing) -> Option<Self> {
        let (skipped, shown) = (listing.offset(), listing.per_page);
        let is_near = !passes_by(listing) && skipped <= NEAR;
        is_near.then_some(Self {
            forwards: true,
            skipped,
            shown,
            begins_on_a_day: false,
        })
    }

    /// The day on which the walk begins; `None` for the end of the list, where trainees are few or
    /// not counted by day.
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

/// Whether a walk meets the trainees who changed last first.
pub(super) fn is_newest_first(order: Order, forwards: bool) -> bool {
    (order == Order::NewestFirst) == forwards
}

/// Whether the counts by day are queried together with the count.
pub(super) fn is_far(listing: &Listing) -> bool {
    listing.offset() >= FAR
}

/// Whether a walk along the list passes trainees by that the list does not show.
pub(super) fn passes_by(listing: &Listing) -> bool {
    let is_of_one_state = |status: Status| status.states().len() == 1 && status.started().is_none();
    listing.has_trn.is_some() || !listing.status.is_none_or(is_of_one_state)
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
        let of = |page, total| {
            PagePlan::new(&Listing { page, ..ALL }, &count(total)) == PagePlan::Nothing
        };
        assert_eq!(
            (of(1, 0), of(2, 50), of(1, 1), of(2, 51)),
            (true, true, false, false)
        );
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
    fn few_of_a_narrowed_list_are_found_by_their_keys() {
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
    fn walk_begins_on_a_day_unless_the_list_begins_within_one() {
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
    fn days_that_are_passed_by_say_where_a_walk_begins() {
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
    fn page_near_the_beginning_needs_no_count() {
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
