//! Requests that are parts of something larger: the items of a [`batch`], and the [`rows`] of an
//! uploaded file. Each part runs like a separate request, in its own transaction.

use std::sync::Arc;

use adapter_kit::Endpoint;

use crate::endpoints;
use crate::error::ApiError;
use crate::job::run_in_transaction;
use crate::recording::observation::RequestObservation;
use crate::request::ApiRequest;
use crate::response::ApiResponse;
use crate::state::GatewayState;

pub(crate) mod batch;
pub mod rows;

/// Number of parts that count as one request.
pub const PARTS_PER_REQUEST: usize = 10;

/// The outcome of a part.
struct PartOutcome {
    result: Result<ApiResponse, ApiError>,
    /// What was observed of it.
    observation: RequestObservation,
}

impl PartOutcome {
    /// The outcome of a part that is refused before it runs.
    fn refused(error: ApiError) -> Self {
        Self {
            result: Err(error),
            observation: RequestObservation::default(),
        }
    }
}

/// Runs a part as a separate request to the endpoint.
async fn run_part(state: &GatewayState, part: ApiRequest, endpoint: Endpoint) -> PartOutcome {
    let (result, observation) = run_in_transaction(
        state,
        endpoint,
        endpoints::handler(endpoint),
        Arc::new(part),
        ApiResponse::counted_as_part,
    )
    .await;
    PartOutcome {
        result,
        observation,
    }
}
