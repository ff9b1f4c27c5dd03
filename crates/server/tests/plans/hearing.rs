//! What is sent to the database, as text, from every connection of this process.

use std::collections::BTreeSet;
use std::sync::Mutex;

use diesel::connection::{Instrumentation, InstrumentationEvent, set_default_instrumentation};

/// The statements that were sent, each once.
static HEARD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Listens to all connections that are made from now on.
pub(super) fn begin() {
    set_default_instrumentation(listener).unwrap();
}

/// Forgets what was sent so far.
pub(super) fn forget() {
    HEARD.lock().unwrap().clear();
}

/// What was sent.
pub(super) fn heard() -> BTreeSet<String> {
    HEARD.lock().unwrap().clone()
}

fn listener() -> Option<Box<dyn Instrumentation>> {
    Some(Box::new(|event: InstrumentationEvent<'_>| {
        if let InstrumentationEvent::StartQuery { query, .. } = event {
            let query = query.to_string();
            let statement = query.split_once(" -- binds:").map_or(query.as_str(), |(statement, _)| statement);
            HEARD.lock().unwrap().insert(statement.to_owned());
        }
    }))
}
