//! Tests of look-ups: their thread, their snapshot and the token cache.

use std::future::Future as _;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};
use std::thread::{self, ThreadId};

use chrono::NaiveDate;
use diesel::Connection as _;
use diesel::connection::{InstrumentationEvent, SimpleConnection as _};
use test_support::Kind;

use crate::accounts::tokens::NewToken;
use crate::base::cause::Cause;
use crate::base::token::{Environment, Token, TokenDigest};
use crate::error::{DatabaseError, StorageError};
use crate::session::Session;
use crate::testing::{NEW_TOKEN, Register, UKPRN, block_on};

fn thread_of_a_look_up(register: &Register) -> ThreadId {
    block_on(
        register
            .store
            .look_up(|_| Ok::<_, StorageError>(thread::current().id())),
    )
    .unwrap()
}

#[test]
fn sqlite_look_up_runs_on_calling_thread() {
    let register = Register::new();
    let caller = thread::current().id();
    assert_eq!(
        thread_of_a_look_up(&register) == caller,
        Kind::from_environment() == Kind::Sqlite
    );
    let here = || Ok::<_, StorageError>(thread::current().id());
    assert_ne!(
        block_on(register.store.read(move |_| here())).unwrap(),
        caller
    );
    assert_ne!(
        block_on(register.store.write(move |_| here())).unwrap(),
        caller
    );
}

#[test]
fn sqlite_look_up_sees_one_snapshot() {
    let register = Register::on_sqlite();
    let count = |register: &Register| {
        block_on(
            register
                .store
                .look_up(|session| Ok::<_, StorageError>(session.list_providers()?.len())),
        )
    };
    assert_eq!(count(&register).unwrap(), 0);
    register
        .write(|session| session.add_provider(UKPRN, "A provider"))
        .unwrap();
    assert_eq!(count(&register).unwrap(), 1);
    let store = register.store.clone();
    let counts = block_on(register.store.look_up(move |session| {
        let before = session.list_providers()?.len();
        let store = store.clone();
        // This thread runs the event loop and must not block: another thread writes.
        let written = thread::spawn(move || {
            store.write_blocking(|session| session.add_provider("10000002", "Another"))
        });
        written.join().unwrap()?;
        Ok::<_, StorageError>((before, session.list_providers()?.len()))
    }));
    assert_eq!(counts.unwrap(), (1, 1));
    let refused = block_on(
        register
            .store
            .look_up(|session| session.add_provider("10000003", "A third")),
    );
    assert!(
        matches!(
            refused,
            Err(StorageError::Database(DatabaseError::ReadOnly(_)))
        ),
        "{refused:?}"
    );
    assert_eq!(count(&register).unwrap(), 2);
}

/// Whether a look-up accepts the token.
fn is_accepted(register: &Register, token: &Token) -> bool {
    let digest = TokenDigest::from_text(token.reveal());
    let job = move |session: &mut Session<'_>| {
        Ok(session.authenticate(&digest, Cause::new("test"))?.is_some())
    };
    block_on(register.store.look_up::<_, StorageError>(job)).unwrap()
}

#[test]
fn cached_token_is_refused_once_invalid() {
    let register = Register::on_sqlite();
    register.add_provider();
    let (revoked, record) = register.issue_token(NEW_TOKEN).unwrap();
    let expires_on = NaiveDate::from_ymd_opt(2026, 3, 3);
    let (expiring, _) = register
        .issue_token(NewToken {
            expires_on,
            ..NEW_TOKEN
        })
        .unwrap();
    let (of_closed, _) = register.issue_token(NEW_TOKEN).unwrap();
    let unknown = Token::generate(Environment::Sandbox).unwrap();
    let accepted =
        || [&revoked, &expiring, &of_closed, &unknown].map(|token| is_accepted(&register, token));
    assert_eq!(
        (accepted(), accepted()),
        ([true, true, true, false], [true, true, true, false])
    );
    let other_process = register.another_store();
    other_process
        .write_blocking(move |session| session.revoke_token(record.id, NEW_TOKEN.created_by))
        .unwrap();
    assert_eq!(accepted(), [false, true, true, false]);
    register.clock.set("2026-03-03");
    assert_eq!(accepted(), [false, false, true, false]);
    register
        .write(|session| session.close_provider(UKPRN))
        .unwrap();
    assert_eq!(accepted(), [false; 4]);
}

#[test]
fn token_is_queried_again_after_commit() {
    let register = Register::on_sqlite();
    register.add_provider();
    let (token, _) = register.issue_token(NEW_TOKEN).unwrap();
    let queries = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&queries);
    assert!(is_accepted(&register, &token));
    let count = move |session: &mut Session<'_>| {
        let counter = Arc::clone(&counter);
        session
            .connection
            .set_instrumentation(move |event: InstrumentationEvent<'_>| {
                if let InstrumentationEvent::StartQuery { query, .. } = event {
                    counter.fetch_add(
                        usize::from(query.to_string().contains("digest")),
                        Ordering::Relaxed,
                    );
                }
            });
        Ok::<_, StorageError>(())
    };
    block_on(register.store.look_up(count)).unwrap();
    let queries_for = |requests: usize| {
        assert!((0..requests).all(|_| is_accepted(&register, &token)));
        queries.swap(0, Ordering::Relaxed)
    };
    assert_eq!(queries_for(3), 0);
    register
        .second_connection()
        .batch_execute("UPDATE providers SET name = 'Another'")
        .unwrap();
    assert_eq!(queries_for(3), 1);
}

#[test]
fn look_up_does_not_wait_for_writer() {
    let register = Register::on_sqlite();
    let mut writer = register.second_connection();
    writer
        .batch_execute("BEGIN IMMEDIATE; UPDATE providers SET name = 'x'")
        .unwrap();
    assert_eq!(thread_of_a_look_up(&register), thread::current().id());
    writer.batch_execute("ROLLBACK").unwrap();
}

#[test]
fn waiting_look_up_runs_on_the_pool() {
    let register = Register::on_sqlite();
    let caller = thread::current().id();
    let mut threads = Vec::new();
    let answer = block_on(register.store.look_up(move |_| {
        threads.push(thread::current().id());
        if threads.len() == 1 {
            Err(StorageError::Database(DatabaseError::Busy))
        } else {
            Ok(threads.clone())
        }
    }));
    let threads = answer.unwrap();
    assert!(
        threads.len() == 2 && threads[0] == caller && threads[1] != caller,
        "{threads:?}"
    );
}

#[test]
fn look_up_without_connection_runs_on_pool() {
    let register = Register::on_sqlite();
    let store = register.store.clone();
    let is_left = block_on(register.store.look_up(move |_| {
        let inner = pin!(store.look_up(|_| Ok::<_, StorageError>(())));
        Ok::<_, StorageError>(
            inner
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending(),
        )
    }));
    assert!(is_left.unwrap());
}

#[test]
fn connection_is_dropped_after_panic() {
    let register = Register::on_sqlite();
    let caller = thread::current().id();
    let panicked = block_on(
        register
            .store
            .look_up::<(), StorageError>(|_| panic!("as the test wants")),
    );
    assert!(matches!(
        panicked,
        Err(StorageError::Database(DatabaseError::JobPanicked))
    ));
    assert_eq!(thread_of_a_look_up(&register), caller);
    for sql in ["COMMIT", "ROLLBACK"] {
        let broken = block_on(
            register
                .store
                .look_up(|session| Ok::<_, StorageError>(session.connection.batch_execute(sql)?)),
        );
        assert!(broken.is_err(), "{sql}");
        assert_eq!(thread_of_a_look_up(&register), caller);
    }
    // A refused job keeps its connection.
    let refused = block_on(
        register
            .store
            .look_up::<(), StorageError>(|_| Err(StorageError::Database(DatabaseError::Closed))),
    );
    assert!(matches!(
        refused,
        Err(StorageError::Database(DatabaseError::Closed))
    ));
    assert_eq!(thread_of_a_look_up(&register), caller);
}
