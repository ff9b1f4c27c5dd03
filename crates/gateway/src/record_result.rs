//! The result of a request for its record, as the request log counts it.

use adapter_kit::Endpoint;
use usage::request_log::RecordResult;

use crate::error::ApiError;
use crate::idempotency::IDEMPOTENT_REPLAYED;
use crate::response::ApiResponse;

/// Returns the result of a request to an endpoint. `validates_only` says whether the request was
/// only checked.
pub(crate) fn record_result(
    endpoint: Endpoint,
    validates_only: bool,
    result: Result<&ApiResponse, &ApiError>,
) -> RecordResult {
    let registers = endpoint == Endpoint::CreateTrainee;
    match result {
        Err(ApiError::Duplicate { .. }) if registers => RecordResult::AlreadyRegistered,
        Err(_) => RecordResult::Refused,
        // The items of a batch have their own results.
        Ok(_) if !endpoint.row().writes() || endpoint.row().is_batch() => RecordResult::Read,
        Ok(_) if validates_only => RecordResult::Checked,
        Ok(reply) if is_replayed(reply) => RecordResult::Repeated,
        Ok(_) if registers => RecordResult::Registered,
        Ok(_) => RecordResult::Changed,
    }
}

/// Whether the reply repeats that of an earlier request with the same idempotency key.
fn is_replayed(reply: &ApiResponse) -> bool {
    let mut headers = reply.headers.iter();
    headers.any(|(name, _)| name == IDEMPOTENT_REPLAYED)
}
