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

/// The error of a write.
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

/// A write that runs until the test releases it. Writes that start during it wait for a group.
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

    /// Starts a write for the provider that may share a transaction.
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

    /// Starts a write that blocks the next writes until it is released.
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

    /// Starts a write and waits until it is queued for the next group.
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

    /// Inserts trainees in one group, and returns the numbers of groups and jobs, including the
    /// blocking write.
    fn insert_together(&self, ids: &'static [&'static str]) -> (u64, u64) {
        let running = self.occupy();
        let writes: Vec<_> = ids
            .iter()
            .map(|id| self.begin_next(move |session| insert(id, session)))
            .collect();
        // The blocking write commits in its own group, before the others start.
        let before = self.stats();
        running.release(self);
        for write in writes {
            self.answer(write).unwrap();
        }
        let after = self.stats();
        (after.groups - before.groups, after.jobs - before.jobs)
    }

    /// Returns a property of the only connection that writes.
    fn on_writing_connection<T>(&self, property: impl FnOnce(&PostgresConnection) -> T) -> T {
        let database = &self.store.database;
        let result = database.with_writing_connection(|connection| match connection {
            DatabaseConnection::Postgres(inner) => property(inner),
            DatabaseConnection::Sqlite(_) => panic!("another database was opened"),
        });
        result.unwrap()
    }

    fn wait_until(&self, mut holds: impl FnMut() -> bool) {
        let end = Instant::now() + Duration::from_secs(10);
        while !holds() {
            assert!(Instant::now() < end, "no success within 10 s");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// The identifiers of the committed trainees, sorted.
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

/// Registers a trainee unless one with the same name exists.
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
fn concurrent_writes_share_commit_and_its_round_trips() {
    let Some(grouped) = Grouped::with(StoreOptions {
        writers: 1,
        ..StoreOptions::default()
    }) else {
        return;
    };
    // Behind a pooler a transaction waits for the answer to BEGIN before it writes.
    let has_local_settings = |inner: &PostgresConnection| !inner.local_settings().is_empty();
    let begin = u64::from(grouped.on_writing_connection(has_local_settings));
    let round_trips = || grouped.on_writing_connection(PostgresConnection::round_trips);
    // Prepares the statements.
    assert_eq!(grouped.insert_together(&["a", "b", "c"]), (2, 4));
    let before = round_trips();
    grouped
        .answer(grouped.begin(|session| insert("d", session)))
        .unwrap();
    let single = round_trips() - before;
    let before = round_trips();
    assert_eq!(grouped.insert_together(&["e", "f", "g"]), (2, 4));
    let group = round_trips() - before;
    // Each write loads its provider by UKPRN, in its own round trip.
    assert_eq!((single, group), (begin + 2, 2 * begin + 2 + 4));
    assert_eq!(grouped.kept(), ["a", "b", "c", "d", "e", "f", "g"]);
}

#[test]
fn refused_job_without_writes_does_not_undo_its_group() {
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
fn refused_and_panicking_jobs_are_undone_and_others_kept() {
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
fn panic_in_group_fails_only_its_own_job() {
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
fn write_waiting_for_lock_does_not_block_its_group() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    // Another server is registering the same person.
    let (release, released): (_, Receiver<()>) = channel();
    let (begin, begun) = channel();
    let elsewhere = Store::open(grouped.register.url(), StoreOptions::default()).unwrap();
    let locking = std::thread::spawn(move || {
        elsewhere.write_blocking(move |session| {
            let mut provider = session.open_provider(UKPRN, Cause::new("test"))?.unwrap();
            insert_if_new("a", "Ash", &mut provider)?;
            // This query also sends the deferred statements.
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
fn write_waiting_too_long_for_group_runs_alone() {
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
fn write_without_permit_times_out_and_is_not_run_later() {
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
fn jobs_of_group_with_lost_connection_run_again_alone() {
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
fn commit_with_unknown_outcome_is_not_run_again() {
    let Some(grouped) = Grouped::new() else {
        return;
    };
    // A deferred trigger ends the connection during the commit.
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
fn drained_store_has_run_group_writes_of_dropped_callers() {
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
        // The caller is dropped while the write waits for a group.
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
