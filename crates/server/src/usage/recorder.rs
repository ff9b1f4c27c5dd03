//! Records what was observed of a request: in the counts of what is used, and an accepted write for its shadow check.

use std::sync::Arc;

use adapter_kit::{Endpoint, Served};
use storage::session::ValidToken;

use crate::http::app_state::AppState;
use crate::http::middleware::request_id::RequestId;
use crate::http::request::ApiRequest;
use crate::usage::Counted;
use crate::usage::observation::RequestObservation;
use crate::usage::shadow_checks::Write;

/// What is recorded of a request that a handler answers.
#[derive(Debug)]
pub struct UsageRecorder {
    served: &'static Served,
    endpoint: Endpoint,
    request_id: RequestId,
    part_id: String,
}

impl UsageRecorder {
    /// For a request for the endpoint.
    #[must_use]
    pub fn of(endpoint: Endpoint, request: &ApiRequest) -> Self {
        let part_id = [request.placement_id(), request.degree_id()].concat();
        Self { served: request.served, endpoint, request_id: request.id(), part_id }
    }

    /// Records the request. One whose token was not valid is not counted.
    pub fn record(self, state: &AppState, observation: RequestObservation, accepted: bool) {
        let Some(token) = observation.token else { return };
        let (endpoint, request_id) = (self.endpoint, Arc::clone(&self.request_id));
        let at = state.store.now();
        let counted = Counted { at, token: token.id, version: self.served.version.label, endpoint, request_id };
        state.usage.count(&counted, &observation.names);
        self.check(state, observation, accepted);
    }

    /// Leaves an accepted write to the shadow checks, without counting a request.
    pub fn check(self, state: &AppState, observation: RequestObservation, accepted: bool) {
        let Self { served, endpoint, part_id, .. } = self;
        let Some(ValidToken { id: token, .. }) = observation.token else { return };
        let at = state.store.now();
        if let Some(observed) = observation.write.filter(|write| accepted && write.was_carried_out()) {
            state.shadow.offer(Write { served, endpoint, token, at, part_id, observed: *observed });
        }
    }
}
