use std::future::Future as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use database::connection::DatabaseConnection;
use diesel::prelude::*;
use diesel::sql_query;
use domain::{State, Trainee};
use postgres_client::PostgresConnection;
use test_support::Kind;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use super::*;
use crate::base::cause::Cause;
use crate::schema::trainees;
use crate::session::ProviderSession;
use crate::store::{Store, StoreOptions, WriterStats};
use crate::testing::{Register, UKPRN};

type Answer = Result<(), Failure>;

/// Why a write is not kept.
#[derive(Debug)]
enum Failure {
    Refused,
    Storage(StorageError),
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl JobError for Failure {
    fn storage_error(&self) -> Option<&StorageError> {
        if let Self::Storage(error) = self {
            Some(error)
        } else {
            None
        }
    }
}

/// A register on PostgreSQL with the provider [`UKPRN`].
struct Grouped {
    register: Register,
    store: Store,
    runtime: Runtime,
}

/// A write that runs until the test lets it end. Those that come meanwhile wait for a group.
struct Running {
    release: Sender<()>,
    answer: JoinHandle<Answer>,
}

impl Grouped {
    /// `None` on another database.
    fn new() -> Option<Self> {
        Self::with(StoreOptions::default())
    }

    fn with(options: StoreOptions) -> Option<Self> {
        if Kind::from_environment() != Kind::Postgres {
            return None;
        }
        let register = Register::with_provider();
        let store = Store::open(register.url(), options).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_time()
            .build()
            .unwrap();
        Some(Self {
            register,
            store,
            runtime,
        })
    }

    fn stats(&self) -> WriterStats {
        self.store.writer_stats()
    }

    /// Begins a write that may share a transaction, for the provider.
    fn begin(
        &self,
        mut job: impl FnMut(&mut ProviderSession<'_>) -> Answer + Send + 'static,
    ) -> JoinHandle<Answer> {
        let store = self.store.clone();
        let write = move |session: &mut Session<'_>| {
            job(&mut session.open_provider(UKPRN, Cause::new("test"))?.unwrap())
        };
        self.runtime
            .spawn(async move { store.write_in_group(write).await })
    }

    /// Begins a write by which the next ones are held up.
    fn occupy(&self) -> Running {
        let (release, released): (_, Receiver<()>) = channel();
        let (begin, begun) = channel();
        let answer = self.begin(move |_| {
            begin.send(()).unwrap();
            released.recv().unwrap();
            Ok(())
        });
        begun.recv_timeout(Duration::from_secs(10)).unwrap();
        Running { release, answer }
    }

    /// Begins a write that is in the next group.
    fn begin_next(
        &self,
        job: impl FnMut(&mut ProviderSession<'_>) -> Answer + Send + 'static,
    ) -> JoinHandle<Answer> {
        let before = self.store.database.group_queue().0;
        let answer = self.begin(job);
        self.wait_until(|| self.store.database.group_queue().0 > before);
        answer
    }

    fn answer(&self, write: JoinHandle<Answer>) -> Answer {
        self.runtime.block_on(write).unwrap()
    }

    fn wait_until(&self, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !holds() {
            assert!(Instant::now() < end, "waited in vain");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The last names of the trainees that were kept, in their order.
    fn kept(&self) -> Vec<String> {
        let read = self.register.read(|session| {
            let ids = trainees::table
                .select(trainees::trainee_id)
                .order(trainees::trainee_id);
            Ok(ids.load::<String>(session.connection)?)
        });
        read.unwrap()
    }
}

impl Running {
    fn release(self, grouped: &Grouped) {
        self.release.send(()).unwrap();
        grouped.answer(self.answer).unwrap();
    }
}

fn trainee(id: &str, session: &ProviderSession<'_>) -> Trainee {
    let now = Some(session.now());
    Trainee {
        trainee_id: Some(id.to_owned()),
        last_name: Some(id.to_owned()),
        first_names: Some("Joan".to_owned()),
        date_of_birth: "2000-01-31".parse().ok(),
        training_route: Some("provider_led_postgrad".to_owned()),
        state: Some(State::SubmittedForTrn),
        created_at: now,
        updated_at: now,
        ..Trainee::default()
    }
}

fn insert(id: &str, session: &mut ProviderSession<'_>) -> Answer {
    let trainee = trainee(id, session);
    Ok(session.insert_trainee(&trainee)?)
}

/// Registers somebody unless there is one of the same name.
fn insert_if_new(id: &str, name: &str, session: &mut ProviderSession<'_>) -> Answer {
    let trainee = Trainee {
        last_name: Some(name.to_owned()),
        ..trainee(id, session)
    };
    if !session.duplicates_of(&trainee)?.is_empty() {
        return Err(Failure::Refused);
    }
    Ok(session.insert_trainee(&trainee)?)
}

#[test]
fn writes_that_come_at_the_same_time_share_a_commit_and_its_round_trips() {
    let Some(grouped) = Grouped::with(StoreOptions {
        writers: 1,
        ..StoreOptions::default()
    }) else {
        return;
    };
    let of_connection = |count: fn(&PostgresConnection) -> u64| {
        let database = &grouped.store.database;
        let counted = database.with_writing_connection(|connection| match connection {
            DatabaseConnection::Postgres(inner) => count(inner),
            DatabaseConnection::Sqlite(_) => panic!("another database was opened"),
        });
        counted.unwrap()
    };
    let waited = || of_connection(PostgresConnection::round_trips);
    // Behind a pooler the answer to BEGIN is waited for before anything is written.
    let begun = of_connection(|connection| u64::from(!connection.local_settings().is_empty()));
    let insert_together = |ids: &'static [&'static str]| {
        let running = grouped.occupy();
        let writes: Vec<_> = ids
            .iter()
            .map(|id| grouped.begin_next(move |session| insert(id, session)))
            .collect();
        // What the one that holds them up commits is over before they begin.
        let before = grouped.stats();
        running.release(&grouped);
        writes
            .into_iter()
            .for_each(|write| grouped.answer(write).unwrap());
        let after = grouped.stats();
        (after.groups - before.groups, after.jobs - before.jobs)
    };
    // Their statements are prepared.
    assert_eq!(insert_together(&["a", "b", "c"]), (2, 4));
    let before = waited();
    let of_one = {
        grouped
            .answer(grouped.begin(|session| insert("d", session)))
            .unwrap();
        waited() - before
    };
    let before = waited();
    assert_eq!(insert_together(&["e", "f", "g"]), (2, 4));
    // Each asks for its provider, which a request does by its token, together with what follows.
    assert_eq!((of_one, waited() - before), (begun + 2, 2 * begun + 2 + 4));
    assert_eq!(grouped.kept(), ["a", "b", "c", "d", "e", "f", "g"]);
}

#[test]
fn refusal_that_has_written_nothing_leaves_the_others_in_their_group() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    let store = grouped.store.clone();
    let running = grouped.occupy();
    let refused = grouped.runtime.spawn(async move {
        store
            .write_in_group(|_| Err::<(), _>(Failure::Refused))
            .await
    });
    grouped.wait_until(|| grouped.store.database.group_queue().1);
    let kept = grouped.begin_next(|session| insert("a", session));
    let before = grouped.stats();
    running.release(&grouped);
    assert!(matches!(grouped.answer(refused), Err(Failure::Refused)));
    grouped.answer(kept).unwrap();
    let after = grouped.stats();
    assert_eq!((after.groups - before.groups, after.groups_undone), (2, 0));
    assert_eq!(grouped.kept(), ["a"]);
}

#[test]
fn what_one_does_that_is_refused_is_undone_and_what_the_others_do_is_kept() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    let running = grouped.occupy();
    let first = grouped.begin_next(|session| insert("a", session));
    let refused = grouped.begin_next(|session| {
        insert("b", session)?;
        Err(Failure::Refused)
    });
    let panicking = grouped.begin_next(|session| {
        insert("c", session)?;
        panic!("as the test wants")
    });
    let last = grouped.begin_next(|session| insert("d", session));
    running.release(&grouped);
    assert!(matches!(grouped.answer(refused), Err(Failure::Refused)));
    assert!(matches!(
        grouped.answer(panicking),
        Err(Failure::Storage(StorageError::Database(
            DatabaseError::JobPanicked
        )))
    ));
    grouped.answer(first).unwrap();
    grouped.answer(last).unwrap();
    assert_eq!(grouped.stats().groups_undone, 1);
    assert_eq!(grouped.kept(), ["a", "d"]);
}

#[test]
fn panic_in_a_group_is_that_of_one() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    let running = grouped.occupy();
    let first = grouped.begin_next(|session| insert("a", session));
    let panicking = grouped.begin_next(|_| panic!("as the test wants"));
    running.release(&grouped);
    assert!(matches!(
        grouped.answer(panicking),
        Err(Failure::Storage(StorageError::Database(
            DatabaseError::JobPanicked
        )))
    ));
    grouped.answer(first).unwrap();
    assert_eq!(grouped.kept(), ["a"]);
}

#[test]
fn same_person_twice_in_group_is_registered_once() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    let running = grouped.occupy();
    let one = grouped.begin_next(|session| insert_if_new("a", "Ash", session));
    let same = grouped.begin_next(|session| insert_if_new("b", "ASH", session));
    let other = grouped.begin_next(|session| insert_if_new("c", "Birch", session));
    running.release(&grouped);
    let answers = [grouped.answer(one), grouped.answer(same)];
    assert_eq!(
        answers
            .iter()
            .filter(|answer| matches!(answer, Err(Failure::Refused)))
            .count(),
        1,
        "{answers:?}"
    );
    grouped.answer(other).unwrap();
    assert_eq!(grouped.kept().len(), 2);
}

#[test]
fn write_whose_lock_another_transaction_holds_holds_up_no_other() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    // Another server is about to register the same person.
    let (release, released): (_, Receiver<()>) = channel();
    let (begin, begun) = channel();
    let elsewhere = Store::open(grouped.register.url(), StoreOptions::default()).unwrap();
    let locking = std::thread::spawn(move || {
        elsewhere.write_blocking(move |session| {
            let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            insert_if_new("a", "Ash", &mut provider)?;
            // What was deferred is sent with this.
            assert!(provider.has_trainees()?);
            begin.send(()).unwrap();
            released.recv().unwrap();
            Ok::<_, Failure>(())
        })
    });
    begun.recv_timeout(Duration::from_secs(10)).unwrap();
    let running = grouped.occupy();
    let same = grouped.begin_next(|session| insert_if_new("b", "Ash", session));
    let other = grouped.begin_next(|session| insert_if_new("c", "Birch", session));
    running.release(&grouped);
    grouped.answer(other).unwrap();
    assert!(!same.is_finished());
    release.send(()).unwrap();
    locking.join().unwrap().unwrap();
    assert!(matches!(grouped.answer(same), Err(Failure::Refused)));
    assert_eq!(grouped.kept(), ["a", "c"]);
}

#[test]
fn write_that_waits_too_long_for_a_group_is_run_by_itself() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    let running = grouped.occupy();
    let write = grouped.begin_next(|session| insert("a", session));
    grouped.answer(write).unwrap();
    assert_eq!(grouped.kept(), ["a"]);
    running.release(&grouped);
}

#[test]
fn write_that_gets_no_place_is_refused_and_not_run_later() {
    let options = StoreOptions {
        writers: 1,
        place_wait: Duration::from_millis(100),
        ..StoreOptions::default()
    };
    let Some(grouped) = Grouped::with(options) else {
        return;
    };
    let running = grouped.occupy();
    let write = grouped.begin_next(|session| insert("a", session));
    let refused = grouped.answer(write);
    assert!(
        matches!(
            refused,
            Err(Failure::Storage(StorageError::Database(
                DatabaseError::PoolTimeout(_)
            )))
        ),
        "{refused:?}"
    );
    running.release(&grouped);
    grouped.runtime.block_on(grouped.store.drain()).unwrap();
    assert_eq!(grouped.kept(), [""; 0]);
}

#[test]
fn group_whose_connection_is_lost_before_its_commit_is_run_again_by_itself() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    let running = grouped.occupy();
    let first = grouped.begin_next(|session| insert("a", session));
    let runs = AtomicU32::new(0);
    let cutting = grouped.begin_next(move |session| {
        if runs.fetch_add(1, Ordering::SeqCst) == 0 {
            let cut = sql_query("SELECT pg_terminate_backend(pg_backend_pid())")
                .execute(session.connection);
            assert!(cut.is_err());
        }
        insert("b", session)
    });
    running.release(&grouped);
    grouped.answer(first).unwrap();
    grouped.answer(cutting).unwrap();
    assert_eq!(grouped.kept(), ["a", "b"]);
}

#[test]
fn commit_whose_outcome_is_not_known_is_not_run_again() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    // A trigger that runs at the end of the transaction ends the connection.
    let mut connection = grouped.register.second_connection();
    sql_query("CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$")
        .execute(&mut connection)
        .unwrap();
    sql_query("CREATE CONSTRAINT TRIGGER end_connection AFTER INSERT ON trainees DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection()")
        .execute(&mut connection)
        .unwrap();
    let running = grouped.occupy();
    let runs = Arc::new(AtomicU32::new(0));
    let writes = ["a", "b"].map(|id| {
        let runs = Arc::clone(&runs);
        grouped.begin_next(move |session| {
            runs.fetch_add(1, Ordering::SeqCst);
            insert(id, session)
        })
    });
    running.release(&grouped);
    for write in writes {
        let answer = grouped.answer(write);
        assert!(
            matches!(
                answer,
                Err(Failure::Storage(StorageError::Database(
                    DatabaseError::OutcomeUnknown(_)
                )))
            ),
            "{answer:?}"
        );
    }
    assert_eq!(runs.load(Ordering::SeqCst), 2);
    assert_eq!(grouped.kept(), [""; 0]);
}

#[test]
fn store_that_has_settled_has_run_what_nobody_waits_for_any_more() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    let store = grouped.store.clone();
    grouped.runtime.block_on(async {
        let write = store.write_in_group(|session| {
            insert(
                "a",
                &mut session.open_provider(UKPRN, Cause::new("test"))?.unwrap(),
            )
        });
        let mut write = Box::pin(write);
        // The caller goes away when the write waits for a group.
        assert!(
            write
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        drop(write);
        store.drain().await.unwrap();
    });
    assert_eq!(grouped.kept(), ["a"]);
}
