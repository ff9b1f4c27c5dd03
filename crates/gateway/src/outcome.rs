//! What is asked for, and what a call came to.

use std::time::Duration;

use adapter_kit::{Endpoint, Served};
use http_kit::limits::rate_limit::RemainingQuota;
use storage::base::sender::Sender;
use storage::session::ValidToken;

use crate::error::{ApiError, ErrorForm};
use crate::recording::observation::RequestObservation;
use crate::response::ApiResponse;

/// What a client asks for: an endpoint of a version, and how it wants the reply.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requested {
    /// The version.
    pub served: &'static Served,
    /// The endpoint.
    pub endpoint: Endpoint,
    /// The form of problems.
    pub form: ErrorForm,
    /// Whether a write is only checked.
    pub validates_only: bool,
    /// The position in a batch or a file, from 0; `None` for a whole request.
    pub item: Option<u32>,
}

/// What a call came to: a reply or an error, and what its headers and its record need beside it.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The reply of the handler.
    pub result: Result<ApiResponse, ApiError>,
    /// The provider and the sender, for the record of requests; `None` for what is not recorded.
    pub sender: Option<(i64, Sender)>,
    /// The rest of the rate limit of the token, if it has a limit.
    pub remaining: Option<RemainingQuota>,
    /// Warnings that do not depend on the handler.
    pub warnings: Vec<String>,
    /// The time that the request could wait for changes, if it waited.
    pub waited: Option<Duration>,
    /// What was observed of the request.
    pub observation: RequestObservation,
}

impl From<ApiError> for Outcome {
    /// The outcome of a request that is refused before its sender is known.
    fn from(error: ApiError) -> Self {
        Self::new(Err(error), RequestObservation::default())
    }
}

impl Outcome {
    /// An outcome without warnings. The sender is the observed token.
    pub(crate) fn new(
        result: Result<ApiResponse, ApiError>,
        observation: RequestObservation,
    ) -> Self {
        let of_token = |token: ValidToken| (token.provider_id, Sender::Token(token.id));
        Self {
            result,
            sender: observation.token.map(of_token),
            remaining: None,
            warnings: Vec::new(),
            waited: None,
            observation,
        }
    }

    /// The outcome of a request of this token that is refused before it is called.
    pub(crate) fn refused(error: ApiError, token: Option<ValidToken>) -> Self {
        let observation = RequestObservation {
            token,
            ..RequestObservation::default()
        };
        Self::new(Err(error), observation)
    }
}
