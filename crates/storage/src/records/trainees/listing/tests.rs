//! Tests of lists: pages compared with sorting and counting all trainees, and the number of queries
//! for a page.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chrono::{DateTime, NaiveDate, NaiveDateTime, Utc};
use database::clock::JobTime;
use database::connection::{Access, Connections, DatabaseConnection};
use database::jobs::transaction::Transaction;
use diesel::Connection as _;
use diesel::connection::{InstrumentationEvent, SimpleConnection as _};
use diesel::prelude::*;
use domain::State;
use domain::listing::{Listing, MAX_PER_PAGE, Order, Status};
use test_support::Database;

use super::{ListTotals, Page};
use crate::base::cause::Cause;
use crate::schema::trainees;
use crate::session::Session;
use crate::store::{Store, StoreOptions};

const UKPRN: &str = "10000001";
const OTHER_UKPRN: &str = "10000002";
const NOW: &str = "2026-11-02T12:00:00Z";
/// The number of trainees.
const TRAINEES: i64 = 8 * MAX_PER_PAGE;

/// State, planned first day, teacher reference number, last change and key of a trainee.
type Facts = (
    String,
    Option<NaiveDate>,
    Option<String>,
    NaiveDateTime,
    i64,
);

/// A register with many trainees of one provider and academic cycle, in all states. Groups of
/// trainees have the same time of change. Trainees of another provider and cycle are in between.
fn crowded() -> (Database, DatabaseConnection) {
    let database = Database::fresh();
    let store = Store::open(database.url(), StoreOptions::default()).unwrap();
    store.migrate().unwrap();
    store
        .write_blocking(|session| session.add_provider(UKPRN, "One"))
        .unwrap();
    store
        .write_blocking(|session| session.add_provider(OTHER_UKPRN, "Other"))
        .unwrap();
    let mut connection = Connections::from_url(database.url())
        .unwrap()
        .establish()
        .unwrap();
    // Awarded trainees are rare, and deferred trainees are at one end of the order.
    connection
        .batch_execute(&format!(
            "INSERT INTO trainees (provider_id, trainee_id, revision, position, academic_cycle, last_name_folded,
                 first_names_folded, email_folded, itt_start_date, trn, state, created_at, updated_at, discarded_at,
                 record)
             WITH RECURSIVE numbers AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM numbers WHERE n < {trainees})
             SELECT (SELECT id FROM providers WHERE ukprn = CASE WHEN n % 11 = 0 THEN '{OTHER_UKPRN}' ELSE '{UKPRN}' END),
                    'T' || n, 1, n, CASE WHEN n % 13 = 0 THEN 2025 ELSE 2026 END, '', '', '',
                    CASE n % 20 WHEN 0 THEN NULL WHEN 1 THEN DATE('2027-01-04') ELSE DATE('2026-09-01') END,
                    CASE WHEN n % 7 < 2 THEN NULL ELSE '1234567' END,
                    CASE WHEN n % 250 = 0 THEN 'awarded' WHEN n < 40 THEN 'deferred' WHEN n % 17 = 0 THEN 'draft'
                         WHEN n % 5 = 0 THEN 'withdrawn' WHEN n % 3 = 0 THEN 'submitted_for_trn'
                         WHEN n % 4 = 0 THEN 'recommended_for_award' ELSE 'trn_received' END,
                    {moment}, {moment}, CASE WHEN n % 19 = 0 THEN {moment} END, '{{}}'
             FROM numbers",
            trainees = TRAINEES,
            moment = connection.either(
                "TIMESTAMP '2026-10-01' + (n / 4) * interval '30 minutes'",
                "datetime('2026-10-01', (n / 4 * 30) || ' minutes')",
            ),
        ))
        .unwrap();
    (database, connection)
}

/// The first page of the trainees with a status.
fn first_page(status: Option<Status>, per_page: i64) -> Listing {
    Listing {
        cycle: 2026,
        status,
        since: None,
        has_trn: None,
        order: Order::NewestFirst,
        page: 1,
        per_page,
    }
}

/// Reads a page of a list.
fn page(connection: &mut DatabaseConnection, listing: &Listing, totals: &ListTotals) -> Page {
    let mut transaction =
        Transaction::new(connection, Access::Read, JobTime::new(NOW.parse().unwrap()));
    let mut session = Session::new(&mut transaction);
    let mut provider = session
        .open_provider(UKPRN, Cause::new("test"))
        .unwrap()
        .unwrap();
    let standing = provider.standing().unwrap();
    provider.list_trainees(listing, &standing, totals).unwrap()
}

/// All visible trainees of the provider and cycle, in no particular order.
fn all(connection: &mut DatabaseConnection) -> Vec<Facts> {
    trainees::table
        .filter(
            trainees::provider_id
                .eq(1)
                .and(trainees::academic_cycle.eq(2026)),
        )
        .filter(
            trainees::discarded_at
                .is_null()
                .and(trainees::state.ne("draft")),
        )
        .select((
            trainees::state.assume_not_null(),
            trainees::itt_start_date,
            trainees::trn,
            trainees::updated_at.assume_not_null(),
            trainees::id,
        ))
        .load(connection)
        .unwrap()
}

/// The keys of the trainees that a list must show, in order.
fn expected(all: &[Facts], listing: &Listing) -> Vec<i64> {
    let today = NOW.parse::<DateTime<Utc>>().unwrap().date_naive();
    let shown = |(state, start, trn, changed, _): &&Facts| {
        listing.status.is_none_or(|status| {
            status
                .states()
                .iter()
                .copied()
                .map(State::name)
                .any(|name| name == state)
                && status
                    .started()
                    .is_none_or(|started| start.is_some_and(|start| (start <= today) == started))
        }) && listing
            .since
            .is_none_or(|since| *changed >= since.naive_utc())
            && listing
                .has_trn
                .is_none_or(|has_trn| trn.is_some() == has_trn)
    };
    let mut shown: Vec<&Facts> = all.iter().filter(shown).collect();
    shown.sort_by(|(.., one, one_key), (.., other, other_key)| {
        let by_change = match listing.order {
            Order::NewestFirst => other.cmp(one),
            Order::OldestFirst => one.cmp(other),
        };
        by_change.then(other_key.cmp(one_key))
    });
    shown.into_iter().map(|(.., key)| *key).collect()
}

#[test]
fn every_page_equals_sorting_all_trainees() {
    let (_database, mut connection) = crowded();
    let totals = ListTotals::default();
    let all = all(&mut connection);
    let mut few = 0;
    let mut many = 0;
    let since = [
        None,
        Some("2026-10-01T00:00:00Z"),
        Some("2026-10-03T00:05:50Z"),
        Some("2026-11-01T00:00:00Z"),
    ];
    for since in since.map(|moment| moment.map(|moment| moment.parse().unwrap())) {
        for status in [None]
            .into_iter()
            .chain(Status::ALL.iter().copied().map(Some))
        {
            for has_trn in [None, Some(true), Some(false)] {
                for order in [Order::NewestFirst, Order::OldestFirst] {
                    let mut listing = Listing {
                        cycle: 2026,
                        status,
                        since,
                        has_trn,
                        order,
                        page: 1,
                        per_page: 1,
                    };
                    let expected = expected(&all, &listing);
                    if expected.len() > 500 {
                        many += 1;
                    } else {
                        few += 1;
                    }
                    for per_page in [7, MAX_PER_PAGE] {
                        let last = expected.len() as i64 / per_page + 1;
                        for page in [1, 2, last / 2, last - 1, last, last + 1]
                            .into_iter()
                            .filter(|page| *page > 0)
                        {
                            listing = Listing {
                                page,
                                per_page,
                                ..listing
                            };
                            let found = self::page(&mut connection, &listing, &totals);
                            assert_eq!(found.total, expected.len() as i64, "{listing:?}");
                            let keys: Vec<i64> =
                                found.trainees.iter().map(|trainee| trainee.key).collect();
                            let shown = expected
                                .iter()
                                .skip(((page - 1) * per_page) as usize)
                                .take(per_page as usize);
                            assert_eq!(keys, shown.copied().collect::<Vec<_>>(), "{listing:?}");
                        }
                    }
                }
            }
        }
    }
    assert!(few > 0 && many > 0, "{few} {many}");
}

#[test]
fn number_of_queries_is_constant() {
    let (_database, mut connection) = crowded();
    let queries = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&queries);
    connection.set_instrumentation(move |event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { .. } = event {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    });
    for status in [None, Some(Status::Withdrawn), Some(Status::InTraining)] {
        let taken = [1, 50, 500].map(|per_page| {
            let listing = first_page(status, per_page);
            queries.store(0, Ordering::Relaxed);
            assert!(
                !page(&mut connection, &listing, &ListTotals::default())
                    .trainees
                    .is_empty()
            );
            queries.load(Ordering::Relaxed)
        });
        // Queries for the provider, its standing and the count. Then one query on PostgreSQL for
        // the documents, and two on SQLite, for the keys and the documents.
        assert_eq!(taken, [connection.either(4, 5); 3], "{status:?}");
    }
}

#[test]
fn list_is_counted_once_per_position() {
    let (_database, mut connection) = crowded();
    let totals = ListTotals::default();
    let listing = first_page(None, 50);
    let total = |connection: &mut DatabaseConnection| page(connection, &listing, &totals).total;
    let before = total(&mut connection);
    let discard = "UPDATE trainees SET discarded_at = updated_at WHERE trainee_id = 'T1'";
    connection.batch_execute(discard).unwrap();
    // No position was taken, so the list is not counted.
    assert_eq!(total(&mut connection), before);
    connection
        .batch_execute(
            "UPDATE provider_positions SET position = position + 1 WHERE provider_id = 1",
        )
        .unwrap();
    assert_eq!(total(&mut connection), before - 1);
}
