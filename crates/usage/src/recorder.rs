//! Records the observation of a request: counts its use, and queues an accepted write for its
//! shadow check.

use std::sync::Arc;

use adapter_kit::{Endpoint, Served};
use chrono::{DateTime, Utc};
use http_kit::requests::request_id::RequestId;
use storage::session::ValidToken;

use crate::counts::{Counted, Usage};
use crate::observation::RequestObservation;
use crate::shadow_checks::{ShadowChecks, Write};

/// The properties of a request that are recorded.
#[derive(Debug)]
pub struct UsageRecorder {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The identifier of the request.
    pub request_id: RequestId,
    /// The identifier of the placement or the degree in the path, or an empty string.
    pub part_id: String,
}

impl UsageRecorder {
    /// Counts the request if its token was valid.
    pub fn count(&self, usage: &Usage, at: DateTime<Utc>, observation: &RequestObservation) {
        let Some(token) = observation.token else {
            return;
        };
        let endpoint = self.endpoint;
        let request_id = Arc::clone(&self.request_id);
        let counted = Counted {
            at,
            token: token.id,
            version: self.served.version.label,
            endpoint,
            request_id,
        };
        usage.count(&counted, &observation.names);
    }

    /// Queues a write for a shadow check, if it was accepted and carried out now.
    pub fn check(
        self,
        shadow: &ShadowChecks,
        at: DateTime<Utc>,
        observation: RequestObservation,
        accepted: bool,
    ) {
        let Self {
            served,
            endpoint,
            part_id,
            ..
        } = self;
        let Some(ValidToken { id: token, .. }) = observation.token else {
            return;
        };
        if let Some(observed) = observation
            .write
            .filter(|write| accepted && write.was_carried_out())
        {
            shadow.offer(Write {
                served,
                endpoint,
                token,
                at,
                part_id,
                observed: *observed,
            });
        }
    }
}
