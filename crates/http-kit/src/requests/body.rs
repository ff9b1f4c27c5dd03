//! Receives the bodies of requests, within a time and within a memory budget.
//!
//! Where the head of a request is reason enough to refuse it, nothing of the body is read: a
//! `Content-Length` above the limit, a wrong media type, a content coding, no memory budget. Such a
//! request gets its status without `100 Continue`.
//!
//! A client can open many connections for free, and stop each large body just before its end. Bytes
//! beyond [`UNCOUNTED_BYTES`] of a body are therefore held within a [`MemoryBudget`]. Authenticated
//! requests have one budget, with a share for each token or session. Other requests have another.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, HeaderMap};
use actix_web::rt;
use actix_web::web::{Bytes, Payload};
use adapter_kit::read::BatchForm;
use futures_util::{Stream, StreamExt as _};

use crate::limits::memory_budget::{BudgetOwner, MemoryBudget, MemoryPermit};

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
    /// Other large bodies use up the memory budget.
    #[error("no room for another large body")]
    NoRoom,
}

/// The largest body of a request for an endpoint, in bytes.
pub const MAX_BODY_BYTES: usize = 1_048_576;
/// Bytes of each body that are held without a permit: more than a trainee with its usual placements
/// and degrees takes.
const UNCOUNTED_BYTES: usize = 16_384;
/// Memory for all bodies of authenticated requests beyond [`UNCOUNTED_BYTES`] each, in bytes, and
/// the share of each token or session.
const BUDGET_BYTES: (usize, usize) = (32 * 1_048_576, 8 * 1_048_576);
/// Like `BUDGET_BYTES`, for requests without a valid token or session, and the share of each
/// address.
const UNAUTHENTICATED_BUDGET_BYTES: (usize, usize) = (8 * 1_048_576, 2 * 1_048_576);
/// Memory of all uploaded files, in bytes, and the share of each session: two files at a time.
const UPLOAD_BUDGET_BYTES: (usize, usize) = (22 * 1_048_576, 11 * 1_048_576);
/// The largest body of a refused request that is received, in bytes. Its connection can then be
/// used again. With a larger or slower body the connection is closed after the reply.
const MAX_DISCARDED_BYTES: usize = 32_768;
/// How long the body of a refused request may take.
const DISCARD_TIME: Duration = Duration::from_secs(1);
/// Initial capacity for a body of unknown length, in bytes. It doubles as the body arrives.
const FIRST_CAPACITY_BYTES: usize = 2_048;
/// The subtypes of `application/` for bodies with one JSON value per line.
const JSON_LINES: [&str; 3] = ["x-ndjson", "ndjson", "jsonl"];

/// The time and the memory budgets for the bodies of a server. Cheap to clone; all clones share the
/// budgets.
#[derive(Debug, Clone)]
pub struct BodyReader {
    timeout: Duration,
    authenticated: MemoryBudget,
    unauthenticated: MemoryBudget,
    uploads: MemoryBudget,
}

/// Receives the bodies of one client.
#[derive(Debug)]
pub struct ClientBodyReader<'a> {
    reader: &'a BodyReader,
    budget: &'a MemoryBudget,
    owner: BudgetOwner,
}

/// A body that arrived whole. Cheap to clone; its memory is counted as long as any clone is.
#[derive(Debug, Clone, Default)]
pub struct Body {
    bytes: Bytes,
    permit: Option<Arc<MemoryPermit>>,
}

/// What has arrived of a body, and the permit for its capacity.
#[derive(Debug)]
struct PartialBody {
    bytes: Vec<u8>,
    permit: MemoryPermit,
    max: usize,
}

impl BodyReader {
    /// A reader that waits up to `timeout` for each body.
    #[must_use]
    pub fn new(timeout: Duration) -> Self {
        let (total, share) = BUDGET_BYTES;
        let (unauthenticated_total, unauthenticated_share) = UNAUTHENTICATED_BUDGET_BYTES;
        let (upload_total, upload_share) = UPLOAD_BUDGET_BYTES;
        Self {
            timeout,
            authenticated: MemoryBudget::new(total, share),
            unauthenticated: MemoryBudget::new(unauthenticated_total, unauthenticated_share),
            uploads: MemoryBudget::new(upload_total, upload_share),
        }
    }

    /// The reader for a client. Memory counts against the share of this owner.
    #[must_use]
    pub fn for_client(&self, owner: BudgetOwner) -> ClientBodyReader<'_> {
        let budget = match owner {
            BudgetOwner::Token(_) | BudgetOwner::Session(_) => &self.authenticated,
            BudgetOwner::Address(_) => &self.unauthenticated,
        };
        ClientBodyReader {
            reader: self,
            budget,
            owner,
        }
    }

    /// Like [`BodyReader::for_client`], for the files that a session uploads.
    #[must_use]
    pub fn for_upload(&self, owner: BudgetOwner) -> ClientBodyReader<'_> {
        match owner {
            BudgetOwner::Session(_) => ClientBodyReader {
                reader: self,
                budget: &self.uploads,
                owner,
            },
            BudgetOwner::Token(_) | BudgetOwner::Address(_) => self.for_client(owner),
        }
    }

    /// Receives and drops the body of a refused request if the body is small and arrives at once,
    /// so that the connection can be used again. Reads nothing if the client waits for `100
    /// Continue`.
    pub async fn discard(&self, headers: &HeaderMap, mut payload: Payload) {
        let is_large = content_length(headers).is_some_and(|length| length > MAX_DISCARDED_BYTES);
        if is_large || headers.contains_key(EXPECT) {
            return;
        }
        let receive = async {
            let mut received = 0;
            while let Some(Ok(chunk)) = payload.next().await {
                received += chunk.len();
                if received > MAX_DISCARDED_BYTES {
                    break;
                }
            }
        };
        // The connection of a slower body is closed after the reply.
        let _in_time = rt::time::timeout(DISCARD_TIME.min(self.timeout), receive).await;
    }
}

impl ClientBodyReader<'_> {
    /// Receives a JSON body of up to `max` bytes.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the body cannot be used.
    pub async fn read_json(
        &self,
        headers: &HeaderMap,
        payload: Payload,
        max: usize,
    ) -> Result<Body, BodyError> {
        self.read(headers, payload, max, is_json(headers)).await
    }

    /// Like [`ClientBodyReader::read_json`], for a batch. Its items may also be written one per
    /// line.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the body cannot be used.
    pub async fn read_batch(
        &self,
        headers: &HeaderMap,
        payload: Payload,
        max: usize,
    ) -> Result<Body, BodyError> {
        let is_accepted = is_json(headers) || batch_form(headers) == BatchForm::Lines;
        self.read(headers, payload, max, is_accepted).await
    }

    /// Receives a body of up to `max` bytes and of any media type.
    ///
    /// # Errors
    ///
    /// [`BodyError`] when the body cannot be used.
    pub async fn receive(
        &self,
        headers: &HeaderMap,
        payload: Payload,
        max: usize,
    ) -> Result<Body, BodyError> {
        let is_accepted_type = true;
        self.read(headers, payload, max, is_accepted_type).await
    }

    /// Collects a part of a body, of up to `max` bytes. The caller must limit the time.
    ///
    /// # Errors
    ///
    /// [`BodyError::TooLarge`], [`BodyError::NoRoom`] or [`BodyError::CutOff`].
    pub async fn collect<E>(
        &self,
        chunks: impl Stream<Item = Result<Bytes, E>> + Unpin,
        max: usize,
    ) -> Result<Body, BodyError> {
        self.empty(max).receive(chunks).await
    }

    /// An empty body that may grow to `max` bytes.
    fn empty(&self, max: usize) -> PartialBody {
        PartialBody {
            bytes: Vec::new(),
            permit: self.budget.permit(self.owner.clone()),
            max,
        }
    }

    /// Receives a body of up to `max` bytes within the timeout. The body of a refused request is
    /// discarded.
    async fn read(
        &self,
        headers: &HeaderMap,
        payload: Payload,
        max: usize,
        is_accepted_type: bool,
    ) -> Result<Body, BodyError> {
        match self.prepare(headers, max, is_accepted_type) {
            Ok(body) => {
                let received = rt::time::timeout(self.reader.timeout, body.receive(payload));
                received.await.unwrap_or(Err(BodyError::TooSlow))
            }
            Err(error) => {
                self.reader.discard(headers, payload).await;
                Err(error)
            }
        }
    }

    /// Decides by the head alone whether the body can be received, and acquires memory for its
    /// `Content-Length`.
    fn prepare(
        &self,
        headers: &HeaderMap,
        max: usize,
        is_accepted_type: bool,
    ) -> Result<PartialBody, BodyError> {
        let length = content_length(headers);
        if length.is_some_and(|length| length > max) {
            return Err(BodyError::TooLarge { max });
        }
        if is_encoded(headers) {
            return Err(BodyError::Encoded);
        }
        if !is_accepted_type {
            return Err(BodyError::NotJson);
        }
        let mut body = self.empty(max);
        body.reserve(length.unwrap_or_default())?;
        Ok(body)
    }
}

impl PartialBody {
    /// Appends all chunks. A body of ordinary size releases its permit, which covers no bytes.
    async fn receive<E>(
        mut self,
        mut chunks: impl Stream<Item = Result<Bytes, E>> + Unpin,
    ) -> Result<Body, BodyError> {
        while let Some(chunk) = chunks.next().await {
            self.append(&chunk.map_err(|_| BodyError::CutOff)?)?;
        }
        let Self { bytes, permit, .. } = self;
        Ok(Body {
            permit: (bytes.capacity() > UNCOUNTED_BYTES).then(|| Arc::new(permit)),
            bytes: bytes.into(),
        })
    }

    /// Appends a chunk. A full buffer at least doubles its capacity, up to the largest body.
    fn append(&mut self, chunk: &[u8]) -> Result<(), BodyError> {
        let received = self.bytes.len() + chunk.len();
        if received > self.max {
            return Err(BodyError::TooLarge { max: self.max });
        }
        if received > self.bytes.capacity() {
            let doubled = (2 * self.bytes.capacity())
                .max(FIRST_CAPACITY_BYTES)
                .min(self.max);
            self.reserve(received.max(doubled))?;
        }
        self.bytes.extend_from_slice(chunk);
        Ok(())
    }

    /// Makes the capacity `length` bytes. First acquires memory for it, which fails with
    /// [`BodyError::NoRoom`] if the budget is used up.
    fn reserve(&mut self, length: usize) -> Result<(), BodyError> {
        if !self.permit.grow_to(length.saturating_sub(UNCOUNTED_BYTES)) {
            return Err(BodyError::NoRoom);
        }
        self.bytes
            .reserve_exact(length.saturating_sub(self.bytes.len()));
        Ok(())
    }
}

impl Body {
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
    use actix_web::http::header::HeaderValue;

    use super::*;

    fn reader() -> BodyReader {
        BodyReader::new(Duration::from_secs(1))
    }

    fn owner(number: u8) -> BudgetOwner {
        BudgetOwner::Address([192, 0, 2, number].into())
    }

    fn length(bytes: usize) -> HeaderMap {
        [(
            CONTENT_LENGTH,
            HeaderValue::from_str(&bytes.to_string()).unwrap(),
        )]
        .into_iter()
        .collect()
    }

    #[test]
    fn bodies_are_counted_by_their_content_length_and_released() {
        let reader = reader();
        let begin = |number, bytes| {
            reader
                .for_client(owner(number))
                .prepare(&length(bytes), MAX_BODY_BYTES, true)
        };
        let (_, share) = UNAUTHENTICATED_BUDGET_BYTES;
        let large = || begin(1, MAX_BODY_BYTES);
        let held: Vec<_> = std::iter::from_fn(|| large().ok()).collect();
        assert_eq!(held.len(), share / (MAX_BODY_BYTES - UNCOUNTED_BYTES));
        assert_eq!(large().err(), Some(BodyError::NoRoom));
        assert!(
            begin(1, UNCOUNTED_BYTES).is_ok(),
            "an ordinary body needs no permit"
        );
        assert!(
            begin(2, MAX_BODY_BYTES).is_ok(),
            "another owner has another share"
        );
        drop(held);
        assert!(large().is_ok());
        assert_eq!(
            begin(1, MAX_BODY_BYTES + 1).err(),
            Some(BodyError::TooLarge {
                max: MAX_BODY_BYTES
            })
        );
    }

    #[test]
    fn capacity_of_a_body_is_covered_by_its_permit() {
        let reader = reader();
        let chunk = [b'x'; 1_000];
        for (headers, chunks) in [
            (length(900_000), 900),
            (HeaderMap::new(), 900),
            (HeaderMap::new(), 5),
        ] {
            let mut body = reader
                .for_client(owner(1))
                .prepare(&headers, MAX_BODY_BYTES, true)
                .unwrap();
            for _ in 0..chunks {
                body.append(&chunk).unwrap();
                let covered = body.permit.bytes() + UNCOUNTED_BYTES;
                assert!(
                    body.bytes.capacity() <= covered,
                    "{} of {covered}",
                    body.bytes.capacity()
                );
            }
            assert_eq!(body.bytes.len(), chunks * chunk.len());
        }
        let mut body = reader
            .for_client(owner(1))
            .prepare(&HeaderMap::new(), chunk.len(), true)
            .unwrap();
        body.append(&chunk).unwrap();
        assert_eq!(
            body.append(b"x"),
            Err(BodyError::TooLarge { max: chunk.len() })
        );
    }
}
