//! Sends replies: in pieces, within memory budgets, and compressed if the client accepts it.
//!
//! actix-web copies a body that is not in pieces into its write buffer as a whole. A client that
//! does not read its reply would hold all of it there. In pieces, a connection holds at most
//! 64 KiB: the write buffer, and the rest of a small body. The rest of a large body that was made
//! for one request counts against a memory budget for all of them. Requests without a valid token
//! or session have a separate budget, so that they cannot use up the main one. Shared content is
//! stored once for all replies.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;

use actix_web::body::{BodySize, BoxBody, EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::StatusCode;
use actix_web::http::header::{
    CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, VARY,
};
use actix_web::middleware::Next;
use actix_web::web::{self, Bytes};
use actix_web::{Error, HttpResponse};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::responses::compression::{self, Compressor};
use crate::responses::etag::{self, GZIP};
use crate::responses::shared_content::SharedContent;

/// The media type of JSON.
pub const JSON: &str = "application/json; charset=utf-8";
/// How full a connection's write buffer gets before it must be written, in bytes. The buffer holds
/// at most one piece more.
pub const WRITE_BUFFER_BYTES: usize = 16_384;
/// The largest piece of a body, in bytes.
const PIECE_BYTES: usize = 8_192;
/// A body up to this number of bytes does not count against a budget.
const ALWAYS_HELD_BYTES: usize = 32_768;
/// The budget of all larger bodies that were made for authenticated requests, in bytes.
const ROOM_BYTES: usize = 16 * 1_048_576;
/// The budget of requests without a valid token or session, in bytes: more than the largest usual
/// page of `/docs/migrate`.
const UNAUTHENTICATED_ROOM_BYTES: usize = 4 * 1_048_576;
/// Memory for the text around a part of a reply, in bytes: an idempotency key, a status and
/// punctuation.
const AROUND_PART_BYTES: usize = 512;
/// A body up to this number of bytes is compressed on the answering thread. Handing it to another
/// thread would take longer.
const COMPRESSED_IN_PLACE_BYTES: usize = 65_536;

/// Where the body of a reply comes from, which decides how it is sent. Handlers put this or a
/// [`SharedContent`] into the extensions of a response. Without either, the source is
/// [`Source::Request`].
#[derive(Debug, Clone)]
pub enum Source {
    /// Made for this request, which is not known to be authenticated.
    Request,
    /// Made for this request, which has a valid token or session.
    AuthenticatedRequest,
    /// Like `AuthenticatedRequest`, and already counted against the budget.
    Counted(Reservation),
    /// Shared by all clients.
    Shared(SharedContent),
}

/// Error: there is no memory for another large reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no room for another large reply")]
pub struct NoMemory;

/// Memory that the body of a reply holds of a budget. Released when the last clone is dropped.
#[derive(Debug, Clone, Default)]
pub struct Reservation(Option<Arc<OwnedSemaphorePermit>>);

/// Sends replies. Cheap to clone; all clones share the same budgets.
#[derive(Debug, Clone)]
pub struct ResponseSender {
    /// One permit for each byte of replies to authenticated requests.
    room: Arc<Semaphore>,
    /// The budget of other requests.
    unauthenticated_room: Arc<Semaphore>,
    /// One permit for each large body that can be compressed at once.
    compressing: Arc<Semaphore>,
    compressor: Compressor,
    /// Makes the reply of a server that has no memory left for a reply.
    busy: fn() -> HttpResponse,
}

impl ResponseSender {
    /// A sender that answers with `busy` if there is no memory for a reply.
    #[must_use]
    pub fn new(busy: fn() -> HttpResponse) -> Self {
        let processors = thread::available_parallelism().map_or(1, NonZeroUsize::get);
        Self {
            room: Arc::new(Semaphore::new(ROOM_BYTES)),
            unauthenticated_room: Arc::new(Semaphore::new(UNAUTHENTICATED_ROOM_BYTES)),
            compressing: Arc::new(Semaphore::new(processors)),
            compressor: Compressor::default(),
            busy,
        }
    }

    /// Reserves memory for the body of a reply to an authenticated request. Returns the source that
    /// holds the memory. Must be called while the work for the reply can still be undone.
    ///
    /// # Errors
    ///
    /// [`NoMemory`] when other large replies wait to be read by their clients.
    pub fn count(&self, source: Source, bytes: usize) -> Result<Source, NoMemory> {
        match source {
            Source::Request | Source::AuthenticatedRequest => {
                Ok(Source::Counted(reserve(&self.room, bytes)?))
            }
            Source::Counted(_) | Source::Shared(_) => Ok(source),
        }
    }

    /// Like [`ResponseSender::count`], for a part of a larger reply: a small part counts too, and
    /// the text around the part is included.
    ///
    /// # Errors
    ///
    /// Like [`ResponseSender::count`].
    pub fn count_part(&self, source: Source, bytes: usize) -> Result<Source, NoMemory> {
        match source {
            Source::Request | Source::AuthenticatedRequest => Ok(Source::Counted(acquire(
                &self.room,
                bytes + AROUND_PART_BYTES,
            )?)),
            Source::Counted(_) | Source::Shared(_) => Ok(source),
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
    ) -> Result<ServiceResponse<EitherBody<Chunks>>, Error> {
        let accepts_gzip = compression::accepts_gzip(request.headers());
        let (request, mut response) = next.call(request).await?.into_parts();
        let shared = response
            .extensions_mut()
            .remove::<SharedContent>()
            .map(Source::Shared);
        let source = shared
            .or_else(|| response.extensions_mut().remove::<Source>())
            .unwrap_or(Source::Request);
        let (response, body) = response.into_parts();
        let response = match body.try_into_bytes() {
            Ok(body) => self
                .prepare(response, body, source, accepts_gzip)
                .await
                .map_into_left_body(),
            // A body that comes in pieces already.
            Err(body) => response.set_body(BoxBody::new(body)).map_into_right_body(),
        };
        Ok(ServiceResponse::new(request, response))
    }

    /// The response with its body, in the form that the client gets.
    async fn prepare(
        &self,
        mut response: HttpResponse<()>,
        body: Bytes,
        source: Source,
        accepts_gzip: bool,
    ) -> HttpResponse<Chunks> {
        if is_compressible(&response, &source) {
            vary_by_encoding(response.headers_mut());
        }
        let reservation = match source {
            Source::Shared(content) => {
                let gzip = accepts_gzip.then(|| content.gzip()).flatten();
                if gzip.is_some() {
                    set_content_encoding(response.headers_mut());
                }
                let body = gzip.unwrap_or_else(|| content.plain()).clone();
                return response.set_body(Chunks {
                    rest: body,
                    reservation: Reservation::default(),
                });
            }
            Source::Counted(reservation) => Ok(reservation),
            Source::AuthenticatedRequest => reserve(&self.room, body.len()),
            Source::Request => reserve(&self.unauthenticated_room, body.len()),
        };
        let reservation = match reservation {
            Ok(reservation) => reservation,
            Err(NoMemory) => {
                let (busy, body) = (self.busy)().into_parts();
                let rest = body.try_into_bytes().unwrap_or_default();
                return busy.set_body(Chunks {
                    rest,
                    reservation: Reservation::default(),
                });
            }
        };
        let pieces = Chunks {
            rest: body,
            reservation,
        };
        if accepts_gzip
            && is_json(response.headers())
            && pieces.rest.len() >= compression::MIN_BYTES
        {
            let (pieces, is_compressed) = self.compress(pieces).await;
            if is_compressed {
                set_content_encoding(response.headers_mut());
            }
            return response.set_body(pieces);
        }
        response.set_body(pieces)
    }

    /// The body, compressed if that makes it smaller, and whether it is compressed. Memory that the
    /// compressed body does not need is released.
    async fn compress(&self, plain: Chunks) -> (Chunks, bool) {
        let body = plain.rest.clone();
        let compressed = if body.len() <= COMPRESSED_IN_PLACE_BYTES {
            self.compressor.gzip(&body)
        } else {
            // A large body would block the other requests of this thread.
            let compressor = self.compressor.clone();
            match self.compressing.acquire().await {
                Ok(_turn) => web::block(move || compressor.gzip(&body))
                    .await
                    .ok()
                    .flatten(),
                Err(_closed) => None,
            }
        };
        match compressed {
            Some(compressed) => {
                let Chunks {
                    rest,
                    mut reservation,
                } = plain;
                drop(rest);
                reservation.shrink(compressed.len());
                (
                    Chunks {
                        rest: compressed.into(),
                        reservation,
                    },
                    true,
                )
            }
            None => (plain, false),
        }
    }
}

/// Reserves memory for a body of this size. A small body needs no memory of the budget.
fn reserve(room: &Arc<Semaphore>, bytes: usize) -> Result<Reservation, NoMemory> {
    if bytes <= ALWAYS_HELD_BYTES {
        Ok(Reservation::default())
    } else {
        acquire(room, bytes)
    }
}

/// Takes this number of bytes from a budget.
fn acquire(room: &Arc<Semaphore>, bytes: usize) -> Result<Reservation, NoMemory> {
    let permits = u32::try_from(bytes).map_err(|_| NoMemory)?;
    let permit = Arc::clone(room)
        .try_acquire_many_owned(permits)
        .map_err(|_| NoMemory)?;
    Ok(Reservation(Some(Arc::new(permit))))
}

impl Reservation {
    /// Adds the memory that another part of the same body holds.
    pub fn merge(&mut self, part: Self) {
        let Some(permit) = part.0.and_then(Arc::into_inner) else {
            return;
        };
        match self.0.as_mut().and_then(Arc::get_mut) {
            Some(held) => held.merge(permit),
            None => self.0 = Some(Arc::new(permit)),
        }
    }

    /// Releases the part of the permit that a body of this size does not need.
    pub fn shrink(&mut self, bytes: usize) {
        if bytes <= ALWAYS_HELD_BYTES {
            self.0 = None;
        } else if let Some(permit) = self.0.as_mut().and_then(Arc::get_mut) {
            drop(permit.split(permit.num_permits().saturating_sub(bytes)));
        }
    }
}

/// The body of a reply, piece by piece.
#[derive(Debug)]
pub struct Chunks {
    rest: Bytes,
    reservation: Reservation,
}

impl MessageBody for Chunks {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.rest.len() as u64)
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        let length = self.rest.len().min(PIECE_BYTES);
        let piece = self.rest.split_to(length);
        if self.rest.is_empty() {
            // The last piece was taken: releases the memory and the reservation.
            self.rest = Bytes::new();
            self.reservation = Reservation::default();
        }
        Poll::Ready(Some(Ok(piece)))
    }

    /// A small body as a whole; actix-web sends a larger one in pieces.
    fn try_into_bytes(self) -> Result<Bytes, Self> {
        if self.rest.len() <= PIECE_BYTES {
            Ok(self.rest)
        } else {
            Err(self)
        }
    }
}

/// Whether the reply may be compressed for a client that accepts it. A page that was made for one
/// request is never compressed: it may show data of an attacker next to a secret, and the
/// compressed length would reveal the secret (the BREACH attack).
fn is_compressible(response: &HttpResponse<()>, source: &Source) -> bool {
    matches!(source, Source::Shared(_))
        || response.status() == StatusCode::NOT_MODIFIED
        || is_json(response.headers())
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

    use super::*;

    fn response_sender() -> ResponseSender {
        ResponseSender::new(|| HttpResponse::ServiceUnavailable().finish())
    }

    #[test]
    fn large_replies_are_counted_until_they_are_dropped() {
        let response_sender = response_sender();
        let largest = response_sender.count(Source::Request, ROOM_BYTES).unwrap();
        assert!(matches!(
            response_sender.count(Source::Request, ALWAYS_HELD_BYTES + 1),
            Err(NoMemory)
        ));
        assert!(
            response_sender
                .count(Source::Request, ALWAYS_HELD_BYTES)
                .is_ok()
        );
        let counted = response_sender.count(largest.clone(), ROOM_BYTES).unwrap();
        drop(largest);
        assert!(
            response_sender
                .count(Source::Request, ALWAYS_HELD_BYTES + 1)
                .is_err()
        );
        drop(counted);
        assert!(response_sender.count(Source::Request, ROOM_BYTES).is_ok());
    }

    #[test]
    fn parts_of_a_reply_are_counted_together_whatever_their_sizes() {
        let response_sender = response_sender();
        let held = || ROOM_BYTES - response_sender.room.available_permits();
        let mut whole = Reservation::default();
        for _ in 0..100 {
            match response_sender.count_part(Source::Request, 1_000).unwrap() {
                Source::Counted(part) => whole.merge(part),
                Source::Request | Source::AuthenticatedRequest | Source::Shared(_) => {
                    panic!("not counted")
                }
            }
        }
        assert!(held() >= 100_000, "{}", held());
        assert!(
            response_sender
                .count_part(Source::Request, ROOM_BYTES - 100_000)
                .is_err()
        );
        whole.shrink(100_000);
        assert_eq!(held(), 100_000);
        drop(whole);
        assert_eq!(held(), 0);
    }

    #[actix_web::test]
    async fn replies_to_unauthenticated_requests_leave_the_room_of_others_alone() {
        let response_sender = response_sender();
        let send = async |source| {
            let body = Bytes::from(vec![b'x'; 1_048_576]);
            response_sender
                .prepare(HttpResponse::Ok().finish().drop_body(), body, source, false)
                .await
        };
        let mut unread = Vec::new();
        loop {
            let response = send(Source::Request).await;
            if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                break;
            }
            unread.push(response);
        }
        assert_eq!(unread.len(), 4);
        assert_eq!(
            send(Source::AuthenticatedRequest).await.status(),
            StatusCode::OK
        );
        assert!(response_sender.count(Source::Request, ROOM_BYTES).is_ok());
        drop(unread);
        assert_eq!(send(Source::Request).await.status(), StatusCode::OK);
    }

    #[actix_web::test]
    async fn body_is_sent_in_pieces_and_then_releases_its_reservation() {
        let response_sender = response_sender();
        let body: Vec<u8> = (0..100_000_u32).map(|index| (index % 251) as u8).collect();
        let reservation = reserve(&response_sender.room, body.len()).unwrap();
        let mut pieces = pin!(Chunks {
            rest: body.clone().into(),
            reservation
        });
        assert_eq!(pieces.size(), BodySize::Sized(100_000));
        let mut received = Vec::new();
        while let Some(Ok(piece)) = poll_fn(|context| pieces.as_mut().poll_next(context)).await {
            assert!(piece.len() <= PIECE_BYTES);
            received.extend_from_slice(&piece);
            let held = ROOM_BYTES - response_sender.room.available_permits();
            assert_eq!(
                held == 0,
                received.len() == body.len(),
                "{held} after {}",
                received.len()
            );
        }
        assert_eq!(received, body);
    }

    #[actix_web::test]
    async fn compressed_body_holds_no_more_than_its_own_size() {
        let response_sender = response_sender();
        let noise = entity_tags(4_000);
        let body = Bytes::from(noise.repeat(2));
        let reservation = reserve(&response_sender.room, body.len()).unwrap();
        let (pieces, is_compressed) = response_sender
            .compress(Chunks {
                rest: body.clone(),
                reservation,
            })
            .await;
        assert!(is_compressed && pieces.rest.len() > ALWAYS_HELD_BYTES);
        assert_eq!(
            ROOM_BYTES - response_sender.room.available_permits(),
            pieces.rest.len()
        );
        assert_eq!(compression::decompress(&pieces.rest).unwrap(), body);
        let plain = Bytes::from("{}".repeat(40_000));
        let reservation = reserve(&response_sender.room, plain.len()).unwrap();
        let (small, _) = response_sender
            .compress(Chunks {
                rest: plain,
                reservation,
            })
            .await;
        drop(pieces);
        assert!(small.rest.len() < ALWAYS_HELD_BYTES);
        assert_eq!(response_sender.room.available_permits(), ROOM_BYTES);
    }

    /// Text that is compressed to somewhat more than half of its size.
    fn entity_tags(count: usize) -> String {
        (0..count)
            .map(|number| etag::compute(number.to_string().as_bytes()))
            .collect()
    }
}
