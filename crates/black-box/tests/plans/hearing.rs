//! What is sent to the database, as text, from every connection of this process.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

/// The statements that were sent, each once.
static HEARD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// The statements that a connection keeps prepared.
static CACHED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
/// Held by the one test that listens.
static LISTENING: Mutex<()> = Mutex::new(());

/// Listens to all connections that are made from now on. Another test waits until this is dropped.
pub(super) struct Hearing {
    _listening: MutexGuard<'static, ()>,
}

impl Hearing {
    pub(super) fn begin() -> Self {
        let listening = LISTENING.lock().unwrap_or_else(PoisonError::into_inner);
        let hearing = Self {
            _listening: listening,
        };
        hearing.forget();
        set_default_instrumentation(listener).unwrap();
        hearing
    }

    /// Forgets what was sent so far.
    pub(super) fn forget(&self) {
        HEARD.lock().unwrap().clear();
        CACHED.lock().unwrap().clear();
    }

    /// What was sent.
    pub(super) fn heard(&self) -> BTreeSet<String> {
        HEARD.lock().unwrap().clone()
    }

    /// What was prepared to be kept.
    pub(super) fn cached(&self) -> BTreeSet<String> {
        CACHED.lock().unwrap().clone()
    }
}

fn listener() -> Option<Box<dyn Instrumentation>> {
    Some(Box::new(|event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { query, .. } = &event {
            let query = query.to_string();
            let statement = query
                .split_once(" -- binds:")
                .map_or(query.as_str(), |(statement, _)| statement);
            HEARD.lock().unwrap().insert(statement.to_owned());
        } else if let InstrumentationEvent::CacheQuery { sql, .. } = &event {
            CACHED.lock().unwrap().insert((*sql).to_owned());
        }
    }))
}
