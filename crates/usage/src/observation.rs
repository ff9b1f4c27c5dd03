//! What one run of a handler observes of its request: whose token it has, which names of other
//! versions its body contains, and what a write met, for the shadow check that may follow.
//!
//! A job may be run again, each run observes anew, and the last one counts. Nothing here is logged;
//! what a write met is about a person, stays in memory, and goes with the request or with its
//! check.

use std::cell::RefCell;

use domain::Trainee;
use domain::records::organisations::Organisations;
use storage::session::ValidToken;

use http_kit::requests::body::Body;

/// What is observed of a request.
#[derive(Debug, Default)]
pub struct RequestObservation {
    /// The token; nothing when none was valid.
    pub token: Option<ValidToken>,
    /// The names of other versions in the body, each once.
    pub names: Vec<&'static str>,
    /// What a write met, where it is to be checked.
    pub write: Option<Box<ObservedWrite>>,
}

/// What a write met.
#[derive(Default)]
pub struct ObservedWrite {
    /// The body, where it was read.
    pub body: Body,
    /// The trainee as it was before.
    pub trainee: Option<Box<Trainee>>,
    /// The schools and training partners that the write mentions.
    pub organisations: Option<Organisations>,
}

impl std::fmt::Debug for ObservedWrite {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ObservedWrite")
            .finish_non_exhaustive()
    }
}

impl ObservedWrite {
    /// Whether the write was carried out, and not answered from memory.
    #[must_use]
    pub fn was_carried_out(&self) -> bool {
        self.trainee.is_some() || self.organisations.is_some()
    }
}

/// Collects the observation of one run.
#[derive(Debug)]
pub struct Observer(RefCell<RequestObservation>);

impl Observer {
    /// Observes a request; what a write meets is kept where it is to be checked.
    #[must_use]
    pub fn new(token: Option<ValidToken>, is_checked: bool) -> Self {
        let write = is_checked.then(Box::default);
        Self(RefCell::new(RequestObservation {
            token,
            names: Vec::new(),
            write,
        }))
    }

    /// A body was read, with these names of other versions in it.
    pub fn read(&self, body: &Body, names: &[&'static str]) {
        let mut observation = self.0.borrow_mut();
        observation.names = names.to_vec();
        if let Some(write) = &mut observation.write {
            write.body = body.clone();
        }
    }

    /// A trainee was found.
    pub fn found(&self, trainee: &Trainee) {
        if let Some(write) = &mut self.0.borrow_mut().write {
            write.trainee = Some(Box::new(trainee.clone()));
        }
    }

    /// What the request mentions was looked up.
    pub fn looked_up(&self, organisations: &Organisations) {
        if let Some(write) = &mut self.0.borrow_mut().write {
            write.organisations = Some(organisations.clone());
        }
    }

    /// What was observed.
    #[must_use]
    pub fn finish(self) -> RequestObservation {
        self.0.into_inner()
    }
}
