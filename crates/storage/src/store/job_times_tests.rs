//! Tests of the times of jobs that a request records.

use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use database::jobs::job_times::{JobTimes, RequestTimes, timed};
use test_support::Kind;

use crate::error::{DatabaseError, Refusal, StorageError};
use crate::session::Session;
use crate::store::{Store, StoreOptions, WriteScope};
use crate::testing::{Register, block_on};

/// Runs jobs like a request does, and returns their times.
fn times_of<T>(jobs: impl Future<Output = Result<T, StorageError>>) -> JobTimes {
    let times = RequestTimes::default();
    let _ = block_on(timed(Rc::clone(&times), jobs));
    times.get().unwrap()
}

fn list_twice(session: &mut Session<'_>) -> Result<(), StorageError> {
    session.list_providers()?;
    session.list_providers().map(drop)
}

#[test]
fn every_kind_of_job_is_timed() {
    let register = Register::new();
    let store = &register.store;
    let jobs = [
        times_of(store.look_up(list_twice)),
        times_of(store.read(list_twice)),
        times_of(store.write(list_twice)),
        times_of(store.write_in(WriteScope::Provider(0), list_twice)),
    ];
    for times in jobs {
        assert_eq!((times.statements, times.runs), (2, 1), "{jobs:?}");
        assert!(times.database > Duration::ZERO, "{jobs:?}");
    }
    let refused = times_of(store.write(|session| {
        list_twice(session)?;
        Err::<(), _>(Refusal::UnknownProvider.into())
    }));
    assert_eq!((refused.statements, refused.runs), (2, 1));
}

#[test]
fn retried_job_counts_each_run() {
    if Kind::from_environment() == Kind::Sqlite {
        return;
    }
    let register = Register::new();
    let mut runs = 0;
    let times = times_of(register.store.write(move |session| {
        session.list_providers()?;
        runs += 1;
        if runs == 1 {
            return Err(StorageError::Database(DatabaseError::Collided));
        }
        Ok(())
    }));
    assert_eq!((times.statements, times.runs), (2, 2));
    assert!(times.wait >= Duration::from_millis(2), "{times:?}");
}

#[test]
fn jobs_of_one_request_are_added_up() {
    let register = Register::new();
    let store = &register.store;
    let times = times_of(async {
        store.read(list_twice).await?;
        store.write(list_twice).await
    });
    assert_eq!((times.statements, times.runs), (4, 1));
}

#[test]
fn job_without_connection_has_only_waiting_time() {
    if Kind::from_environment() == Kind::Sqlite {
        return;
    }
    let register = Register::new();
    let timeout = Duration::from_millis(500);
    let options = StoreOptions {
        writers: 1,
        place_wait: timeout,
        ..StoreOptions::default()
    };
    let store = Store::open(register.url(), options).unwrap();
    // Connecting may take longer than the timeout on a busy machine.
    while store.write_blocking(|_| Ok::<_, StorageError>(())).is_err() {}
    let (entered, has_entered) = mpsc::channel();
    let (release, released) = mpsc::channel::<()>();
    let holder = store.clone();
    let holding = std::thread::spawn(move || {
        block_on(holder.write(move |_| {
            entered
                .send(())
                .map_err(|_| StorageError::Database(DatabaseError::Closed))?;
            released
                .recv()
                .map_err(|_| StorageError::Database(DatabaseError::Closed))
        }))
    });
    has_entered.recv().unwrap();
    let times = times_of(store.write(|_| Ok::<_, StorageError>(())));
    assert!(times.wait >= timeout, "{times:?}");
    assert_eq!(
        times,
        JobTimes {
            wait: times.wait,
            ..JobTimes::default()
        }
    );
    release.send(()).unwrap();
    holding.join().unwrap().unwrap();
}
