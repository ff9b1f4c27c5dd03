use std::future::Future as _;
use std::sync::mpsc;
use std::task::{Context, Waker};

use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use test_support::{Database, Kind};

use super::*;
use crate::error::DatabaseError;
use crate::schema::providers;
use crate::testing::{Register, UKPRN, block_on};

#[test]
fn queries_of_one_read_see_one_snapshot() {
    let register = Register::new();
    let store = register.store.clone();
    let (before, after) = register
        .read(|session| {
            let before = session.list_providers()?.len();
            store.write_blocking(|session| session.add_provider(UKPRN, "A provider"))?;
            Ok((before, session.list_providers()?.len()))
        })
        .unwrap();
    assert_eq!((before, after), (0, 0));
    assert_eq!(
        register
            .read(|session| session.list_providers())
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn read_cannot_write() {
    let register = Register::new();
    let refused = register.read(|session| session.add_provider(UKPRN, "A provider"));
    assert!(
        matches!(
            refused,
            Err(StorageError::Database(DatabaseError::ReadOnly(_)))
        ),
        "{refused:?}"
    );
    register
        .write(|session| session.add_provider(UKPRN, "A provider"))
        .unwrap();
}

#[test]
fn panicking_read_fails_and_pool_stays_usable() {
    let register = Register::new();
    for _ in 0..3 {
        let answer: Result<(), _> = register.read(|_| panic!("as the test wants"));
        assert!(matches!(
            answer,
            Err(StorageError::Database(DatabaseError::JobPanicked))
        ));
    }
    assert!(
        register
            .read(|session| session.list_providers())
            .unwrap()
            .is_empty()
    );
}

#[test]
fn drained_store_has_run_all_writes() {
    let register = Register::new();
    block_on(async {
        let (go_on, wait) = mpsc::channel::<()>();
        let write = register.store.write(move |session| {
            let _ = wait.recv();
            session.add_provider(UKPRN, "A provider")
        });
        // The caller is dropped while the job is queued or running.
        let mut write = Box::pin(write);
        assert!(
            write
                .as_mut()
                .poll(&mut Context::from_waker(Waker::noop()))
                .is_pending()
        );
        drop(write);
        drop(go_on);
        register.store.drain().await;
    });
    assert_eq!(
        register
            .read(|session| session.list_providers())
            .unwrap()
            .len(),
        1
    );
}

#[test]
fn servers_that_start_together_migrate_once() {
    let migrate =
        |url: &str| Store::open(url, StoreOptions::default()).and_then(|store| store.migrate());
    let all = migrate(Database::fresh().url()).unwrap();
    let database = Database::fresh();
    let servers: Vec<_> = (0..4)
        .map(|_| {
            let url = database.url().to_owned();
            std::thread::spawn(move || migrate(&url))
        })
        .collect();
    let applied: Vec<_> = servers
        .into_iter()
        .map(|server| server.join().unwrap().unwrap())
        .collect();
    // A migration outside a transaction splits the list, and another server may apply the rest.
    assert_eq!(applied.iter().sum::<usize>(), all, "{applied:?}");
}

#[test]
fn lock_timeout_fails_job_keeping_connection() {
    if Kind::from_environment() != Kind::Postgres {
        return;
    }
    let register = Register::with_provider();
    let before = register.store.stats().connections;
    let mut holding = register.second_connection();
    holding
        .batch_execute("BEGIN; SELECT * FROM providers FOR UPDATE")
        .unwrap();
    let rename = |session: &mut Session<'_>| {
        diesel::update(providers::table)
            .set(providers::name.eq("Other"))
            .execute(session.connection)?;
        Ok(())
    };
    let refused: Result<(), StorageError> = block_on(register.store.write(rename));
    assert!(
        matches!(refused, Err(StorageError::Database(DatabaseError::Busy))),
        "{refused:?}"
    );
    assert_eq!(register.store.stats().connections, before.max(1));
}
