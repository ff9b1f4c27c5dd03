//! What a request shows of itself while it is carried out: whose token it has, which names of other versions stand in it,
//! and what a write met, for the check that may follow.
//!
//! Filled inside the job, which may be run again: what the last run saw counts. Nothing here is logged; what a write met is
//! about a person, stays in memory, and goes with the request or with its check.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use domain::Trainee;
use domain::organisations::Organisations;
use storage::session::ValidToken;

use crate::http::body::Body;

/// What is seen of a request. Cheap to clone; all clones see the same.
#[derive(Clone, Default)]
pub struct RequestObservation {
    seen: Arc<Mutex<Seen>>,
    /// Whether what a write met is kept.
    keeps: bool,
}

#[derive(Default)]
struct Seen {
    token: Option<ValidToken>,
    names: Vec<&'static str>,
    met: ObservedWrite,
}

/// What a write met.
#[derive(Clone, Default)]
pub struct ObservedWrite {
    /// The body, where it was read.
    pub body: Body,
    /// The trainee as it was before.
    pub trainee: Option<Box<Trainee>>,
    /// The schools and training partners that the write mentions.
    pub organisations: Option<Organisations>,
}

impl ObservedWrite {
    /// Whether the write was carried out, and not answered from memory.
    #[must_use]
    pub fn is_something(&self) -> bool {
        self.trainee.is_some() || self.organisations.is_some()
    }
}

impl RequestObservation {
    /// An observation that keeps what a write meets.
    #[must_use]
    pub fn of_a_write_to_check() -> Self {
        Self { keeps: true, ..Self::default() }
    }

    /// The job begins, with a valid token.
    pub fn begin(&self, token: Option<ValidToken>) {
        self.with(|seen| *seen = Seen { token, ..Seen::default() });
    }

    /// A body was read, with these names of other versions in it.
    pub fn read(&self, body: &Body, names: &[&'static str]) {
        self.with(|seen| {
            seen.names = names.to_vec();
            if self.keeps {
                seen.met.body = body.clone();
            }
        });
    }

    /// A trainee was found.
    pub fn found(&self, trainee: &Trainee) {
        if self.keeps {
            self.with(|seen| seen.met.trainee = Some(Box::new(trainee.clone())));
        }
    }

    /// What the request mentions was looked up.
    pub fn looked_up(&self, organisations: &Organisations) {
        if self.keeps {
            self.with(|seen| seen.met.organisations = Some(organisations.clone()));
        }
    }

    /// The token; nothing when none was valid.
    #[must_use]
    pub fn token(&self) -> Option<ValidToken> {
        self.with(|seen| seen.token)
    }

    /// The names of other versions in the body, each once.
    #[must_use]
    pub fn names(&self) -> Vec<&'static str> {
        self.with(|seen| seen.names.clone())
    }

    /// What the write met, which is kept no longer; nothing where it was not to be kept.
    #[must_use]
    pub fn take(&self) -> Option<ObservedWrite> {
        let met = self.with(|seen| std::mem::take(&mut seen.met));
        Some(met).filter(|met| self.keeps && met.is_something())
    }

    fn with<T>(&self, look: impl FnOnce(&mut Seen) -> T) -> T {
        // A poisoned lock is no harm: the next run begins anew.
        look(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for RequestObservation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("RequestObservation").finish_non_exhaustive()
    }
}
