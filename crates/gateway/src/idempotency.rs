//! Requests that may be sent twice and are carried out once.
//!
//! A client that missed a reply sends its request again with the same `Idempotency-Key`, and gets
//! the same reply. Only replies that report a change are kept; what was refused can be sent again,
//! changed or not.

use actix_web::http::StatusCode;
use storage::records::idempotency::{KeyState, StoredReply};
use storage::session::ProviderSession;

use crate::endpoints::Handler;
use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// The header of a reply that was sent before.
pub(crate) const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";

/// Carries a request out, unless one with its key was carried out before: then the reply is that
/// one's.
///
/// # Errors
///
/// Those of the handler, and what stands against the key.
pub(crate) fn once(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    handler: Handler,
) -> Result<ApiResponse, ApiError> {
    let Some(key) = request.idempotency_key()? else {
        return (handler.run)(session, request);
    };
    match session.earlier_reply(&key.key_digest, &key.request_digest)? {
        KeyState::Unused => {
            let reply = (handler.run)(session, request)?;
            session.keep_reply(&key.key_digest, &key.request_digest, &stored(&reply))?;
            Ok(reply)
        }
        KeyState::Reply(earlier) => Ok(replayed(earlier)),
        KeyState::AnotherRequest => Err(ApiError::KeyReused),
        // As for any other request about the trainee.
        KeyState::Erased => Err(ApiError::NotFound(Missing::Trainee)),
        KeyState::InFlight => Err(ApiError::KeyInUse),
    }
}

fn stored(reply: &ApiResponse) -> StoredReply {
    let headers = reply
        .headers
        .iter()
        .map(|(name, value)| (name.to_string(), value.clone()))
        .collect();
    // A reply is JSON, which is text.
    StoredReply {
        status: reply.status.as_u16(),
        headers,
        body: String::from_utf8_lossy(&reply.body).into_owned(),
    }
}

fn replayed(earlier: StoredReply) -> ApiResponse {
    let headers = earlier
        .headers
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
    // Only replies of handlers are kept, so the status is one.
    let status = StatusCode::from_u16(earlier.status).unwrap_or(StatusCode::OK);
    ApiResponse {
        headers,
        ..ApiResponse::new(status, earlier.body)
    }
    .with(IDEMPOTENT_REPLAYED, "true")
}
