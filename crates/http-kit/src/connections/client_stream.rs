//! The stream of a connection, which gives the HTTP library one request at a time.
//!
//! actix-http reads whatever has arrived, up to 128 KiB, and decodes all requests in it while the
//! first one is worked on: 4 MiB for each connection whose requests have 50 bytes each. A
//! [`ClientStream`] returns as much as its [`ReadWindow`] allows, and keeps the rest, at most a
//! piece.

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use actix_tls::accept::rustls_0_23::TlsStream;
use actix_web::rt::net::TcpStream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::read_window::{LargeHeads, ReadPlan, ReadWindow};

/// What is left free of the buffer of actix-http after most pieces, in bytes. Otherwise the buffer
/// would grow before actix-http looks at it.
const FREE_BYTES: usize = 1_024;

/// A connection of a client, with or without TLS.
pub struct ClientStream {
    transport: Transport,
    window: Rc<ReadWindow>,
    /// What was read beyond the end of a head.
    unread: Vec<u8>,
}

enum Transport {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl ClientStream {
    /// A connection without TLS.
    pub fn plain(stream: TcpStream, large_heads: &LargeHeads) -> Self {
        Self::new(Transport::Plain(stream), large_heads)
    }

    /// A connection with TLS.
    pub fn tls(stream: TlsStream<TcpStream>, large_heads: &LargeHeads) -> Self {
        Self::new(Transport::Tls(Box::new(stream)), large_heads)
    }

    fn new(transport: Transport, large_heads: &LargeHeads) -> Self {
        Self {
            transport,
            window: Rc::new(ReadWindow::new(large_heads.clone())),
            unread: Vec::new(),
        }
    }

    /// The stream below HTTP and TLS.
    pub fn socket(&self) -> &TcpStream {
        match &self.transport {
            Transport::Plain(stream) => stream,
            Transport::Tls(stream) => stream.get_ref().0,
        }
    }

    /// The window of the connection.
    pub fn window(&self) -> &Rc<ReadWindow> {
        &self.window
    }

    /// Fills `buffer` with up to `length` bytes, from those kept before or from the transport.
    /// Bytes that the window does not allow yet are kept.
    fn poll_piece(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
        length: usize,
    ) -> Poll<io::Result<()>> {
        let free = buffer.remaining();
        let length = length.min(if free >= 2 * FREE_BYTES {
            free - FREE_BYTES
        } else {
            free
        });
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
                // Frees the memory.
                self.unread = Vec::new();
            }
        }
        self.window.has_unread.set(!self.unread.is_empty());
        Poll::Ready(Ok(()))
    }

    /// Waits for the end of the connection. If a byte arrives instead, it is kept as unread.
    fn poll_end(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.window.wait(context);
        if !self.unread.is_empty() {
            return Poll::Pending;
        }
        let mut byte = [0];
        let mut byte = ReadBuf::new(&mut byte);
        ready!(self.transport.poll_read(context, &mut byte))?;
        // A read of no bytes is the end.
        if byte.filled().is_empty() {
            return Poll::Ready(Ok(()));
        }
        self.unread.extend_from_slice(byte.filled());
        self.window.has_unread.set(true);
        Poll::Pending
    }
}

impl Transport {
    fn poll_read(
        &mut self,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
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
            ReadPlan::Return(length) => self.poll_piece(context, buffer, length),
            ReadPlan::WatchForEnd => self.poll_end(context),
            ReadPlan::Wait => {
                self.window.wait(context);
                Poll::Pending
            }
            ReadPlan::Yield => {
                context.waker().wake_by_ref();
                Poll::Pending
            }
            ReadPlan::End => Poll::Ready(Ok(())),
            ReadPlan::Refuse => {
                log::debug!("client connection closed: received too much data");
                Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()))
            }
        }
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
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
