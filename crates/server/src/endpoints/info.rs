//! The heartbeat (contract, section 4.1).

use actix_web::http::StatusCode;
use serde_json::json;
use storage::session::ProviderSession;

use crate::http::error::ApiError;
use crate::http::request::HandlerContext;
use crate::http::response::ApiResponse;

/// `GET /info`
pub(super) fn show(_: &mut ProviderSession<'_>, _: &HandlerContext<'_>) -> Result<ApiResponse, ApiError> {
    ApiResponse::json(StatusCode::OK, &json!({ "status": "ok" }))
}
