//! Requests that may be sent twice and are carried out once.
//!
//! A client that missed a reply sends its request again with the same `Idempotency-Key`, and gets the same reply. Only
//! replies that report a change are kept; what was refused can be sent again, changed or not.

use actix_web::HttpRequest;
use actix_web::http::{Method, StatusCode};
use adapter_kit::read::is_idempotency_key;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use storage::idempotency::{KeyState, StoredReply};
use storage::session::ProviderSession;

use crate::endpoints::Handler;
use crate::http::error::{ApiError, Missing};
use crate::http::request::HandlerContext;
use crate::http::response::ApiResponse;

/// The header with the key.
pub const IDEMPOTENCY_KEY: &str = "idempotency-key";
/// The header of a reply that was sent before.
pub const IDEMPOTENT_REPLAYED: &str = "idempotent-replayed";

/// The key of a request, with what distinguishes the request from others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    text: String,
    request_digest: String,
}

/// What was sent as a key is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("idempotency key is malformed")]
pub struct MalformedKey;

impl Key {
    /// The key that came with a request and its body; nothing when none was sent.
    ///
    /// # Errors
    ///
    /// [`MalformedKey`]
    pub fn of(request: &HttpRequest, body: &[u8]) -> Result<Option<Self>, MalformedKey> {
        let mut sent = request.headers().get_all(IDEMPOTENCY_KEY);
        let Some(key) = sent.next() else { return Ok(None) };
        let key = key.to_str().map_err(|_| MalformedKey)?.trim();
        if !is_idempotency_key(key) || sent.next().is_some() {
            return Err(MalformedKey);
        }
        Ok(Some(Self::new(key.to_owned(), request.method(), request.uri().path(), body)))
    }

    /// A key with the request that it came with.
    #[must_use]
    pub fn new(text: String, method: &Method, path: &str, body: &[u8]) -> Self {
        let mut digest = Sha256::new();
        for part in [method.as_str().as_bytes(), path.as_bytes(), body] {
            digest.update(part.len().to_be_bytes());
            digest.update(part);
        }
        Self { text, request_digest: HEXLOWER.encode(&digest.finalize()) }
    }
}

/// Carries a request out, unless one with its key was carried out before: then the reply is that one's.
///
/// # Errors
///
/// Those of the handler, and what stands against the key.
pub fn once(
    session: &mut ProviderSession<'_>,
    request: &HandlerContext<'_>,
    handler: Handler,
) -> Result<ApiResponse, ApiError> {
    let Some(key) = request.idempotency_key()? else { return (handler.run)(session, request) };
    match session.earlier_reply(&key.text, &key.request_digest)? {
        KeyState::Unused => {
            let reply = (handler.run)(session, request)?;
            session.keep_reply(&key.text, &key.request_digest, &stored(&reply))?;
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
    let headers = reply.headers.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    // A reply is JSON, which is text.
    StoredReply { status: reply.status.as_u16(), headers, body: String::from_utf8_lossy(&reply.body).into_owned() }
}

fn replayed(earlier: StoredReply) -> ApiResponse {
    let headers = earlier.headers.into_iter().map(|(name, value)| (name.into(), value)).collect();
    // Only replies of handlers are kept, so the status is one.
    let status = StatusCode::from_u16(earlier.status).unwrap_or(StatusCode::OK);
    ApiResponse { headers, ..ApiResponse::of(status, earlier.body) }.with(IDEMPOTENT_REPLAYED, "true")
}
