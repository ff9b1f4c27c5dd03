//! Requests that are parts of something larger: the items of a [`batch`], and the [`rows`] of an
//! uploaded file. Each part runs like a separate request, in its own transaction.

use std::sync::Arc;

use adapter_kit::Endpoint;
use usage::observation::RecordKey;

use crate::endpoints;
use crate::error::ApiError;
use crate::job::run_in_transaction;
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
    /// The names of other versions in its body.
    names: Vec<&'static str>,
    /// The key of its record, if known.
    record: Option<RecordKey>,
}

impl PartOutcome {
    /// The outcome of a part that is refused before it runs.
    fn refused(error: ApiError) -> Self {
        Self {
            result: Err(error),
            names: Vec::new(),
            record: None,
        }
    }
}

/// Runs a part as a separate request to the endpoint.
async fn run_part(state: &GatewayState, part: ApiRequest, endpoint: Endpoint) -> PartOutcome {
    let recorder = part.recorder(endpoint);
    let (result, mut observation) = run_in_transaction(
        state,
        endpoint,
        endpoints::handler(endpoint),
        Arc::new(part),
        ApiResponse::counted_as_part,
    )
    .await;
    let names = std::mem::take(&mut observation.names);
    let record = observation.record.take();
    recorder.check(
        &state.shadow,
        state.store.now(),
        observation,
        result.is_ok(),
    );
    PartOutcome {
        result,
        names,
        record,
    }
}
