//! Carries out a request once although it may be sent twice.
//!
//! A client that got no reply sends its request again with the same `Idempotency-Key`, and gets the
//! first reply. Only replies that report a change are stored. A refused request can be sent again,
//! changed or unchanged.

use actix_web::http::StatusCode;
use storage::records::idempotency::{KeyState, StoredReply};
use storage::session::ProviderSession;

use crate::error::{ApiError, Missing};
use crate::request::HandlerContext;
use crate::response::ApiResponse;

/// The header of a repeated reply.
pub(crate) const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";

/// The reply of an earlier request with the same idempotency key, if there is one.
///
/// # Errors
///
/// If the key is malformed, was used for another request or for an erased trainee.
pub(crate) fn find_reply(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
) -> Result<Option<ApiResponse>, ApiError> {
    let Some(key) = request.idempotency_key()? else {
        return Ok(None);
    };
    match session.earlier_reply(&key.key_digest, &key.request_digest)? {
        KeyState::Unused => Ok(None),
        KeyState::Reply(earlier) => Ok(Some(replayed(earlier))),
        KeyState::AnotherRequest => Err(ApiError::KeyReused),
        // The same reply as for any other request about an erased trainee.
        KeyState::Erased => Err(ApiError::NotFound(Missing::Trainee)),
    }
}

/// Keeps the reply for later requests with the same idempotency key, if the request has one.
///
/// # Errors
///
/// When the database does not answer.
pub(crate) fn keep_reply(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    reply: &ApiResponse,
) -> Result<(), ApiError> {
    if let Some(key) = request.idempotency_key()? {
        session.keep_reply(&key.key_digest, &key.request_digest, &stored(reply))?;
    }
    Ok(())
}

/// The reply in the form of the store.
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

/// The stored reply of an earlier request, marked as repeated.
fn replayed(earlier: StoredReply) -> ApiResponse {
    let headers = earlier
        .headers
        .into_iter()
        .map(|(name, value)| (name.into(), value))
        .collect();
    // Only replies of handlers are stored, so the status is valid and the default is not used.
    let status = StatusCode::from_u16(earlier.status).unwrap_or(StatusCode::OK);
    ApiResponse {
        headers,
        ..ApiResponse::new(status, earlier.body)
    }
    .with(IDEMPOTENT_REPLAYED, "true")
}
