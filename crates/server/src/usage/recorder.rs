//! Sees what a request shows of its sender while it is carried out, and hands it on: to the counts of what is used, and an
//! accepted write to those that try it in the newest version.

use adapter_kit::{Endpoint, Served};
use storage::session::ValidToken;

use crate::http::app_state::AppState;
use crate::http::request::ApiRequest;
use crate::usage::Counted;
use crate::usage::observation::RequestObservation;
use crate::usage::shadow_checks::Write;

/// One request that is carried out.
#[derive(Debug)]
pub struct UsageRecorder {
    observation: RequestObservation,
    served: &'static Served,
    endpoint: Endpoint,
    request_id: String,
    part_id: String,
}

impl UsageRecorder {
    /// Starts to observe a request; one that writes may be tried in the newest version.
    pub fn of(register: &AppState, endpoint: Endpoint, request: &mut ApiRequest, writes: bool) -> Self {
        let served = request.served;
        request.observation = register.shadow.observation(served, writes);
        let part_id = [request.placement_id(), request.degree_id()].concat();
        let request_id = request.cause().request_id.unwrap_or_default().to_owned();
        Self { observation: request.observation.clone(), served, endpoint, request_id, part_id }
    }

    /// The token, as the job found it; nothing when none was valid.
    #[must_use]
    pub fn token(&self) -> Option<ValidToken> {
        self.observation.token()
    }

    /// Hands on what was seen. A request whose token was not valid is not counted.
    pub fn record(self, register: &AppState, accepted: bool) {
        let Self { observation, served, endpoint, request_id, part_id } = self;
        let Some(ValidToken { id: token, .. }) = observation.token() else { return };
        let at = register.store.now();
        register
            .usage
            .count(&Counted { at, token, version: served.version.label, endpoint, request_id }, &observation.names());
        if let Some(met) = observation.take().filter(|_| accepted) {
            register.shadow.offer(Write { served, endpoint, token, at, part_id, met });
        }
    }
}
