//! Runs look-ups by key on the thread that asks, over connections to SQLite that nobody waits for.
//!
//! Such a look-up takes some ten microseconds, and a hop to another thread as long again. Each thread has a connection of
//! its own, which does not write and does not wait: what it cannot do at once is left to the pool.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Instant;

use diesel::connection::SimpleConnection as _;

use crate::clock::{Clock, JobTime};
use crate::connection::{Access, Connections, DatabaseConnection, prepared};
use crate::error::{JobError, StorageError};
use crate::job_times::JobTimer;
use crate::metrics::StoreMetrics;
use crate::session::Session;
use crate::tokens::cache::TokenCache;

/// The next thread that looks something up has this number.
static NEXT_THREAD: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static THREAD: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The connections of the threads that look something up.
#[derive(Debug)]
pub(super) struct LookUps {
    connections: Connections,
    /// One for each thread, made when it is first needed, and again after a failure.
    places: Vec<Place>,
    clock: Clock,
    metrics: StoreMetrics,
}

/// A place for a connection. They are aligned apart, so that threads do not take them from each other's caches.
#[repr(align(128))]
#[derive(Default)]
struct Place(Mutex<Option<LookUpConnection>>);

/// A connection, and the tokens that it found valid.
struct LookUpConnection {
    connection: DatabaseConnection,
    tokens: TokenCache,
}

impl std::fmt::Debug for Place {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Place")
    }
}

impl LookUps {
    pub(super) fn over(connections: Connections, threads: u32, clock: Clock, metrics: StoreMetrics) -> Self {
        Self { connections, places: (0..threads).map(|_| Place::default()).collect(), clock, metrics }
    }

    /// Runs a job on this thread; `None` when it must run elsewhere, because the connection is taken, cannot be made, or
    /// would have to wait.
    pub(super) fn run<T, E>(&self, job: &mut impl FnMut(&mut Session<'_>) -> Result<T, E>) -> Option<Result<T, E>>
    where
        E: JobError,
    {
        let mut place = self.place()?;
        // Out of its place meanwhile, so that any failure, a panic too, drops it with its transaction.
        let mut taken = match place.take() {
            Some(taken) => taken,
            None => LookUpConnection { connection: self.connect().ok()?, tokens: TokenCache::default() },
        };
        let LookUpConnection { connection, tokens } = &mut taken;
        let mut timer = JobTimer::start();
        timer.begin_run();
        let begun = Instant::now();
        let mut job = |session: &mut Session<'_>| timer.run(session, &mut *job);
        let answer = catch_unwind(AssertUnwindSafe(|| self.run_in_transaction(connection, tokens, &mut job)));
        self.metrics.job_ended(Access::LookUp, begun);
        let (answer, is_usable) = answer.unwrap_or_else(|_| (Err(StorageError::JobPanicked.into()), false));
        if is_usable {
            *place = Some(taken);
        }
        let is_busy = |error: &E| matches!(error.of_the_store(), Some(StorageError::Busy));
        if answer.as_ref().is_err_and(is_busy) {
            return None;
        }
        timer.end_run();
        timer.report();
        Some(answer)
    }

    /// The place of this thread, unless another thread is in it, which has come here when there were none left.
    fn place(&self) -> Option<MutexGuard<'_, Option<LookUpConnection>>> {
        let thread = THREAD.get().unwrap_or_else(|| {
            let thread = NEXT_THREAD.fetch_add(1, Ordering::Relaxed);
            THREAD.set(Some(thread));
            thread
        });
        match self.places.get(thread.checked_rem(self.places.len())?)?.0.try_lock() {
            Ok(place) => Some(place),
            // No code that holds it panics; and the connection is out of it.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    fn connect(&self) -> Result<DatabaseConnection, StorageError> {
        let mut connection = self.connections.establish_for_pool()?;
        connection.batch_execute("PRAGMA busy_timeout = 0")?;
        Ok(connection)
    }

    /// The answer, and whether the connection can be used again.
    fn run_in_transaction<T, E>(
        &self,
        connection: &mut DatabaseConnection,
        tokens: &mut TokenCache,
        job: &mut impl FnMut(&mut Session<'_>) -> Result<T, E>,
    ) -> (Result<T, E>, bool)
    where
        E: JobError,
    {
        if let Err(error) = connection.run_prepared(prepared::Begin) {
            return (Err(StorageError::from(error).into()), false);
        }
        let time = JobTime::of_reading(self.clock.now());
        let session = Session::new(connection, Access::LookUp, time);
        let answer = job(&mut session.with_token_cache(tokens));
        // diesel does not know of this transaction, and must know of none that the job left open.
        let ended = connection.require_depth(0).and_then(|()| {
            let end = if answer.is_ok() {
                connection.run_prepared(prepared::Commit)
            } else {
                connection.run_prepared(prepared::RollBack)
            };
            end.map_err(StorageError::of_lost_transaction)
        });
        let is_usable = ended.is_ok();
        (answer.and_then(|answer| ended.map(|()| answer).map_err(E::from)), is_usable)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread::{self, ThreadId};

    use chrono::NaiveDate;
    use diesel::Connection as _;
    use diesel::connection::InstrumentationEvent;
    use test_support::Kind;

    use super::*;
    use crate::history::Cause;
    use crate::testing::{NEW_TOKEN, Register, UKPRN, block_on};
    use crate::tokens::{Environment, NewToken, Token, TokenDigest};

    fn thread_of_a_look_up(register: &Register) -> ThreadId {
        block_on(register.store.look_up(|_| Ok::<_, StorageError>(thread::current().id()))).unwrap()
    }

    #[test]
    fn only_a_look_up_on_sqlite_stays_on_the_calling_thread() {
        let register = Register::new();
        let caller = thread::current().id();
        assert_eq!(thread_of_a_look_up(&register) == caller, Kind::of_this_run() == Kind::Sqlite);
        let here = || Ok::<_, StorageError>(thread::current().id());
        assert_ne!(block_on(register.store.read(move |_| here())).unwrap(), caller);
        assert_ne!(block_on(register.store.write(move |_| here())).unwrap(), caller);
    }

    #[test]
    fn look_up_on_sqlite_sees_one_snapshot_of_what_is_committed_and_cannot_write() {
        let register = Register::on_sqlite();
        let count = |register: &Register| {
            block_on(register.store.look_up(|session| Ok::<_, StorageError>(session.list_providers()?.len())))
        };
        assert_eq!(count(&register).unwrap(), 0);
        register.write(|session| session.add_provider(UKPRN, "A provider")).unwrap();
        assert_eq!(count(&register).unwrap(), 1);
        let store = register.store.clone();
        let counts = block_on(register.store.look_up(move |session| {
            let before = session.list_providers()?.len();
            let store = store.clone();
            // The event loop must not be blocked, as this thread stands for it.
            let written =
                thread::spawn(move || store.write_blocking(|session| session.add_provider("10000002", "Another")));
            written.join().unwrap()?;
            Ok::<_, StorageError>((before, session.list_providers()?.len()))
        }));
        assert_eq!(counts.unwrap(), (1, 1));
        let refused = block_on(register.store.look_up(|session| session.add_provider("10000003", "A third")));
        assert!(matches!(refused, Err(StorageError::ReadOnly(_))), "{refused:?}");
        assert_eq!(count(&register).unwrap(), 2);
    }

    /// Whether a look-up accepts the token.
    fn is_accepted(register: &Register, token: &Token) -> bool {
        let digest = TokenDigest::of(token.reveal());
        let job = move |session: &mut Session<'_>| Ok(session.authenticate(&digest, Cause::of("test"))?.is_some());
        block_on(register.store.look_up::<_, StorageError>(job)).unwrap()
    }

    #[test]
    fn a_token_that_was_found_valid_is_refused_as_soon_as_it_is_not() {
        let register = Register::on_sqlite();
        register.add_provider();
        let (revoked, record) = register.issue_token(NEW_TOKEN).unwrap();
        let expires_on = NaiveDate::from_ymd_opt(2026, 3, 3);
        let (expiring, _) = register.issue_token(NewToken { expires_on, ..NEW_TOKEN }).unwrap();
        let (of_closed, _) = register.issue_token(NEW_TOKEN).unwrap();
        let unknown = Token::generate(Environment::Sandbox).unwrap();
        let accepted = || [&revoked, &expiring, &of_closed, &unknown].map(|token| is_accepted(&register, token));
        assert_eq!((accepted(), accepted()), ([true, true, true, false], [true, true, true, false]));
        let other_process = register.another_store();
        other_process.write_blocking(move |session| session.revoke_token(record.id, NEW_TOKEN.created_by)).unwrap();
        assert_eq!(accepted(), [false, true, true, false]);
        register.clock.set("2026-03-03");
        assert_eq!(accepted(), [false, false, true, false]);
        register.write(|session| session.close_provider(UKPRN)).unwrap();
        assert_eq!(accepted(), [false; 4]);
    }

    #[test]
    fn a_token_is_queried_again_only_after_a_commit() {
        let register = Register::on_sqlite();
        register.add_provider();
        let (token, _) = register.issue_token(NEW_TOKEN).unwrap();
        let queries = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&queries);
        let look_ups = register.store.look_ups.as_ref().unwrap();
        assert!(is_accepted(&register, &token));
        look_ups.place().unwrap().as_mut().unwrap().connection.set_instrumentation(
            move |event: InstrumentationEvent<'_>| {
                if let InstrumentationEvent::StartQuery { query, .. } = event {
                    counter.fetch_add(usize::from(query.to_string().contains("digest")), Ordering::Relaxed);
                }
            },
        );
        let queries_for = |requests: usize| {
            assert!((0..requests).all(|_| is_accepted(&register, &token)));
            queries.swap(0, Ordering::Relaxed)
        };
        assert_eq!(queries_for(3), 0);
        register.second_connection().batch_execute("UPDATE providers SET name = 'Another'").unwrap();
        assert_eq!(queries_for(3), 1);
    }

    #[test]
    fn a_look_up_does_not_wait_for_who_writes() {
        let register = Register::on_sqlite();
        let mut writer = register.second_connection();
        writer.batch_execute("BEGIN IMMEDIATE; UPDATE providers SET name = 'x'").unwrap();
        assert_eq!(thread_of_a_look_up(&register), thread::current().id());
        writer.batch_execute("ROLLBACK").unwrap();
    }

    #[test]
    fn a_look_up_that_would_have_to_wait_is_left_to_the_pool() {
        let register = Register::on_sqlite();
        let caller = thread::current().id();
        let mut threads = Vec::new();
        let answer = block_on(register.store.look_up(move |_| {
            threads.push(thread::current().id());
            if threads.len() == 1 { Err(StorageError::Busy) } else { Ok(threads.clone()) }
        }));
        let threads = answer.unwrap();
        assert!(threads.len() == 2 && threads[0] == caller && threads[1] != caller, "{threads:?}");
    }

    #[test]
    fn a_look_up_whose_connection_is_taken_is_left_to_the_pool() {
        let register = Register::on_sqlite();
        let look_ups = register.store.look_ups.clone().unwrap();
        let inner =
            look_ups.run(&mut |_| Ok::<_, StorageError>(look_ups.run(&mut |_| Ok::<_, StorageError>(())).is_none()));
        assert!(inner.unwrap().unwrap());
    }

    #[test]
    fn a_connection_is_dropped_after_a_panic_or_a_broken_transaction() {
        let register = Register::on_sqlite();
        let caller = thread::current().id();
        let panicked = block_on(register.store.look_up::<(), StorageError>(|_| panic!("as the test wants")));
        assert!(matches!(panicked, Err(StorageError::JobPanicked)));
        assert_eq!(thread_of_a_look_up(&register), caller);
        for sql in ["COMMIT", "ROLLBACK"] {
            let broken = block_on(
                register.store.look_up(|session| Ok::<_, StorageError>(session.connection.batch_execute(sql)?)),
            );
            assert!(broken.is_err(), "{sql}");
            assert_eq!(thread_of_a_look_up(&register), caller);
        }
        // A refusal breaks nothing.
        let refused = block_on(register.store.look_up::<(), StorageError>(|_| Err(StorageError::Closed)));
        assert!(matches!(refused, Err(StorageError::Closed)));
        assert_eq!(thread_of_a_look_up(&register), caller);
    }
}
