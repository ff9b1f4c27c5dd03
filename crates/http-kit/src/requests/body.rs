//! Receives the bodies of requests, within a time and with a permit for each large one.
//!
//! Where the head of a request is reason enough to refuse it, nothing of the body is read: a
//! `Content-Length` above the limit, a wrong media type, a content coding. The connection then ends
//! after the reply, as actix-http does it.

use std::ops::Deref;
use std::time::Duration;

use actix_web::http::header::{
    CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, TRANSFER_ENCODING,
};
use actix_web::web::{Bytes, Payload};
use actix_web::{HttpRequest, rt};
use adapter_kit::read::BatchForm;
use futures_util::{Stream, StreamExt as _};

use crate::connections;
use crate::limits::permits::{Client, Permit, Permits};

/// Error of receiving a body, independent of its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// The body is too large.
    #[error("body is too large")]
    TooLarge {
        /// The largest body, in bytes.
        max: usize,
    },
    /// The `Content-Type` of the body is not JSON.
    #[error("body is not said to be json")]
    NotJson,
    /// The body has a content coding, such as compression.
    #[error("body has a content coding")]
    Encoded,
    /// The connection failed before the end of the body.
    #[error("body was cut off")]
    CutOff,
    /// The body did not arrive in time.
    #[error("body was too slow")]
    TooSlow,
    /// Other large bodies use up the permits.
    #[error("no room for another large body")]
    NoRoom,
}

/// The largest body of a request for an endpoint, in bytes.
pub const MAX_BODY_BYTES: usize = 1_048_576;
/// The largest body without a permit, in bytes: more than a trainee with its usual placements and
/// degrees takes.
const SMALL_BODY_BYTES: usize = 16_384;
/// The most large bodies at once.
const LARGE_BODIES: usize = 32;
/// The most uploaded files at once, which may be larger than bodies of requests.
const UPLOADS: usize = 8;
/// The subtypes of `application/` for bodies with one JSON value per line.
const JSON_LINES: [&str; 3] = ["x-ndjson", "ndjson", "jsonl"];

/// Receives bodies. Cheap to clone; all clones share the permits.
#[derive(Debug, Clone)]
pub struct BodyReader {
    timeout: Duration,
    bodies: Permits,
    uploads: Permits,
}

/// A body that arrived whole. Cheap to clone; a large one has a permit as long as any clone is.
#[derive(Debug, Clone, Default)]
pub struct Body {
    bytes: Bytes,
    permit: Option<Permit>,
}

/// What has arrived of a body.
struct PartialBody<'a> {
    bytes: Vec<u8>,
    permit: Option<Permit>,
    permits: &'a Permits,
    client: Client,
    max: usize,
}

impl BodyReader {
    /// A reader that waits up to `timeout` for each body.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        Self {
            timeout,
            bodies: Permits::new(LARGE_BODIES),
            uploads: Permits::new(UPLOADS),
        }
    }

    /// Receives a JSON body of up to `max` bytes.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the body cannot be used.
    pub async fn read_json(
        &self,
        client: Client,
        request: &HttpRequest,
        payload: Payload,
        max: usize,
    ) -> Result<Body, BodyError> {
        let is_accepted = is_json(request.headers());
        self.read(client, request, payload, max, is_accepted).await
    }

    /// Like [`BodyReader::read_json`], for a batch. Its items may also be written one per line.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the body cannot be used.
    pub async fn read_batch(
        &self,
        client: Client,
        request: &HttpRequest,
        payload: Payload,
        max: usize,
    ) -> Result<Body, BodyError> {
        let headers = request.headers();
        let is_accepted = is_json(headers) || batch_form(headers) == BatchForm::Lines;
        self.read(client, request, payload, max, is_accepted).await
    }

    /// Receives a body of up to `max` bytes and of any media type.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the body cannot be used.
    pub async fn receive(
        &self,
        client: Client,
        request: &HttpRequest,
        payload: Payload,
        max: usize,
    ) -> Result<Body, BodyError> {
        let is_accepted = true;
        self.read(client, request, payload, max, is_accepted).await
    }

    /// Receives a body unless its head shows that it cannot be used.
    async fn read(
        &self,
        client: Client,
        request: &HttpRequest,
        payload: Payload,
        max: usize,
        is_accepted_type: bool,
    ) -> Result<Body, BodyError> {
        let headers = request.headers();
        let length = content_length(headers).unwrap_or_default();
        if length > max {
            return Err(BodyError::TooLarge { max });
        }
        if is_encoded(headers) {
            return Err(BodyError::Encoded);
        }
        if !is_accepted_type {
            return Err(BodyError::NotJson);
        }
        let mut body = PartialBody::new(&self.bodies, client, max);
        body.reserve(length)?;
        if body.permit.is_some() {
            connections::expect_large_body(request);
        }
        let received = rt::time::timeout(self.timeout, body.receive(payload)).await;
        let body = received.unwrap_or(Err(BodyError::TooSlow))?;
        connections::end_body(request);
        Ok(body)
    }

    /// Collects a part of an uploaded form, of up to `max` bytes. The caller must limit the time.
    ///
    /// # Errors
    ///
    /// [`BodyError::TooLarge`], [`BodyError::NoRoom`] or [`BodyError::CutOff`].
    pub async fn collect<E>(
        &self,
        client: Client,
        chunks: impl Stream<Item = Result<Bytes, E>> + Unpin,
        max: usize,
    ) -> Result<Body, BodyError> {
        let body = PartialBody::new(&self.uploads, client, max);
        body.receive(chunks).await
    }
}

impl<'a> PartialBody<'a> {
    /// An empty body that may grow to `max` bytes.
    fn new(permits: &'a Permits, client: Client, max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            permit: None,
            permits,
            client,
            max,
        }
    }

    /// Appends all chunks.
    async fn receive<E>(
        mut self,
        mut chunks: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<Body, BodyError> {
        while let Some(chunk) = chunks.next().await {
            let chunk = chunk.map_err(|_| BodyError::CutOff)?;
            let received = self.bytes.len() + chunk.len();
            if received > self.max {
                return Err(BodyError::TooLarge { max: self.max });
            }
            if received > self.bytes.capacity() {
                // A small body stays small, so that it needs no permit.
                let most = if received <= SMALL_BODY_BYTES {
                    self.max.min(SMALL_BODY_BYTES)
                } else {
                    self.max
                };
                let doubled = (2 * self.bytes.capacity()).min(most);
                self.reserve(received.max(doubled))?;
            }
            self.bytes.extend_from_slice(&chunk);
        }
        Ok(Body {
            bytes: self.bytes.into(),
            permit: self.permit,
        })
    }

    /// Makes the capacity `length` bytes. A large body acquires a permit first.
    fn reserve(&mut self, length: usize) -> Result<(), BodyError> {
        if length > SMALL_BODY_BYTES && self.permit.is_none() {
            let permit = self.permits.try_acquire(self.client);
            self.permit = Some(permit.ok_or(BodyError::NoRoom)?);
        }
        self.bytes
            .reserve_exact(length.saturating_sub(self.bytes.len()));
        Ok(())
    }
}

impl Body {
    /// The body without its permit, to be kept after the reply; `None` if it is large.
    #[must_use]
    pub fn to_keep(&self) -> Option<Self> {
        let permit = None;
        (self.len() <= SMALL_BODY_BYTES).then(|| Self {
            bytes: self.bytes.clone(),
            permit,
        })
    }

    /// A body with bytes taken from this one. It shares the permit of the whole body.
    #[must_use]
    pub fn part(&self, bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into(),
            permit: self.permit.clone(),
        }
    }
}

impl Deref for Body {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Whether a request may have a large body, according to its head.
pub(crate) fn may_be_large(headers: &HeaderMap) -> bool {
    let is_chunked = headers.contains_key(TRANSFER_ENCODING);
    is_chunked || content_length(headers).is_some_and(|length| length > SMALL_BODY_BYTES)
}

/// The length of the body as its head states it; `None` for a chunked body and for a request
/// without a body.
fn content_length(headers: &HeaderMap) -> Option<usize> {
    headers
        .get(CONTENT_LENGTH)?
        .to_str()
        .ok()?
        .trim()
        .parse()
        .ok()
}

/// Whether the body has a content coding, such as gzip.
fn is_encoded(headers: &HeaderMap) -> bool {
    headers
        .get_all(CONTENT_ENCODING)
        .any(|coding| !coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// How the items of a batch are written, according to its `Content-Type`.
#[must_use]
pub fn batch_form(headers: &HeaderMap) -> BatchForm {
    let subtype = application_subtype(headers);
    if subtype.is_some_and(|subtype| JSON_LINES.contains(&subtype.as_str())) {
        BatchForm::Lines
    } else {
        BatchForm::Array
    }
}

/// Whether the `Content-Type` is JSON. A body without one counts as JSON.
fn is_json(headers: &HeaderMap) -> bool {
    if !headers.contains_key(CONTENT_TYPE) {
        return true;
    }
    application_subtype(headers).is_some_and(|subtype| {
        let structured = subtype.strip_suffix("+json");
        subtype == "json" || structured.is_some_and(|name| !name.is_empty())
    })
}

/// The subtype of a content type such as `application/json`, in lower case; `None` for other types.
fn application_subtype(headers: &HeaderMap) -> Option<String> {
    let header = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let essence = header.split(';').next()?.trim().to_ascii_lowercase();
    essence.strip_prefix("application/").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use futures_util::stream;

    use super::*;

    #[actix_web::test]
    async fn large_body_holds_a_permit_until_it_is_dropped() {
        let reader = BodyReader::new(Duration::from_secs(1));
        let chunked = async |client: Client, chunks: usize| {
            let chunk = Bytes::from_static(&[b'x'; 1_000]);
            let chunks = stream::iter(vec![Ok::<_, ()>(chunk); chunks]);
            let body = PartialBody::new(&reader.bodies, client, 900_000);
            body.receive(chunks).await
        };
        let [one, other] = [1, 2].map(|id| Client::Known { kind: "token", id });
        let mut held = Vec::new();
        let refused = loop {
            match chunked(one, 17).await {
                Ok(body) => held.push(body),
                Err(error) => break error,
            }
        };
        assert_eq!(refused, BodyError::NoRoom);
        assert_eq!(held.len(), LARGE_BODIES / 4);
        assert_eq!(chunked(one, 16).await.unwrap().len(), 16_000);
        assert!(chunked(other, 900).await.is_ok());
        let part = held.pop().map(|body| body.part(Vec::new()));
        assert_eq!(chunked(one, 17).await.err(), Some(BodyError::NoRoom));
        drop(part);
        assert!(chunked(one, 17).await.is_ok());
        let refused = chunked(other, 901).await;
        assert_eq!(refused.err(), Some(BodyError::TooLarge { max: 900_000 }));
    }
}
