//! Sees what a request shows of its sender while it is carried out, and hands it on: to the counts of what is used, and an
//! accepted write to those that try it in the newest version.

use adapter_kit::{Endpoint, Served};
use storage::session::ValidToken;

use crate::http::app_state::Register;
use crate::http::request::Call;
use crate::usage::Counted;
use crate::usage::observation::Sighting;
use crate::usage::shadow_checks::Write;

/// One request that is carried out.
#[derive(Debug)]
pub struct Witness {
    sighting: Sighting,
    served: &'static Served,
    endpoint: Endpoint,
    request_id: String,
    part_id: String,
}

impl Witness {
    /// Begins to look at a call; one that writes may be tried in the newest version.
    pub fn of(register: &Register, endpoint: Endpoint, call: &mut Call, writes: bool) -> Self {
        let served = call.served;
        call.sighting = register.shadow.sighting(served, writes);
        let part_id = [call.placement_id(), call.degree_id()].concat();
        let request_id = call.cause().request_id.unwrap_or_default().to_owned();
        Self { sighting: call.sighting.clone(), served, endpoint, request_id, part_id }
    }

    /// The token, as the job found it; nothing when none was valid.
    #[must_use]
    pub fn token(&self) -> Option<ValidToken> {
        self.sighting.token()
    }

    /// Hands on what was seen. A request whose token was not valid is not counted.
    pub fn tell(self, register: &Register, accepted: bool) {
        let Self { sighting, served, endpoint, request_id, part_id } = self;
        let Some(ValidToken { id: token, .. }) = sighting.token() else { return };
        let at = register.store.now();
        register
            .usage
            .count(&Counted { at, token, version: served.version.label, endpoint, request_id }, &sighting.names());
        if let Some(met) = sighting.take().filter(|_| accepted) {
            register.shadow.offer(Write { served, endpoint, token, at, part_id, met });
        }
    }
}
