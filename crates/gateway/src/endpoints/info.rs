//! The heartbeat (contract, section 4.1).

use actix_web::http::StatusCode;
use serde_json::json;
use storage::session::ProviderSession;

use crate::error::ApiError;
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// `GET /info`
pub(super) fn show(
    _: &mut ProviderSession<'_>,
    _: &HandlerContext<'_>,
) -> Result<ApiResponse, ApiError> {
    Ok(ApiResponse::json(
        StatusCode::OK,
        &json!({ "status": "ok" }),
    )?)
}
