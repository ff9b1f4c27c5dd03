//! A new register for one test, on the database of the test run or on a given one.

pub(crate) mod filled;
pub(crate) mod people;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Waker};

use chrono::{DateTime, NaiveDate, TimeDelta, Utc};
use database::clock::Clock;
use database::connection::{Connections, DatabaseConnection};
use domain::{State, Trainee};
use test_support::{Database, Kind};
use tokio::runtime::Runtime;

use crate::accounts::tokens::{NewToken, TokenRecord};
use crate::accounts::users::Actor;
use crate::base::cause::Cause;
use crate::base::token::{Environment, Token, TokenDigest};
use crate::error::StorageError;
use crate::session::{ProviderSession, Session};
use crate::store::{Store, StoreOptions};

pub(crate) const UKPRN: &str = "10000001";
pub(crate) const OTHER: &str = "10000002";

/// A valid request for a token of the provider [`UKPRN`].
pub(crate) const NEW_TOKEN: NewToken<'static> = NewToken {
    provider_ukprn: UKPRN,
    environment: Environment::Sandbox,
    name: "Student records system",
    created_by: Actor::operator("operator"),
    expires_on: None,
};

pub(crate) struct Register {
    pub(crate) store: Store,
    pub(crate) clock: SetClock,
    /// The last field: the database is dropped after the store has closed its connections.
    database: Database,
}

/// A clock that changes only when the test sets it.
#[derive(Clone)]
pub(crate) struct SetClock(Arc<AtomicI64>);

impl SetClock {
    pub(crate) fn set(&self, date: &str) {
        let date: NaiveDate = date.parse().unwrap();
        let noon = date.and_hms_opt(12, 0, 0).unwrap().and_utc();
        self.0.store(noon.timestamp_millis(), Ordering::SeqCst);
    }

    pub(crate) fn advance(&self, by: TimeDelta) {
        self.0.fetch_add(by.num_milliseconds(), Ordering::SeqCst);
    }

    fn clock(&self) -> Clock {
        let millis = Arc::clone(&self.0);
        Clock::from_fn(move || {
            DateTime::<Utc>::from_timestamp_millis(millis.load(Ordering::SeqCst)).unwrap()
        })
    }
}

impl Register {
    /// An empty register on 2 March 2026.
    pub(crate) fn new() -> Self {
        Self::set_up(Database::fresh(), 256)
    }

    /// An empty register on SQLite, for tests of behaviour specific to SQLite.
    pub(crate) fn on_sqlite() -> Self {
        Self::set_up(Database::fresh_on(Kind::Sqlite), 256)
    }

    /// Like [`Register::new`], for at most `queue` waiting writes.
    pub(crate) fn with_queue(queue: usize) -> Self {
        Self::set_up(Database::fresh(), queue)
    }

    fn set_up(database: Database, queue: usize) -> Self {
        let clock = SetClock(Arc::new(AtomicI64::new(0)));
        clock.set("2026-03-02");
        let options = StoreOptions {
            readers: 2,
            queue,
            clock: clock.clock(),
            ..StoreOptions::default()
        };
        let store = Store::open(database.url(), options).unwrap();
        store.migrate().unwrap();
        Self {
            store,
            clock,
            database,
        }
    }

    /// A register that holds the provider [`UKPRN`].
    pub(crate) fn with_provider() -> Self {
        let register = Self::new();
        register.add_provider();
        register
    }

    /// Adds the provider [`UKPRN`].
    pub(crate) fn add_provider(&self) {
        self.write(|session| session.add_provider(UKPRN, "Ashdown University"))
            .unwrap();
    }

    /// A register that also holds the provider [`OTHER`].
    pub(crate) fn with_two_providers() -> Self {
        let register = Self::with_provider();
        register
            .write(|session| session.add_provider(OTHER, "Beech College"))
            .unwrap();
        register
    }

    /// Runs a job of a provider.
    pub(crate) fn in_provider<T: Send + 'static>(
        &self,
        ukprn: &'static str,
        mut job: impl FnMut(&mut ProviderSession<'_>) -> Result<T, StorageError> + Send + 'static,
    ) -> T {
        let job = move |session: &mut Session<'_>| {
            job(&mut session.open_provider(ukprn, Cause::new("test"))?.unwrap())
        };
        self.write(job).unwrap()
    }

    /// Registers a trainee, in the state `submitted_for_trn` unless it has another one.
    pub(crate) fn insert(&self, ukprn: &'static str, trainee: Trainee) {
        self.in_provider(ukprn, move |session| {
            let now = Some(session.change_date());
            session.insert_trainee(&Trainee {
                ukprn: Some(ukprn.to_owned()),
                state: trainee.state.or(Some(State::SubmittedForTrn)),
                created_at: now,
                updated_at: now,
                ..trainee.clone()
            })
        });
    }

    /// Registers a trainee of the provider [`UKPRN`] without personal data.
    pub(crate) fn add_trainee(&self, trainee_id: &str) {
        let trainee = Trainee {
            trainee_id: Some(trainee_id.to_owned()),
            ..Trainee::default()
        };
        self.insert(UKPRN, trainee);
    }

    /// Changes a trainee of the provider [`UKPRN`].
    pub(crate) fn update(
        &self,
        trainee_id: &'static str,
        change: impl Fn(&mut Trainee) + Send + 'static,
    ) {
        self.in_provider(UKPRN, move |session| {
            let stored = session.find_trainee(trainee_id)?.unwrap();
            let mut changed = Trainee {
                updated_at: Some(session.change_date()),
                ..stored.record.clone()
            };
            change(&mut changed);
            session.update_trainee(&stored, &changed)
        });
    }

    pub(crate) fn issue_token(
        &self,
        request: NewToken<'static>,
    ) -> Result<(Token, TokenRecord), StorageError> {
        self.write(move |session| session.issue_token(&request))
    }

    pub(crate) fn accepts(&self, token: &Token) -> bool {
        let digest = TokenDigest::from_text(token.reveal());
        self.read(|session| Ok(session.authenticate(&digest, Cause::new("test"))?.is_some()))
            .unwrap()
    }

    /// Another store over the same database with the same clock, like that of another process.
    pub(crate) fn another_store(&self) -> Store {
        Store::open(
            self.url(),
            StoreOptions {
                clock: self.clock.clock(),
                ..StoreOptions::default()
            },
        )
        .unwrap()
    }

    pub(crate) fn url(&self) -> &str {
        self.database.url()
    }

    /// A connection outside the store.
    pub(crate) fn second_connection(&self) -> DatabaseConnection {
        Connections::from_url(self.url())
            .unwrap()
            .establish()
            .unwrap()
    }

    pub(crate) fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, StorageError> + Send + 'static,
    ) -> Result<T, StorageError> {
        self.store.write_blocking(job)
    }

    pub(crate) fn read<T>(
        &self,
        job: impl FnMut(&mut Session<'_>) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.store.read_blocking(job)
    }
}

/// A queued write whose result the test awaits later.
pub(crate) struct Queued<T> {
    write: Pin<Box<dyn Future<Output = T>>>,
    runtime: Runtime,
}

impl<T> Queued<T> {
    /// Sends the write.
    ///
    /// # Panics
    ///
    /// When the write completes at once.
    pub(crate) fn new(write: impl Future<Output = T> + 'static) -> Self {
        let write = Box::pin(write);
        let runtime = runtime();
        let mut queued = Self { write, runtime };
        assert!(!queued.is_answered());
        queued
    }

    pub(crate) fn is_answered(&mut self) -> bool {
        let _entered = self.runtime.enter();
        let mut context = Context::from_waker(Waker::noop());
        matches!(self.write.as_mut().poll(&mut context), Poll::Ready(_))
    }

    pub(crate) fn answer(self) -> T {
        self.runtime.block_on(self.write)
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    runtime().block_on(future)
}
