//! Tests of the log in memory and of flushing to a store.

use std::sync::mpsc;
use std::thread;

use chrono::TimeDelta;
use futures_util::FutureExt as _;
use futures_util::future::join;
use storage::accounts::tokens::NewToken;
use storage::accounts::users::Actor;
use storage::base::cause::Cause;
use storage::base::sender::Sender;
use storage::base::token::Environment;
use storage::observations::request_log::runs::RunCounts;
use storage::observations::request_log::{RequestFilter, RequestPage};
use storage::store::StoreOptions;
use test_support::{Database, Kind};

use super::*;

const UKPRN: &str = "10000001";

const BOUNDS: Bounds = Bounds {
    waiting: 5,
    waiting_of_provider: 3,
    accepted_of_provider: 2,
    rate_limited_of_token: 2,
    kept: LogLimits {
        refused: 4,
        accepted: 3,
    },
    slack: 0,
};

/// A store with one provider and one token, both number 1.
fn store(database: &Database) -> Store {
    let store = Store::open(database.url(), StoreOptions::default()).unwrap();
    store.migrate().unwrap();
    store
        .write_blocking::<_, StorageError>(|session| {
            session.add_provider(UKPRN, "Ashdown University")?;
            let request = NewToken {
                provider_ukprn: UKPRN,
                environment: Environment::Sandbox,
                name: "Records",
                created_by: Actor::operator("operator"),
                expires_on: None,
            };
            session.issue_token(&request).map(drop)
        })
        .unwrap();
    store
}

fn observed(number: i64, status: u16) -> Observed {
    let noon: DateTime<Utc> = "2026-03-02T12:00:00Z".parse().unwrap();
    Observed {
        at: noon + TimeDelta::milliseconds(number),
        sender: Sender::Token(1),
        version: versions::all().newest().unwrap().version.label,
        endpoint: Endpoint::Info,
        method: Method::GET,
        status: StatusCode::from_u16(status).unwrap(),
        item: None,
        request_id: format!("r{number}").into(),
        problems: RequestProblems::default(),
        result: if status < 400 {
            RecordResult::Read
        } else {
            RecordResult::Refused
        },
        record: None,
    }
}

fn waiting(log: &RequestLog) -> &Waiting {
    log.0.as_ref().unwrap()
}

fn flush(log: &RequestLog, store: &Store) -> Result<(), StorageError> {
    rt::System::new().block_on(log.flush(store))
}

fn logged(store: &Store) -> Vec<String> {
    let page: RequestPage = store
        .read_blocking::<_, StorageError>(|session| {
            session
                .open_provider(UKPRN, Cause::new("test"))?
                .unwrap()
                .requests(&RequestFilter::default(), None)
        })
        .unwrap();
    page.requests
        .into_iter()
        .map(|request| request.request_id)
        .collect()
}

#[test]
fn refused_requests_beyond_limits_are_dropped_per_provider() {
    let log = RequestLog::with_bounds(BOUNDS);
    let add = |provider, number| waiting(&log).add(provider, observed(number, 422));
    assert_eq!(
        [1, 2, 3, 4].map(|number| add(1, number)),
        [true, true, true, false]
    );
    assert_eq!([1, 2, 3].map(|number| add(17, number)), [true, true, false]);
    assert!(
        waiting(&log).add(17, observed(9, 200)),
        "accepted requests have their own limit"
    );
    assert_eq!(waiting(&log).take().requests.len(), 6);
    assert!(add(1, 5), "taken requests free the limit");
}

#[test]
fn newest_accepted_requests_are_kept() {
    let log = RequestLog::with_bounds(BOUNDS);
    for number in 0..10 {
        assert!(waiting(&log).add(1, observed(number, 200)));
    }
    let ids: Vec<_> = waiting(&log)
        .take()
        .requests
        .into_iter()
        .map(|(_, observed)| observed.request_id.to_string())
        .collect();
    assert_eq!(ids, ["r8", "r9"]);
}

#[test]
fn rate_limited_requests_are_limited_per_token() {
    let log = RequestLog::with_bounds(BOUNDS);
    let add = |number, token, status| {
        waiting(&log).add(
            1,
            Observed {
                sender: Sender::Token(token),
                ..observed(number, status)
            },
        )
    };
    let taken = || -> Vec<_> {
        waiting(&log)
            .take()
            .requests
            .into_iter()
            .map(|(_, observed)| observed.request_id.to_string())
            .collect()
    };
    assert_eq!([1, 2, 3, 4].map(|number| add(number, 1, 429)), [true; 4]);
    assert!(add(5, 2, 429), "another token has its own limit");
    assert!(!add(6, 2, 429), "the limit of the token is reached");
    let left = waiting(&log).take();
    assert_eq!([7, 8].map(|number| add(number, 1, 429)), [true; 2]);
    assert_eq!(
        waiting(&log).put_back(left.requests),
        0,
        "requests that are not written do not count for the limit"
    );
    assert_eq!(taken(), ["r7", "r8", "r5"]);
    assert_eq!([9, 10, 11].map(|number| add(number, 1, 429)), [true; 3]);
    assert!(add(12, 1, 422), "other refused requests are not displaced");
    assert_eq!(taken(), ["r9", "r10", "r12"]);
}

#[test]
fn surplus_is_removed_after_enough_writes() {
    let database = Database::fresh();
    let store = store(&database);
    let log = RequestLog::with_bounds(Bounds { slack: 4, ..BOUNDS });
    let counts = [0, 1, 2, 3, 4].map(|round| {
        for number in 0..2 {
            waiting(&log).add(1, observed(round * 10 + number, 200));
        }
        flush(&log, &store).unwrap();
        logged(&store).len()
    });
    // Before the first removal, the number of stored requests is unknown.
    assert_eq!(counts, [2, 4, 6, 3, 5]);
}

/// Runs `during` while the store is busy with another write, which ends when `during` drops the
/// sender.
fn while_the_store_writes(store: &Store, during: impl FnOnce(mpsc::Sender<()>)) {
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let job = move |_: &mut Session<'_>| {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap_err();
                Ok(())
            };
            store.write_blocking::<_, StorageError>(job).unwrap();
        });
        has_begun.recv().unwrap();
        during(go_on);
    });
}

#[test]
fn last_flush_waits_for_running_flush() {
    // SQLite has one writer, so a test can keep it busy.
    let database = Database::fresh_on(Kind::Sqlite);
    let log = RequestLog::with_bounds(BOUNDS);
    let store = store(&database);
    waiting(&log).add(1, observed(1, 422));
    while_the_store_writes(&store, |go_on| {
        rt::System::new().block_on(async {
            let mut under_way = Box::pin(log.flush(&store));
            assert!((&mut under_way).now_or_never().is_none());
            waiting(&log).add(1, observed(2, 422));
            let mut last = Box::pin(log.flush(&store));
            assert!((&mut last).now_or_never().is_none());
            assert_eq!(
                waiting(&log).refused.load(Ordering::Relaxed),
                1,
                "the second flush takes nothing while the first runs"
            );
            drop(go_on);
            let (under_way, last) = join(under_way, last).await;
            under_way.unwrap();
            last.unwrap();
        });
    });
    assert_eq!(logged(&store), ["r2", "r1"]);
}

#[test]
fn stored_log_of_provider_stays_within_limits() {
    let database = Database::fresh();
    let store = store(&database);
    let log = RequestLog::with_bounds(BOUNDS);
    for round in 0..4 {
        for number in 0..3 {
            waiting(&log).add(1, observed(round * 100 + number, 422));
            waiting(&log).add(1, observed(round * 100 + 50 + number, 200));
        }
        flush(&log, &store).unwrap();
    }
    assert_eq!(
        logged(&store),
        ["r352", "r351", "r302", "r301", "r300", "r252", "r202"]
    );
}

#[test]
fn refused_requests_are_kept_while_store_does_not_answer() {
    // SQLite has one writer, so a test can keep it busy.
    let database = Database::fresh_on(Kind::Sqlite);
    let log = RequestLog::with_bounds(BOUNDS);
    let store = store(&database);
    waiting(&log).add(1, observed(1, 422));
    waiting(&log).add(1, observed(2, 200));
    let small = Store::open(
        database.url(),
        StoreOptions {
            queue: 1,
            ..StoreOptions::default()
        },
    )
    .unwrap();
    while_the_store_writes(&small, |go_on| {
        let waits = rt::System::new()
            .block_on(async { small.write::<_, StorageError>(|_| Ok(())).now_or_never() });
        assert!(waits.is_none(), "the flush did not wait");
        let refused = flush(&log, &small).unwrap_err();
        // Adding to the log does not wait for the store.
        waiting(&log).add(1, observed(3, 422));
        drop(go_on);
        assert!(refused.is_temporary(), "{refused:?}");
    });
    flush(&log, &store).unwrap();
    assert_eq!(logged(&store), ["r3", "r1"]);
}

#[test]
fn requests_that_store_rejects_permanently_are_dropped() {
    let database = Database::fresh();
    let store = store(&database);
    let log = RequestLog::with_bounds(BOUNDS);
    waiting(&log).add(99, observed(1, 422));
    flush(&log, &store).unwrap_err();
    waiting(&log).add(1, observed(2, 422));
    flush(&log, &store).unwrap();
    assert_eq!(logged(&store), ["r2"]);
}

fn write_of_record(number: i64, result: RecordResult, batch: bool) -> Observed {
    let status = match result {
        RecordResult::Refused => 422,
        RecordResult::AlreadyRegistered => 409,
        RecordResult::Registered => 201,
        RecordResult::Read
        | RecordResult::Changed
        | RecordResult::Checked
        | RecordResult::Repeated => 200,
    };
    Observed {
        endpoint: Endpoint::CreateTrainee,
        item: batch.then_some(0),
        request_id: "batch".into(),
        result,
        ..observed(number, status)
    }
}

fn runs(store: &Store) -> Vec<(Option<String>, RunCounts)> {
    let page = store
        .read_blocking::<_, StorageError>(|session| {
            session
                .open_provider(UKPRN, Cause::new("test"))?
                .unwrap()
                .runs(None)
        })
        .unwrap();
    page.runs
        .into_iter()
        .map(|run| (run.batch, run.counts))
        .collect()
}

#[test]
fn batch_and_single_requests_are_counted_in_runs() {
    let database = Database::fresh();
    let store = store(&database);
    let log = RequestLog::with_bounds(Bounds::default());
    for (number, result, batch) in [
        (1, RecordResult::Registered, true),
        (2, RecordResult::Refused, true),
        (3, RecordResult::AlreadyRegistered, true),
        (4, RecordResult::Changed, false),
        (5, RecordResult::Checked, false),
        (6, RecordResult::Repeated, false),
        (7, RecordResult::Read, false),
    ] {
        waiting(&log).add(1, write_of_record(number, result, batch));
        flush(&log, &store).unwrap();
    }
    let batch = RunCounts {
        registered: 1,
        refused: 1,
        already_registered: 1,
        ..RunCounts::default()
    };
    let single = RunCounts {
        changed: 1,
        checked: 1,
        repeated: 1,
        ..RunCounts::default()
    };
    assert_eq!(
        runs(&store),
        [(None, single), (Some("batch".to_owned()), batch)]
    );
}

#[test]
fn counts_are_kept_while_store_does_not_answer() {
    // SQLite has one writer, so a test can keep it busy.
    let database = Database::fresh_on(Kind::Sqlite);
    let log = RequestLog::with_bounds(BOUNDS);
    let store = store(&database);
    waiting(&log).add(1, write_of_record(1, RecordResult::Registered, false));
    let options = StoreOptions {
        queue: 1,
        ..StoreOptions::default()
    };
    let small = Store::open(database.url(), options).unwrap();
    while_the_store_writes(&small, |go_on| {
        let waits = rt::System::new()
            .block_on(async { small.write::<_, StorageError>(|_| Ok(())).now_or_never() });
        assert!(waits.is_none(), "the flush did not wait");
        flush(&log, &small).unwrap_err();
        waiting(&log).add(1, write_of_record(2, RecordResult::Refused, false));
        drop(go_on);
    });
    flush(&log, &store).unwrap();
    let counts = RunCounts {
        registered: 1,
        refused: 1,
        ..RunCounts::default()
    };
    assert_eq!(runs(&store), [(None, counts)]);
}
