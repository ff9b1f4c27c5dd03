//! Sends replies: in pieces, with a permit for each large one, and compressed if the client accepts
//! it.
//!
//! actix-http copies a body into its write buffer piece by piece, while the client takes it. A
//! client that does not take its reply makes the server hold the rest. So a reply above
//! [`SMALL_REPLY_BYTES`] has a permit until its last piece is handed over. Shared content is in
//! memory once for all replies, and needs none.

use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use actix_web::body::{BodySize, BoxBody, MessageBody, to_bytes};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, VARY,
};
use actix_web::middleware::Next;
use actix_web::web::{self, Bytes};
use actix_web::{Error, HttpResponse};

use crate::connections::{Connection, Wait};
use crate::limits::permits::{Client, Permit, Permits};
use crate::requests::body;
use crate::responses::compression::{self, Compressor};
use crate::responses::etag::{self, GZIP};
use crate::responses::shared_content::SharedContent;

/// The media type of JSON.
pub const JSON: &str = "application/json; charset=utf-8";
/// How full a connection's write buffer gets before it must be written, in bytes. The buffer holds
/// at most one piece more.
pub const WRITE_BUFFER_BYTES: usize = 16_384;
/// The largest piece of a body, in bytes.
const PIECE_BYTES: usize = 16_384;
/// The largest reply without a permit, in bytes.
pub const SMALL_REPLY_BYTES: usize = 65_536;
/// The most large replies at once.
const LARGE_REPLIES: usize = 16;
/// A body up to this number of bytes is compressed on the answering thread. Handing it to another
/// thread would take longer.
const COMPRESSED_IN_PLACE_BYTES: usize = 65_536;

/// How long the taking of a reply counts as progress.
const LONGEST_REPLY: Duration = Duration::from_mins(2);

/// Error: there is no permit for another large reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no room for another large reply")]
pub struct NoPermit;

/// Sends replies. Cheap to clone; all clones share the permits.
///
/// A handler may put into the extensions of a response: a [`SharedContent`] or a [`Permit`] for its
/// body, or the [`Client`] whose permit it takes. Without any of them, the client is unknown.
#[derive(Debug, Clone)]
pub struct ReplySender {
    /// The permits of large replies.
    pub permits: Permits,
    /// The permits of batches, which hold them while their items are carried out.
    pub batches: Permits,
    compressor: Compressor,
    /// Makes the reply of a server that has no permit left.
    busy: fn() -> HttpResponse,
}

impl ReplySender {
    /// A sender that answers with `busy` if there is no permit for a reply.
    #[must_use]
    pub fn new(busy: fn() -> HttpResponse) -> Self {
        Self {
            permits: Permits::new(LARGE_REPLIES),
            batches: Permits::new(LARGE_REPLIES),
            compressor: Compressor::default(),
            busy,
        }
    }

    /// Answers a request and sends the reply.
    ///
    /// # Errors
    ///
    /// The errors of the wrapped service.
    pub async fn send<B: MessageBody + 'static>(
        self,
        request: ServiceRequest,
        next: Next<B>,
    ) -> Result<ServiceResponse<Pieces>, Error> {
        let accepts_gzip = compression::accepts_gzip(request.headers());
        let connection = request.conn_data::<Rc<Connection>>().cloned();
        if let Some(connection) = &connection {
            connection.begin_request(body::may_be_large(request.headers()));
        }
        let answered = next.call(request).await;
        if let Some(connection) = &connection {
            connection.begin_reply();
        }
        let (request, response) = answered?.into_parts();
        let response = self.prepare(response, accepts_gzip).await?;
        let response = response.map_body(|_, (body, permit)| Pieces {
            rest: body.ready,
            later: body.later,
            permit,
            connection,
            begun: Instant::now(),
        });
        Ok(ServiceResponse::new(request, response))
    }

    /// The response with its body in the form that the client gets, and with its permit.
    async fn prepare<B: MessageBody + 'static>(
        &self,
        response: HttpResponse<B>,
        accepts_gzip: bool,
    ) -> Result<HttpResponse<(ReplyBody, Option<Permit>)>, Error> {
        let (mut response, body) = response.into_parts();
        let shared = response.extensions_mut().remove::<SharedContent>();
        if is_compressible(&response, shared.is_some()) {
            vary_by_encoding(response.headers_mut());
        }
        if let Some(content) = shared {
            let gzip = content.gzip().filter(|_| accepts_gzip);
            if gzip.is_some() {
                set_content_encoding(response.headers_mut());
            }
            let body = gzip.unwrap_or_else(|| content.plain()).clone();
            return Ok(response.set_body((body.into(), None)));
        }
        let is_stream = body.size() == BodySize::Stream;
        let (mut ready, later) = if is_stream {
            (Bytes::new(), Some(body.boxed()))
        } else {
            let read = to_bytes(body).await;
            (read.map_err(|error| Error::from(error.into()))?, None)
        };
        let bytes = if is_stream { usize::MAX } else { ready.len() };
        let Ok(permit) = self.permit(&response, bytes) else {
            let (busy, body) = (self.busy)().into_parts();
            let body = to_bytes(body).await.map_err(Error::from)?;
            return Ok(busy.set_body((body.into(), None)));
        };
        if accepts_gzip
            && is_json(response.headers())
            && ready.len() >= compression::MIN_BYTES
            && let Some(compressed) = self.compress(ready.clone()).await
        {
            set_content_encoding(response.headers_mut());
            ready = compressed;
        }
        let permit = permit.filter(|_| is_stream || ready.len() > SMALL_REPLY_BYTES);
        Ok(response.set_body((ReplyBody { ready, later }, permit)))
    }

    /// The permit for a body of this size, if it needs one.
    fn permit(
        &self,
        response: &HttpResponse<()>,
        bytes: usize,
    ) -> Result<Option<Permit>, NoPermit> {
        let extensions = response.extensions();
        if let Some(permit) = extensions.get::<Permit>() {
            return Ok(Some(permit.clone()));
        }
        let client = extensions.get().copied().unwrap_or(Client::Unknown);
        self.permit_for(client, bytes)
    }

    /// The permit for a reply of this size to a client, if it needs one. A handler that writes must
    /// call this while its changes can still be undone.
    ///
    /// # Errors
    ///
    /// [`NoPermit`] when other large replies wait to be taken by their clients.
    pub fn permit_for(&self, client: Client, bytes: usize) -> Result<Option<Permit>, NoPermit> {
        if bytes <= SMALL_REPLY_BYTES {
            return Ok(None);
        }
        self.permits.try_acquire(client).map(Some).ok_or(NoPermit)
    }

    /// The compressed body; `None` if it would not be smaller.
    async fn compress(&self, body: Bytes) -> Option<Bytes> {
        if body.len() <= COMPRESSED_IN_PLACE_BYTES {
            return self.compressor.gzip(&body).map(Bytes::from);
        }
        // A large body would block the other requests of this thread.
        let compressor = self.compressor.clone();
        let compressed = web::block(move || compressor.gzip(&body)).await;
        compressed.ok().flatten().map(Bytes::from)
    }
}

/// The body of a prepared reply.
struct ReplyBody {
    ready: Bytes,
    /// A body that is made while it is sent.
    later: Option<BoxBody>,
}

impl From<Bytes> for ReplyBody {
    fn from(ready: Bytes) -> Self {
        Self { ready, later: None }
    }
}

/// The body of a reply, piece by piece. The client has taken the reply when this is dropped.
#[derive(Debug)]
pub struct Pieces {
    rest: Bytes,
    later: Option<BoxBody>,
    permit: Option<Permit>,
    connection: Option<Rc<Connection>>,
    begun: Instant,
}

impl MessageBody for Pieces {
    type Error = Box<dyn std::error::Error>;

    fn size(&self) -> BodySize {
        match self.later {
            Some(_) => BodySize::Stream,
            None => BodySize::Sized(self.rest.len() as u64),
        }
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        if let Some(connection) = &self.connection
            && self.begun.elapsed() < LONGEST_REPLY
        {
            connection.begin(Wait::Reply);
        }
        if self.rest.is_empty()
            && let Some(later) = &mut self.later
        {
            match ready!(Pin::new(later).poll_next(context)?) {
                Some(next) => self.rest = next,
                None => self.later = None,
            }
        }
        if self.rest.is_empty() {
            self.permit = None;
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(length);
        if self.rest.is_empty() && self.later.is_none() {
            // The last piece was taken: releases the memory and the permit.
            self.rest = Bytes::new();
            self.permit = None;
        }
        Poll::Ready(Some(Ok(piece)))
    }
}

impl Drop for Pieces {
    fn drop(&mut self) {
        if let Some(connection) = &self.connection {
            connection.begin(Wait::Request);
        }
    }
}

/// Whether the reply may be compressed for a client that accepts it. A page that was made for one
/// request is never compressed: it may show data of an attacker next to a secret, and the
/// compressed length would reveal the secret (the BREACH attack).
fn is_compressible(response: &HttpResponse<()>, is_shared: bool) -> bool {
    is_shared || response.status() == StatusCode::NOT_MODIFIED || is_json(response.headers())
}

fn is_json(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|media_type| {
        let media_type = media_type.as_bytes();
        media_type == JSON.as_bytes() || media_type.ends_with(b"+json")
    })
}

/// Tells caches that the reply depends on what encodings a client accepts.
fn vary_by_encoding(headers: &mut HeaderMap) {
    const ENCODING: &str = "Accept-Encoding";
    let others = headers
        .get(VARY)
        .and_then(|others| others.to_str().ok())
        .unwrap_or_default();
    let both = if others.is_empty() {
        ENCODING.to_owned()
    } else {
        format!("{others}, {ENCODING}")
    };
    insert(headers, VARY, &both);
}

/// Tells the client that the body is compressed. An entity tag becomes that of the compressed body.
fn set_content_encoding(headers: &mut HeaderMap) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(GZIP));
    let tag = headers
        .get(ETAG)
        .and_then(|tag| tag.to_str().ok())
        .map(|tag| etag::encoded(tag, GZIP));
    if let Some(tag) = tag {
        insert(headers, ETAG, &tag);
    }
}

/// Sets a header. The value is composed of valid header values, so it is always valid.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use futures_util::stream::{self, StreamExt as _};

    use super::*;

    fn sender() -> ReplySender {
        ReplySender::new(|| HttpResponse::ServiceUnavailable().finish())
    }

    #[actix_web::test]
    async fn large_reply_holds_a_permit_until_its_last_piece_is_taken() {
        let sender = sender();
        let body: Vec<u8> = (0..100_000_u32).map(|index| (index % 251) as u8).collect();
        let prepare = async || {
            let response = HttpResponse::Ok().body(body.clone());
            let response = sender.prepare(response, false).await.unwrap();
            (response.status(), response.into_body())
        };
        let (first, second, busy) = (prepare().await, prepare().await, prepare().await);
        assert_eq!(busy.0, StatusCode::SERVICE_UNAVAILABLE);
        let known = Client::Known {
            kind: "token",
            id: 1,
        };
        assert!(sender.permit_for(known, body.len()).is_ok());
        drop(second);
        let (reply, permit) = first.1;
        let mut pieces = pin!(Pieces {
            rest: reply.ready,
            later: reply.later,
            permit,
            connection: None,
            begun: Instant::now()
        });
        let mut received = Vec::new();
        while let Some(Ok(piece)) = poll_fn(|context| pieces.as_mut().poll_next(context)).await {
            assert!(piece.len() <= PIECE_BYTES);
            received.extend_from_slice(&piece);
            let other = sender.permits.try_acquire(Client::Unknown);
            let others = std::iter::from_fn(|| sender.permits.try_acquire(Client::Unknown));
            let free = usize::from(other.is_some()) + others.take(2).collect::<Vec<_>>().len();
            assert_eq!(
                free == 2,
                received.len() == body.len(),
                "{}",
                received.len()
            );
        }
        assert_eq!(received, body);
    }

    #[actix_web::test]
    async fn streamed_reply_holds_a_permit_and_is_not_read_before() {
        let sender = sender();
        let parts = stream::iter([b"ab".to_vec(), vec![b'c'; PIECE_BYTES + 1]]);
        let parts = parts.map(|part| Ok::<_, std::io::Error>(Bytes::from(part)));
        let response = HttpResponse::Ok().streaming(parts);
        let response = sender.prepare(response, true).await.unwrap();
        let (reply, permit) = response.into_body();
        assert!(permit.is_some() && reply.ready.is_empty());
        let mut pieces = pin!(Pieces {
            rest: reply.ready,
            later: reply.later,
            permit,
            connection: None,
            begun: Instant::now()
        });
        let mut lengths = Vec::new();
        while let Some(piece) = poll_fn(|context| pieces.as_mut().poll_next(context)).await {
            lengths.push(piece.unwrap().len());
        }
        assert_eq!(lengths, [2, PIECE_BYTES, 1]);
        assert!(pieces.permit.is_none());
    }
}
