#![expect(
    clippy::disallowed_methods,
    reason = "a test waits for the thread of the recorder"
)]

use std::sync::mpsc;

use storage::accounts::tokens::NewToken;
use storage::accounts::users::Actor;
use storage::base::token::Environment;
use storage::error::StorageError;
use storage::observations::requests::listing::RequestFilter;
use storage::store::StoreOptions;
use test_support::{Database, Kind};

use super::*;

const UKPRN: &str = "10000001";

fn open(database: &Database, queue: usize) -> Store {
    let options = StoreOptions {
        queue,
        ..StoreOptions::default()
    };
    Store::open(database.url(), options).unwrap()
}

/// A store with one provider and its token, both number 1.
fn store(database: &Database) -> Store {
    let store = open(database, 100);
    store.migrate().unwrap();
    let issue = |session: &mut storage::session::Session<'_>| {
        session.add_provider(UKPRN, "Ashdown University")?;
        let request = NewToken {
            provider_ukprn: UKPRN,
            environment: Environment::Sandbox,
            name: "Records",
            created_by: Actor::operator("operator"),
            expires_on: None,
        };
        session.issue_token(&request).map(drop)
    };
    store.write_blocking::<_, StorageError>(issue).unwrap();
    store
}

fn options(checked_share: u8) -> RecorderOptions {
    RecorderOptions {
        versions: versions::all(),
        lists: Lists::embedded(),
        checked_share,
        records_requests: true,
        is_periodic: false,
    }
}

/// A recorder without its thread.
fn without_thread(checked_share: u8) -> Recorder {
    Recorder(Arc::new(Shared {
        options: options(checked_share),
        queue: Arc::default(),
        lot: RandomState::new(),
        drawn: AtomicU64::new(0),
    }))
}

fn writer(store: &Store) -> Writer {
    Writer::new(store.clone(), options(0), Arc::default())
}

fn count(writer: &Writer, token: i64) {
    let mut waiting = writer.queue.lock();
    waiting.count_request(token, &refused(token));
}

/// A refused request with the token of this number.
fn refused(token: i64) -> ObservedRequest {
    ObservedRequest {
        served: versions::all().iter().next().unwrap(),
        endpoint: Endpoint::Defer,
        provider_id: 1,
        sender: Sender::Token(token),
        at: Utc::now(),
        request_id: "r".into(),
        status: StatusCode::NOT_FOUND,
        is_rate_limited: false,
        item: None,
        result: Some(RecordResult::Refused),
        record: None,
        names: Vec::new(),
        problems: Vec::new(),
        problems_left_out: 0,
        write: None,
    }
}

/// The numbers of stored rows and of counted requests.
fn stored(store: &Store) -> (usize, i64) {
    let cause = storage::base::cause::Cause::new("test");
    let counts = store.read_blocking::<_, StorageError>(move |session| {
        let mut session = session.open_provider(UKPRN, cause)?.unwrap();
        let mut requests = 0;
        session.own_totals_since(Utc::now().date_naive(), |total| requests += total.requests)?;
        let rows = session.requests(&RequestFilter::default(), None)?;
        Ok((rows.requests.len(), requests))
    });
    counts.unwrap()
}

#[test]
fn configured_share_of_older_versions_writes_is_selected() {
    let oldest = versions::all().iter().next().unwrap();
    let newest = versions::all().newest().unwrap();
    let selected = |share, served| {
        let recorder = without_thread(share);
        (0..10_000)
            .filter(|_| recorder.selects_for_check(served))
            .count()
    };
    assert_eq!((selected(0, oldest), selected(100, oldest)), (0, 10_000));
    assert_eq!(selected(100, newest), 0);
    // The tolerance is ten standard deviations.
    assert!((4_500..=5_500).contains(&selected(50, oldest)));
}

#[test]
fn rows_beyond_a_full_queue_are_dropped_and_counted() {
    let recorder = without_thread(0);
    (0..QUEUE + 3).for_each(|_| recorder.record(refused(1)));
    let waiting = recorder.0.queue.lock();
    assert_eq!((waiting.rows.len(), waiting.dropped), (QUEUE, 3));
    // All are counted.
    let counted: i64 = waiting.totals.values().map(|tally| tally.requests).sum();
    assert_eq!(counted, QUEUE as i64 + 3);
}

#[test]
fn orderly_stop_writes_what_was_recorded() {
    let database = Database::fresh();
    let store = store(&database);
    let recorder = Recorder::start(store.clone(), options(0)).unwrap();
    (0..9).for_each(|_| recorder.record(refused(1)));
    actix_web::rt::System::new().block_on(recorder.flush());
    assert_eq!(stored(&store), (9, 9));
}

#[test]
fn record_is_kept_while_the_store_does_not_answer() {
    // SQLite has one writer, so a test can keep it busy, and a queue that can be full.
    let database = Database::fresh_on(Kind::Sqlite);
    let store = store(&database);
    let small = open(&database, 1);
    let mut writer = writer(&small);
    let (begun, has_begun) = mpsc::channel();
    let (go_on, may_go_on) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let busy = small.clone();
        scope.spawn(move || {
            let job = move |_: &mut storage::session::Session<'_>| {
                begun.send(()).unwrap();
                may_go_on.recv().unwrap();
                Ok(())
            };
            busy.write_blocking::<_, StorageError>(job).unwrap();
        });
        has_begun.recv().unwrap();
        let waiting = small.clone();
        let (queued, is_queued) = mpsc::channel();
        scope.spawn(move || {
            actix_web::rt::System::new().block_on(async {
                let mut write = Box::pin(waiting.write::<_, StorageError>(|_| Ok(())));
                assert!(futures_util::FutureExt::now_or_never(write.as_mut()).is_none());
                queued.send(()).unwrap();
                write.await.unwrap();
            });
        });
        is_queued.recv().unwrap();
        count(&writer, 1);
        writer.take(refused(1));
        writer.write();
        assert_eq!(writer.rows.len(), 1);
        go_on.send(()).unwrap();
    });
    count(&writer, 1);
    writer.take(refused(1));
    writer.write();
    assert_eq!(stored(&store), (2, 2));
}

#[test]
fn record_that_the_store_rejects_permanently_does_not_block_later_ones() {
    let database = Database::fresh();
    let store = store(&database);
    let mut writer = writer(&store);
    writer.take(refused(1));
    // No token has this number.
    count(&writer, 99);
    writer.write();
    writer.take(refused(1));
    writer.write();
    assert_eq!(stored(&store), (1, 0));
}

#[test]
fn waiting_rows_and_totals_are_limited() {
    let database = Database::fresh();
    let mut writer = writer(&store(&database));
    for number in 0..MAX_WAITING as i64 + 5 {
        writer.take(refused(1));
        count(&writer, number);
    }
    assert_eq!(writer.rows.len(), MAX_WAITING);
    let waiting = writer.queue.lock();
    assert_eq!((waiting.dropped, waiting.totals.len()), (10, MAX_WAITING));
}
