//! Tests of writers: jobs of one writer share a commit, and each is either committed and confirmed,
//! or rolled back and reported as failed.
//!
//! A job that waits for a channel blocks its writer. All jobs that are queued behind it share its
//! transaction.

#![expect(
    clippy::disallowed_methods,
    reason = "a test waits on threads of its own"
)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use chrono::Utc;
use diesel::connection::{SimpleConnection, TransactionManager as _};
use diesel::prelude::*;
use test_support::{Database, Kind};

use database::clock::JobTime;
use database::connection::{Access, DatabaseConnection};
use database::jobs::transaction::Transaction;

use crate::error::{DatabaseError, Refusal, StorageError};
use crate::schema::providers;
use crate::session::Session;
use crate::store::{Queue, Store, StoreOptions, WriteScope, WriterStats};
use crate::testing::{Queued, Register, block_on};

type Answer<T> = Result<T, StorageError>;

/// The provider whose writer runs the jobs: the row of the service, which each register has.
const PROVIDER: i64 = 0;

/// Blocks the writer's thread inside a job until [`Hold::release`]. The job is the first of its
/// group.
struct Hold {
    release: mpsc::Sender<()>,
    held: Queued<Answer<()>>,
}

impl Hold {
    fn new(store: &Store) -> Self {
        let (started, wait_for_start) = mpsc::channel();
        let (release, wait_for_release) = mpsc::channel();
        let held = queue(store, move |_| {
            // The receivers are gone when the job runs again.
            let _ = started.send(());
            let _ = wait_for_release.recv();
            Ok(())
        });
        wait_for_start.recv().unwrap();
        Self { release, held }
    }

    fn release(self) -> Answer<()> {
        drop(self.release);
        self.held.answer()
    }
}

fn queue<T: Send + 'static>(
    store: &Store,
    job: impl FnMut(&mut Session<'_>) -> Answer<T> + Send + 'static,
) -> Queued<Answer<T>> {
    let store = store.clone();
    Queued::new(async move { store.write_in(WriteScope::Provider(PROVIDER), job).await })
}

fn add(number: usize) -> impl FnMut(&mut Session<'_>) -> Answer<()> + Send + 'static {
    move |session| {
        session
            .add_provider(&format!("{:08}", 10_000_000 + number), "A provider")
            .map(drop)
    }
}

/// The UKPRNs that another connection sees, as numbers of [`add`].
fn kept(register: &Register) -> Vec<usize> {
    let ukprns: Vec<String> = providers::table
        .select(providers::ukprn)
        .order(providers::ukprn)
        .load(&mut register.second_connection())
        .unwrap();
    ukprns
        .iter()
        .map(|ukprn| ukprn.parse::<usize>().unwrap() - 10_000_000)
        .collect()
}

/// Runs `culprit` between two neighbours in one group and returns the answers of all four jobs, the
/// holder's first.
fn run_between_neighbours(
    register: &Register,
    culprit: impl FnMut(&mut Session<'_>) -> Answer<()> + Send + 'static,
) -> [Answer<()>; 4] {
    let hold = Hold::new(&register.store);
    let before = queue(&register.store, add(1));
    let culprit = queue(&register.store, culprit);
    let after = queue(&register.store, add(3));
    [
        hold.release(),
        before.answer(),
        culprit.answer(),
        after.answer(),
    ]
}

/// The transactions and jobs committed since `before`, and the transactions lost.
fn committed(register: &Register, before: WriterStats) -> (u64, u64, u64) {
    let after = register.store.writer_stats();
    (
        after.groups - before.groups,
        after.jobs - before.jobs,
        after.groups_undone - before.groups_undone,
    )
}

#[test]
fn waiting_jobs_share_one_commit() {
    let register = Register::new();
    let before = register.store.writer_stats();
    let hold = Hold::new(&register.store);
    let waiting: Vec<_> = (0..40)
        .map(|number| queue(&register.store, add(number)))
        .collect();
    hold.release().unwrap();
    for job in waiting {
        job.answer().unwrap();
    }
    assert_eq!(committed(&register, before), (1, 41, 0));
    assert_eq!(kept(&register), (0..40).collect::<Vec<_>>());
}

#[test]
fn waiting_jobs_are_counted() {
    let register = Register::with_queue(3);
    let hold = Hold::new(&register.store);
    let waiting: Vec<_> = (0..3)
        .map(|number| queue(&register.store, add(number)))
        .collect();
    assert!(matches!(
        block_on(
            register
                .store
                .write_in(WriteScope::Provider(PROVIDER), add(4))
        ),
        Err(StorageError::Database(DatabaseError::QueueFull))
    ));
    assert_eq!(
        register.store.stats().writer_queue,
        Queue {
            length: 3,
            limit: 3
        }
    );
    hold.release().unwrap();
    for job in waiting {
        job.answer().unwrap();
    }
    assert_eq!(
        register.store.stats().writer_queue,
        Queue {
            length: 0,
            limit: 3
        }
    );
}

#[test]
fn group_size_is_limited() {
    let register = Register::new();
    let before = register.store.writer_stats();
    let hold = Hold::new(&register.store);
    let waiting: Vec<_> = (0..StoreOptions::default().group)
        .map(|number| queue(&register.store, add(number)))
        .collect();
    hold.release().unwrap();
    for job in waiting {
        job.answer().unwrap();
    }
    assert_eq!(
        committed(&register, before),
        (2, StoreOptions::default().group as u64 + 1, 0)
    );
}

#[test]
fn every_concurrent_writer_is_acknowledged_and_kept() {
    let register = Register::new();
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            let store = register.store.clone();
            std::thread::spawn(move || {
                (0..25).all(|at| {
                    block_on(store.write_in(WriteScope::Provider(PROVIDER), add(thread * 25 + at)))
                        .is_ok()
                })
            })
        })
        .collect();
    assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
    assert_eq!(kept(&register), (0..200).collect::<Vec<_>>());
}

#[test]
fn jobs_are_answered_after_the_commit() {
    let register = Register::new();
    let mut refused = {
        let first = Hold::new(&register.store);
        let refused = queue(&register.store, |_| {
            Err::<(), _>(Refusal::UnknownProvider.into())
        });
        // The second blocking job follows the refused job in the same group.
        let (started, wait_for_start) = mpsc::channel();
        let (release, wait_for_release) = mpsc::channel::<()>();
        let second = queue(&register.store, move |_| {
            started.send(()).unwrap();
            let _ = wait_for_release.recv();
            Ok(())
        });
        drop(first.release);
        wait_for_start.recv().unwrap();
        let mut refused = refused;
        assert!(!refused.is_answered());
        drop(release);
        second.answer().unwrap();
        refused
    };
    // A group answers its jobs in order, so the refused job was answered before the second blocking
    // job.
    assert!(refused.is_answered());
}

#[test]
fn refused_job_changes_nothing_alone() {
    let register = Register::new();
    let stats = register.store.writer_stats();
    let [held, before, refused, after] = run_between_neighbours(&register, |session| {
        add(2)(session)?;
        Err(Refusal::UnknownProvider.into())
    });
    assert!(held.is_ok() && before.is_ok() && after.is_ok());
    assert!(matches!(
        refused,
        Err(StorageError::Refused(Refusal::UnknownProvider))
    ));
    assert_eq!(kept(&register), [1, 3]);
    assert_eq!(committed(&register, stats), (1, 4, 0));
}

#[test]
fn job_violating_constraint_fails_alone() {
    let register = Register::new();
    let [_, before, refused, after] = run_between_neighbours(&register, add(1));
    assert!(before.is_ok() && after.is_ok());
    assert!(matches!(
        refused,
        Err(StorageError::Refused(Refusal::UkprnTaken))
    ));
    assert_eq!(kept(&register), [1, 3]);
}

fn panic_after_a_change(session: &mut Session<'_>) -> Answer<()> {
    add(2)(session)?;
    panic!("as the test wants");
}

fn panic_in_a_nested_transaction(session: &mut Session<'_>) -> Answer<()> {
    session
        .connection
        .transaction(|_| -> Answer<()> { panic!("as the test wants") })
}

fn swallow_a_panic_in_a_nested_transaction(session: &mut Session<'_>) -> Answer<()> {
    let _ = catch_unwind(AssertUnwindSafe(|| panic_in_a_nested_transaction(session)));
    add(2)(session)
}

fn leave_a_transaction_open(session: &mut Session<'_>) -> Answer<()> {
    DatabaseConnection::begin_transaction(session.connection)?;
    add(2)(session)
}

fn close_a_transaction_too_many(session: &mut Session<'_>) -> Answer<()> {
    add(2)(session)?;
    Ok(DatabaseConnection::commit_transaction(session.connection)?)
}

fn roll_back_behind_diesel(session: &mut Session<'_>) -> Answer<()> {
    Ok(session.connection.batch_execute("ROLLBACK")?)
}

/// Limits the size of the database and then exceeds the limit.
fn fill_the_disk(session: &mut Session<'_>) -> Answer<()> {
    session
        .connection
        .batch_execute("PRAGMA max_page_count = 1")?;
    session
        .add_provider("19999999", &"x".repeat(1_000_000))
        .map(drop)
}

fn fill_the_disk_in_a_nested_transaction(session: &mut Session<'_>) -> Answer<()> {
    let now = session.now();
    session.connection.transaction(|connection| {
        let mut transaction = Transaction::new(connection, Access::Write, JobTime::new(now));
        fill_the_disk(&mut Session::new(&mut transaction))
    })
}

fn write_after_a_full_disk(session: &mut Session<'_>) -> Answer<()> {
    assert!(matches!(
        fill_the_disk(session),
        Err(StorageError::Database(DatabaseError::NoSpace(_)))
    ));
    add(2)(session)
}

fn answer_well_after_a_full_disk(session: &mut Session<'_>) -> Answer<()> {
    let _ = fill_the_disk(session);
    Ok(())
}

type Culprit = fn(&mut Session<'_>) -> Answer<()>;

#[test]
fn job_breaking_the_transaction_fails_alone() {
    let on_both: [(&str, Culprit, bool); 6] = [
        ("a panic", panic_after_a_change, true),
        (
            "a panic in a nested transaction",
            panic_in_a_nested_transaction,
            true,
        ),
        (
            "a panic that is swallowed",
            swallow_a_panic_in_a_nested_transaction,
            false,
        ),
        ("an open transaction", leave_a_transaction_open, false),
        ("a commit too many", close_a_transaction_too_many, false),
        ("a rollback", roll_back_behind_diesel, false),
    ];
    let on_sqlite: [(&str, Culprit, bool); 4] = [
        ("a full disk", fill_the_disk, false),
        (
            "a full disk in a nested transaction",
            fill_the_disk_in_a_nested_transaction,
            false,
        ),
        ("a write after a full disk", write_after_a_full_disk, true),
        (
            "an answer after a full disk",
            answer_well_after_a_full_disk,
            false,
        ),
    ];
    let cases = on_both
        .into_iter()
        .map(|case| (case, Register::new as fn() -> Register))
        .chain(
            on_sqlite
                .into_iter()
                .map(|case| (case, Register::on_sqlite as _)),
        );
    for ((case, culprit, panics), register) in cases {
        let register = register();
        let before = register.store.writer_stats();
        let [held, first, broken, last] = run_between_neighbours(&register, culprit);
        assert!(
            held.is_ok() && first.is_ok() && last.is_ok(),
            "{case}: {held:?}, {first:?}, {last:?}"
        );
        let has_panicked = matches!(
            broken,
            Err(StorageError::Database(DatabaseError::JobPanicked))
        );
        assert_eq!(
            (broken.is_err(), has_panicked),
            (true, panics),
            "{case}: {broken:?}"
        );
        assert_eq!(kept(&register), [1, 3], "{case}");
        assert_eq!(committed(&register, before).2, 1, "{case}");
        register.write(add(4)).unwrap();
        assert_eq!(kept(&register), [1, 3, 4], "{case}");
    }
}

#[test]
fn full_disk_is_temporary_error() {
    let register = Register::on_sqlite();
    let refused = register.write(fill_the_disk).unwrap_err();
    assert!(
        matches!(
            refused,
            StorageError::Database(DatabaseError::TransactionEnded {
                condition: "database or disk is full"
            })
        ),
        "{refused:?}"
    );
    assert!(refused.is_temporary());
}

#[test]
fn database_locked_by_another_process_is_busy() {
    let register = Register::on_sqlite();
    // Shortens the writer's timeout of several seconds.
    register
        .write(|session| {
            Ok(session
                .connection
                .batch_execute("PRAGMA busy_timeout = 1")?)
        })
        .unwrap();
    let mut other = register.second_connection();
    other.batch_execute("BEGIN IMMEDIATE").unwrap();
    let refused = block_on(register.store.write(add(1)));
    assert!(
        matches!(refused, Err(StorageError::Database(DatabaseError::Busy))),
        "{refused:?}"
    );
    other.batch_execute("ROLLBACK").unwrap();
    register.write(add(2)).unwrap();
    assert_eq!(kept(&register), [2]);
}

#[test]
fn dropped_store_finishes_waiting_jobs() {
    let database = Database::fresh_on(Kind::Sqlite);
    // The thread owns the clock, and the clock owns the sender: the channel closes when the thread
    // ends.
    let (alive, thread_ended) = mpsc::channel::<()>();
    let clock = database::clock::Clock::from_fn(move || {
        let _ = &alive;
        Utc::now()
    });
    let store = Store::open(
        database.url(),
        StoreOptions {
            readers: 1,
            queue: 8,
            clock,
            ..StoreOptions::default()
        },
    )
    .unwrap();
    store.migrate().unwrap();

    let hold = Hold::new(&store);
    let (ran, wait_for_run) = mpsc::channel();
    drop(queue(&store, move |session| {
        add(1)(session)?;
        ran.send(()).unwrap();
        Ok(())
    }));
    let Hold { release, held } = hold;
    drop(store);
    drop(held);
    drop(release);

    assert!(wait_for_run.recv().is_ok());
    assert!(thread_ended.recv().is_err());
    let reopened = Store::open(database.url(), StoreOptions::default()).unwrap();
    assert_eq!(
        reopened
            .read_blocking(|session| session.list_providers())
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn writers_of_other_providers_run_concurrently() {
    if Kind::from_environment() != Kind::Postgres {
        return;
    }
    let register = Register::new();
    let hold = Hold::new(&register.store);
    // The jobs of the first provider run, and a job that changes no records.
    block_on(register.store.write(add(1))).unwrap();
    block_on(register.store.write_in(WriteScope::Provider(1), add(2))).unwrap();
    assert_eq!(kept(&register), [1, 2]);
    hold.release().unwrap();
}

#[test]
fn lone_job_with_lost_connection_runs_again() {
    let Some(register) = on_postgres() else {
        return;
    };
    let mut runs = 0;
    let lost = queue(&register.store, move |session| {
        runs += 1;
        add(1)(session)?;
        if runs == 1 {
            session
                .connection
                .batch_execute("SELECT pg_terminate_backend(pg_backend_pid())")?;
        }
        Ok(runs)
    });
    assert_eq!(lost.answer().unwrap(), 2);
}

#[test]
fn job_waiting_too_long_is_busy() {
    let register = Register::new();
    let store = Store::open(
        register.url(),
        StoreOptions {
            place_wait: Duration::from_millis(100),
            ..StoreOptions::default()
        },
    )
    .unwrap();
    let hold = Hold::new(&store);
    let refused = queue(&store, add(1)).answer();
    assert!(
        matches!(refused, Err(StorageError::Database(DatabaseError::Busy))),
        "{refused:?}"
    );
    hold.release().unwrap();
    block_on(store.drain());
    assert_eq!(kept(&register), [0; 0]);
}

#[test]
fn drained_store_has_run_queued_jobs() {
    let register = Register::new();
    let hold = Hold::new(&register.store);
    drop(queue(&register.store, add(1)));
    hold.release().unwrap();
    block_on(register.store.drain());
    assert_eq!(kept(&register), [1]);
}

/// A register on PostgreSQL; `None` on another database.
fn on_postgres() -> Option<Register> {
    (Kind::from_environment() == Kind::Postgres).then(Register::new)
}

#[test]
fn jobs_of_lost_transaction_run_again_alone() {
    let Some(register) = on_postgres() else {
        return;
    };
    let runs = AtomicU32::new(0);
    let answers = run_between_neighbours(&register, move |session| {
        if runs.fetch_add(1, Ordering::SeqCst) == 0 {
            let cut = diesel::sql_query("SELECT pg_terminate_backend(pg_backend_pid())")
                .execute(session.connection);
            assert!(cut.is_err());
        }
        add(2)(session)
    });
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(kept(&register), [1, 2, 3]);
}

#[test]
fn commit_with_unknown_outcome_fails_jobs() {
    let Some(register) = on_postgres() else {
        return;
    };
    // A deferred trigger ends the connection during the commit.
    let mut connection = register.second_connection();
    connection
        .batch_execute(
            "CREATE FUNCTION end_connection() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER end_connection AFTER INSERT ON providers DEFERRABLE \
             INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION end_connection()",
        )
        .unwrap();
    let runs = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&runs);
    let answers = run_between_neighbours(&register, move |session| {
        counted.fetch_add(1, Ordering::SeqCst);
        add(2)(session)
    });
    for answer in answers {
        assert!(
            matches!(
                answer,
                Err(StorageError::Database(DatabaseError::OutcomeUnknown(_)))
            ),
            "{answer:?}"
        );
    }
    assert_eq!(runs.load(Ordering::SeqCst), 1);
    assert_eq!(kept(&register), [0; 0]);
}
