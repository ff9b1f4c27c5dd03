//! The stream of a connection, which bounds what the HTTP library reads ahead.
//!
//! actix-http reads whatever has arrived, up to 128 KiB, before it looks at any of it, and goes on reading while a request is
//! worked on. A [`ClientStream`] returns a piece at a time, and nothing beyond a limit ([`ReadWindow`]):
//!
//! | state of the connection | limit | beyond the limit |
//! |---|---|---|
//! | the head of a request arrives | [`READ_AHEAD_BYTES`] | a permit is acquired, and the connection ends after its request; without one it ends at once |
//! | a request is worked on | [`READ_AHEAD_BYTES`] | reading waits until its body is wanted, or until the reply was sent |
//! | the reply was sent before the body was read | [`MAX_DISCARDED_BYTES`], dropped by actix-http | the connection ends |

use std::cell::{Cell, RefCell};
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The largest piece that is read at once, in bytes. The buffer of actix-http has at least [`FREE_BYTES`] left after most
/// pieces; otherwise it would grow before it is looked at.
const PIECE_BYTES: usize = 4_096;
const FREE_BYTES: usize = 1_024;
/// What is read ahead of the application, in bytes. The last piece may go beyond it.
const READ_AHEAD_BYTES: usize = 16_384;
/// Connections at once with a head larger than that. A head has up to 128 KiB, and actix-http keeps a buffer of that size.
const LARGE_HEADS: usize = 32;
/// Requests that actix-http decodes ahead. It leaves further ones in its buffer.
const DECODED_AHEAD: usize = 16;
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
}

enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// How much the HTTP library may read of a connection.
#[derive(Debug)]
pub(crate) struct ReadWindow {
    state: Cell<ReadState>,
    /// Bytes that were read and that the application may not have taken.
    read_ahead: Cell<usize>,
    /// Requests that were begun since `read_ahead` was zero.
    begun: Cell<usize>,
    /// Whether the last piece is to be looked at before the next one.
    has_piece: Cell<bool>,
    /// The task that waits until more can be read.
    waiting: RefCell<Option<Waker>>,
    large_heads: LargeHeads,
    large_head: RefCell<Option<OwnedSemaphorePermit>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadState {
    /// Everything before was answered, and nothing of the next head was read.
    Idle,
    /// Like `Idle`, and actix-http was woken to look for a request in its buffer.
    Searched,
    /// The head of a request arrives.
    Head,
    /// A request is worked on, or its reply is sent.
    Request,
    /// The reply was sent before the body was read. The connection ends.
    Discarding,
}

/// Whether the next piece can be read.
enum Admission {
    Now,
    Later,
    Never,
}

impl ClientStream {
    pub(crate) fn plain(stream: TcpStream, large_heads: &LargeHeads) -> Self {
        Self { transport: Transport::Plain(stream), window: ReadWindow::new(large_heads) }
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, large_heads: &LargeHeads) -> Self {
        Self { transport: Transport::Tls(Box::new(stream)), window: ReadWindow::new(large_heads) }
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
}

impl ReadWindow {
    fn new(large_heads: &LargeHeads) -> Rc<Self> {
        Rc::new(Self {
            state: Cell::new(ReadState::Idle),
            read_ahead: Cell::default(),
            begun: Cell::default(),
            has_piece: Cell::default(),
            waiting: RefCell::default(),
            large_heads: large_heads.clone(),
            large_head: RefCell::default(),
        })
    }

    /// A request is worked on from now on.
    pub(crate) fn begin_request(&self) {
        self.state.set(ReadState::Request);
        self.begun.set(self.begun.get() + 1);
    }

    /// Whether the buffer of the connection is too large to keep after the request.
    pub(crate) fn holds_large_head(&self) -> bool {
        self.large_head.borrow().is_some()
    }

    /// The application waits for more of the body, and has taken what there was.
    pub(crate) fn want_body(&self) {
        self.read_ahead.set(0);
        self.wake();
    }

    /// The reply was sent. `is_body_read` says whether the request was received to its end; otherwise the connection ends.
    pub(crate) fn end_request(&self, is_body_read: bool) {
        if is_body_read {
            self.state.set(ReadState::Idle);
        } else {
            self.read_ahead.set(0);
            self.state.set(ReadState::Discarding);
        }
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waiting.take() {
            waker.wake();
        }
    }

    fn admit(&self, context: &Context<'_>) -> Admission {
        if self.has_piece.replace(false) {
            context.waker().wake_by_ref();
            return Admission::Later;
        }
        let read_ahead = self.read_ahead.get();
        match self.state.get() {
            ReadState::Idle if self.begun.get() >= DECODED_AHEAD => {
                self.state.set(ReadState::Searched);
                context.waker().wake_by_ref();
                Admission::Later
            }
            // actix-http has no request left.
            ReadState::Idle | ReadState::Searched => {
                self.read_ahead.set(0);
                self.begun.set(0);
                self.state.set(ReadState::Head);
                Admission::Now
            }
            ReadState::Discarding if read_ahead >= MAX_DISCARDED_BYTES => Admission::Never,
            ReadState::Discarding => Admission::Now,
            ReadState::Head | ReadState::Request if read_ahead < READ_AHEAD_BYTES => Admission::Now,
            ReadState::Head => self.admit_large_head(),
            ReadState::Request => {
                self.waiting.replace(Some(context.waker().clone()));
                Admission::Later
            }
        }
    }

    fn admit_large_head(&self) -> Admission {
        let mut large_head = self.large_head.borrow_mut();
        if large_head.is_none() {
            *large_head = Arc::clone(&self.large_heads.0).try_acquire_owned().ok();
        }
        if large_head.is_some() { Admission::Now } else { Admission::Never }
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.window.admit(context) {
            Admission::Now => {}
            Admission::Later => return Poll::Pending,
            Admission::Never => {
                log::debug!("a connection is closed that sends more than there is memory for");
                return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
            }
        }
        let free = buffer.remaining();
        let length = PIECE_BYTES.min(if free >= 2 * FREE_BYTES { free - FREE_BYTES } else { free });
        let mut piece = ReadBuf::new(buffer.initialize_unfilled_to(length));
        let read = match &mut self.transport {
            Transport::Plain(stream) => Pin::new(stream).poll_read(context, &mut piece),
            Transport::Tls(stream) => Pin::new(stream).poll_read(context, &mut piece),
        };
        let received = piece.filled().len();
        buffer.advance(received);
        let window = &self.window;
        window.read_ahead.set(window.read_ahead.get() + received);
        window.has_piece.set(received == length);
        read
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
