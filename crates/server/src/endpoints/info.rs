//! The heartbeat (contract, section 4.1).

use actix_web::http::StatusCode;
use serde_json::json;
use storage::session::ProviderSession;

use crate::http::error::Failure;
use crate::http::request::Call;
use crate::http::response::Reply;

/// `GET /info`
pub(super) fn show(_: &mut ProviderSession<'_>, _: &Call) -> Result<Reply, Failure> {
    Reply::json(StatusCode::OK, &json!({ "status": "ok" }))
}
