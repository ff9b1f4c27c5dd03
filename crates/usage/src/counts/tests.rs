//! Tests of counting in memory and of flushing to a store.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

use actix_web::rt;
use chrono::TimeDelta;
use database::clock::Clock;
use futures_util::FutureExt as _;
use futures_util::future::{Either, select};
use storage::accounts::tokens::NewToken;
use storage::accounts::users::Actor;
use storage::base::token::Environment;
use storage::observations::usage::UsageTotal;
use storage::session::Session;
use storage::store::StoreOptions;
use test_support::{Database, Kind};
use version_tools::shadow::NOT_SET;

use super::*;

const UKPRN: &str = "10000001";

/// A store with one token, number 1.
fn store(database: &Database) -> Store {
    let time = Arc::new(AtomicI64::new(at(0).timestamp_millis()));
    let clock = Clock::from_fn(move || {
        DateTime::from_timestamp_millis(time.fetch_add(1, Ordering::SeqCst))
            .unwrap_or(DateTime::UNIX_EPOCH)
    });
    let store = Store::open(
        database.url(),
        StoreOptions {
            clock,
            ..StoreOptions::default()
        },
    )
    .unwrap();
    store.migrate().unwrap();
    write_to(&store, |session| {
        session.add_provider(UKPRN, "Ashdown University")?;
        let request = NewToken {
            provider_ukprn: UKPRN,
            environment: Environment::Sandbox,
            name: "Records",
            created_by: Actor::operator("operator"),
            expires_on: None,
        };
        session.issue_token(&request).map(drop)
    });
    store
}

fn write_to(
    store: &Store,
    job: impl FnMut(&mut Session<'_>) -> Result<(), StorageError> + Send + 'static,
) {
    store.write_blocking(job).unwrap();
}

/// The time that is the given number of seconds after noon.
fn at(seconds: i64) -> DateTime<Utc> {
    let noon: DateTime<Utc> = "2026-03-02T12:00:00Z".parse().unwrap();
    noon + TimeDelta::seconds(seconds)
}

fn newest() -> Label {
    versions::all().newest().unwrap().version.label
}

fn request(seconds: i64) -> Counted {
    let request_id = format!("r{seconds}").into();
    Counted {
        at: at(seconds),
        token: 1,
        version: newest(),
        endpoint: Endpoint::Info,
        request_id,
    }
}

fn totals(store: &Store) -> Vec<UsageTotal> {
    store
        .read_blocking::<_, StorageError>(|session| session.usage_since(at(0).date_naive()))
        .unwrap()
}

fn flush(usage: &Usage, store: &Store) -> Result<(), StorageError> {
    rt::System::new().block_on(usage.flush(store))
}

#[test]
fn requests_and_names_are_counted_and_written_once() {
    let database = Database::fresh();
    let usage = Usage::default();
    let store = store(&database);
    for (seconds, names) in [
        (1, vec![]),
        (3, vec!["a_name"]),
        (2, vec!["a_name", "b_name"]),
    ] {
        usage.clone().count(&request(seconds), &names);
    }
    flush(&usage, &store).unwrap();
    flush(&usage, &store).unwrap();
    let told: Vec<_> = totals(&store)
        .into_iter()
        .map(|total| {
            (
                total.name,
                total.requests,
                total.first.request_id,
                total.last.request_id,
            )
        })
        .collect();
    let expected = [
        ("", 3, "r1", "r3"),
        ("a_name", 2, "r2", "r3"),
        ("b_name", 1, "r2", "r2"),
    ];
    assert_eq!(
        told,
        expected.map(|(name, count, first, last)| (name.into(), count, first.into(), last.into()))
    );
}

#[test]
fn counts_beyond_one_batch_are_all_written() {
    let database = Database::fresh();
    let usage = Usage::default();
    let store = store(&database);
    let names: Vec<&'static str> = (0..2 * BATCH)
        .map(|number| &*format!("name_{number}").leak())
        .collect();
    usage.count(&request(0), &names);
    flush(&usage, &store).unwrap();
    assert_eq!(totals(&store).len(), 2 * BATCH + 1);
}

#[test]
fn counts_are_kept_while_the_store_does_not_answer() {
    // SQLite has one writer, so a test can keep it busy.
    let database = Database::fresh_on(Kind::Sqlite);
    let usage = Usage::default();
    let store = store(&database);
    usage.count(&request(1), &["a_name"]);
    let small = Store::open(
        database.url(),
        StoreOptions {
            queue: 1,
            ..StoreOptions::default()
        },
    )
    .unwrap();
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let busy = small.clone();
        scope.spawn(move || {
            write_to(&busy, move |_| {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                Ok(())
            });
        });
        has_begun.recv().unwrap();
        let waits = rt::System::new()
            .block_on(async { small.write::<_, StorageError>(|_| Ok(())).now_or_never() });
        assert!(waits.is_none(), "the flush did not wait");
        let refused = flush(&usage, &small).unwrap_err();
        go_on.send(()).unwrap();
        assert!(refused.is_temporary(), "{refused:?}");
    });
    usage.count(&request(2), &[]);
    flush(&usage, &store).unwrap();
    let requests: Vec<_> = totals(&store).iter().map(|total| total.requests).collect();
    assert_eq!(requests, [2, 1]);
}

#[test]
fn last_flush_waits_for_running_flush() {
    let database = Database::fresh();
    let usage = Usage::default();
    let store = store(&database);
    let names: Vec<&'static str> = (0..3 * BATCH)
        .map(|number| &*format!("name_{number}").leak())
        .collect();
    usage.count(&request(0), &names);
    rt::System::new().block_on(async {
        let mut under_way = Box::pin(usage.flush(&store));
        assert!(under_way.as_mut().now_or_never().is_none());
        let Either::Left((first, last)) = select(under_way, Box::pin(usage.flush(&store))).await
        else {
            panic!("the last flush ended before the running one");
        };
        first.unwrap();
        last.await.unwrap();
    });
    assert_eq!(totals(&store).len(), 3 * BATCH + 1);
}

#[test]
fn counts_that_store_rejects_permanently_are_dropped() {
    let database = Database::fresh();
    let usage = Usage::default();
    let store = store(&database);
    usage.count(
        &Counted {
            token: 99,
            ..request(1)
        },
        &[],
    );
    flush(&usage, &store).unwrap_err();
    usage.count(&request(2), &[]);
    flush(&usage, &store).unwrap();
    assert_eq!(totals(&store).len(), 1);
}

#[test]
fn counts_beyond_limit_are_dropped() {
    let usage = Usage::default();
    let token = |token| Counted {
        token,
        ..request(0)
    };
    let most = i64::try_from(MAX_COUNTS).unwrap();
    (0..most + 5).for_each(|number| usage.count(&token(number), &[]));
    // A count with an existing key is still counted.
    usage.count(&token(0), &[]);
    usage.with(|counts| assert_eq!((counts.requests.len(), counts.dropped), (MAX_COUNTS, 5)));
}

#[test]
fn checked_write_is_counted_with_its_problems() {
    let database = Database::fresh();
    let usage = Usage::default();
    let store = store(&database);
    let version = versions::all().iter().next().unwrap().version.label;
    let checked = Checked {
        day: at(0).date_naive(),
        token: 1,
        version,
        against: newest(),
    };
    let finding = |field: &str| Finding {
        field: field.to_owned(),
        code: NOT_SET,
    };
    usage.count_check(checked, []);
    usage.count_check(checked, [finding("email"), finding("sex")]);
    flush(&usage, &store).unwrap();
    let (checks, problems) = store
        .read_blocking::<_, StorageError>(|session| {
            let version = version.to_string();
            let against = newest().to_string();
            let since = at(0).date_naive();
            Ok((
                session.checks_since(since, &version, &against)?,
                session.problems_since(since, &version, &against)?,
            ))
        })
        .unwrap();
    assert_eq!((checks[0].checked, checks[0].valid), (2, 1));
    assert_eq!(
        problems
            .iter()
            .map(|problem| problem.writes)
            .collect::<Vec<_>>(),
        [1, 1]
    );
}
