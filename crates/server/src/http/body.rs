//! Receives the bodies of requests, within a time and within the memory that there is for them.
//!
//! A connection costs its sender nothing, and a large body that stops just before its end costs the server what has arrived
//! of it. What is kept of large bodies is therefore bounded for all requests together; ordinary ones are small and always
//! find room, so that whoever sends large ones holds nobody else up. Requests without a valid token or session have a room
//! apart, so that they cannot use up that of the others.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use actix_web::rt;
use actix_web::web::{Bytes, BytesMut, Payload};
use adapter_kit::read::BatchForm;
use futures_util::StreamExt as _;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::http::error::BodyError;

/// The largest body of a request for an endpoint, in bytes.
pub const MAX_BODY_BYTES: usize = 1_048_576;
/// How much of a body that is refused is read and thrown away, in bytes, so that its sender gets to see the reply.
const MAX_DISCARDED_BYTES: usize = 8 * MAX_BODY_BYTES;
/// So much of each body is kept without asking for room, in bytes: several times what a trainee with all its records takes.
const UNCOUNTED_BYTES: usize = 32_768;
/// The content types of JSON values that are lines, below `application/`.
const JSON_LINES: [&str; 3] = ["x-ndjson", "ndjson", "jsonl"];
/// What all bodies of authenticated requests together hold beyond that, in bytes.
const ROOM_BYTES: usize = 32 * 1_048_576;
/// The same for requests without a valid token or session.
const UNAUTHENTICATED_ROOM_BYTES: usize = 8 * 1_048_576;

/// Where bodies are received. Cheap to clone; all clones share the same rooms.
#[derive(Debug, Clone)]
pub struct BodyReader {
    timeout: Duration,
    /// One permit for each byte.
    room: Arc<Semaphore>,
    /// The same for requests without a valid token or session.
    unauthenticated_room: Arc<Semaphore>,
}

/// A body that arrived whole. Cheap to clone; its room is reserved as long as any clone is.
#[derive(Debug, Clone, Default)]
pub struct Body {
    bytes: Bytes,
    room: Option<Arc<OwnedSemaphorePermit>>,
}

/// What a body holds of the room for large ones.
#[derive(Debug, Default)]
struct Room(Option<OwnedSemaphorePermit>);

impl BodyReader {
    /// Receives bodies of authenticated requests, which may take so long to arrive.
    #[must_use]
    pub fn within(timeout: Duration) -> Self {
        Self {
            timeout,
            room: Arc::new(Semaphore::new(ROOM_BYTES)),
            unauthenticated_room: Arc::new(Semaphore::new(UNAUTHENTICATED_ROOM_BYTES)),
        }
    }

    /// The same for requests without a valid token or session, whose bodies share a smaller room.
    #[must_use]
    pub fn unauthenticated(&self) -> Self {
        Self { room: Arc::clone(&self.unauthenticated_room), ..self.clone() }
    }

    /// Receives the body of a request that is refused and keeps nothing of it, so that its sender gets to see the reply.
    pub async fn discard(&self, payload: Payload) {
        // One that does not arrive in time is refused all the same.
        let _refused = rt::time::timeout(self.timeout, self.receive_whole(payload, 0)).await;
    }

    /// Receives a JSON body of so many bytes at most. One of the wrong type is received too, so that its sender gets to see
    /// the reply.
    ///
    /// # Errors
    ///
    /// Why the body cannot be used.
    pub async fn read_json(&self, headers: &HeaderMap, payload: Payload, max: usize) -> Result<Body, BodyError> {
        let body = self.receive(headers, payload, max).await?;
        if is_json(headers) { Ok(body) } else { Err(BodyError::NotJson) }
    }

    /// As [`BodyReader::read_json`], for a batch: its items may be lines too.
    ///
    /// # Errors
    ///
    /// As [`BodyReader::read_json`].
    pub async fn read_batch(&self, headers: &HeaderMap, payload: Payload, max: usize) -> Result<Body, BodyError> {
        let body = self.receive(headers, payload, max).await?;
        if is_json(headers) || batch_form(headers) == BatchForm::Lines { Ok(body) } else { Err(BodyError::NotJson) }
    }

    /// Receives a body of so many bytes at most, whatever it is. One that is compressed is received too, so that its sender
    /// gets to see the reply; it is not decompressed, so what it would come to does not matter.
    ///
    /// # Errors
    ///
    /// When it is larger, or does not arrive whole, or not in time, or is compressed, or there is no room for it now.
    pub async fn receive(&self, headers: &HeaderMap, payload: Payload, max: usize) -> Result<Body, BodyError> {
        let whole = rt::time::timeout(self.timeout, self.receive_whole(payload, max));
        let body = whole.await.unwrap_or(Err(BodyError::TooSlow))?;
        if is_encoded(headers) { Err(BodyError::Encoded) } else { Ok(body) }
    }

    async fn receive_whole(&self, mut payload: Payload, max: usize) -> Result<Body, BodyError> {
        let mut received = 0;
        let mut received_body = Ok((BytesMut::new(), Room::default()));
        while let Some(chunk) = payload.next().await {
            let chunk = chunk.map_err(|_| BodyError::CutOff)?;
            received += chunk.len();
            if received > MAX_DISCARDED_BYTES {
                break;
            }
            // What was received before is let go where there is no place for the rest of it.
            received_body = if received > max { Err(BodyError::TooLarge { max }) } else { received_body };
            received_body = received_body.and_then(|(mut bytes, mut room)| {
                room.grow(&self.room, received)?;
                bytes.extend_from_slice(&chunk);
                Ok((bytes, room))
            });
        }
        received_body.map(|(bytes, room)| Body { bytes: bytes.freeze(), room: room.0.map(Arc::new) })
    }
}

impl Room {
    /// Makes room for a body of which so many bytes have arrived.
    fn grow(&mut self, room: &Arc<Semaphore>, received: usize) -> Result<(), BodyError> {
        let permits = self.0.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        let more = received.saturating_sub(UNCOUNTED_BYTES).saturating_sub(permits);
        if more == 0 {
            return Ok(());
        }
        let more = u32::try_from(more).map_err(|_| BodyError::NoRoom)?;
        let more = Arc::clone(room).try_acquire_many_owned(more).map_err(|_| BodyError::NoRoom)?;
        match &mut self.0 {
            Some(permits) => permits.merge(more),
            None => self.0 = Some(more),
        }
        Ok(())
    }
}

impl Body {
    /// A body made of a part of this one. It counts as a part as long as it is kept.
    #[must_use]
    pub fn part(&self, bytes: Vec<u8>) -> Self {
        Self { bytes: bytes.into(), room: self.room.clone() }
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Whether the body has a content coding, such as gzip.
fn is_encoded(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// How the items of a batch are said to be written.
#[must_use]
pub fn batch_form(headers: &HeaderMap) -> BatchForm {
    let subtype = application_subtype(headers);
    if subtype.is_some_and(|subtype| JSON_LINES.contains(&subtype.as_str())) {
        BatchForm::Lines
    } else {
        BatchForm::Array
    }
}

/// Whether the body is said to be JSON; one that is said to be nothing is taken for JSON.
fn is_json(headers: &HeaderMap) -> bool {
    if !headers.contains_key(CONTENT_TYPE) {
        return true;
    }
    let is_json =
        |subtype: &str| subtype == "json" || subtype.strip_suffix("+json").is_some_and(|name| !name.is_empty());
    application_subtype(headers).is_some_and(|subtype| is_json(&subtype))
}

/// What the content type is below `application/`, in lower case.
fn application_subtype(headers: &HeaderMap) -> Option<String> {
    let header = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let essence = header.split(';').next()?.trim().to_ascii_lowercase();
    essence.strip_prefix("application/").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn content_type(value: &'static str) -> HeaderMap {
        [(CONTENT_TYPE, HeaderValue::from_static(value))].into_iter().collect()
    }

    #[test]
    fn json_by_any_of_its_names_is_json() {
        for value in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.register+json"] {
            assert!(is_json(&content_type(value)), "{value}");
        }
        assert!(is_json(&HeaderMap::new()));
        for value in
            ["text/json", "application/x-www-form-urlencoded", "application/jsonp", "application/+json", "json", ""]
        {
            assert!(!is_json(&content_type(value)), "{value}");
        }
    }

    #[test]
    fn room_is_taken_for_what_is_large_and_given_back() {
        let room = Arc::new(Semaphore::new(100));
        let (mut one, mut other) = (Room::default(), Room::default());
        one.grow(&room, UNCOUNTED_BYTES).unwrap();
        assert_eq!(room.available_permits(), 100);
        one.grow(&room, UNCOUNTED_BYTES + 60).unwrap();
        one.grow(&room, UNCOUNTED_BYTES + 80).unwrap();
        assert_eq!(room.available_permits(), 20);
        assert_eq!(other.grow(&room, UNCOUNTED_BYTES + 21), Err(BodyError::NoRoom));
        other.grow(&room, UNCOUNTED_BYTES + 20).unwrap();
        assert_eq!(room.available_permits(), 0);
        drop(one);
        assert_eq!(room.available_permits(), 80);
    }
}
