//! Observes one run of a handler: the token, the names of other versions in the body, the key of the
//! record, and, for a check against the newest version, the state that a write has found.
//!
//! A job may run several times; each run makes a new observation, and the last one counts. Observed
//! writes contain personal data, so they stay in memory until the request or its check ends.

use std::cell::RefCell;

use domain::Trainee;
use domain::records::organisations::Organisations;
use http_kit::requests::body::Body;
use storage::session::ValidToken;

/// The key that a provider has given a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordKey {
    /// The `provider_trainee_id` of the trainee, or else its identifier.
    pub key: String,
    /// The identifier of the trainee, if it is registered.
    pub trainee_id: Option<String>,
}

impl RecordKey {
    /// The key of a registered trainee; `None` if it has no identifier.
    #[must_use]
    pub fn from_trainee(trainee: &Trainee) -> Option<Self> {
        let trainee_id = trainee.trainee_id.clone()?;
        let key = trainee.provider_trainee_id.clone();
        Some(Self {
            key: key.unwrap_or_else(|| trainee_id.clone()),
            trainee_id: Some(trainee_id),
        })
    }
}

/// The observation of a request.
#[derive(Debug, Default)]
pub struct RequestObservation {
    /// The valid token, or `None`.
    pub token: Option<ValidToken>,
    /// The distinct names of other versions in the body.
    pub names: Vec<&'static str>,
    /// The state that a write has found, if a check is requested.
    pub write: Option<Box<ObservedWrite>>,
    /// The key of the record of a write; `None` if it is not known.
    pub record: Option<RecordKey>,
}

/// The state that a write has found.
#[derive(Default)]
pub struct ObservedWrite {
    /// The identifier of the placement or the degree in the path.
    pub part_id: String,
    /// The body, if it was read.
    pub body: Body,
    /// The trainee before the write.
    pub trainee: Option<Box<Trainee>>,
    /// The schools and training partners that the write refers to.
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
    /// Whether the write was carried out now, instead of replaying the reply to an earlier request.
    #[must_use]
    pub fn was_carried_out(&self) -> bool {
        self.trainee.is_some() || self.organisations.is_some()
    }
}

/// Collects the observations of one run.
#[derive(Debug)]
pub struct Observer(RefCell<RequestObservation>);

impl Observer {
    /// Starts an observation. Keeps the state that a write finds only in `write`, if it is given.
    #[must_use]
    pub fn new(token: Option<ValidToken>, write: Option<Box<ObservedWrite>>) -> Self {
        Self(RefCell::new(RequestObservation {
            token,
            write,
            ..RequestObservation::default()
        }))
    }

    /// Records a body and the names of other versions in it. A write with a large body is not
    /// checked, because it would wait in memory.
    pub fn read(&self, body: &Body, names: &[&'static str]) {
        let mut observation = self.0.borrow_mut();
        observation.names = names.to_vec();
        match (&mut observation.write, body.to_keep()) {
            (Some(write), Some(kept)) => write.body = kept,
            (write, _) => *write = None,
        }
    }

    /// Records the key of the record that a write is about.
    pub fn identify(&self, record: Option<RecordKey>) {
        self.0.borrow_mut().record = record;
    }

    /// Records the trainee before the write.
    pub fn found(&self, trainee: &Trainee) {
        self.identify(RecordKey::from_trainee(trainee));
        if let Some(write) = &mut self.0.borrow_mut().write {
            write.trainee = Some(Box::new(trainee.clone()));
        }
    }

    /// Records the organisations that the request refers to.
    pub fn looked_up(&self, organisations: &Organisations) {
        if let Some(write) = &mut self.0.borrow_mut().write {
            write.organisations = Some(organisations.clone());
        }
    }

    /// Returns the observation.
    #[must_use]
    pub fn finish(self) -> RequestObservation {
        self.0.into_inner()
    }
}
