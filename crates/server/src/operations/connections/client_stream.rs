//! The stream of a connection, which gives the HTTP library one request at a time.
//!
//! actix-http reads whatever has arrived, up to 128 KiB, and decodes all requests in it while the first one is worked on: 4 MiB
//! for each connection whose requests have 50 bytes each. A [`ClientStream`] returns a head to its end, then a piece of the body
//! each time that the application waits for it, and the next head when the reply was sent ([`ReadWindow`]):
//!
//! | state of the connection | what is read | limit |
//! |---|---|---|
//! | the head of a request arrives | up to the empty line that ends it | beyond [`SMALL_HEAD_BYTES`] a permit is acquired, and the connection ends after the request; without a permit it ends at once |
//! | a request is worked on | its body, as far as it is wanted | a piece |
//! | the reply was sent before the body was read | the body, which actix-http drops; then the connection ends | [`MAX_DISCARDED_BYTES`] |
//!
//! What was read beyond that is kept here, and is at most a piece.

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest piece that is read at once, in bytes. The buffer of actix-http has at least [`FREE_BYTES`] left after most
/// pieces; otherwise it would grow before it is looked at.
const PIECE_BYTES: usize = 4_096;
const FREE_BYTES: usize = 1_024;
/// The largest piece of a chunked body, in bytes. Its end is found by actix-http, which decodes the requests behind it.
const CHUNKED_PIECE_BYTES: usize = 1_024;
/// The largest head without a permit, in bytes.
const SMALL_HEAD_BYTES: usize = 16_384;
/// Connections at once with a larger head. A head has up to 128 KiB, and actix-http keeps a buffer of that size.
const LARGE_HEADS: usize = 32;
/// What is read of a body after the reply, so that its sender gets to see the reply, in bytes.
const MAX_DISCARDED_BYTES: usize = 8 * 1_048_576;

/// Permits for large heads. Cheap to clone; all clones share the permits.
#[derive(Debug, Clone)]
pub(crate) struct LargeHeads(Arc<Semaphore>);

impl Default for LargeHeads {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(LARGE_HEADS)))
    }
}

/// A connection of a client, with or without TLS.
pub(crate) struct ClientStream {
    transport: Transport,
    window: Rc<ReadWindow>,
    /// What was read beyond the end of a head.
    unread: Vec<u8>,
}

enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// What the HTTP library may read of a connection now.
#[derive(Debug)]
pub(crate) struct ReadWindow {
    state: Cell<ReadState>,
    /// Bytes of the head that arrives, or of the body that is discarded.
    received: Cell<usize>,
    head_end: Cell<HeadEnd>,
    body_left: Cell<BodyLength>,
    /// Whether the application waits for more of the body.
    is_body_wanted: Cell<bool>,
    /// Whether the stream keeps what was read beyond the end of a head.
    has_unread: Cell<bool>,
    /// The task that reads, where it waits for another state.
    waiting: RefCell<Option<Waker>>,
    large_heads: LargeHeads,
    large_head: RefCell<Option<OwnedSemaphorePermit>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// The head of a request arrives.
    Head,
    /// The head was returned to its end; actix-http begins the request.
    HeadReturned,
    /// Like `HeadReturned`, and the end of the head was returned in an earlier turn.
    HeadAwaited,
    /// A request is worked on, or its reply is sent.
    Request,
    /// The reply was sent before the body was read. The connection ends.
    Discarding,
    /// Like `Discarding`, and actix-http is to drop the last piece.
    DiscardingPiece,
}

/// The length of a body, or of the rest of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyLength {
    /// The bytes that are left.
    Bytes(usize),
    /// Unknown until the last chunk.
    Chunked,
}

/// Finds the empty line that ends a head, in pieces of any length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct HeadEnd {
    /// Whether the request line has begun. Empty lines before it are skipped.
    has_begun: bool,
    is_line_empty: bool,
}

/// What a read does.
enum Plan {
    /// Returns up to this number of bytes.
    Return(usize),
    /// Returns nothing but the end of the connection.
    WatchForEnd,
    /// Waits for another state.
    Wait,
    /// Lets actix-http drop what it has, and goes on.
    Yield,
    /// Returns the end of the connection.
    End,
    /// Ends the connection.
    Refuse,
}

impl Default for HeadEnd {
    fn default() -> Self {
        Self { has_begun: false, is_line_empty: true }
    }
}

impl HeadEnd {
    /// Looks through the next bytes of a head and returns the position behind its end, if that is among them.
    fn find(&mut self, bytes: &[u8]) -> Option<usize> {
        for (position, byte) in bytes.iter().enumerate() {
            match byte {
                b'\n' if self.has_begun && self.is_line_empty => return Some(position + 1),
                b'\n' => self.is_line_empty = true,
                b'\r' => {}
                _ => *self = Self { has_begun: true, is_line_empty: false },
            }
        }
        None
    }
}

impl ClientStream {
    pub(crate) fn plain(stream: TcpStream, large_heads: &LargeHeads) -> Self {
        Self::new(Transport::Plain(stream), large_heads)
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, large_heads: &LargeHeads) -> Self {
        Self::new(Transport::Tls(Box::new(stream)), large_heads)
    }

    fn new(transport: Transport, large_heads: &LargeHeads) -> Self {
        Self { transport, window: Rc::new(ReadWindow::new(large_heads.clone())), unread: Vec::new() }
    }

    /// The stream below HTTP and TLS.
    pub(crate) fn socket(&self) -> &TcpStream {
        match &self.transport {
            Transport::Plain(stream) => stream,
            Transport::Tls(stream) => stream.get_ref().0,
        }
    }

    /// The window of the connection.
    pub(crate) fn window(&self) -> &Rc<ReadWindow> {
        &self.window
    }

    /// Returns up to `length` bytes, from what is kept or from the transport.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        length: usize,
    ) -> Poll<io::Result<()>> {
        let free = buffer.remaining();
        let length = length.min(if free >= 2 * FREE_BYTES { free - FREE_BYTES } else { free });
        if self.unread.is_empty() {
            let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(length));
            ready!(self.transport.poll_read(context, &mut piece))?;
            let (returned, kept) = self.window.divide(piece.filled());
            self.unread.extend_from_slice(kept);
            let returned = returned.len();
            buffer.advance(returned);
        } else {
            let (piece, _) = self.unread.split_at(length.min(self.unread.len()));
            let (returned, _) = self.window.divide(piece);
            buffer.put_slice(returned);
            let returned = returned.len();
            self.unread.drain(..returned);
            if self.unread.is_empty() {
                self.unread = Vec::new();
            }
        }
        self.window.has_unread.set(!self.unread.is_empty());
        Poll::Ready(Ok(()))
    }

    /// Returns when the connection has ended. A byte that arrives is kept.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.window.wait(context);
        if !self.unread.is_empty() {
            return Poll::Pending;
        }
        let mut byte = [0];
        let mut byte = ReadBuf::new(&mut byte);
        ready!(self.transport.poll_read(context, &mut byte))?;
        if byte.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.unread.extend_from_slice(byte.filled());
        self.window.has_unread.set(true);
        Poll::Pending
    }
}

impl ReadWindow {
    fn new(large_heads: LargeHeads) -> Self {
        Self {
            state: Cell::new(ReadState::Head),
            received: Cell::default(),
            head_end: Cell::default(),
            body_left: Cell::new(BodyLength::Bytes(0)),
            is_body_wanted: Cell::default(),
            has_unread: Cell::default(),
            waiting: RefCell::default(),
            large_heads,
            large_head: RefCell::default(),
        }
    }

    /// A request is worked on from now on.
    pub(crate) fn begin_request(&self, body: BodyLength) {
        self.state.set(ReadState::Request);
        self.body_left.set(body);
        self.is_body_wanted.set(false);
    }

    /// The application waits for more of the body, and has taken what there was.
    pub(crate) fn want_body(&self) {
        if !self.is_body_wanted.replace(true) {
            self.wake();
        }
    }

    /// The application has received the body to its end.
    pub(crate) fn end_body(&self) {
        self.body_left.set(BodyLength::Bytes(0));
        self.is_body_wanted.set(false);
    }

    /// Whether the buffer of the connection is too large to keep after the request.
    pub(crate) fn holds_large_head(&self) -> bool {
        self.large_head.borrow().is_some()
    }

    /// The reply was sent. `is_body_read` says whether the request was received to its end; otherwise the connection ends.
    pub(crate) fn end_request(&self, is_body_read: bool) {
        self.received.set(0);
        self.head_end.set(HeadEnd::default());
        self.state.set(if is_body_read { ReadState::Head } else { ReadState::Discarding });
        if self.has_unread.get() || !is_body_read {
            self.wake();
        }
    }

    fn wait(&self, context: &Context<'_>) {
        let mut waiting = self.waiting.borrow_mut();
        if !waiting.as_ref().is_some_and(|waker| waker.will_wake(context.waker())) {
            *waiting = Some(context.waker().clone());
        }
    }

    fn wake(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    fn plan(&self) -> Plan {
        match self.state.get() {
            ReadState::Head => self.plan_head(),
            ReadState::HeadReturned => {
                self.state.set(ReadState::HeadAwaited);
                Plan::WatchForEnd
            }
            // actix-http has not found the end of a head, and gets more of it.
            ReadState::HeadAwaited => {
                self.state.set(ReadState::Head);
                self.plan_head()
            }
            ReadState::Request => match self.body_left.get() {
                BodyLength::Bytes(0) => Plan::WatchForEnd,
                BodyLength::Bytes(_) | BodyLength::Chunked if !self.is_body_wanted.get() => Plan::Wait,
                BodyLength::Bytes(left) => Plan::Return(left.min(PIECE_BYTES)),
                BodyLength::Chunked => Plan::Return(CHUNKED_PIECE_BYTES),
            },
            ReadState::Discarding if self.received.get() >= MAX_DISCARDED_BYTES => Plan::Refuse,
            ReadState::Discarding => match self.body_left.get() {
                // Otherwise actix-http would wait for more of the body until its time for that is over.
                BodyLength::Bytes(0) => Plan::End,
                BodyLength::Bytes(left) => Plan::Return(left.min(PIECE_BYTES)),
                BodyLength::Chunked => Plan::Return(PIECE_BYTES),
            },
            ReadState::DiscardingPiece => {
                self.state.set(ReadState::Discarding);
                Plan::Yield
            }
        }
    }

    fn plan_head(&self) -> Plan {
        let mut large_head = self.large_head.borrow_mut();
        if self.received.get() >= SMALL_HEAD_BYTES && large_head.is_none() {
            *large_head = Arc::clone(&self.large_heads.0).try_acquire_owned().ok();
            if large_head.is_none() {
                return Plan::Refuse;
            }
        }
        Plan::Return(PIECE_BYTES)
    }

    fn count_body(&self, returned: usize) {
        if let BodyLength::Bytes(left) = self.body_left.get() {
            self.body_left.set(BodyLength::Bytes(left.saturating_sub(returned)));
        }
    }

    /// Divides a piece into what is returned now and what is kept, and counts the former.
    fn divide<'a>(&self, piece: &'a [u8]) -> (&'a [u8], &'a [u8]) {
        let mut returned = piece.len();
        match self.state.get() {
            ReadState::Head => {
                let mut head_end = self.head_end.get();
                if let Some(end) = head_end.find(piece) {
                    returned = end;
                    self.state.set(ReadState::HeadReturned);
                }
                self.head_end.set(head_end);
            }
            ReadState::Request => {
                self.count_body(returned);
                self.is_body_wanted.set(false);
            }
            ReadState::Discarding => {
                self.count_body(returned);
                self.state.set(ReadState::DiscardingPiece);
            }
            ReadState::HeadReturned | ReadState::HeadAwaited | ReadState::DiscardingPiece => {}
        }
        self.received.set(self.received.get() + returned);
        piece.split_at(returned)
    }
}

impl Transport {
    fn poll_read(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.window.plan() {
            Plan::Return(length) => self.poll_piece(context, buffer, length),
            Plan::WatchForEnd => self.poll_end(context),
            Plan::Wait => {
                self.window.wait(context);
                Poll::Pending
            }
            Plan::Yield => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            Plan::End => Poll::Ready(Ok(())),
            Plan::Refuse => {
                log::debug!("a connection is closed that sends more than there is memory for");
                Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()))
            }
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Transport::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_flush(context),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_a_head_is_found_wherever_the_head_is_divided() {
        let heads: [&[u8]; 4] = [
            b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            b"\r\n\r\nGET / HTTP/1.1\r\n\r\n",
            b"GET / HTTP/1.1\nA: b\n\n",
            b"\nG\n\r\n",
        ];
        for head in heads {
            let bytes = [head, b"\r\n\r\nbody"].concat();
            for division in 0..=bytes.len() {
                let (first, second) = bytes.split_at(division);
                let mut end = HeadEnd::default();
                let found = end.find(first).or_else(|| end.find(second).map(|position| division + position));
                assert_eq!(found, Some(head.len()), "{:?} divided at {division}", String::from_utf8_lossy(head));
            }
            assert_eq!(HeadEnd::default().find(&head[..head.len() - 1]), None);
        }
    }

    #[test]
    fn a_request_is_read_to_its_end_and_the_next_one_is_kept() {
        let window = ReadWindow::new(LargeHeads::default());
        let returned = |piece: &'static str| window.divide(piece.as_bytes()).0.len();
        assert!(matches!(window.plan(), Plan::Return(PIECE_BYTES)));
        assert_eq!(returned("POST / HTTP/1.1\r\n\r\nbodyGET"), 19);
        assert!(matches!(window.plan(), Plan::WatchForEnd));
        window.begin_request(BodyLength::Bytes(4));
        assert!(matches!(window.plan(), Plan::Wait), "the body is not wanted");
        window.want_body();
        assert!(matches!(window.plan(), Plan::Return(4)));
        assert_eq!(returned("bo"), 2);
        assert!(matches!(window.plan(), Plan::Wait));
        window.want_body();
        assert!(matches!(window.plan(), Plan::Return(2)));
        assert_eq!(returned("dy"), 2);
        assert!(matches!(window.plan(), Plan::WatchForEnd));
        window.end_body();
        window.end_request(true);
        assert!(matches!(window.plan(), Plan::Return(PIECE_BYTES)));
    }

    #[test]
    fn the_connection_ends_when_a_body_that_nobody_read_was_discarded() {
        let window = ReadWindow::new(LargeHeads::default());
        window.begin_request(BodyLength::Bytes(PIECE_BYTES + 1));
        window.end_request(false);
        for length in [PIECE_BYTES, 1] {
            assert!(matches!(window.plan(), Plan::Return(most) if most == length));
            assert_eq!(window.divide(&[b'x'; PIECE_BYTES][..length]).0.len(), length);
            assert!(matches!(window.plan(), Plan::Yield));
        }
        assert!(matches!(window.plan(), Plan::End));
    }

    #[test]
    fn a_body_that_is_not_read_is_discarded_up_to_a_limit() {
        let window = ReadWindow::new(LargeHeads::default());
        window.begin_request(BodyLength::Chunked);
        window.end_request(false);
        let piece = [b'x'; PIECE_BYTES];
        for _ in 0..MAX_DISCARDED_BYTES / PIECE_BYTES {
            assert!(matches!(window.plan(), Plan::Return(PIECE_BYTES)));
            assert_eq!(window.divide(&piece).0.len(), PIECE_BYTES);
            assert!(matches!(window.plan(), Plan::Yield));
        }
        assert!(matches!(window.plan(), Plan::Refuse));
    }
}
