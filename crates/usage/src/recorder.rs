//! Records what was observed of a request: in the counts of what is used, and an accepted write for
//! its shadow check.

use std::sync::Arc;

use adapter_kit::{Endpoint, Served};
use chrono::{DateTime, Utc};
use http_kit::requests::request_id::RequestId;
use storage::session::ValidToken;

use crate::counts::{Counted, Usage};
use crate::observation::RequestObservation;
use crate::shadow_checks::{ShadowChecks, Write};

/// What is recorded of a request that a handler answers.
#[derive(Debug)]
pub struct UsageRecorder {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The identifier of the request.
    pub request_id: RequestId,
    /// The identifier of the placement or the degree in the path; empty where it has none.
    pub part_id: String,
}

impl UsageRecorder {
    /// Counts the request. One whose token was not valid is not counted.
    pub fn count(&self, usage: &Usage, at: DateTime<Utc>, observation: &RequestObservation) {
        let Some(token) = observation.token else {
            return;
        };
        let (endpoint, request_id) = (self.endpoint, Arc::clone(&self.request_id));
        let counted = Counted {
            at,
            token: token.id,
            version: self.served.version.label,
            endpoint,
            request_id,
        };
        usage.count(&counted, &observation.names);
    }

    /// Leaves an accepted write to the shadow checks.
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
